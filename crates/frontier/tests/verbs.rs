//! Single verbs of the frontier, each test by the name of what broke or must not break.

use std::path::Path;
use std::time::Duration;

use frontier::{
    Canonical, Completion, Found, FoundUrl, Frontier, Health, HostReport, Lease, Millis, Next, Options, Outcome, Tally,
};

const DELAY_MS: u64 = 100;

fn open(dir: &Path, connections: u32, now: Millis) -> Frontier {
    open_with(dir, connections, now, 1 << 24)
}

fn open_with(dir: &Path, connections: u32, now: Millis, recent_bytes: u64) -> Frontier {
    let options = Options {
        dir: dir.to_owned(),
        partitions: 2,
        hot_cache_entries: 64,
        recent_bytes,
        commit_interval: Duration::ZERO,
        journal_max_bytes: 1 << 24,
        false_positive_rate: 0.01,
        filter_initial_capacity: 100,
        filter_growth_factor: 2.0,
        filter_max_layers: 3,
        filter_rebuild_cpu_share: 1.0,
        store_cache_bytes: 1 << 20,
        connections_per_host: connections,
        delay_ms: DELAY_MS,
        max_attempts: 3,
        retry_delay_ms: 1000,
        max_retry_delay_ms: 4000,
    };
    Frontier::open(options, now, || {}).expect("opens")
}

fn offer(frontier: &Frontier, urls: &[&str], now: Millis) {
    let url = |url: &&str| FoundUrl { canonical: Canonical::parse(url).expect("a URL"), depth: 0 };
    let found = Found { urls: urls.iter().map(url).collect(), ..Found::default() };
    frontier.offer(&found, None, now).expect("offers");
    frontier.commit().expect("commits");
}

fn lease(frontier: &Frontier, now: Millis) -> Result<Lease, Option<Millis>> {
    match frontier.lease(now).expect("answers") {
        Next::Lease(lease) => Ok(lease),
        Next::Wait { until } => Err(until),
    }
}

fn end(frontier: &Frontier, lease: Lease, outcome: Outcome, health: Option<Health>, now: Millis) {
    let host = health.map(|health| HostReport { ended: now, delay_ms: DELAY_MS, health });
    let completion = Completion { outcome, host, tally: Tally::default(), found: &Found::default() };
    frontier.complete(lease, &completion, now).expect("completes");
}

const FETCHED: Outcome = Outcome::Fetched { status: 200 };

#[test]
fn a_url_is_not_leased_before_it_is_durable() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1, 0);
    offer(&frontier, &["https://a.com/"], 0);
    assert_eq!(lease(&frontier, 0).expect("is durable").url(), "https://a.com/");
}

#[test]
fn a_lease_without_a_request_does_not_shorten_the_gap_after_another_connection() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 2, 0);
    offer(&frontier, &["https://a.com/1", "https://a.com/2", "https://a.com/3"], 0);
    let first = lease(&frontier, 0).expect("is due");
    let second = lease(&frontier, DELAY_MS).expect("starts are a delay apart");
    end(&frontier, first, FETCHED, Some(Health::Answered), DELAY_MS + 50);
    end(&frontier, second, Outcome::RobotsDenied, None, DELAY_MS + 60);
    assert_eq!(
        lease(&frontier, DELAY_MS + 61).err(),
        Some(Some(2 * DELAY_MS + 50)),
        "a delay after the response's end"
    );
}

#[test]
fn a_lease_without_a_request_does_not_hide_a_response_that_ended_before_it_began() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 2, 0);
    offer(&frontier, &["https://a.com/1", "https://a.com/2", "https://a.com/3"], 0);
    let first = lease(&frontier, 0).expect("is due");
    let second = lease(&frontier, DELAY_MS).expect("starts are a delay apart");
    end(&frontier, first, FETCHED, Some(Health::Answered), DELAY_MS - 10);
    end(&frontier, second, Outcome::RobotsDenied, None, DELAY_MS + 1);
    assert_eq!(lease(&frontier, DELAY_MS + 1).err(), Some(Some(2 * DELAY_MS - 10)));
}

