//! Single verbs of the frontier, each test by the name of what broke or must not break.

use std::path::Path;
use std::time::Duration;

use frontier::{
    BlockReason, Canonical, Completion, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport, Lease, Millis,
    Next, Options, Outcome, Tally,
};

const DELAY_MS: u64 = 100;

fn open(dir: &Path, connections: u32, now: Millis) -> Frontier {
    open_with(dir, connections, now, 1 << 24)
}

fn open_with(dir: &Path, connections: u32, now: Millis, recent_bytes: u64) -> Frontier {
    let filter = FilterOptions { initial_capacity: 100, rebuild_cpu_share: 1.0, ..FilterOptions::default() };
    let options = Options {
        partitions: 2,
        hot_cache_entries: 64,
        recent_bytes,
        commit_interval: Duration::ZERO,
        filter,
        connections_per_host: connections,
        delay_ms: DELAY_MS,
        retry_delay_ms: 1000,
        max_retry_delay_ms: 4000,
        ..Options::new(dir)
    };
    Frontier::open(options, now, || {}).expect("opens")
}

fn offer(frontier: &Frontier, urls: &[&str], now: Millis) {
    let url = |url: &&str| FoundUrl::new(Canonical::parse(url).expect("a URL"), 0);
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
    let completion =
        Completion { outcome, host, tally: Tally::default(), visit: Default::default(), found: &Found::default() };
    frontier.complete(lease, &completion, now).expect("completes");
}

const FETCHED: Outcome = Outcome::Fetched { status: 200 };
const FAILING: Health = Health::Failing(BlockReason::ConnectFailed);

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
    let urls: Vec<String> = (0..12).map(|n| format!("https://a.com/{n}")).collect();
    offer(&frontier, &urls.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    let failed = Outcome::Failed { code: -2, transient: false };
    let mut now = 0;
    for (health, wait) in [
        (FAILING, 1000),
        (FAILING, 2000),
        (Health::RetryAfter(BlockReason::Unavailable, 1500), 1500),
        (Health::RetryAfter(BlockReason::Unavailable, 1_000_000), 4000),
        (Health::Answered, 4 * DELAY_MS),
        (FAILING, 4000),
        (Health::Answered, 4 * DELAY_MS),
        (Health::Answered, 2 * DELAY_MS),
        (Health::Answered, DELAY_MS),
        (Health::Answered, DELAY_MS),
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
    let completion = Completion {
        outcome: FETCHED,
        host: Some(host),
        tally: Tally::default(),
        visit: Default::default(),
        found: &Found::default(),
    };
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

#[test]
fn a_host_of_which_a_queued_url_is_forgotten_is_still_asked_for_the_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1, 0);
    offer(&frontier, &["https://a.com/1", "https://a.com/2"], 0);
    frontier.close().expect("closes");
    // The host is on disk only.
    let frontier = open(dir.path(), 1, 0);
    let forgotten = frontier.forget(&[Canonical::parse("https://a.com/1").expect("a URL")]).expect("forgets");
    assert_eq!((forgotten.forgotten, forgotten.in_flight), (1, 0));
    frontier.commit().expect("commits");
    assert_eq!(lease(&frontier, DELAY_MS).expect("is due").url(), "https://a.com/2");
}

/// URLFrontier's README: delays and blocks are lost when it is restarted.
#[test]
fn delays_and_blocks_outlive_a_restart_and_a_crash() {
    for crash in [true, false] {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path(), 1, 0);
        offer(&frontier, &["https://a.com/1", "https://a.com/2"], 0);
        let lease_a = lease(&frontier, 0).expect("is due");
        end(&frontier, lease_a, FETCHED, Some(Health::RetryAfter(BlockReason::Unavailable, 4000)), 0);
        frontier.commit().expect("commits");
        if crash {
            drop(frontier);
        } else {
            frontier.close().expect("closes");
        }
        let frontier = open(dir.path(), 1, 500);
        let mut now = 500;
        while let Err(until) = lease(&frontier, now) {
            now = until.expect("due some time");
        }
        assert_eq!(now, 4000, "crash: {crash}");
    }
}

