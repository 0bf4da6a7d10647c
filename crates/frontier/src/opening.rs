//! Opening a data directory: its partitions, and the replay of what their stores do not cover.

use std::panic::resume_unwind;
use std::sync::Arc;

use crate::Millis;
use crate::checkpoint::Checkpoint;
use crate::directory::{self, Meta};
use crate::error::{Error, IoContext};
use crate::event::decode_parts;
use crate::journal::{Journal, Pace};
use crate::options::Options;
use crate::partition::{Partition, State};
use crate::queue::Queues;
use crate::rebuild;
use crate::shared::{Background, Shared};
use crate::store::Store;

/// Threads that open partitions.
const OPENERS: usize = 8;

/// Takes the directory, opens every partition and replays the journal; no thread but the journal's runs yet.
pub(crate) fn open(options: &Options, now: Millis, wake: Arc<dyn Fn() + Send + Sync>) -> Result<Shared, Error> {
    std::fs::create_dir_all(&options.dir).at(&options.dir)?;
    let lock = directory::lock(&options.dir)?;
    let meta = directory::meta(&options.dir, options.partitions)?;
    if meta.partitions != options.partitions {
        tracing::warn!(asked = options.partitions, kept = meta.partitions, "the directory keeps its partitions");
    }
    let mut partitions = open_partitions(options, &meta, now)?;
    let journal = open_journal(options, &mut partitions, Arc::clone(&wake))?;
    for partition in &mut partitions {
        partition.state.get_mut().queues.wait_full_delays();
    }
    Ok(Shared {
        secret: meta.secret,
        journal,
        filter_settings: options.filter_settings(partitions.len()),
        rebuilding: options.rebuilding(),
        generation_bytes: options.generation_bytes(partitions.len()),
        partitions,
        journal_max_bytes: options.journal_max_bytes,
        wake,
        background: Background::default(),
        _lock: lock,
    })
}

/// Opens all partitions, some at a time: each waits for the disk more than it computes.
fn open_partitions(options: &Options, meta: &Meta, now: Millis) -> Result<Vec<Partition>, Error> {
    let numbers: Vec<u16> = (0..meta.partitions).collect();
    let share = numbers.len().div_ceil(OPENERS);
    let open = |numbers: &[u16]| numbers.iter().map(|n| open_partition(options, meta, *n, now)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let openers: Vec<_> = numbers.chunks(share).map(|numbers| scope.spawn(|| open(numbers))).collect();
        let opened = openers.into_iter().flat_map(|opener| opener.join().unwrap_or_else(|panic| resume_unwind(panic)));
        opened.collect()
    })
}

fn open_partition(options: &Options, meta: &Meta, number: u16, now: Millis) -> Result<Partition, Error> {
    let (store_dir, filter_dir) = directory::partition_dirs(&options.dir, number);
    std::fs::create_dir_all(&store_dir).at(&store_dir)?;
    let count = usize::from(meta.partitions);
    let queues = Queues::new(options.politeness(count), now);
    let store = Store::open(&store_dir, options.store_cache_bytes as usize / count)?;
    let covered = store.covered()?;
    let mut checkpoint = Checkpoint::open(&filter_dir, meta.secret.check())?;
    let mut state = State::new(meta.secret.clone(), options.hot_cache_entries.div_ceil(count), queues, covered);
    if let Err(reason) =
        rebuild::restore_filter(&mut checkpoint, options.filter_settings(count), covered.sequence, &mut state)
    {
        tracing::warn!(partition = number, reason, "filter cannot be used: answering maybe and rebuilding it");
    }
    Ok(Partition::new(number, store, checkpoint, state))
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
    let pace = Pace { interval: options.commit_interval, max_bytes: options.journal_max_bytes };
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