#[test]
fn a_lease_without_a_request_does_not_use_up_the_slot() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 2, 0);
    offer(&frontier, &["https://a.com/1", "https://a.com/2"], 0);
    let denied = lease(&frontier, 0).expect("is due");
    end(&frontier, denied, Outcome::RobotsDenied, None, 1);
    assert!(lease(&frontier, 1).is_ok());
}

#[test]
fn an_offer_of_nothing_but_refusals_is_counted() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1, 0);
    let found = Found { invalid: 2, out_of_scope: 3, ..Found::default() };
    frontier.offer(&found, None, 0).expect("offers");
    let books = frontier.statistics().expect("answers").books;
    assert_eq!((books.urls_found, books.invalid, books.out_of_scope), (5, 2, 3));
    assert_eq!(books.check(), Ok(()));
}

#[test]
fn a_failing_host_is_left_alone_longer_each_time_and_recovers_step_by_step() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1, 0);
    let urls: Vec<String> = (0..8).map(|n| format!("https://a.com/{n}")).collect();
    offer(&frontier, &urls.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    let failed = Outcome::Failed { code: -2, transient: false };
    let mut now = 0;
    for (health, wait) in [
        (Health::Failing, 1000),
        (Health::Failing, 2000),
        (Health::RetryAfter(1500), 1500),
        (Health::RetryAfter(1_000_000), 4000),
        (Health::Answered, DELAY_MS),
        (Health::Failing, 4000),
    ] {
        let lease = lease(&frontier, now).expect("is due");
        end(&frontier, lease, failed, Some(health), now);
        assert_eq!(self::lease(&frontier, now + wait - 1).err(), Some(Some(now + wait)), "{health:?}");
        now += wait;
    }
}

#[test]
fn after_a_restart_each_host_first_waits_its_own_full_delay() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1, 0);
    offer(&frontier, &["https://a.com/1", "https://a.com/2", "https://b.org/1"], 0);
    let lease_a = lease(&frontier, 0).expect("is due");
    let host = HostReport { ended: 10, delay_ms: 700, health: Health::Answered };
    let completion =
        Completion { outcome: FETCHED, host: Some(host), tally: Tally::default(), found: &Found::default() };
    let (slow, fast) = if lease_a.host() == "a.com" { ("a.com", "b.org") } else { ("b.org", "a.com") };
    frontier.complete(lease_a, &completion, 10).expect("completes");
    frontier.commit().expect("commits");
    drop(frontier);

    let frontier = open(dir.path(), 1, 5000);
    assert_eq!(lease(&frontier, 5000).err(), Some(Some(5000 + DELAY_MS)));
    let first = lease(&frontier, 5000 + DELAY_MS).expect("is due");
    assert_eq!(first.host(), fast);
    if slow == "a.com" {
        assert_eq!(lease(&frontier, 5699).err(), Some(Some(5700)));
        assert_eq!(lease(&frontier, 5700).expect("is due").host(), slow);
    }
}

#[test]
fn a_page_that_kills_the_process_is_known_by_its_count() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut now = 0;
    for crashes in 0..3 {
        let frontier = open(dir.path(), 1, now);
        offer(&frontier, &["https://a.com/"], now);
        now += DELAY_MS;
        let lease = lease(&frontier, now).expect("is due");
        assert_eq!((lease.unfinished(), lease.attempt()), (crashes, 1));
        frontier.commit().expect("commits");
        std::mem::forget(lease);
        drop(frontier);
    }
}

#[test]
fn an_offer_after_a_replay_that_filled_memory_gets_its_merge() {
    let dir = tempfile::tempdir().expect("a directory");
    let urls: Vec<String> = (0..500).map(|n| format!("https://a.com/{n}")).collect();
    let frontier = open(dir.path(), 1, 0);
    offer(&frontier, &urls.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    drop(frontier);
    // What was replayed is far above the share that this run allows.
    let frontier = open_with(dir.path(), 1, 1000, 10_000);
    offer(&frontier, &["https://a.com/new"], 1000);
    assert_eq!(frontier.statistics().expect("answers").books.discovered, 501);
}
