//! A merge cut anywhere: whatever part of it reached the store, after the next start every URL is there once.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::{
    Canonical, Completion, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport, Next, Options, Outcome,
    Priority, Tally,
};

fn options(dir: &Path) -> Options {
    Options {
        partitions: 1,
        hot_cache_entries: 16,
        // So much that nothing merges by itself.
        recent_bytes: 1 << 30,
        commit_interval: Duration::ZERO,
        filter: FilterOptions { false_positive_rate: 0.1, initial_capacity: 64, ..FilterOptions::default() },
        delay_ms: 1,
        retry_delay_ms: 1,
        max_retry_delay_ms: 1,
        ..Options::new(dir)
    }
}

fn open(dir: &Path, now: crate::Millis) -> Frontier {
    Frontier::open(options(dir), now, || {}).expect("opens")
}

fn url(n: u32) -> Canonical {
    Canonical::parse(&format!("https://{}.example.com/{n}", ["a", "b"][n as usize % 2])).expect("a URL")
}

fn found(numbers: std::ops::Range<u32>) -> Found {
    let urls = numbers.map(|n| FoundUrl::new(url(n), 0)).collect();
    Found { urls, ..Found::default() }
}

/// Leases and ends up to `limit` URLs at or after `now`; every third is told to come again.
fn crawl(frontier: &Frontier, now: &mut crate::Millis, limit: usize, retries: bool) -> Vec<String> {
    let mut finished = Vec::new();
    let mut idle = 0;
    let mut count = 0;
    while count < limit && idle < 50 {
        frontier.commit().expect("commits");
        let Next::Lease(lease) = frontier.lease(*now).expect("answers") else {
            *now += 1;
            idle += 1;
            continue;
        };
        (idle, count) = (0, count + 1);
        let again = retries && count % 3 == 0 && lease.attempt() == 1;
        let outcome = if again { Outcome::TryAgain { status: 503 } } else { Outcome::Fetched { status: 200 } };
        if !again {
            finished.push(lease.key().to_owned());
        }
        let report = HostReport { ended: *now, delay_ms: 1, health: Health::Answered };
        let none = Found::default();
        let completion = Completion {
            outcome,
            host: Some(report),
            tally: Tally::default(),
            visit: Default::default(),
            found: &none,
        };
        frontier.complete(lease, &completion, *now).expect("completes");
    }
    finished
}

/// `share`: how much of the second merge's writes reach the store, in quarters; five is all and the filter too.
fn check(share: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut now = 1000;
    let frontier = open(dir.path(), now);
    frontier.offer(&found(0..300), None, now).expect("offers");
    let mut finished = crawl(&frontier, &mut now, 90, true);
    merge(&frontier.shared, &frontier.shared.partitions[0], After::Reopen).expect("merges");
    finished.extend(crawl(&frontier, &mut now, 70, true));
    frontier.offer(&found(250..400), None, now).expect("offers");
    finished.extend(crawl(&frontier, &mut now, 50, true));
    // In flight while the merge is cut; and what happens during a merge is journaled after it.
    let Next::Lease(in_flight) = frontier.lease(now + 10).expect("answers") else { panic!("a host is due") };
    frontier.commit().expect("commits");
    {
        let partition = &frontier.shared.partitions[0];
        let mut checkpoint = partition.merging.lock();
        let snapshot = freeze(&frontier.shared, partition);
        finished.extend(crawl(&frontier, &mut now, 40, true));
        frontier.commit().expect("commits");
        let mut plan = plan(&snapshot, partition).expect("plans");
        let kept = plan.changes.len() * share.min(4) / 4;
        plan.changes.truncate(kept);
        partition.store.write(plan.changes).expect("writes");
        if share == 5 {
            checkpoint.write(snapshot.filter.as_ref().expect("there is one"), plan.covered.sequence).expect("writes");
        }
    }
    drop(in_flight);
    drop(frontier);

    let frontier = open(dir.path(), now);
    finished.extend(crawl(&frontier, &mut now, 100, true));
    merge(&frontier.shared, &frontier.shared.partitions[0], After::Reopen).expect("merges");
    finished.extend(crawl(&frontier, &mut now, 10_000, false));
    let distinct: BTreeSet<&String> = finished.iter().collect();
    assert_eq!(finished.len(), distinct.len(), "finished twice");
    assert_eq!(distinct.len(), 400, "lost");
    let statistics = frontier.statistics().expect("answers");
    assert_eq!(statistics.books.check(), Ok(()));
    assert_eq!((statistics.books.fetched, statistics.books.queued, statistics.hosts), (400, 0, 2));
    assert!((0..400).all(|n| frontier.seen(&url(n)).expect("answers")), "absent means absent");
    assert!(!frontier.seen(&url(400)).expect("answers"));
    frontier.close().expect("closes");
    let frontier = open(dir.path(), now);
    let statistics = frontier.statistics().expect("answers");
    assert_eq!((statistics.hosts, statistics.hosts_waiting), (2, 0), "a queue was counted twice");
}

