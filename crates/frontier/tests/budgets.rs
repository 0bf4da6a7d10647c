//! Budgets of hosts and domains: what is held back, what is granted, and that nothing is lost on the way.

mod histories;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use frontier::{
    Budget, Canonical, Completion, FilterOptions, Found, FoundUrl, Frontier, Grant, Health, HostReport, Lease, Millis,
    Next, Options, Outcome, Tally, registrable_domain,
};
use proptest::prelude::*;

const BUDGET: Budget =
    Budget { urls_per_host: 3, urls_per_domain: 5, pages_per_host: 0, pages_per_domain: 0, park: true };

fn open(dir: &Path, budget: Budget) -> Frontier {
    let options = Options {
        partitions: 2,
        // So little that merges run all the time.
        recent_bytes: 2000,
        commit_interval: Duration::ZERO,
        filter: FilterOptions { initial_capacity: 16, ..FilterOptions::default() },
        delay_ms: 0,
        budget,
        ..Options::new(dir)
    };
    Frontier::open(options, 0, || {}).expect("opens")
}

fn canonical(url: &str) -> Canonical {
    Canonical::parse(url).expect("a URL")
}

fn offer(frontier: &Frontier, urls: &[&str]) {
    let url = |url: &&str| FoundUrl::new(canonical(url), 0);
    let found = Found { urls: urls.iter().map(url).collect(), ..Found::default() };
    frontier.offer(&found, None, 0).expect("offers");
    frontier.commit().expect("commits");
}

fn lease(frontier: &Frontier, now: Millis) -> Option<Lease> {
    frontier.commit().expect("commits");
    match frontier.lease(now).expect("answers") {
        Next::Lease(lease) => Some(lease),
        Next::Wait { .. } => None,
    }
}

fn end(frontier: &Frontier, lease: Lease, outcome: Outcome) {
    let host = Some(HostReport { ended: 0, delay_ms: 0, health: Health::Answered });
    let completion =
        Completion { outcome, host, tally: Tally::default(), visit: Default::default(), found: &Found::default() };
    frontier.complete(lease, &completion, 0).expect("completes");
}

/// Fetches everything that is queued.
fn drain(frontier: &Frontier) -> BTreeSet<String> {
    let mut fetched = BTreeSet::new();
    while let Some(lease) = lease(frontier, 1) {
        assert!(fetched.insert(lease.url().to_owned()), "{} comes once", lease.url());
        end(frontier, lease, Outcome::Fetched { status: 200 });
    }
    fetched
}

fn books(frontier: &Frontier) -> frontier::Books {
    let books = frontier.statistics().expect("answers").books;
    assert_eq!(books.check(), Ok(()));
    books
}