#[test]
fn a_reason_may_have_a_limit_of_attempts_of_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let limits = [(BlockReason::Timeout, 1), (BlockReason::Unavailable, 2)];
    let options = Options {
        commit_interval: Duration::ZERO,
        delay_ms: 0,
        retry_delay_ms: 1,
        max_retry_delay_ms: 1,
        max_attempts: 3,
        max_attempts_by_reason: limits.into_iter().collect(),
        ..Options::new(dir.path())
    };
    let frontier = Frontier::open(options, 0, || {}).expect("opens");
    let mut now = 0;
    for (reason, attempts) in
        [(BlockReason::Timeout, 1), (BlockReason::Unavailable, 2), (BlockReason::ConnectFailed, 3)]
    {
        offer(&frontier, &[&format!("https://a.com/{}", reason.name())], now);
        for attempt in 1..=attempts {
            now += 2 * DELAY_MS;
            let lease = lease(&frontier, now).expect("is due");
            assert_eq!(lease.attempt(), attempt, "{reason:?}");
            let outcome = Outcome::Failed { code: -4, transient: true };
            end(&frontier, lease, outcome, Some(Health::Failing(reason)), now);
            frontier.commit().expect("commits");
        }
        let books = frontier.statistics().expect("answers").books;
        assert_eq!((books.queued, books.check()), (0, Ok(())), "{reason:?}");
    }
    assert_eq!(frontier.statistics().expect("answers").books.failed, 3);
}

#[test]
fn a_booked_request_takes_a_turn_of_its_host() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1, 0);
    let robots = Canonical::parse("https://a.com/robots.txt").expect("a URL");
    offer(&frontier, &["https://a.com/1", "https://a.com/2"], 0);
    let first = lease(&frontier, 0).expect("is due");
    assert_eq!(frontier.book(&robots, None, 10).expect("books"), 10 + DELAY_MS, "a response is under way");
    end(&frontier, first, FETCHED, Some(Health::Answered), 50);
    assert_eq!(lease(&frontier, 150).err(), Some(Some(10 + 2 * DELAY_MS)), "the booked turn is kept free");
    // The response ended later than was thought, but the booked turn still has its delay before it only from 150 on.
    let at = frontier.book(&robots, Some(10 + DELAY_MS), 10 + DELAY_MS).expect("books");
    assert_eq!(at, 150);
    assert_eq!(frontier.book(&robots, Some(150), 150).expect("books"), 150, "now it stands");
    frontier.report(&robots, &HostReport { ended: 170, delay_ms: DELAY_MS, health: FAILING }).expect("reports");
    assert_eq!(lease(&frontier, 1169).err(), Some(Some(1170)), "and how it ended counts");
    assert!(lease(&frontier, 1170).is_ok());
}

#[test]
fn booking_keeps_what_a_host_on_disk_remembers() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1, 0);
    offer(&frontier, &["https://a.com/1", "https://a.com/2"], 0);
    let lease_a = lease(&frontier, 0).expect("is due");
    end(&frontier, lease_a, FETCHED, Some(FAILING), 0);
    frontier.close().expect("closes");
    let frontier = open(dir.path(), 1, 10);
    let robots = Canonical::parse("https://a.com/robots.txt").expect("a URL");
    assert_eq!(frontier.book(&robots, None, 10).expect("books"), 1000, "it is still blocked");
}

fn offer_at(frontier: &Frontier, url: &str, depth: u16) {
    let found = Found { urls: vec![FoundUrl::new(Canonical::parse(url).expect("a URL"), depth)], ..Found::default() };
    frontier.offer(&found, None, 0).expect("offers");
    frontier.commit().expect("commits");
}