#[test]
fn a_merge_cut_before_its_first_write() {
    check(0);
}

#[test]
fn a_merge_cut_in_its_writes() {
    (1..4).for_each(check);
}

#[test]
fn a_merge_cut_before_it_says_what_it_covers() {
    (4..6).for_each(check);
}

#[test]
fn a_filter_that_cannot_be_read_is_bypassed_and_rebuilt() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut now = 1000;
    let frontier = open(dir.path(), now);
    frontier.offer(&found(0..100), None, now).expect("offers");
    frontier.close().expect("closes");
    let (_, filter) = crate::directory::partition_dirs(dir.path(), 0);
    std::fs::write(filter.join("manifest"), "not a manifest").expect("writes");

    let frontier = open(dir.path(), now);
    let offered = frontier.offer(&found(50..150), None, now).expect("offers");
    assert_eq!(offered.discovered, 50, "maybe is never a yes, and absent is never said of what is there");
    assert_eq!(crawl(&frontier, &mut now, 1000, false).len(), 150);
    let rebuilt = || frontier.shared.partitions[0].state.lock().filter.is_some();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !rebuilt() {
        assert!(std::time::Instant::now() < deadline, "is rebuilt in the background");
        std::thread::yield_now();
    }
    assert_eq!(frontier.offer(&found(0..150), None, now).expect("offers").discovered, 0);
    assert_eq!(frontier.statistics().expect("answers").books.check(), Ok(()));
}

#[test]
fn a_host_that_left_memory_keeps_its_delay() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 0);
    frontier.offer(&found(0..1), None, 9000).expect("offers");
    frontier.commit().expect("commits");
    let Next::Lease(lease) = frontier.lease(20_000).expect("answers") else { panic!("a host is due") };
    let report = HostReport { ended: 20_000, delay_ms: 500, health: Health::Answered };
    let none = Found::default();
    let outcome = Outcome::Fetched { status: 200 };
    let completion =
        Completion { outcome, host: Some(report), tally: Tally::default(), visit: Default::default(), found: &none };
    frontier.complete(lease, &completion, 20_000).expect("completes");
    // Nothing is queued for it now: the merge lets it go.
    let partition = &frontier.shared.partitions[0];
    merge(&frontier.shared, partition, After::Reopen).expect("merges");
    assert_eq!(partition.state.lock().queues.ids().count(), 0);
    frontier.offer(&found(2..3), None, 20_001).expect("offers");
    frontier.commit().expect("commits");
    let early = frontier.lease(20_001).expect("answers");
    assert!(matches!(early, Next::Wait { until: Some(20_500) }), "{early:?}");
}

#[test]
fn a_better_class_goes_out_first_whenever_it_was_merged() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut now = 1000;
    let frontier = open(dir.path(), now);
    // All of one host; more than a block of each.
    let offer = |frontier: &Frontier, class: u64, numbers: std::ops::Range<u32>, now| {
        let classed = |n| FoundUrl { priority: Priority::new(class), ..FoundUrl::new(url(2 * n), 0) };
        let found = Found { urls: numbers.map(classed).collect(), ..Found::default() };
        frontier.offer(&found, None, now).expect("offers");
    };
    let merge = |frontier: &Frontier| {
        merge(&frontier.shared, &frontier.shared.partitions[0], After::Reopen).expect("merges");
    };
    let keys = |numbers: std::ops::Range<u32>| numbers.map(|n| url(2 * n).key().to_owned()).collect::<Vec<_>>();
    offer(&frontier, 4, 0..100, now);
    offer(&frontier, 7, 100..110, now);
    merge(&frontier);
    assert_eq!(crawl(&frontier, &mut now, 10, false), keys(0..10));
    // Now heads of class 4 wait.
    offer(&frontier, 2, 110..200, now);
    merge(&frontier);
    offer(&frontier, 0, 200..203, now);
    assert_eq!(crawl(&frontier, &mut now, 5, false), [keys(200..203), keys(110..112)].concat());
    // Behind those of its class that have waited longer, in the store as in memory.
    offer(&frontier, 4, 203..205, now);
    frontier.close().expect("closes");
    now += 1000;
    let frontier = open(dir.path(), now);
    let rest = [keys(112..200), keys(10..100), keys(203..205), keys(100..110)].concat();
    assert_eq!(crawl(&frontier, &mut now, 1000, false), rest);
}

