//! What a lease reads.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use super::{HostRead, install};
use crate::error::Error;
use crate::host::Stored;
use crate::store::BlockId;
use crate::{
    Canonical, Completion, Found, FoundUrl, Frontier, Health, HostReport, Lease, Next, Options, Outcome, Priority,
    Tally,
};

#[test]
fn a_lease_reads_its_host_not_all_that_are_due() {
    const HOSTS: u32 = 200;
    let dir = tempfile::tempdir().expect("a directory");
    let open = |now| {
        let options =
            Options { partitions: 1, commit_interval: Duration::ZERO, delay_ms: 100, ..Options::new(dir.path()) };
        Frontier::open(options, now, || {}).expect("opens")
    };
    let frontier = open(1);
    let url = |n| Canonical::parse(&format!("https://site-{n}.com/")).expect("a URL");
    let urls = (0..HOSTS).map(|n| FoundUrl::new(url(n), 0)).collect();
    frontier.offer(&Found { urls, ..Found::default() }, None, 1).expect("offers");
    frontier.close().expect("closes");

    let frontier = open(1000);
    let mut calls = 0;
    while !matches!(frontier.lease(1100).expect("answers"), Next::Lease(_)) {
        calls += 1;
        assert!(calls < HOSTS, "no lease");
    }
    let state = frontier.shared.partitions[0].state.lock();
    let read = state.queues.ids().filter(|id| state.queues.host(*id).stored != Stored::Unread).count();
    assert_eq!(read, 1, "hosts read for one lease");
}

#[test]
fn a_read_of_a_file_that_a_merge_has_deleted_is_made_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options { partitions: 1, commit_interval: Duration::ZERO, ..Options::new(dir.path()) };
    let frontier = Frontier::open(options, 1, || {}).expect("opens");
    let urls = vec![FoundUrl::new(Canonical::parse("https://a.com/").expect("a URL"), 0)];
    frontier.offer(&Found { urls, ..Found::default() }, None, 1).expect("offers");
    let mut state = frontier.shared.partitions[0].state.lock();
    let id = state.queues.ids().next().expect("its host");
    let read = HostRead {
        id,
        name: "com,a".into(),
        state: false,
        after: vec![BlockId::before(Priority::FIRST)],
        begun: None,
        at_once: usize::MAX,
        upto: 1,
        epoch: state.epoch,
    };
    let gone = || Err(Error::Io { path: "0.blocks".into(), source: std::io::ErrorKind::NotFound.into() });
    assert!(install(&mut state, &read, gone()).is_err(), "nothing has deleted it");
    state.epoch += 1;
    state.queues.host_mut(id).loading = true;
    install(&mut state, &read, gone()).expect("is made again");
    assert!(!state.queues.host(id).loading);
}

fn options(dir: &Path) -> Options {
    Options { partitions: 1, commit_interval: Duration::ZERO, delay_ms: 100, ..Options::new(dir) }
}

/// A closed frontier of hosts with so many URLs each.
fn of_hosts(dir: &Path, hosts: u32, urls: u32) {
    let frontier = Frontier::open(options(dir), 1, || {}).expect("opens");
    let url = |n| Canonical::parse(&format!("https://site-{}.com/{}", n / urls, n % urls)).expect("a URL");
    let urls = (0..hosts * urls).map(|n| FoundUrl::new(url(n), 0)).collect();
    frontier.offer(&Found { urls, ..Found::default() }, None, 1).expect("offers");
    frontier.close().expect("closes");
}

fn fetched(frontier: &Frontier, lease: Lease, now: u64) {
    let found = Found::default();
    let host = Some(HostReport { ended: now, delay_ms: 100, health: Health::Answered });
    let outcome = Outcome::Fetched { status: 200 };
    frontier
        .complete(
            lease,
            &Completion { outcome, host, tally: Tally::default(), found: &found, visit: Default::default() },
            now,
        )
        .expect("ends");
}

#[test]
fn hosts_that_memory_does_not_hold_all_come_out() {
    const HOSTS: u32 = 100;
    let dir = tempfile::tempdir().expect("a directory");
    of_hosts(dir.path(), HOSTS, 2);
    let (wake, woken) = mpsc::channel();
    let frontier = Frontier::open(options(dir.path()), 1000, move || _ = wake.send(())).expect("opens");
    frontier.shared.partitions[0].state.lock().queues.hold_hosts(8);
    let (mut leased, mut now) = (0, 1000);
    while leased < 2 * HOSTS {
        match frontier.lease(now).expect("answers") {
            Next::Lease(lease) => {
                leased += 1;
                fetched(&frontier, lease, now);
            }
            Next::Wait { until: Some(until) } => now = until.max(now),
            Next::Wait { until: None } => woken.recv_timeout(Duration::from_secs(20)).expect("a merge makes room"),
        }
    }
    assert_eq!(leased, 2 * HOSTS);
}

#[test]
fn room_for_hosts_is_asked_for_before_there_is_none() {
    let dir = tempfile::tempdir().expect("a directory");
    of_hosts(dir.path(), 200, 1);
    let frontier = Frontier::open_by_hand(options(dir.path()), 1000).expect("opens");
    frontier.shared.partitions[0].state.lock().queues.hold_hosts(128);
    assert!(!frontier.shared.is_merge_due());
    for leased in 0..128 {
        let Next::Lease(lease) = frontier.lease(1100).expect("answers") else { panic!("no lease after {leased}") };
        fetched(&frontier, lease, 1100);
        assert_eq!(frontier.shared.is_merge_due(), leased > 0, "after {leased}");
    }
    assert!(matches!(frontier.lease(1100).expect("answers"), Next::Wait { until: None }), "a merge must make room");
}

#[test]
fn a_host_whose_queue_is_empty_is_not_read_to_know_it() {
    let dir = tempfile::tempdir().expect("a directory");
    of_hosts(dir.path(), 1, 1);
    let frontier = Frontier::open_by_hand(options(dir.path()), 1000).expect("opens");
    let Next::Lease(lease) = frontier.lease(1100).expect("answers") else { panic!("no lease") };
    fetched(&frontier, lease, 1100);
    assert!(
        matches!(frontier.lease(1100).expect("answers"), Next::Wait { until: None }),
        "it is in the schedule still"
    );
}

#[test]
fn hosts_that_wait_are_counted_once() {
    let dir = tempfile::tempdir().expect("a directory");
    of_hosts(dir.path(), 100, 1);
    let frontier = Frontier::open_by_hand(options(dir.path()), 1000).expect("opens");
    let waiting = |frontier: &Frontier| frontier.shared.partitions[0].state.lock().hosts_waiting();
    assert_eq!(waiting(&frontier), 100);
    for leased in 1..=100 {
        let Next::Lease(lease) = frontier.lease(1100).expect("answers") else { panic!("no lease after {leased}") };
        fetched(&frontier, lease, 1100);
        assert_eq!(waiting(&frontier), 100 - leased);
    }
}