#[test]
fn a_nearer_finding_of_an_unfinished_url_lowers_its_depth() {
    // In memory, in the store, at the head of its queue; each time known to the hot cache, and not.
    for (restart, head, again) in
        [(false, false, false), (true, false, false), (true, false, true), (true, true, false), (false, true, true)]
    {
        let dir = tempfile::tempdir().expect("a directory");
        let mut frontier = open(dir.path(), 1, 0);
        let (first, url) = ("https://a.com/first", "https://a.com/x?");
        offer_at(&frontier, first, 0);
        offer_at(&frontier, url, 9);
        let mut now = DELAY_MS;
        if restart {
            frontier.close().expect("closes");
            frontier = open(dir.path(), 1, now);
            now += DELAY_MS;
        }
        if head {
            let lease = lease(&frontier, now).expect("is due");
            assert_eq!(lease.url(), first);
            frontier.give_back(lease, None, Tally::default()).expect("gives back");
        }
        if again {
            offer_at(&frontier, url, 9);
            offer_at(&frontier, url, 12);
        }
        offer_at(&frontier, url, 4);
        offer_at(&frontier, url, 6);
        drop(frontier);
        // By its journal alone.
        frontier = open(dir.path(), 1, now);
        now += DELAY_MS;
        let of_first = lease(&frontier, now).expect("is due");
        end(&frontier, of_first, FETCHED, Some(Health::Answered), now);
        now += DELAY_MS;
        let lease = lease(&frontier, now).expect("is due");
        assert_eq!((lease.url(), lease.depth()), (url, 4), "{restart} {head} {again}");
        offer_at(&frontier, url, 1);
        assert_eq!(lease.depth(), 4, "what is in flight stays");
        end(&frontier, lease, FETCHED, Some(Health::Answered), now);
        offer_at(&frontier, url, 0);
        let books = frontier.statistics().expect("answers").books;
        assert_eq!((books.discovered, books.fetched, books.queued, books.check()), (2, 2, 0, Ok(())));
    }
}

#[test]
fn a_host_on_disk_that_is_touched_without_being_leased_still_comes_to_its_turn() {
    let touches: [fn(&Frontier); 3] = [
        |frontier| {
            let url = Canonical::parse("https://a.com/1").expect("a URL");
            assert_eq!(frontier.forget(&[url]).expect("forgets").forgotten, 1);
        },
        |frontier| offer_at(frontier, "https://a.com/1", 0),
        |frontier| {
            let robots = Canonical::parse("https://a.com/robots.txt").expect("a URL");
            frontier.book(&robots, None, 0).expect("books");
        },
    ];
    for touch in touches {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path(), 1, 0);
        offer_at(&frontier, "https://a.com/1", 5);
        offer_at(&frontier, "https://a.com/2", 5);
        frontier.close().expect("closes");
        let frontier = open(dir.path(), 1, 0);
        touch(&frontier);
        frontier.commit().expect("commits");
        assert!(lease(&frontier, 10 * DELAY_MS).is_ok());
    }
}

#[test]
fn a_lease_says_which_level_of_a_sitemap_it_is_after_a_crash_a_merge_and_an_import() {
    let levels = |frontier: &Frontier, now: Millis| -> Vec<(String, u8, u8)> {
        let mut leased: Vec<Lease> = Vec::new();
        for at in 0..3 {
            frontier.commit().expect("commits");
            leased.push(lease(frontier, now + 1000 * (at + 1)).expect("is due"));
        }
        leased.iter().map(|lease| (lease.url().to_owned(), lease.sitemap_level(), lease.attempt() as u8)).collect()
    };
    let url = |path: &str, sitemap_level| {
        let canonical = Canonical::parse(&format!("https://a.com/{path}")).expect("a URL");
        FoundUrl { sitemap_level, priority: frontier::Priority::FIRST, ..FoundUrl::new(canonical, 60_000) }
    };
    let urls = vec![url("page", 0), url("map", 1), url("deepest", 255)];
    let expected = [("https://a.com/page", 0), ("https://a.com/map", 1), ("https://a.com/deepest", 15)];
    let expected = expected.map(|(url, level)| (url.to_owned(), level, 1));

    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 3, 0);
    frontier.offer(&Found { urls, ..Found::default() }, None, 0).expect("offers");
    assert_eq!(levels(&frontier, 0), expected);
    drop(frontier);
    let frontier = open(dir.path(), 3, 10_000);
    assert_eq!(levels(&frontier, 10_000), expected, "read from the journal");
    frontier.close().expect("closes");
    let frontier = open(dir.path(), 3, 20_000);
    assert_eq!(levels(&frontier, 20_000), expected, "read from the store");

    let mut text = Vec::new();
    frontier.export(&mut text).expect("exports");
    let other = tempfile::tempdir().expect("a directory");
    let imported = open(other.path(), 3, 30_000);
    imported.import(&mut &text[..], 30_000).expect("imports");
    assert_eq!(levels(&imported, 40_000), expected);
}