fn block_files(dir: &Path) -> usize {
    std::fs::read_dir(crate::directory::blocks_dir(dir, 0)).expect("lists").count()
}

#[test]
fn the_space_of_finished_urls_comes_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut now = 1000;
    let frontier = open(dir.path(), now);
    let partition = &frontier.shared.partitions[0];
    let merge = || merge(&frontier.shared, partition, After::Reopen).expect("merges");
    frontier.offer(&found(0..400), None, now).expect("offers");
    merge();
    let bytes = |frontier: &Frontier| frontier.shared.partitions[0].store.block_bytes();
    let whole = bytes(&frontier);
    // Blocks are read 64 URLs at a time, of two hosts.
    assert_eq!(crawl(&frontier, &mut now, 300, false).len(), 300);
    merge();
    assert!(bytes(&frontier) < whole, "{} of {whole}", bytes(&frontier));
    assert_eq!(crawl(&frontier, &mut now, 1000, false).len(), 100);
    merge();
    assert_eq!((bytes(&frontier), block_files(dir.path())), (0, 0));
    // Forgotten ones never come to a lease.
    frontier.offer(&found(400..600), None, now).expect("offers");
    merge();
    assert_eq!(block_files(dir.path()), 1);
    frontier.forget(&(400..600).map(url).collect::<Vec<_>>()).expect("forgets");
    merge();
    assert_eq!((bytes(&frontier), block_files(dir.path())), (0, 0));
}

#[test]
fn a_block_read_in_parts_brings_each_url_once_and_its_space_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut now = 1000;
    let frontier = open(dir.path(), now);
    let partition = &frontier.shared.partitions[0];
    let merge = || merge(&frontier.shared, partition, After::Reopen).expect("merges");
    partition.state.lock().queues.hold_heads(0);
    frontier.offer(&found(0..200), None, now).expect("offers");
    merge();
    let mut finished = Vec::new();
    for share in [5, 1, 50, 3, 100] {
        // Some are given back on the way, and a merge comes between two parts.
        finished.extend(crawl(&frontier, &mut now, share, true));
        now += 10;
        frontier.commit().expect("commits");
        let Next::Lease(lease) = frontier.lease(now).expect("answers") else { panic!("a host is due") };
        assert!(partition.state.lock().queues.held.len() < 20, "a whole block is in memory");
        frontier.give_back(lease, None, Tally::default()).expect("gives back");
        merge();
    }
    finished.extend(crawl(&frontier, &mut now, 1000, false));
    let distinct: BTreeSet<&String> = finished.iter().collect();
    assert_eq!((finished.len(), distinct.len()), (200, 200));
    merge();
    assert_eq!((partition.store.block_bytes(), block_files(dir.path())), (0, 0));
}

/// Else, after a restart, nothing would lead back to it.
#[test]
fn a_block_whose_last_url_was_given_back_is_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut now = 1000;
    let options = Options { connections_per_host: 2, ..options(dir.path()) };
    let frontier = Frontier::open(options, now, || {}).expect("opens");
    let partition = &frontier.shared.partitions[0];
    let merge = || merge(&frontier.shared, partition, After::Reopen).expect("merges");
    let urls = [0, 2, 4].map(|n| FoundUrl::new(url(n), 0)).into();
    frontier.offer(&Found { urls, ..Found::default() }, None, now).expect("offers");
    frontier.commit().expect("commits");
    now += 10;
    // In flight while a merge writes it to a block, and while that block is read for the others.
    let Next::Lease(lease) = frontier.lease(now).expect("answers") else { panic!("a host is due") };
    merge();
    assert_eq!(crawl(&frontier, &mut now, 2, false).len(), 2);
    merge();
    frontier.give_back(lease, None, Tally::default()).expect("gives back");
    merge();
    assert_eq!(block_files(dir.path()), 1);
    drop(frontier);
    let frontier = open(dir.path(), now);
    assert_eq!(crawl(&frontier, &mut now, 10, false).len(), 1);
    frontier.close().expect("closes");
    assert_eq!(block_files(dir.path()), 0);
}
