//! Pages that come due: from memory, from the index, from both, and what stands in the index afterwards.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::{
    Canonical, Completion, Found, FoundUrl, Frontier, Health, HostReport, Lease, Next, Options, Outcome, Recrawl,
    Tally, Visit,
};

const RECRAWL: Recrawl = Recrawl { initial_secs: 100, min_secs: 10, max_secs: 1000, growth: 2.0, shrink: 0.5 };
const START: Millis = 1_000_000;

fn open(dir: &Path, now: Millis) -> Frontier {
    let options = Options {
        partitions: 1,
        commit_interval: Duration::ZERO,
        delay_ms: 0,
        recrawl: Some(RECRAWL),
        ..Options::new(dir)
    };
    Frontier::open(options, now, || {}).expect("opens")
}

fn offer(frontier: &Frontier, count: u32, now: Millis) {
    let url = |n| Canonical::parse(&format!("https://site-{}.com/{n}", n % 3)).expect("a URL");
    let urls = (0..count).map(|n| FoundUrl::new(url(n), 0)).collect();
    frontier.offer(&Found { urls, ..Found::default() }, None, now).expect("offers");
}

fn lease(frontier: &Frontier, now: Millis) -> Result<Lease, Option<Millis>> {
    for _ in 0..1000 {
        frontier.commit().expect("commits");
        match frontier.lease(now).expect("answers") {
            Next::Lease(lease) => return Ok(lease),
            // What was put back by this very call is not durable yet.
            Next::Wait { until } if frontier.shared.journal.durable() == frontier.shared.journal.last() => {
                return Err(until);
            }
            Next::Wait { .. } => {}
        }
    }
    panic!("the journal is never durable");
}

/// Fetches all that is due; returns the URLs.
fn fetch_all(frontier: &Frontier, now: Millis) -> Vec<String> {
    let mut urls = Vec::new();
    while let Ok(lease) = lease(frontier, now) {
        urls.push(lease.url().to_owned());
        let host = Some(HostReport { ended: now, delay_ms: 0, health: Health::Answered });
        let visit = Visit { digest: Some(1), ..Visit::default() };
        let (outcome, tally, none) = (Outcome::Fetched { status: 200 }, Tally::default(), Found::default());
        let completion = Completion { outcome, host, tally, visit, found: &none };
        frontier.complete(lease, &completion, now).expect("completes");
    }
    urls.sort();
    let books = frontier.statistics().expect("answers").books;
    assert_eq!(books.check(), Ok(()));
    urls
}

fn merge(frontier: &Frontier) {
    let shared = &*frontier.shared;
    crate::merge::merge(shared, &shared.partitions[0], crate::merge::After::Reopen).expect("merges");
}

fn index(frontier: &Frontier) -> Vec<(u32, String)> {
    frontier.shared.partitions[0].store.due_pages(&Default::default(), 1000).expect("reads")
}

fn later(secs: u64) -> Millis {
    START + secs * 1000
}

#[test]
fn a_page_is_visited_again_when_it_is_due_and_not_before() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), START);
    offer(&frontier, 7, START);
    let urls = fetch_all(&frontier, START);
    assert_eq!(urls.len(), 7);
    assert_eq!(lease(&frontier, later(100) - 1).err(), Some(Some(later(100))), "asked again when the first is due");
    assert_eq!(fetch_all(&frontier, later(100)), urls);
    merge(&frontier);
    assert_eq!(lease(&frontier, later(300) - 1).err(), Some(Some(later(300))), "the same from the index");
    assert_eq!(fetch_all(&frontier, later(300)), urls);
    let books = frontier.statistics().expect("answers").books;
    assert_eq!((books.revisits, books.due_again, books.fetched), (14, 7, 7));
}

#[test]
fn the_index_holds_what_is_due_and_loses_what_was_looked_at() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), START);
    offer(&frontier, 5, START);
    fetch_all(&frontier, START);
    merge(&frontier);
    let dues = |frontier: &Frontier| index(frontier).into_iter().map(|(due, _)| due).collect::<Vec<_>>();
    let start_secs = secs(START);
    assert_eq!(dues(&frontier), [start_secs + 100; 5]);
    fetch_all(&frontier, later(100));
    merge(&frontier);
    assert_eq!(dues(&frontier), [start_secs + 300; 5]);
    // What was forgotten stays in the index until it comes up, and then brings no visit.
    let url = Canonical::parse("https://site-0.com/0").expect("a URL");
    assert_eq!(frontier.forget(&[url]).expect("forgets").forgotten, 1);
    merge(&frontier);
    assert_eq!(fetch_all(&frontier, later(300)).len(), 4);
    merge(&frontier);
    assert_eq!(dues(&frontier), [start_secs + 700; 4]);
}

