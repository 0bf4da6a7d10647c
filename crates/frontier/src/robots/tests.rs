//! What is remembered of robots.txt, through crash, merge, restart and move.

use std::path::Path;

use super::*;
use crate::{Found, FoundUrl, Options};

fn options(dir: &Path) -> Options {
    Options { partitions: 2, recent_bytes: 1 << 16, ..Options::new(dir) }
}

fn open(dir: &Path) -> Frontier {
    Frontier::open(options(dir), 1_000, || {}).expect("opens")
}

fn url(url: &str) -> Canonical {
    Canonical::parse(url).expect("a URL")
}

fn memory(text: &str, fetched: Millis) -> RobotsMemory {
    let etag = Some(format!("\"{fetched}\""));
    RobotsMemory { text: Some(text.to_owned()), etag, fetched, ..RobotsMemory::default() }
}

fn export(frontier: &Frontier) -> String {
    let mut out = Vec::new();
    frontier.export(&mut out).expect("exports");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn it_is_kept_by_origin_through_crash_merge_and_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let none = RobotsMemory {
        last_modified: Some("then".into()),
        fetched: 7,
        unreachable_since: Some(8),
        max_age_secs: Some(u32::MAX),
        ..RobotsMemory::default()
    };
    let known = |frontier: &Frontier| {
        ["http://a.test/x", "https://a.test/", "http://a.test:81/", "http://b.test/"]
            .map(|of| frontier.robots(&url(of)).expect("answers"))
    };
    let frontier = open(dir.path());
    assert_eq!(known(&frontier), [None, None, None, None]);
    frontier.remember_robots(&url("http://a.test/y?z"), memory("one", 5)).expect("remembers");
    frontier.remember_robots(&url("http://a.test:81/"), none.clone()).expect("remembers");
    frontier.commit().expect("commits");
    let expected = [Some(memory("one", 5)), None, Some(none.clone()), None];
    assert_eq!(known(&frontier), expected);
    // As after a crash: nothing is merged.
    drop(frontier);
    let frontier = open(dir.path());
    assert_eq!(known(&frontier), expected, "replayed");
    frontier.close().expect("closes");
    let frontier = open(dir.path());
    assert_eq!(known(&frontier), expected, "from the store");
    frontier.remember_robots(&url("http://a.test/"), memory("two", 9)).expect("remembers");
    frontier.commit().expect("commits");
    drop(frontier);
    let frontier = open(dir.path());
    let expected = [Some(memory("two", 9)), None, Some(none), None];
    assert_eq!(known(&frontier), expected, "memory overrides the store");
    frontier.close().expect("closes");
    assert_eq!(known(&open(dir.path())), expected, "the later one is in the store");
}

#[test]
fn it_counts_as_memory_and_makes_its_partition_merge() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path());
    let long = "disallow: /a\n".repeat(2_000);
    for n in 0..20 {
        frontier.remember_robots(&url(&format!("http://h{n}.a.test/")), memory(&long, n)).expect("remembers");
    }
    assert!(frontier.statistics().expect("statistics").merges > 0, "half a MiB is more than memory may hold");
    for n in 0..20 {
        let known = frontier.robots(&url(&format!("http://h{n}.a.test/"))).expect("answers");
        assert_eq!(known, Some(memory(&long, n)));
    }
    let too_long = "x".repeat(RobotsMemory::MAX_TEXT_BYTES + 1);
    frontier.remember_robots(&url("http://h0.a.test/"), memory(&too_long, 50)).expect("is no error");
    assert_eq!(frontier.robots(&url("http://h0.a.test/")).expect("answers"), Some(memory(&long, 0)));
    frontier.close().expect("closes");
}

#[test]
fn an_export_carries_it_and_the_later_one_counts() {
    let [dir, other] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let frontier = open(dir.path());
    let urls = vec![FoundUrl::new(url("https://a.test/"), 0)];
    frontier.offer(&Found { urls, ..Found::default() }, None, 500).expect("offers");
    let hostile = "user-agent: *\r\ndisallow: /\"\\\u{1}\u{7f}\n";
    frontier.remember_robots(&url("https://a.test/"), memory(hostile, 600)).expect("remembers");
    frontier.remember_robots(&url("http://b.test:8080/"), memory("", 700)).expect("remembers");
    let failing = RobotsMemory { unreachable_since: Some(650), max_age_secs: Some(60), ..memory("old", 500) };
    frontier.remember_robots(&url("http://b.test/"), failing.clone()).expect("remembers");
    let exported = export(&frontier);
    assert!(exported.contains("{\"robots\":\"http://b.test:8080\",\"fetched_ms\":700,"), "{exported}");
    assert!(exported.contains("\"end\":{\"hosts\":2,\"robots\":3,"), "{exported}");

    let moved = Frontier::open(Options { partitions: 5, ..options(other.path()) }, 1_000, || {}).expect("opens");
    moved.remember_robots(&url("http://b.test:8080/"), memory("later", 701)).expect("remembers");
    for _ in 0..2 {
        moved.import(&mut exported.as_bytes(), 1_000).expect("imports");
    }
    assert_eq!(moved.robots(&url("https://a.test/")).expect("answers"), Some(memory(hostile, 600)));
    assert_eq!(moved.robots(&url("http://b.test:8080/")).expect("answers"), Some(memory("later", 701)));
    assert_eq!(moved.robots(&url("http://b.test/")).expect("answers"), Some(failing));
    moved.import(&mut exported.replace(":700", ":702").as_bytes(), 1_000).expect("imports");
    let again = export(&moved);
    assert_eq!(again.replace("702", "700").replace("\"\\\"701", "\"\\\"700"), exported);
    let line = |fetched: u64| format!("{{\"robots\":\"http://b.test:8080\",\"fetched_ms\":{fetched}}}\n");
    let head = exported.lines().next().expect("a first line");
    let twins = format!(
        "{head}\n{}{}{{\"end\":{{\"robots\":2,\"hosts\":0,\"queued\":0,\"fetched\":0,\"failed\":0,\
        \"robots_denied\":0,\"excluded\":0,\"imported_seen\":0}}}}\n",
        line(900),
        line(800)
    );
    moved.import(&mut twins.as_bytes(), 1_000).expect("imports");
    let known = moved.robots(&url("http://b.test:8080/")).expect("answers");
    assert_eq!(known.map(|known| known.fetched), Some(900), "of two in one file the later one");
    let bad = exported.replace("http://b.test:8080", "http://b.test:8080/x");
    let error = moved.import(&mut bad.as_bytes(), 1_000).expect_err("no origin").to_string();
    assert!(error.contains("is not the origin of a URL"), "{error}");
}
