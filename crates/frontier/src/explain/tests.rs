//! What is told of a URL at each station of its life, from memory and from the store, and that asking changes nothing.

use std::path::Path;

use super::*;
use crate::{
    BlockReason, Budget, Completion, Found, FoundUrl, Frontier, Grant, Health, HostReport, Lease, Next, Options,
    Outcome, Tally,
};

const URL: &str = "http://a.test/x?utm_source=y";

fn options(dir: &Path) -> Options {
    let budget = Budget { urls_per_host: 2, park: true, ..Budget::default() };
    Options { partitions: 2, delay_ms: 100, budget, ..Options::new(dir) }
}

fn open(dir: &Path, now: Millis) -> Frontier {
    Frontier::open(options(dir), now, || {}).expect("opens")
}

fn canonical(url: &str) -> Canonical {
    Canonical::parse(url).expect("a URL")
}

fn offer(frontier: &Frontier, urls: &[&str], depth: u16, referrer: Option<&str>) {
    let urls = urls.iter().map(|url| FoundUrl::new(canonical(url), depth)).collect();
    frontier.offer(&Found { urls, ..Found::default() }, referrer, 5_000).expect("offers");
    frontier.commit().expect("commits");
}

fn lease(frontier: &Frontier, now: Millis) -> Lease {
    frontier.commit().expect("commits");
    match frontier.lease(now).expect("answers") {
        Next::Lease(lease) => lease,
        Next::Wait { until } => panic!("nothing before {until:?}"),
    }
}

fn end(frontier: &Frontier, lease: Lease, outcome: Outcome, health: Health, now: Millis) {
    let host = Some(HostReport { ended: now, delay_ms: 100, health });
    let completion =
        Completion { outcome, host, tally: Tally::default(), visit: crate::Visit::default(), found: &Found::default() };
    frontier.complete(lease, &completion, now).expect("completes");
}

fn ask(frontier: &Frontier, url: &str) -> Explanation {
    frontier.explain(&canonical(url)).expect("answers")
}

fn of(explanation: &Explanation) -> Known {
    match &explanation.trace {
        Trace::Known(known) => (**known).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_url_is_told_of_at_each_station_of_its_life() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 0);
    let never = ask(&frontier, URL);
    assert_eq!((&never.trace, never.host.is_known, never.host.next_slot), (&Trace::Never, false, 0));
    assert!(never.filter.as_ref().is_some_and(|filter| !filter.maybe() && filter.layers.len() == 1));

    offer(&frontier, &[URL], 3, Some("http://a.test/"));
    let queued = of(&ask(&frontier, URL));
    assert_eq!((queued.state, queued.depth, queued.first_seen, queued.is_recent), ("queued", 3, 5_000, true));
    assert_eq!(queued.referrer, Referrer::Page("http://a.test/".into()));
    assert_eq!((queued.url.as_str(), queued.status, queued.due), (URL, None, Some(0)));
    assert!(ask(&frontier, URL).filter.is_some_and(|filter| filter.maybe()));

    let leased = lease(&frontier, 6_000);
    let in_flight = ask(&frontier, URL);
    assert!(of(&in_flight).in_flight && of(&in_flight).due.is_none() && in_flight.host.in_flight == 1);
    end(&frontier, leased, Outcome::TryAgain { status: 503 }, Health::Failing(BlockReason::Unavailable), 7_000);
    let again = ask(&frontier, URL);
    let known = of(&again);
    assert_eq!((known.attempts, known.status, known.in_flight), (1, Some(503), false));
    assert_eq!(again.host.usage.blocked.map(|(_, reason)| reason), Some(BlockReason::Unavailable));
    assert_eq!((known.due, again.host.usage.failures), (Some(again.host.next_slot), 1));
    assert!(again.host.next_slot >= 7_000 + 30_000, "{again:?}");

    let leased = lease(&frontier, again.host.next_slot);
    end(&frontier, leased, Outcome::Fetched { status: 200 }, Health::Answered, 50_000);
    let done = of(&ask(&frontier, URL));
    assert_eq!((done.state, done.status, done.due), ("fetched", Some(200), None));
    assert_eq!(done.referrer, Referrer::NotKept);
    frontier.forget(&[canonical(URL)]).expect("forgets");
    assert_eq!(ask(&frontier, URL).trace, Trace::Forgotten);
}

#[test]
fn a_stopped_crawl_tells_the_same_from_its_store() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 0);
    let long_ago = Frontier::open_existing_under(options(dir.path()), 9_000).err();
    assert!(matches!(long_ago, Some(Error::InUse { .. })), "{long_ago:?}");
    offer(&frontier, &["http://a.test/1"], 1, None);
    offer(&frontier, &["http://a.test/2"], 1, Some("http://b.test/"));
    offer(&frontier, &["http://a.test/3"], 1, Some("http://b.test/"));
    let urls = ["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4", "http://b.test/"];
    let running = urls.map(|url| ask(&frontier, url));
    frontier.close().expect("closes");

    let frontier = Frontier::open_existing_under(options(dir.path()), 9_000).expect("opens");
    let stopped = urls.map(|url| ask(&frontier, url));
    for (running, stopped) in running.iter().zip(&stopped) {
        let trace = match running.trace.clone() {
            Trace::Known(known) => {
                let due = known.due.map(|_| 9_100);
                // Only a queue entry keeps it.
                let referrer = if known.state == "parked" { Referrer::NotKept } else { known.referrer };
                Trace::Known(Box::new(Known { is_recent: false, due, referrer, ..*known }))
            }
            trace => trace,
        };
        assert_eq!((&trace, running.budget), (&stopped.trace, stopped.budget));
        assert_eq!((running.host.is_known, &running.host.usage), (stopped.host.is_known, &stopped.host.usage));
    }
    assert_eq!([of(&stopped[1]).state, of(&stopped[2]).state], ["queued", "parked"]);
    assert_eq!(of(&stopped[1]).referrer, Referrer::Page("http://b.test/".into()));
    assert_eq!(stopped[3].budget.and_then(|budget| budget.held_by), Some("max_urls_per_host"));
    let used = stopped[3].budget.map(|budget| (budget.host.urls, budget.host.queued, budget.host.granted));
    assert_eq!(used, Some((2, 2, Grant::More(0))));
    assert_eq!(stopped[3].host.next_slot, 9_100, "a full delay after the start");
    assert!(!stopped[4].host.is_known && stopped[4].budget.is_some_and(|budget| budget.held_by.is_none()));
}

#[test]
fn asking_records_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 0);
    offer(&frontier, &["http://a.test/1"], 1, None);
    let before = frontier.statistics().expect("statistics");
    for url in ["http://a.test/1", "http://a.test/2", "http://new.test/"] {
        assert_eq!(ask(&frontier, url), ask(&frontier, url));
    }
    let after = frontier.statistics().expect("statistics");
    assert_eq!((before.books, before.hosts, before.hosts_waiting), (after.books, after.hosts, after.hosts_waiting));
    assert_eq!(before.journal_bytes, after.journal_bytes);
    assert!(!frontier.seen(&canonical("http://a.test/2")).expect("answers"));
}
