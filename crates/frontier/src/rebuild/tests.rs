//! When filters are made anew, and what they hold then.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::{
    Canonical, Completion, FilterKind, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport, Next, Options,
    Outcome, Tally,
};

fn open(dir: &Path, filter: FilterOptions) -> Frontier {
    let options = Options {
        partitions: 1,
        hot_cache_entries: 16,
        recent_bytes: 1 << 30,
        commit_interval: Duration::ZERO,
        filter,
        ..Options::new(dir)
    };
    Frontier::open(options, 1000, || {}).expect("opens")
}

fn filter(kind: FilterKind) -> FilterOptions {
    FilterOptions { kind, initial_capacity: 100, rebuild_cpu_share: 1.0, ..FilterOptions::default() }
}

fn urls(range: std::ops::Range<u32>) -> Vec<Canonical> {
    range.map(|n| Canonical::parse(&format!("https://example.com/{n}")).expect("a URL")).collect()
}

fn offer(frontier: &Frontier, range: std::ops::Range<u32>) -> u64 {
    let urls = urls(range).into_iter().map(|canonical| FoundUrl::new(canonical, 0)).collect();
    frontier.offer(&Found { urls, ..Found::default() }, None, 1000).expect("offers").discovered
}

/// Waits until the background work has made the filter anew so many times.
fn wait_for_rebuilds(frontier: &Frontier, rebuilds: u64) {
    for _ in 0..3000 {
        if frontier.statistics().expect("answers").filter_rebuilds >= rebuilds {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no rebuild within 30 s");
}

/// Layers of the one filter, keys in it, and its bits per key.
fn shape(frontier: &Frontier) -> (usize, u64, f64) {
    let state = frontier.shared.partitions[0].state.lock();
    let filter = state.filter.as_ref().expect("a filter");
    (filter.layer_count(), filter.len(), filter.bytes() as f64 * 8.0 / filter.len() as f64)
}

fn all_seen(frontier: &Frontier, range: std::ops::Range<u32>, seen: bool) {
    for url in urls(range) {
        assert_eq!(frontier.seen(&url).expect("answers"), seen, "{}", url.key());
    }
}

#[test]
fn too_many_layers_become_one_right_sized() {
    for kind in FilterKind::ALL {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path(), filter(kind));
        // A merge that does not end: no rebuild can begin before all are in.
        let merging = frontier.shared.partitions[0].merging.lock();
        offer(&frontier, 0..20_000);
        drop(merging);
        wait_for_rebuilds(&frontier, 1);
        let (layers, keys, bits_per_key) = shape(&frontier);
        // A plain filter is not given a key to which it says maybe already.
        assert!(layers == 1 && (19_900..=20_000).contains(&keys), "{kind:?}: {layers} layers, {keys} keys");
        let most = [12.5, 50.0, 21.0][FilterKind::ALL.iter().position(|k| *k == kind).expect("is one")];
        assert!(bits_per_key <= most, "{kind:?}: {bits_per_key}");
        all_seen(&frontier, 0..20_000, true);
    }
}

#[test]
fn a_rebuild_is_done_before_a_layer_too_many_opens() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), filter(FilterKind::ScalableBloom));
    // Layers of 100, 200 and 400.
    offer(&frontier, 0..640);
    assert_eq!((shape(&frontier).0, frontier.statistics().expect("answers").filter_rebuilds), (3, 0));
    offer(&frontier, 640..660);
    wait_for_rebuilds(&frontier, 1);
    assert_eq!(shape(&frontier).0, 1);
    all_seen(&frontier, 0..660, true);
}

#[test]
fn a_filter_never_has_more_than_one_layer_too_many() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), FilterOptions { max_layers: 2, ..filter(FilterKind::ScalableBloom) });
    // A merge that does not end: no rebuild can begin.
    let merging = frontier.shared.partitions[0].merging.lock();
    offer(&frontier, 0..20_000);
    let (layers, keys, _) = shape(&frontier);
    assert_eq!((layers, keys), (3, 20_000));
    assert!(frontier.shared.partitions[0].state.lock().filter.as_ref().is_some_and(|filter| filter.overload() > 0));
    drop(merging);
    wait_for_rebuilds(&frontier, 1);
    assert_eq!(shape(&frontier).0, 1);
}