#[test]
fn over_budget_urls_are_parked_seen_and_released_when_there_is_room() {
    let dir = tempfile::tempdir().expect("a directory");
    let urls: Vec<String> = (0..7).map(|n| format!("https://a.example.com/{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let host = canonical(urls[0]);
    let frontier = open(dir.path(), BUDGET);
    offer(&frontier, &urls);
    assert_eq!((books(&frontier).queued, books(&frontier).parked, books(&frontier).discovered), (3, 4, 7));
    assert!(frontier.seen(&canonical(urls[6])).expect("answers"), "a parked URL is known");
    offer(&frontier, &urls);
    assert_eq!(books(&frontier).discovered, 7, "and not new again");
    assert_eq!(drain(&frontier).len(), 3);
    assert_eq!(frontier.release(&host).expect("releases").released, 0, "there is no room");
    frontier.close().expect("closes");

    let frontier = open(dir.path(), BUDGET);
    let usage = frontier.grant(&host, Grant::More(2)).expect("grants");
    assert_eq!((usage.urls, usage.pages, usage.queued, usage.parked), (3, 3, 0, 4), "read from the disk");
    let released = frontier.release(&host).expect("releases");
    assert_eq!((released.released, released.parked), (2, 2));
    drop(frontier);

    let frontier = open(dir.path(), BUDGET);
    assert_eq!(drain(&frontier).len(), 2, "a release outlives a crash");
    assert_eq!(frontier.release(&host).expect("releases").released, 0, "and so does what is granted");
    frontier.grant(&host, Grant::Lifted).expect("grants");
    assert_eq!(frontier.held_back().expect("lists").iter().map(|host| host.parked).collect::<Vec<_>>(), [2]);
    // The domain's budget is five, and not lifted: a.example.com is not its name.
    assert_eq!(frontier.release(&host).expect("releases").released, 0);
    frontier.grant(&canonical("https://example.com/"), Grant::Lifted).expect("grants");
    assert_eq!(frontier.release(&host).expect("releases").released, 2);
    assert_eq!((drain(&frontier).len(), books(&frontier).parked, books(&frontier).fetched), (2, 0, 7));
}

#[test]
fn without_parking_they_are_counted_and_not_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), Budget { park: false, ..BUDGET });
    let urls: Vec<String> = (0..5).map(|n| format!("https://a.org/{n}")).collect();
    offer(&frontier, &urls.iter().map(String::as_str).collect::<Vec<_>>());
    let books = books(&frontier);
    assert_eq!((books.discovered, books.over_budget, books.queued), (3, 2, 3));
    assert!(!frontier.seen(&canonical(&urls[4])).expect("answers"), "so it may come in later");
}

#[test]
fn a_host_never_has_more_pages_than_its_budget_and_a_failure_makes_room() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), Budget { urls_per_host: 0, urls_per_domain: 0, pages_per_host: 2, ..BUDGET });
    offer(&frontier, &["https://a.org/1", "https://a.org/2", "https://a.org/3"]);
    assert_eq!((books(&frontier).queued, books(&frontier).parked), (2, 1));
    let first = lease(&frontier, 1).expect("is due");
    end(&frontier, first, Outcome::Failed { code: -10, transient: false });
    offer(&frontier, &["https://a.org/4"]);
    assert_eq!((books(&frontier).queued, books(&frontier).parked), (2, 1), "in place of the one that failed");
    drain(&frontier);
    offer(&frontier, &["https://a.org/5"]);
    assert_eq!((books(&frontier).fetched, books(&frontier).parked), (2, 2));
}

#[test]
fn a_parked_url_can_be_forgotten() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), Budget { urls_per_host: 1, ..BUDGET });
    offer(&frontier, &["https://a.org/1", "https://a.org/2"]);
    assert_eq!(frontier.forget(&[canonical("https://a.org/2")]).expect("forgets").forgotten, 1);
    assert_eq!((books(&frontier).parked, books(&frontier).forgotten), (0, 1));
    assert_eq!(frontier.usage(&canonical("https://a.org/")).expect("answers").parked, 0);
}

#[derive(Debug, Clone)]
enum Op {
    Offer(Vec<u8>),
    Fetch(bool),
    Forget(Vec<u8>),
    Release(u8),
    Grant(u8, u32),
    Crash,
    Restart,
}

fn url(n: u8) -> String {
    let host = ["a.example.com", "b.example.com", "example.org"][usize::from(n % 3)];
    format!("https://{host}/{n}")
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let urls = || proptest::collection::vec(0u8..60, 1..10);
    let op = prop_oneof![
        6 => urls().prop_map(Op::Offer),
        6 => any::<bool>().prop_map(Op::Fetch),
        2 => urls().prop_map(Op::Forget),
        2 => (0u8..3).prop_map(Op::Release),
        1 => (0u8..3, 0u32..4).prop_map(|(host, more)| Op::Grant(host, more)),
        1 => Just(Op::Crash),
        1 => Just(Op::Restart),
    ];
    proptest::collection::vec(op, 1..40)
}

/// What each host is known to have; `true` for a URL that is parked.
type Model = BTreeMap<String, bool>;

