//! Random histories of offers, crawling, forgetting, rebuilds, restarts and crashes, over memory and filters so small that
//! growth, merges and rebuilds never end. A crash cuts the journal at any byte that no store covers; then exactly the URLs
//! of the events before the cut are known, each once. A cut below what a store covers is synced data lost: a loud error.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use frontier::{FilterKind, Frontier, Options};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use crate::journal::Journal;
use crate::world::{Happened, Op, Size, WEB, World, found};
use crate::{audit, directory, seed};

/// Every so many histories one ends with an audit.
const AUDITED: u64 = 6;

fn urls(most: usize) -> impl Strategy<Value = Range<usize>> {
    (0..WEB.len(), 0..most).prop_map(|(from, count)| from..(from + count).min(WEB.len()))
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => urls(150).prop_map(Op::Offer),
        4 => (1usize..6, urls(20)).prop_map(|(pages, urls)| Op::Crawl(pages, urls)),
        3 => urls(100).prop_map(Op::Forget),
        2 => Just(Op::Rebuild),
        1 => Just(Op::Restart),
        2 => any::<u16>().prop_map(Op::Crash),
        1 => any::<u16>().prop_map(Op::Lose),
    ];
    proptest::collection::vec(op, 8..40)
}

fn sizes() -> impl Strategy<Value = Size> {
    let kind = prop::sample::select(&FilterKind::ALL[..]);
    // Merges run all the time; now and then; not at all.
    let recent_bytes = prop::sample::select(&[6_000, 100_000, 1 << 24][..]);
    (kind, 1u16..4, recent_bytes).prop_map(|(kind, partitions, recent_bytes)| Size { kind, partitions, recent_bytes })
}

fn check(ops: &[Op], size: Size, happened: &Happened) -> Result<(), TestCaseError> {
    let dir = directory();
    let (known, said) = (BTreeMap::new(), Vec::new());
    let mut world = World { dir: dir.path(), size, frontier: None, now: 1000, known, said, happened };
    world.open();
    for op in ops {
        world.run(op)?;
    }
    // As a crash leaves it: the filter's files and what the journal adds. The audit takes as long as all the rest.
    world.run(&Op::Crash(u16::MAX))?;
    let histories = happened.histories.replace(happened.histories.get() + 1);
    if histories.is_multiple_of(AUDITED) {
        audit(world.frontier());
    }
    // With memory empty, so that filter and store answer for every URL.
    world.run(&Op::Restart)?;
    world.drop_frontier();
    Ok(())
}

#[test]
fn a_journal_cut_at_any_byte_leaves_exactly_the_urls_before_the_cut() {
    let config = ProptestConfig {
        cases: 24,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed()),
        ..ProptestConfig::default()
    };
    let happened = Happened::default();
    let judged = TestRunner::new(config).run(&(ops(), sizes()), |(ops, size)| check(&ops, size, &happened));
    judged.unwrap_or_else(|failure| panic!("{failure}"));
    let Happened { merges, rebuilds, crashes_that_lost, losses_refused, .. } = happened;
    for (what, count) in [
        ("merges", merges),
        ("rebuilds", rebuilds),
        ("crashes that lost events", crashes_that_lost),
        ("losses refused", losses_refused),
    ] {
        eprintln!("{what}: {}", count.get());
        assert!(count.get() > 0, "no {what}: the histories miss their point");
    }
}

/// Else it would take new events for those that it covers already, and leave their URLs out.
#[test]
fn a_filter_that_covers_more_than_the_journal_holds_is_discarded() {
    let dir = directory();
    let open = || Frontier::open(Options { partitions: 1, ..Options::new(dir.path()) }, 1, || {});
    let offer = |frontier: &Frontier, urls| frontier.offer(&found(&urls), None, 1).expect("offers");
    let frontier = open().expect("opens");
    offer(&frontier, 0..10);
    drop(frontier);
    let lost_all_after_this = Journal::read(dir.path());
    let frontier = open().expect("opens");
    (1..10).for_each(|n| {
        offer(&frontier, n * 10..n * 10 + 10);
    });
    frontier.close().expect("closes");

    for lost in ["journal", "partitions/0000/store"] {
        fs::remove_dir_all(dir.path().join(lost)).expect("removes");
    }
    fs::create_dir(dir.path().join("journal")).expect("makes");
    lost_all_after_this.restore();
    // What only the lost events knew is new; and it is known from then on, over a crash, too.
    let frontier = open().expect("opens");
    let new = |frontier: &Frontier, urls| offer(frontier, urls).discovered;
    assert_eq!([new(&frontier, 0..10), new(&frontier, 10..30)], [0, 20]);
    frontier.commit().expect("commits");
    drop(frontier);
    let frontier = open().expect("opens");
    assert_eq!([new(&frontier, 0..30), new(&frontier, 30..40)], [0, 10]);
}