#[test]
fn what_is_forgotten_is_stale_until_the_share_that_is_allowed_is_passed() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), FilterOptions { initial_capacity: 5000, ..filter(FilterKind::ScalableBloom) });
    offer(&frontier, 0..2000);
    assert_eq!(frontier.forget(&urls(0..150)).expect("forgets").forgotten, 150);
    let statistics = frontier.statistics().expect("answers");
    assert_eq!((statistics.filter_stale_keys, statistics.filter_rebuilds), (150, 0));
    all_seen(&frontier, 0..150, false);
    assert_eq!(offer(&frontier, 0..50), 50, "they are new again");
    let statistics = frontier.statistics().expect("answers");
    assert_eq!((statistics.books.stale_positives, statistics.filter_stale_keys), (50, 100));
    assert_eq!(frontier.forget(&urls(200..350)).expect("forgets").forgotten, 150);
    wait_for_rebuilds(&frontier, 1);
    let statistics = frontier.statistics().expect("answers");
    assert!(statistics.filter_stale_keys < 20, "only false positives: {}", statistics.filter_stale_keys);
    assert!((1740..=1750).contains(&shape(&frontier).1));
    assert_eq!(statistics.books.check(), Ok(()));
}

#[test]
fn notes_of_forgotten_urls_survive_merges_and_go_with_a_rebuild() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), FilterOptions { initial_capacity: 5000, ..filter(FilterKind::ScalableBloom) });
    offer(&frontier, 0..500);
    frontier.forget(&urls(0..50)).expect("forgets");
    frontier.close().expect("closes");

    let frontier = open(dir.path(), FilterOptions { initial_capacity: 5000, ..filter(FilterKind::ScalableBloom) });
    assert_eq!(frontier.statistics().expect("answers").filter_stale_keys, 50);
    assert_eq!(offer(&frontier, 0..10), 10);
    let statistics = frontier.statistics().expect("answers");
    assert_eq!((statistics.books.stale_positives, statistics.filter_stale_keys), (10, 40));
    frontier.rebuild_filters();
    wait_for_rebuilds(&frontier, 1);
    let mut notes = 0;
    frontier.shared.partitions[0].store.scan(|_, held| notes += u32::from(held == Held::Forgotten)).expect("scans");
    assert_eq!(notes, 0);
    all_seen(&frontier, 10..50, false);
    all_seen(&frontier, 0..10, true);
}

#[test]
fn the_kinds_that_can_delete_forget_at_once() {
    for kind in [FilterKind::ScalableCounting, FilterKind::ScalableCuckoo] {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path(), FilterOptions { initial_capacity: 5000, ..filter(kind) });
        offer(&frontier, 0..2000);
        frontier.forget(&urls(0..1000)).expect("forgets");
        let statistics = frontier.statistics().expect("answers");
        assert!(statistics.filter_stale_keys < 20, "{kind:?}: {}", statistics.filter_stale_keys);
        assert_eq!(statistics.filter_rebuilds, 0);
        all_seen(&frontier, 1000..2000, true);
        assert_eq!(offer(&frontier, 0..1000), 1000);
        assert!(frontier.statistics().expect("answers").books.stale_positives < 20, "{kind:?}");
        // Removed once, and once again at the replay of a crash: no other key may suffer.
        drop(frontier);
        let frontier = open(dir.path(), FilterOptions { initial_capacity: 5000, ..filter(kind) });
        all_seen(&frontier, 0..2000, true);
        assert!(frontier.audit().expect("answers").iter().all(|check| check.verdict < crate::Verdict::Fail));
    }
}

#[test]
fn another_kind_in_the_config_takes_the_place_of_the_old_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), filter(FilterKind::ScalableBloom));
    offer(&frontier, 0..300);
    frontier.close().expect("closes");
    let frontier = open(dir.path(), filter(FilterKind::ScalableCuckoo));
    wait_for_rebuilds(&frontier, 1);
    all_seen(&frontier, 0..300, true);
    frontier.forget(&urls(0..100)).expect("forgets");
    assert!(frontier.statistics().expect("answers").filter_stale_keys < 10);
    frontier.close().expect("closes");
    let frontier = open(dir.path(), filter(FilterKind::ScalableCuckoo));
    assert_eq!(frontier.shared.partitions[0].state.lock().filter.as_ref().map(AnyScalable::kind), Some(Kind::Cuckoo));
    all_seen(&frontier, 100..300, true);
}

#[test]
fn where_memory_is_bounded_the_rate_gives_way_and_no_url_does() {
    let dir = tempfile::tempdir().expect("a directory");
    let bounded = FilterOptions { max_bytes: 1 << 14, ..filter(FilterKind::ScalableBloom) };
    let frontier = open(dir.path(), bounded);
    offer(&frontier, 0..20_000);
    wait_for_rebuilds(&frontier, 1);
    let (bytes, waived) = {
        let state = frontier.shared.partitions[0].state.lock();
        let filter = state.filter.as_ref().expect("a filter");
        (filter.bytes(), filter.waived())
    };
    assert!(bytes <= 1 << 14 && waived, "{bytes}");
    all_seen(&frontier, 0..20_000, true);
    let checks = frontier.audit().expect("answers");
    for name in ["sized from items and rate", "the rate is measured"] {
        let check = checks.iter().find(|check| check.name == name).expect("is among the checks");
        assert_eq!(check.verdict, crate::Verdict::Warn, "{}", check.evidence);
        assert!(check.evidence.contains("filter.max_bytes"), "{}", check.evidence);
    }
    frontier.close().expect("closes");
    // Its layers are used again, by a crawl as well as for questions.
    let frontier = open(dir.path(), bounded);
    assert!(frontier.shared.partitions[0].state.lock().filter.is_some());
    drop(frontier);
    let frontier = Frontier::open_existing(dir.path(), None, 1000).expect("opens");
    assert!(frontier.shared.partitions[0].state.lock().filter.is_some());
}

