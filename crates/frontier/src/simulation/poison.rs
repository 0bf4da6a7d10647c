//! What a failed or late sync leads to: nothing is handed out or taken in any more, and it is said why.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::disk::simulated::{Disk, End, Faults, Syncs};
use crate::error::Error;
use crate::merge::{self, After};
use crate::watch;
use crate::{
    Canonical, Completion, Found, FoundUrl, Frontier, Health, HostReport, Lease, Next, Options, Outcome, Tally,
};

const DELAY_MS: u64 = 10;

fn url(n: u32) -> Canonical {
    Canonical::parse(&format!("http://example.com/{n}")).expect("a URL")
}

fn found(numbers: std::ops::Range<u32>) -> Found {
    let urls = numbers.map(|n| FoundUrl::new(url(n), 0)).collect();
    Found { urls, ..Found::default() }
}

fn options(disk: &Disk) -> Options {
    Options { partitions: 1, commit_interval: Duration::ZERO, delay_ms: DELAY_MS, ..Options::new(disk.root()) }
}

/// A frontier with ten durable URLs, one of them leased.
fn begun(disk: &Disk, by_hand: bool) -> (Frontier, Lease) {
    let options = options(disk);
    let opened =
        if by_hand { Frontier::open_by_hand(options, 0) } else { Frontier::open(options, 0, || {}) }.expect("opens");
    opened.offer(&found(0..10), None, 0).expect("offers");
    opened.commit().expect("commits");
    let Next::Lease(lease) = opened.lease(100).expect("answers") else { panic!("a host is due") };
    opened.commit().expect("commits");
    (opened, lease)
}

fn poisoned<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Poisoned(why)) => why,
        Err(other) => panic!("not poisoned: {other}"),
        Ok(_) => panic!("goes on"),
    }
}

/// Every verb refuses, `health` names the directory and says why, and after a restart all that was durable is there.
fn check(disk: &Arc<Disk>, frontier: Frontier, lease: Lease, place: &str, why: &str) {
    let said = poisoned(frontier.health());
    let dir = disk.root().join(place).display().to_string();
    assert!(said.contains(&dir) && said.contains(why), "{said}");
    poisoned(frontier.lease(200));
    poisoned(frontier.offer(&found(20..21), None, 200));
    poisoned(frontier.forget(&[url(3)]));
    let none = Found::default();
    let report = HostReport { ended: 200, delay_ms: DELAY_MS, health: Health::Answered };
    let outcome = Outcome::Fetched { status: 200 };
    let completion = Completion {
        outcome,
        host: Some(report),
        tally: Tally::default(),
        visit: crate::Visit::default(),
        found: &none,
    };
    poisoned(frontier.complete(lease, &completion, 200));
    assert!(frontier.health().is_err(), "once is for ever");
    assert!(frontier.close().is_err(), "nobody takes this for a clean end");
    disk.restart(End::PowerCut);
    let again = Frontier::open_by_hand(options(disk), 1000).expect("opens");
    assert!((0..10).all(|n| again.seen(&url(n)).expect("answers")), "what was durable is lost");
    let mut leased = 0;
    for now in 1000..2000 {
        if let Next::Lease(lease) = again.lease(now).expect("answers") {
            leased += 1;
            again
                .complete(
                    lease,
                    &Completion {
                        outcome,
                        host: Some(report),
                        tally: Tally::default(),
                        visit: crate::Visit::default(),
                        found: &none,
                    },
                    now,
                )
                .expect("completes");
            again.commit().expect("commits");
        }
    }
    assert!(leased >= 10, "{leased} of ten are queued");
    drop(again);
    disk.remove_disk();
}

#[test]
fn a_failed_journal_sync_poisons() {
    let disk = Disk::new(1);
    let (frontier, lease) = begun(&disk, true);
    disk.set_faults(Faults { syncs: Syncs::Fail, ..Faults::default() });
    frontier.offer(&found(10..20), None, 150).expect("is only in memory");
    poisoned(frontier.commit());
    disk.set_faults(Faults::default());
    check(&disk, frontier, lease, "journal", "");
}

#[test]
fn a_journal_sync_that_came_too_late_poisons() {
    let disk = Disk::new(2);
    let (frontier, lease) = begun(&disk, true);
    disk.set_faults(Faults { syncs: Syncs::Late, ..Faults::default() });
    frontier.offer(&found(10..20), None, 150).expect("is only in memory");
    poisoned(frontier.commit());
    disk.set_faults(Faults::default());
    check(&disk, frontier, lease, "journal", "takes longer than");
}

#[test]
fn a_journal_sync_that_hangs_poisons() {
    let disk = Disk::new(3);
    let (frontier, lease) = begun(&disk, false);
    disk.hang(true);
    frontier.offer(&found(10..20), None, 150).expect("is only in memory");
    hangs(&frontier, "journal");
    // Its end is waited for, so it must come to one.
    disk.hang(false);
    check(&disk, frontier, lease, "journal", "takes longer than");
}

#[test]
fn a_failed_store_flush_poisons() {
    let disk = Disk::new(4);
    let (frontier, lease) = begun(&disk, true);
    let merge = || merge::merge(&frontier.shared, &frontier.shared.partitions[0], After::Reopen);
    frontier.offer(&found(30..31), None, 110).expect("offers");
    merge().expect("merges");
    // Of a URL that goes there is no queue block to be written first.
    frontier.forget(&[url(30)]).expect("forgets");
    frontier.commit().expect("commits");
    disk.set_faults(Faults { syncs: Syncs::Fail, ..Faults::default() });
    merge().expect_err("fails");
    disk.set_faults(Faults::default());
    check(&disk, frontier, lease, "partitions/0000/store", "");
}

#[test]
fn a_failed_write_of_queue_blocks_poisons() {
    let disk = Disk::new(4);
    let (frontier, lease) = begun(&disk, true);
    disk.set_faults(Faults { syncs: Syncs::Fail, ..Faults::default() });
    merge::merge(&frontier.shared, &frontier.shared.partitions[0], After::Reopen).expect_err("fails");
    disk.set_faults(Faults::default());
    check(&disk, frontier, lease, "partitions/0000/blocks", "");
}

#[test]
fn a_store_flush_that_came_too_late_poisons() {
    let disk = Disk::new(5);
    let (frontier, lease) = begun(&disk, true);
    disk.set_faults(Faults { syncs: Syncs::Late, ..Faults::default() });
    merge::merge(&frontier.shared, &frontier.shared.partitions[0], After::Reopen).expect_err("is late");
    disk.set_faults(Faults::default());
    check(&disk, frontier, lease, "partitions/0000/store", "takes longer than");
}

#[test]
fn a_store_flush_that_hangs_poisons() {
    let disk = Disk::new(6);
    let (frontier, lease) = begun(&disk, false);
    disk.hang(true);
    frontier.shared.request_merge(0);
    hangs(&frontier, "partitions/0000/store");
    disk.hang(false);
    check(&disk, frontier, lease, "partitions/0000/store", "takes longer than");
}

/// Waits until a sync hangs, lets its time pass, and sees it said.
fn hangs(frontier: &Frontier, place: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    watch::advance(2 * watch::LIMIT.as_millis() as u64);
    loop {
        match frontier.health() {
            Ok(()) => std::thread::yield_now(),
            Err(error) => break assert!(error.to_string().contains(place), "{error}"),
        }
        assert!(Instant::now() < deadline, "nothing is said of a sync that hangs");
    }
}
