//! Whole crawls of scripted sites, from the opening of the frontier to its closing. Time is tokio's paused clock, which
//! jumps to the next timer whenever everything waits.

use std::sync::atomic::{AtomicU32, Ordering};

use frontier::Books;
use tokio::sync::oneshot;
use url::Url;

use super::*;
use crate::control::Client;
use crate::fetch::Head;
use crate::fetch::scripted::{Scripted, Step};
use crate::questions;
use crate::seeds::SeedSource;

const HOME: &str = "http://a.test/";

/// A home page with links to `/0` … `/9`, all of which are there, and no robots.txt.
fn site() -> Scripted {
    let mut script = Scripted::new();
    script.answer("http://a.test/robots.txt", Head { status: 404, ..Head::default() }, vec![]);
    script.page(HOME, &(0..10).map(|n| format!("<a href=/{n}>{n}</a>")).collect::<String>());
    for n in 0..10 {
        script.page(&format!("http://a.test/{n}"), "<a href=/>home</a>");
    }
    script
}

fn plan(dir: &Path, change: impl FnOnce(&mut Config)) -> Plan {
    let mut config = Config::default();
    config.politeness.delay_ms = 0;
    config.politeness.connections_per_host = 4;
    config.frontier.partitions = 1;
    config.filter.initial_capacity = 1000;
    config.sitemap.enabled = false;
    config.journal.commit_interval_ms = 1;
    config.crawl.idle_exit_secs = 0;
    change(&mut config);
    let seed = Seed { url: Url::parse(HOME).expect("a URL"), source: SeedSource::Argument { position: 1 } };
    Plan { config, dir: dir.to_owned(), seeds: vec![seed], exit_when_done: true }
}

fn plenty(_: &Path) -> io::Result<u64> {
    Ok(u64::MAX)
}

/// The statistics lines of a data directory, each of which has to balance.
fn lines(dir: &Path) -> Vec<Snapshot> {
    let text = std::fs::read_to_string(dir.join("log/crawl-statistics.jsonl")).expect("a log");
    let lines: Vec<Snapshot> = text.lines().map(|line| serde_json::from_str(line).expect("a snapshot")).collect();
    lines.iter().for_each(|line| assert_eq!(books(line).check(), Ok(()), "{line:?}"));
    lines
}

fn books(s: &Snapshot) -> Books {
    Books {
        urls_found: s.urls_found,
        page_duplicates: s.page_duplicates,
        invalid: s.invalid,
        refused: s.refused,
        refused_depth: s.refused_by.depth,
        refused_page_links: s.refused_by.page_links,
        refused_path_segments: s.refused_by.path_segments,
        refused_repeated_segments: s.refused_by.repeated_segments,
        refused_query_bytes: s.refused_by.query_bytes,
        refused_query_parameters: s.refused_by.query_parameters,
        refused_nofollow: s.refused_by.nofollow,
        refused_sitemap_location: s.refused_by.sitemap_location,
        out_of_scope: s.out_of_scope,
        offered: s.offered,
        hot_cache_seen: s.hot_cache_seen,
        filter_absent: s.filter_absent,
        filter_maybe: s.filter_maybe,
        confirmed_seen: s.confirmed_seen,
        false_positives: s.false_positives,
        stale_positives: s.stale_positives,
        filter_bypassed: s.filter_bypassed,
        over_budget: s.over_budget,
        discovered: s.discovered,
        imported: s.imported,
        forgotten: s.forgotten,
        queued: s.queued + s.in_flight,
        fetched: s.fetched,
        failed: s.failed,
        robots_denied: s.robots_denied,
        excluded: s.excluded,
        parked: s.parked,
        imported_seen: s.imported_seen,
        ..Books::default()
    }
}

