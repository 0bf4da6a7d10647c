//! A crawl taken over to other canonical rules: what is said before, what comes of it, and a kill at any moment.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::generated::Generated;
use crate::harness::{CRAWLD, Crawl, DEADLINE, Random, check_line, crawl_log, crawld, resolve, statistics, tally};
use crate::web::Web;

const SITE: Generated = Generated { hosts: 2, pages: 40 };
/// Changes every key of an http URL.
const FOLD: &str = "canonical.fold_scheme=true";

fn rekey(data: &Path, more: &[&str]) -> Output {
    let data = data.to_string_lossy();
    let words = ["rekey", "--data", &data, "--set", FOLD, "--set", "store.min_free_disk_bytes=0"];
    crawld(&[&words, more].concat(), "")
}

/// Standard output of one that must succeed.
fn rekeyed(data: &Path, more: &[&str]) -> String {
    let output = rekey(data, more);
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    out
}

#[test]
fn other_rules_are_refused_and_a_rekey_takes_the_crawl_over() {
    let web = Web::start(|host, path| SITE.page(host, path));
    let mut crawl = Crawl::new(&["politeness.delay_ms=200"], &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    let mut run = crawl.start();
    run.until("some pages", || crawl.log("crawl.log").lines().count() > 4);
    let running = rekey(&crawl.data(), &[]);
    assert_eq!(running.status.code(), Some(3), "{running:?}");
    assert!(String::from_utf8_lossy(&running.stderr).contains(&format!("in use by pid {}", run.pid())), "{running:?}");
    run.term();
    run.wait(DEADLINE);
    let (before, lines) = (crawl.stats(), statistics(&crawl, 0).len());
    assert!(before["queued"].as_u64() > Some(0), "it was in the middle: {before}");

    crawl.sets = vec![FOLD.to_owned()];
    let mut refused = crawl.start();
    assert_eq!(refused.wait(DEADLINE).code(), Some(2));
    let said = refused.stderr();
    let remedy = format!("crawld rekey --data {}", crawl.data().display());
    assert!(said.contains("made under other canonical rules (fold_scheme)") && said.contains(&remedy), "{said}");

    let said = rekeyed(&crawl.data(), &[]);
    let urls = before["discovered"].as_u64().expect("a count");
    assert!(said.starts_with(&format!("{urls} URLs of 2 hosts read; 0 became one with another\n")), "{said}");
    assert!(said.contains("data.before-rekey; delete it") && said.contains("a secret of its own"), "{said}");
    let after = crawl.stats();
    check_line(&after);
    for name in ["discovered", "queued", "fetched", "urls_found", "fetches", "bytes_downloaded", "imported"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    let said = rekeyed(&crawl.data(), &[]);
    assert!(said.contains("is under these canonical rules already; nothing to do"), "{said}");

    crawl.finish();
    assert!(statistics(&crawl, 0).len() > lines, "the logs go on");
    assert_eq!(crawl.stats()["fetched"].as_u64(), Some(80));
    let pages = tally(crawl_log(&crawl).into_iter().map(|line| line.url));
    assert!(pages.values().all(|times| *times == 1) && pages.len() == 80, "{pages:?}");
    let hits = tally(web.hits().into_iter().filter(|hit| hit.path != "/robots.txt").map(|hit| (hit.host, hit.path)));
    assert!(hits.values().all(|times| *times == 1) && hits.len() == 80, "{hits:?}");
}

#[test]
fn no_room_is_said_before_anything_is_done() {
    let crawl = Crawl::new(&[], &[]);
    let data = crawl.data().to_string_lossy().into_owned();
    let output = crawld(&["import", "--queue", "--data", &data], "http://a.test/\n");
    assert!(output.status.success(), "{output:?}");
    let output = rekey(&crawl.data(), &["--set", "store.min_free_disk_bytes=9000000000000000000"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("bytes free; a new directory") && said.contains("nothing has changed"), "{said}");
    assert_eq!(fs::read_dir(crawl.home.path()).expect("is there").count(), 1, "nothing was made");
}

#[test]
fn what_a_killed_rekey_has_left_is_mentioned_by_run() {
    let crawl = Crawl::new(&[], &[]);
    let beside = crawl.home.path().join("data.rekey");
    let said = || {
        let mut run = crawl.start();
        assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
        run.stderr().lines().filter(|line| line.contains("left by a rekey")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(said(), [""; 0]);
    fs::create_dir(&beside).expect("made");
    assert_eq!(said(), [""; 0], "no rekey has made it");
    fs::write(beside.join("rekeying"), "keep\n").expect("written");
    let lines = said();
    assert!(
        lines.len() == 1 && lines[0].contains("WARN") && lines[0].contains("of which nothing is needed"),
        "{lines:?}"
    );
    assert!(lines[0].contains("data.rekey"), "{lines:?}");
    fs::rename(beside.join("rekeying"), crawl.data().join("rekeying")).expect("moved");
    let lines = said();
    assert!(lines.len() == 1 && lines[0].contains("the old directory; run the same crawld rekey again"), "{lines:?}");
}

#[test]
fn a_rekey_killed_at_any_moment_leaves_a_whole_crawl() {
    const URLS: usize = 4000;
    let mut random = Random::seeded(7);
    let crawl = Crawl::new(&[], &[]);
    let data = crawl.data().to_string_lossy().into_owned();
    let list: String = (0..URLS).map(|n| format!("http://h{}.test/{n}?b=1&a=2\n", n % 40)).collect();
    let import = ["import", "--queue", "--data", &data, "--set", "frontier.partitions=4"];
    assert!(crawld(&import, &list).status.success());
    let mut took = Duration::from_millis(200);
    let mut killed = 0;
    for attempt in 0.. {
        // To and fro, so that there is work for each.
        let sorted = if attempt % 2 == 0 { "canonical.sort_query=true" } else { "canonical.sort_query=false" };
        let rules = [sorted, "frontier.partitions=4", "store.min_free_disk_bytes=0"];
        let mut command = Command::new(CRAWLD);
        command.args(["rekey", "--data", &data, "--delete-old"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.args(rules.iter().flat_map(|rule| ["--set", *rule]));
        let began = Instant::now();
        let mut child = command.spawn().expect("the binary starts");
        // In the end it is left alone.
        if attempt < 8 {
            std::thread::sleep(took.mul_f64(random.below(1000) as f64 / 1000.0));
            killed += usize::from(child.try_wait().expect("the child is ours").is_none());
            child.kill().expect("the child is ours");
        }
        let status = child.wait().expect("the child is ours");
        let stats = crawl.stats();
        check_line(&stats);
        assert_eq!((stats["queued"].as_u64(), stats["imported"].as_u64()), (Some(URLS as u64), Some(URLS as u64)));
        if status.success() {
            took = began.elapsed();
        }
        if attempt >= 8 {
            assert!(status.success());
            break;
        }
    }
    assert!(killed > 0, "it was never killed in its work");
    assert_eq!(fs::read_dir(crawl.home.path()).expect("is there").count(), 1, "nothing is left over");
    let output = crawld(&["export", "--urls", "--data", &data], "");
    let mut urls: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    let mut expected: Vec<_> = list.lines().map(str::to_owned).collect();
    urls.sort();
    expected.sort();
    assert_eq!(urls, expected, "what is fetched is what was said");
}
