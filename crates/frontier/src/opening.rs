//! Opening a data directory: its partitions, and the replay of what their stores do not cover.

use std::panic::resume_unwind;
use std::sync::Arc;

use bloom::Origin;

use crate::Millis;
use crate::canonical::RULES_VERSION;
use crate::checkpoint::{Checkpoint, Judge};
use crate::directory::{self, Lock, Meta};
use crate::disk;
use crate::error::{Error, IoContext};
use crate::event::decode_parts;
use crate::hot_cache::HotCache;
use crate::journal::{Journal, Sequence};
use crate::ledger::{Accounts, Budget, Ledger};
use crate::options::Options;
use crate::partition::{Partition, State};
use crate::queue::Queues;
use crate::rebuild;
use crate::revisiting::Revisits;
use crate::shared::{Background, Shared};
use crate::steps::{Step, step};
use crate::store::Store;

/// Threads that open partitions.
const OPENERS: usize = 8;

/// Takes the directory, opens every partition and replays the journal; no thread but the journal's runs yet.
pub(crate) fn open(
    options: &Options,
    judge: Judge,
    now: Millis,
    wake: Arc<dyn Fn() + Send + Sync>,
) -> Result<Shared, Error> {
    disk::create_data_dir(&options.dir).at(&options.dir)?;
    let lock = directory::lock(&options.dir)?;
    let meta = directory::meta(&options.dir, options.partitions, options.rules.options())?;
    open_locked(options, Arc::new(lock), &meta, judge, now, wake)
}

/// The same of a directory that was taken, whatever rules it was made under.
pub(crate) fn open_locked(
    options: &Options,
    lock: Arc<Lock>,
    meta: &Meta,
    judge: Judge,
    now: Millis,
    wake: Arc<dyn Fn() + Send + Sync>,
) -> Result<Shared, Error> {
    if meta.partitions != options.partitions {
        tracing::warn!(asked = options.partitions, kept = meta.partitions, "the directory keeps its partitions");
    }
    let mut partitions = open_partitions(options, meta, judge, now)?;
    step(Step::StoresOpened);
    let journal = open_journal(options, &mut partitions, Arc::clone(&wake))?;
    step(Step::Replayed);
    discard_filters_beyond(journal.last(), &mut partitions)?;
    for partition in &mut partitions {
        partition.state.get_mut().queues.wait_full_delays();
    }
    Ok(Shared {
        secret: meta.secret.clone(),
        journal,
        filtering: options.filtering(partitions.len()),
        room: options.room(),
        partitions,
        journal_max_bytes: options.journal_max_bytes,
        recrawl: options.recrawl,
        wake,
        background: Background::default(),
        _lock: lock,
    })
}

/// Opens all partitions, some at a time: each waits for the disk more than it computes.
fn open_partitions(options: &Options, meta: &Meta, judge: Judge, now: Millis) -> Result<Vec<Partition>, Error> {
    let numbers: Vec<u16> = (0..meta.partitions).collect();
    let share = numbers.len().div_ceil(OPENERS);
    let open_one = |number: &u16| open_partition(options, meta, judge, *number, now);
    if options.is_by_hand() {
        return numbers.iter().map(open_one).collect();
    }
    let open = |numbers: &[u16]| numbers.iter().map(open_one).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let openers: Vec<_> = numbers.chunks(share).map(|numbers| scope.spawn(|| open(numbers))).collect();
        let opened = openers.into_iter().flat_map(|opener| opener.join().unwrap_or_else(|panic| resume_unwind(panic)));
        opened.collect()
    })
}

fn open_partition(options: &Options, meta: &Meta, judge: Judge, number: u16, now: Millis) -> Result<Partition, Error> {
    let (store_dir, filter_dir) = directory::partition_dirs(&options.dir, number);
    disk::create_dirs(&options.dir, &store_dir).at(&store_dir)?;
    disk::create_dirs(&options.dir, &filter_dir).at(&filter_dir)?;
    let blocks_dir = directory::blocks_dir(&options.dir, number);
    disk::create_dirs(&options.dir, &blocks_dir).at(&blocks_dir)?;
    let count = usize::from(meta.partitions);
    let queues = Queues::new(options.politeness(count), now);
    let store = Store::open(&store_dir, &blocks_dir, options.store_cache_bytes as usize / count)?;
    let covered = store.covered()?;
    let origin = Origin { rules: RULES_VERSION, ..Origin::new(meta.secret.check(number)) };
    let mut checkpoint = Checkpoint::open(&filter_dir, origin);
    let filtering = options.filtering(count);
    let hot = HotCache::new(options.hot_cache_entries.div_ceil(count));
    let mut state = State::new(meta.secret.clone(), hot, queues, covered, filtering.max_layers);
    state.revisits = options.recrawl.map(|_| Revisits::new(options.room().generation / count));
    if options.budget.is_on() {
        state.ledger = Some(ledger(options.budget, &store, &state)?);
    }
    if let Err(reason) = rebuild::restore_filter(&mut checkpoint, &filtering, judge, covered.sequence, &mut state) {
        tracing::warn!(partition = number, reason, "filter cannot be used: the store answers until it is rebuilt");
    }
    Ok(Partition::new(number, store, checkpoint, state))
}

/// What the hosts in the store have used of their budgets; a replay adds the rest.
fn ledger(budget: Budget, store: &Store, state: &State) -> Result<Ledger, Error> {
    let mut ledger = Ledger::new(budget);
    store.hosts(state.covered.sequence, |name, host| {
        let accounts = Accounts::of(&state.secret, name);
        ledger.add(accounts, &host.counts);
        ledger.grant(accounts, &host.state);
    })?;
    Ok(ledger)
}

/// Filters that cover more than the journal holds, which only lost or mixed-up files can bring about: they would take new
/// events for those that they cover already, and leave their URLs out. They are given up, here and on disk.
fn discard_filters_beyond(last: Sequence, partitions: &mut [Partition]) -> Result<(), Error> {
    for partition in partitions {
        let state = partition.state.get_mut();
        if state.filter_covered > last {
            let (number, covered) = (partition.number, state.filter_covered);
            tracing::warn!(partition = number, covered, last, "filter covers more than the journal holds: discarded");
            partition.merging.get_mut().discard()?;
            (state.filter, state.filter_covered) = (None, 0);
        }
    }
    Ok(())
}

/// Replays what each partition's store (or filter) does not cover.
fn open_journal(
    options: &Options,
    partitions: &mut [Partition],
    wake: Arc<dyn Fn() + Send + Sync>,
) -> Result<Journal, Error> {
    let dir = options.dir.join("journal");
    let covered = partitions.iter_mut().map(|p| p.state.get_mut().covered.sequence);
    let (lowest, highest) = covered.fold((u64::MAX, 0), |(low, high), one| (low.min(one), high.max(one)));
    disk::create_dirs(&options.dir, &dir).at(&dir)?;
    let pace = options.pace();
    let damaged = dir.clone();
    Journal::open(&dir, &pace, (lowest, highest), Box::new(move || wake()), |sequence, event| {
        let parts = decode_parts(event).map_err(|e| Error::corrupt(&damaged, format!("event {sequence}: {e}")))?;
        for (number, event) in parts {
            let Some(partition) = partitions.get_mut(usize::from(number)) else {
                return Err(Error::corrupt(&damaged, format!("event {sequence} is of partition {number}")));
            };
            let state = partition.state.get_mut();
            if sequence > state.covered.sequence {
                state.apply(sequence, &event);
            }
        }
        Ok(())
    })
}