fn events(dir: &Path) -> Vec<(Event, Option<String>)> {
    let told = lines(dir).into_iter().filter(|line| line.event != Event::Interval);
    told.map(|line| (line.event, line.reason)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_crawl_runs_dry_and_says_so() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let finished = run(plan(dir.path(), |_| ()), site(), plenty, std::future::pending()).await.expect("finished");
    let done = "every URL found is finished".to_owned();
    assert_eq!(finished.ending, Ending::Done(done.clone()));
    assert_eq!((finished.snapshot.fetched, finished.snapshot.discovered, finished.snapshot.fetches), (11, 11, 12));
    assert_eq!(
        events(dir.path()),
        [(Event::Start, None), (Event::Done, Some(done.clone())), (Event::Stop, Some(done))]
    );
    let log = std::fs::read_to_string(dir.path().join("log/crawl.log")).expect("a log");
    let mut urls: Vec<_> = log.lines().filter_map(|line| line.split_whitespace().nth(3)).collect();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!((urls.len(), log.lines().count()), (11, 11), "one line for each page");
    assert!(!dir.path().join("control.sock").exists(), "the socket goes with the daemon");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_crawl_answers_like_a_running_one() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let finished = run(plan(dir.path(), |_| ()), site(), plenty, std::future::pending()).await.expect("finished");
    let stats = questions::stats(dir.path()).expect("an answer");
    assert_eq!(books(&stats), books(&finished.snapshot));
    let mut out = Vec::new();
    questions::seen_lines(dir.path(), &b"http://a.test/3\nhttp://a.test/no\n\nno\n"[..], &mut out).expect("answers");
    let out = String::from_utf8(out).expect("JSON");
    let seen: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&seen[0]["seen"], &seen[1]["seen"], seen.len()), (&Value::from(true), &Value::from(false), 3));
    assert!(seen[2]["error"].is_string());

    let again = run(plan(dir.path(), |_| ()), site(), plenty, std::future::pending()).await.expect("finished");
    assert_eq!(again.snapshot.fetched, 11, "nothing is fetched twice, and the counters go on");
    assert_eq!(again.snapshot.fetches, finished.snapshot.fetches);
}

#[tokio::test(start_paused = true)]
async fn max_pages_is_never_passed() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let plan = plan(dir.path(), |config| config.crawl.max_pages = 3);
    let finished = run(plan, site(), plenty, std::future::pending()).await.expect("finished");
    assert_eq!(finished.ending, Ending::Done("crawl.max_pages = 3 reached; 8 URLs remain queued".to_owned()));
    assert_eq!((finished.snapshot.fetched, finished.snapshot.fetches), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_due_soon_is_left_and_named() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let mut script = site();
    script.answer("http://a.test/robots.txt", Head { status: 500, ..Head::default() }, vec![]);
    let finished = run(plan(dir.path(), |_| ()), script, plenty, std::future::pending()).await.expect("finished");
    let Ending::Done(reason) = finished.ending else { panic!("{:?}", finished.ending) };
    assert!(reason.starts_with("1 URLs remain queued, on 1 hosts that may not be asked within"), "{reason}");
    assert_eq!((finished.snapshot.fetches, finished.snapshot.queued), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_pauses_the_crawl_until_there_is_room() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let looks = AtomicU32::new(0);
    let probe = move |_: &Path| Ok(if looks.fetch_add(1, Ordering::Relaxed) < 3 { 7 } else { 2000 });
    let plan = plan(dir.path(), |config| config.store.min_free_disk_bytes = 1000);
    let finished = run(plan, site(), probe, std::future::pending()).await.expect("finished");
    assert_eq!(finished.snapshot.fetched, 11);
    let events = events(dir.path());
    let names: Vec<_> = events.iter().map(|(event, _)| *event).collect();
    assert_eq!(names, [Event::Start, Event::Pause, Event::Resume, Event::Done, Event::Stop]);
    let why = events[1].1.as_deref().unwrap_or_default();
    assert!(why.starts_with("7 bytes free"), "{why}");
    let paused = &lines(dir.path())[1];
    assert_eq!(paused.fetches, 0, "nothing was asked for on a full disk");
}

#[tokio::test(start_paused = true)]
async fn a_running_daemon_answers_and_stops_when_told() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let mut script = site();
    script.answer("http://a.test/3", Head { status: 200, ..Head::default() }, vec![Step::Hang]);
    script.timeout = Duration::MAX / 4;
    script.idle_timeout = Duration::MAX / 4;
    let (stop, stopped) = oneshot::channel();
    let mut plan = plan(dir.path(), |config| config.crawl.shutdown_secs = 1);
    plan.exit_when_done = false;
    let shutdown = async {
        let _ = stopped.await;
    };
    let running = tokio::spawn(run(plan, script, plenty, shutdown));
    let path = dir.path().to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        loop {
            let Some(mut client) = Client::connect(&path).expect("no other failure") else { continue };
            let stats = client.ask(&Request::Stats).expect("an answer");
            if stats["fetched"] == 10 && stats["in_flight"] == 1 {
                let seen = Request::Seen { url: "http://a.test/3#x".to_owned() };
                return client.ask(&seen).expect("an answer");
            }
        }
    });
    let seen = asked.await.expect("no panic");
    assert_eq!(seen, json!({"url": "http://a.test/3#x", "key": "test,a)http/3", "seen": true}));
    stop.send(()).expect("still running");
    let finished = running.await.expect("no panic").expect("finished");
    assert_eq!(finished.ending, Ending::Stopped);
    let s = finished.snapshot;
    assert_eq!((s.fetched, s.queued, s.in_flight, s.fetches), (10, 1, 0, 12), "given up, counted, and queued again");
}