/// Leases and completes all of the first so many URLs.
fn crawl(frontier: &Frontier, mut count: u32) {
    let mut now = 1000;
    while count > 0 {
        frontier.commit().expect("commits");
        now += 1000;
        let Next::Lease(lease) = frontier.lease(now).expect("answers") else { continue };
        let host = Some(HostReport { ended: now, delay_ms: 0, health: Health::Answered });
        let outcome = Outcome::Fetched { status: 200 };
        let completion =
            Completion { outcome, host, tally: Tally::default(), visit: Default::default(), found: &Found::default() };
        frontier.complete(lease, &completion, now).expect("completes");
        count -= 1;
    }
}

#[test]
fn a_rebuild_takes_in_a_url_that_store_and_memory_hold_once() {
    for kind in [FilterKind::ScalableCounting, FilterKind::ScalableCuckoo] {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path(), filter(kind));
        offer(&frontier, 0..50);
        frontier.close().expect("closes");
        let frontier = open(dir.path(), filter(kind));
        crawl(&frontier, 40);
        frontier.rebuild_filters();
        wait_for_rebuilds(&frontier, 1);
        assert_eq!(shape(&frontier).1, 50, "{kind:?}");
        frontier.forget(&urls(0..50)).expect("forgets");
        assert!(frontier.statistics().expect("answers").filter_stale_keys < 5, "{kind:?}");
    }
}

#[test]
fn what_one_rebuild_leaves_stale_calls_for_no_other() {
    let dir = tempfile::tempdir().expect("a directory");
    // At this rate hundreds of the forgotten keys stay as false positives, whatever the secret is.
    let leaky = FilterOptions { false_positive_rate: 0.05, ..filter(FilterKind::ScalableBloom) };
    let greedy = FilterOptions { max_stale_share: 0.001, ..leaky };
    let frontier = open(dir.path(), greedy);
    offer(&frontier, 0..60_000);
    frontier.forget(&urls(0..50_000)).expect("forgets");
    for _ in 0..3000 {
        let state = frontier.shared.partitions[0].state.lock();
        if reason(&state, &frontier.shared.filtering).is_none() {
            // More than that many are false positives and stay so.
            assert!(state.stale_keys > MIN_STALE_KEYS, "{}: the test misses its point", state.stale_keys);
            return;
        }
        drop(state);
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it is rebuilt for ever");
}

#[test]
fn a_rebuild_is_given_up_when_the_frontier_closes() {
    let dir = tempfile::tempdir().expect("a directory");
    let slow = FilterOptions { rebuild_cpu_share: 0.01, initial_capacity: 100_000, ..FilterOptions::default() };
    let frontier = open(dir.path(), slow);
    offer(&frontier, 0..50_000);
    frontier.close().expect("closes");
    let frontier = open(dir.path(), slow);
    frontier.rebuild_filters();
    let shared = std::sync::Arc::clone(&frontier.shared);
    while shared.partitions[0].state.lock().rebuild_asked {
        std::thread::yield_now();
    }
    frontier.close().expect("closes");
    assert_eq!(shared.work_done()[1], 0, "at a hundredth of a core it would have taken ten seconds more");
    drop(shared);
    all_seen(&open(dir.path(), slow), 49_000..50_000, true);
}

#[test]
fn filters_of_other_partitions_are_not_taken_for_ones_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = || Options { partitions: 2, ..Options::new(dir.path()) };
    let url = |n: u32| Canonical::parse(&format!("https://site-{n}.com/")).expect("a URL");
    let frontier = Frontier::open(options(), 1000, || {}).expect("opens");
    let urls = (0..200).map(|n| FoundUrl::new(url(n), 0)).collect();
    frontier.offer(&Found { urls, ..Found::default() }, None, 1000).expect("offers");
    frontier.close().expect("closes");
    let [(_, first), (_, second)] = [0, 1].map(|number| crate::directory::partition_dirs(dir.path(), number));
    let aside = dir.path().join("aside");
    for (from, to) in [(&first, &aside), (&second, &first), (&aside, &second)] {
        std::fs::rename(from, to).expect("renames");
    }
    let frontier = Frontier::open(options(), 1000, || {}).expect("opens");
    assert!((0..200).all(|n| frontier.seen(&url(n)).expect("answers")));
}
