//! What users of other crawlers complained of, each by its name: it must not happen here.
//!
//! | complaint | where the test is |
//! |---|---|
//! | scrapy-redis#177, scrapy-redis#56, url-frontier#163, BUbiNG#27, Norconex#107, browsertrix#491 | here |
//! | delays and blocks lost on a restart (URLFrontier) | here; also `verbs.rs` |
//! | memory that grows with the seen set (scrapy#5307, katana#742, colly#43) | `memory.rs` |
//! | two URLs made one, or one made two (scrapy#1941, #137, Norconex#163, #574, …) | `src/canonical/tests/complaints.rs` |
//! | what only a whole daemon can do | `tests/complaints.rs` at the top, which lists them all |

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use frontier::{
    BlockReason, Completion, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport, Lease, Millis, Next,
    Options, Outcome, Selection, Tally,
};

const NOW: Millis = 1_800_000_000_000;

fn open(dir: &Path) -> Frontier {
    let filter = FilterOptions { initial_capacity: 64, false_positive_rate: 0.2, ..FilterOptions::default() };
    let options = Options {
        partitions: 4,
        hot_cache_entries: 16,
        recent_bytes: 1 << 18,
        commit_interval: Duration::ZERO,
        filter,
        delay_ms: 0,
        retry_delay_ms: 1,
        max_attempts: 2,
        ..Options::new(dir)
    };
    Frontier::open(options, NOW, || {}).expect("opens")
}

fn offer(frontier: &Frontier, urls: &[String]) -> u64 {
    let url = |url: &String| FoundUrl::new(frontier.rules().parse(url).expect("a URL"), 0);
    let found = Found { urls: urls.iter().map(url).collect(), ..Found::default() };
    let discovered = frontier.offer(&found, None, NOW).expect("offers").discovered;
    frontier.commit().expect("commits");
    discovered
}

fn lease(frontier: &Frontier, now: &mut Millis) -> Option<Lease> {
    loop {
        match frontier.lease(*now).expect("leases") {
            Next::Lease(lease) => return Some(lease),
            Next::Wait { until: Some(until) } => *now = until,
            Next::Wait { until: None } => return None,
        }
    }
}

fn end(frontier: &Frontier, lease: Lease, outcome: Outcome, health: Health, now: Millis) {
    let host = Some(HostReport { ended: now, delay_ms: 0, health });
    let completion = Completion {
        outcome,
        host,
        tally: Tally::default(),
        visit: frontier::Visit::default(),
        found: &Found::default(),
    };
    frontier.complete(lease, &completion, now).expect("completes");
    frontier.commit().expect("commits");
}

/// Fetches so many, or all; gives their URLs.
fn fetch(frontier: &Frontier, most: usize) -> Vec<String> {
    let (mut now, mut urls) = (NOW, Vec::new());
    while urls.len() < most
        && let Some(lease) = lease(frontier, &mut now)
    {
        urls.push(lease.url().to_owned());
        end(frontier, lease, Outcome::Fetched { status: 200 }, Health::Answered, now);
    }
    urls
}

fn urls(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("https://h{}.test/{n}", n % 40)).collect()
}

/// The URL of a request that failed stayed in the duplicate filter, and was never asked for again.
#[test]
fn scrapy_redis_177_a_failed_url_does_not_stay_seen_for_ever() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path());
    let url = urls(1);
    offer(&frontier, &url);
    let (failed, failing) = (Outcome::Failed { code: -4, transient: true }, Health::Failing(BlockReason::Timeout));
    let mut now = NOW;
    for attempt in 1..=2 {
        let lease = lease(&frontier, &mut now).expect("is asked again by itself");
        assert_eq!(lease.attempt(), attempt);
        end(&frontier, lease, failed, failing, now);
    }
    assert!(lease(&frontier, &mut now).is_none(), "the limit of attempts");
    assert_eq!(offer(&frontier, &url), 0);
    let mut failed = Vec::new();
    let mut selection = Selection::everything();
    selection.status = Some(-4..=-4);
    let take = |url: &str| {
        failed.push(frontier.rules().parse(url).expect("a URL"));
        Ok(())
    };
    frontier.list(&selection, take).expect("lists");
    assert_eq!(frontier.forget(&failed).expect("forgets").forgotten, 1);
    assert_eq!(offer(&frontier, &url), 1, "it can be crawled again");
    assert_eq!(fetch(&frontier, 9), url);
}