#[test]
fn a_page_in_memory_and_in_the_index_goes_back_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), START);
    offer(&frontier, 5, START);
    let urls = fetch_all(&frontier, START);
    // As a crash in mid-merge leaves it: the index written, the merge not covered.
    let shared = &*frontier.shared;
    let changes = index_changes(&shared.partitions[0].state.lock().active, &[]);
    assert_eq!(changes.len(), 5);
    shared.partitions[0].store.write(changes).expect("writes");
    assert_eq!(fetch_all(&frontier, later(100)), urls);
    assert_eq!(frontier.statistics().expect("answers").books.revisits, 5);
}

#[test]
fn a_due_time_that_comes_twice_stays_in_the_index() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), START);
    offer(&frontier, 1, START);
    fetch_all(&frontier, START);
    let due = secs(START) + 100;
    let obsolete = [(due, "com,site-0)/0".to_owned()), (7, "com,site-0)/0".to_owned())];
    let changes = index_changes(&frontier.shared.partitions[0].state.lock().active, &obsolete);
    assert_eq!(changes.len(), 2, "one is listed, the other goes");
}

#[test]
fn many_that_are_due_at_once_come_piece_by_piece() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), START);
    offer(&frontier, 400, START);
    let urls = fetch_all(&frontier, START);
    assert_eq!(urls.len(), 400);
    for (round, due) in [(1, 100), (2, 300)] {
        merge(&frontier);
        frontier.commit().expect("commits");
        let (shared, partition) = (&*frontier.shared, &frontier.shared.partitions[0]);
        queue_due(shared, partition, later(due)).expect("queues");
        let queued = frontier.shared.partitions[0].state.lock().books.queued;
        assert_eq!(queued, BATCH as i64, "round {round}");
        // Not durable, as far as is known: then no more.
        partition.state.lock().revisits.as_mut().expect("is on").awaited = Sequence::MAX;
        queue_due(shared, partition, later(due)).expect("queues");
        assert_eq!(partition.state.lock().books.queued, BATCH as i64);
        assert_eq!(partition.state.lock().next_revisit(), None);
        partition.state.lock().revisits.as_mut().expect("is on").awaited = 1;
        assert_eq!(fetch_all(&frontier, later(due)), urls, "round {round}");
    }
}

#[test]
fn what_is_due_survives_a_crash_and_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), START);
    offer(&frontier, 6, START);
    let urls = fetch_all(&frontier, START);
    frontier.commit().expect("commits");
    drop(frontier);
    let frontier = open(dir.path(), later(50));
    assert_eq!(lease(&frontier, later(99)).err(), Some(Some(later(100))));
    // Some go back to their queues, and then it crashes.
    let leased = lease(&frontier, later(100)).expect("is due");
    assert!(leased.is_revisit());
    frontier.commit().expect("commits");
    std::mem::forget(leased);
    drop(frontier);
    let frontier = open(dir.path(), later(101));
    assert_eq!(fetch_all(&frontier, later(101)), urls);
    frontier.close().expect("closes");
    let frontier = open(dir.path(), later(200));
    assert_eq!(lease(&frontier, later(300)).err(), Some(Some(later(301))));
    assert_eq!(fetch_all(&frontier, later(301)), urls);
}

/// Such an entry is left by a crash after the page was put back, before a merge removed it.
#[test]
fn an_entry_that_counts_no_more_does_not_hide_the_pages_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), START);
    offer(&frontier, 1, START);
    let urls = fetch_all(&frontier, START);
    let [(due, key)] = &index_after_merge(&frontier)[..] else { panic!("one page") };
    let stale = store::set_due_page(key, due - 50, true);
    frontier.shared.partitions[0].store.write(vec![stale]).expect("writes");
    assert_eq!(fetch_all(&frontier, later(100)), urls);
}

fn index_after_merge(frontier: &Frontier) -> Vec<(u32, String)> {
    merge(frontier);
    index(frontier)
}
