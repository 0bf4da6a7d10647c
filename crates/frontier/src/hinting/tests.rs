//! What hints change, and what they do not.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::{
    Canonical, Completion, Found, FoundUrl, Frontier, Health, HostReport, Lease, Next, Options, Outcome, Tally, Visit,
};

const RECRAWL: Recrawl = Recrawl { initial_secs: 1000, min_secs: 100, max_secs: 10_000, growth: 2.0, shrink: 0.5 };
const START: Millis = 1_000_000_000;
const START_SECS: u32 = 1_000_000;

fn open(dir: &Path, recrawl: Option<Recrawl>) -> Frontier {
    let options = Options { partitions: 1, commit_interval: Duration::ZERO, delay_ms: 0, recrawl, ..Options::new(dir) };
    Frontier::open(options, START, || {}).expect("opens")
}

fn offer(frontier: &Frontier, hint: Hint, now: Millis) {
    let canonical = Canonical::parse("https://a.com/").expect("a URL");
    let urls = vec![FoundUrl { hint: Some(hint), ..FoundUrl::new(canonical, 0) }];
    frontier.offer(&Found { urls, ..Found::default() }, None, now).expect("offers");
    assert_eq!(frontier.statistics().expect("answers").books.check(), Ok(()));
}

fn lease(frontier: &Frontier, now: Millis) -> Option<Lease> {
    for _ in 0..2 {
        frontier.commit().expect("commits");
        if let Next::Lease(lease) = frontier.lease(now).expect("answers") {
            return Some(lease);
        }
    }
    None
}

fn fetch(frontier: &Frontier, now: Millis) {
    let lease = lease(frontier, now).expect("is due");
    let host = Some(HostReport { ended: now, delay_ms: 0, health: Health::Answered });
    let visit = Visit { digest: Some(1), ..Visit::default() };
    let (outcome, tally, none) = (Outcome::Fetched { status: 200 }, Tally::default(), Found::default());
    frontier.complete(lease, &Completion { outcome, host, tally, visit, found: &none }, now).expect("completes");
}

/// Interval and due time of the page.
fn known(frontier: &Frontier) -> (u32, u32) {
    let shared = &*frontier.shared;
    crate::merge::merge(shared, &shared.partitions[0], crate::merge::After::Reopen).expect("merges");
    let stored = shared.partitions[0].store.record("com,a)/").expect("reads").expect("is known");
    (stored.record.interval_secs, stored.record.due_secs)
}

fn changed_at(secs: u32) -> Hint {
    Hint { changed_at_secs: Some(secs), interval_secs: None }
}

fn every(secs: u32) -> Hint {
    Hint { changed_at_secs: None, interval_secs: Some(secs) }
}

#[test]
fn a_new_url_gets_the_interval_that_is_said_within_the_bounds() {
    for (said, expected) in [(500, 500), (1, 100), (u32::MAX, 10_000)] {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = open(dir.path(), Some(RECRAWL));
        offer(&frontier, every(said), START);
        fetch(&frontier, START);
        assert_eq!(known(&frontier), (expected, START_SECS + expected));
    }
}

#[test]
fn an_interval_is_said_until_visits_have_taught_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), Some(RECRAWL));
    offer(&frontier, Hint::default(), START);
    fetch(&frontier, START);
    assert_eq!(known(&frontier), (1000, START_SECS + 1000));
    offer(&frontier, every(200), START);
    assert_eq!(known(&frontier), (200, START_SECS + 200));
    assert!(lease(&frontier, START + 199_000).is_none());
    fetch(&frontier, START + 200_000);
    assert_eq!(known(&frontier), (400, START_SECS + 600), "unchanged, so it grows");
    offer(&frontier, every(5000), START + 201_000);
    assert_eq!(known(&frontier), (400, START_SECS + 600), "learnt");
    assert_eq!(frontier.statistics().expect("answers").books.due_again, 1);
}

#[test]
fn a_page_that_has_changed_since_its_visit_is_visited_now() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), Some(RECRAWL));
    offer(&frontier, changed_at(START_SECS - 5), START);
    fetch(&frontier, START);
    let now = START + 150_000;
    for (hint, now) in [
        (changed_at(START_SECS), now),
        (changed_at(START_SECS + 151), now),
        // Sooner than the shortest interval after the visit.
        (changed_at(START_SECS + 50), START + 99_000),
    ] {
        offer(&frontier, hint, now);
        assert!(lease(&frontier, now).is_none(), "{hint:?}");
    }
    offer(&frontier, changed_at(START_SECS + 50), now);
    let leased = lease(&frontier, now).expect("has changed");
    assert!(leased.is_revisit());
    // In flight it is visited already.
    offer(&frontier, changed_at(START_SECS + 140), now);
    frontier.give_back(leased, None, Tally::default()).expect("gives back");
    fetch(&frontier, now);
    let books = frontier.statistics().expect("answers").books;
    assert_eq!((books.revisits, books.due_again, books.queued), (1, 1, 0));
}

#[test]
fn hints_are_nothing_where_pages_are_visited_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), None);
    offer(&frontier, every(200), START);
    fetch(&frontier, START);
    offer(&frontier, Hint { changed_at_secs: Some(START_SECS + 1), interval_secs: Some(1) }, START + 500_000);
    assert!(lease(&frontier, START + 500_000).is_none());
    assert_eq!(known(&frontier), (0, 0));
}

#[test]
fn a_page_from_before_recrawl_is_taken_up_by_a_hint() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), None);
    offer(&frontier, Hint::default(), START);
    fetch(&frontier, START);
    frontier.close().expect("closes");
    let frontier = open(dir.path(), Some(RECRAWL));
    let now = START + 500_000;
    assert!(lease(&frontier, now).is_none());
    offer(&frontier, changed_at(START_SECS + 400), now);
    fetch(&frontier, now);
    assert_eq!(
        known(&frontier),
        (500, START_SECS + 1000),
        "nothing was known to compare with, so it counts as changed"
    );
}