/// With a Bloom filter alone, its false positives were URLs that nobody ever saw.
#[test]
fn scrapy_redis_56_a_filter_s_false_positives_drop_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path());
    let all = urls(4000);
    let discovered: u64 = all.chunks(50).map(|page| offer(&frontier, page)).sum();
    let books = frontier.statistics().expect("answers").books;
    assert_eq!(discovered, 4000);
    assert!(books.false_positives + books.filter_bypassed > 0, "the filter was wrong now and then");
    assert_eq!(fetch(&frontier, usize::MAX).into_iter().collect::<BTreeSet<_>>(), all.into_iter().collect());
}

/// After an unclean stop only one queue was there.
#[test]
fn url_frontier_163_every_queue_is_there_after_an_unclean_stop() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path());
    offer(&frontier, &urls(200));
    let first = fetch(&frontier, 10);
    drop(frontier);
    let frontier = open(dir.path());
    let statistics = frontier.statistics().expect("answers");
    assert_eq!((statistics.hosts, statistics.hosts_waiting, statistics.books.queued), (40, 40, 190));
    let hosts = |urls: &[String]| {
        urls.iter().map(|url| url.rsplit_once('/').expect("a path").0.to_owned()).collect::<BTreeSet<_>>()
    };
    let rest = fetch(&frontier, usize::MAX);
    assert_eq!((hosts(&rest).len(), rest.len()), (40, 190));
    assert!(first.iter().all(|url| !rest.contains(url)));
}

/// An instance that was killed could not go on.
#[test]
fn bubing_27_a_killed_instance_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let all = urls(120);
    offer(&open(dir.path()), &all);
    let mut done = Vec::new();
    for _ in 0..12 {
        let frontier = open(dir.path());
        done.extend(fetch(&frontier, 10));
        // One is in flight, and the process gone: neither closed nor told.
        let lost = lease(&frontier, &mut { NOW });
        drop((frontier, lost));
    }
    assert_eq!((done.len(), done.into_iter().collect::<BTreeSet<_>>()), (120, all.into_iter().collect()));
}

/// A power cut left the files of the job empty, and with them all that it knew.
#[test]
fn norconex_107_a_power_cut_leaves_no_empty_files() {
    // What a disk may do to what was written after the last sync: nothing of it is there, or zeros, or half a frame.
    for tail in [&b""[..], &[0; 4096], &[7; 100]] {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path());
        offer(&frontier, &urls(50));
        frontier.close().expect("closes");
        let frontier = open(dir.path());
        offer(&frontier, &urls(80));
        drop(frontier);
        let segments = fs::read_dir(dir.path().join("journal")).expect("is there");
        let last = segments.map(|entry| entry.expect("an entry").path()).max().expect("a segment");
        let whole = fs::read(&last).expect("reads");
        fs::write(&last, [&whole[..], tail].concat()).expect("writes");
        let frontier = open(dir.path());
        assert_eq!(frontier.statistics().expect("answers").books.queued, 80, "{} bytes more", tail.len());
        assert_eq!(fetch(&frontier, usize::MAX).len(), 80);
    }
}

/// A crawl that was resumed went through finished pages again.
#[test]
fn browsertrix_491_a_resumed_crawl_does_not_visit_finished_pages() {
    for crash in [true, false] {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path());
        offer(&frontier, &urls(60));
        let before = fetch(&frontier, 30);
        if crash {
            drop(frontier)
        } else {
            frontier.close().expect("closes")
        }
        let frontier = open(dir.path());
        assert_eq!(offer(&frontier, &urls(60)), 0, "found again, they are known");
        let after = fetch(&frontier, usize::MAX);
        assert_eq!((before.len(), after.len()), (30, 30));
        assert!(before.iter().all(|url| !after.contains(url)), "crash: {crash}");
    }
}

/// Delays and blocks of queues were kept in memory only.
#[test]
fn urlfrontier_delays_and_blocks_are_not_lost_on_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path());
    offer(&frontier, &urls(1));
    let held = lease(&frontier, &mut { NOW }).expect("is due");
    end(&frontier, held, Outcome::TryAgain { status: 503 }, Health::RetryAfter(BlockReason::Unavailable, 60_000), NOW);
    drop(frontier);
    let frontier = open(dir.path());
    let mut now = NOW;
    assert!(lease(&frontier, &mut now).is_some());
    assert_eq!(now, NOW + 60_000);
    let usage = frontier.usage(&frontier.rules().parse("https://h0.test/").expect("a URL")).expect("answers");
    assert_eq!(usage.blocked, Some((NOW + 60_000, BlockReason::Unavailable)));
}