fn used(model: &Model, of: impl Fn(&str) -> bool) -> u64 {
    let host = |url: &str| url.split('/').nth(2).expect("a host").to_owned();
    model.iter().filter(|(url, parked)| !**parked && of(&host(url))).count() as u64
}

/// Whether a URL is within the budgets.
fn admits(model: &Model, granted: &BTreeMap<String, u32>, url: &str) -> bool {
    let host = url.split('/').nth(2).expect("a host");
    let domain = registrable_domain(host);
    let more = |name: &str| u64::from(granted.get(name).copied().unwrap_or(0));
    used(model, |name| name == host) < BUDGET.urls_per_host + more(host)
        && used(model, |name| registrable_domain(name) == domain) < BUDGET.urls_per_domain + more(domain)
}

fn check(ops: &[Op]) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut frontier = open(dir.path(), BUDGET);
    let (mut model, mut granted, mut fetched) = (Model::new(), BTreeMap::new(), BTreeSet::new());
    for op in ops {
        match op {
            Op::Offer(urls) => {
                let urls: Vec<String> = urls.iter().map(|n| url(*n)).collect();
                offer(&frontier, &urls.iter().map(String::as_str).collect::<Vec<_>>());
                for url in urls {
                    if !model.contains_key(&url) {
                        let parked = !admits(&model, &granted, &url);
                        model.insert(url, parked);
                    }
                }
            }
            Op::Fetch(well) => {
                if let Some(lease) = lease(&frontier, 1) {
                    prop_assert_eq!(model.get(lease.url()), Some(&false), "{} is not parked", lease.url());
                    prop_assert!(fetched.insert(lease.url().to_owned()));
                    let failed = Outcome::Failed { code: -10, transient: false };
                    end(&frontier, lease, if *well { Outcome::Fetched { status: 200 } } else { failed });
                }
            }
            Op::Forget(urls) => {
                let urls: Vec<String> = urls.iter().map(|n| url(*n)).collect();
                frontier.forget(&urls.iter().map(|url| canonical(url)).collect::<Vec<_>>()).expect("forgets");
                for url in urls {
                    model.remove(&url);
                    fetched.remove(&url);
                }
            }
            Op::Release(n) => {
                let host = url(*n).split('/').nth(2).expect("a host").to_owned();
                let released = frontier.release(&canonical(&url(*n))).expect("releases").released;
                let parked: Vec<String> = model
                    .iter()
                    .filter(|(url, parked)| **parked && url.split('/').nth(2) == Some(&host))
                    .map(|(url, _)| url.clone())
                    .collect();
                let mut expect = 0;
                for url in parked {
                    if admits(&model, &granted, &url) {
                        model.insert(url, false);
                        expect += 1;
                    }
                }
                prop_assert_eq!(released, expect);
            }
            Op::Grant(n, more) => {
                frontier.grant(&canonical(&url(*n)), Grant::More(*more)).expect("grants");
                granted.insert(url(*n).split('/').nth(2).expect("a host").to_owned(), *more);
            }
            Op::Crash => {
                frontier.commit().expect("commits");
                drop(frontier);
                frontier = open(dir.path(), BUDGET);
            }
            Op::Restart => {
                frontier.close().expect("closes");
                frontier = open(dir.path(), BUDGET);
            }
        }
        let books = books(&frontier);
        prop_assert_eq!(books.parked as usize, model.values().filter(|parked| **parked).count(), "{:?}", op);
        prop_assert_eq!(books.queued as usize + books.parked as usize + fetched.len(), model.len());
    }
    for n in 0..3 {
        let host = url(n).split('/').nth(2).expect("a host").to_owned();
        let usage = frontier.usage(&canonical(&url(n))).expect("answers");
        prop_assert_eq!(usage.urls, used(&model, |name| name == host), "{}", host);
    }
    Ok(())
}

proptest! {
    #![proptest_config(histories::config(12))]

    #[test]
    fn budgets_hold_through_merges_crashes_and_releases(ops in ops()) {
        check(&ops)?;
    }
}
