//! A partition's filter from its files at start, and made anew from the exact set: background work, like merges, which it
//! excludes.
//!
//! Absent means absent at every moment: the new filter holds all that the store holds and, taken in under the lock, all
//! that memory holds, before it answers its first question. Until then the old one answers, or, where there is none, every
//! answer is maybe.

use std::fmt;
use std::time::{Duration, Instant};

use ahash::AHashSet;
use bloom::{AnyScalable, Kind};

use crate::checkpoint::{Checkpoint, Judge};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::journal::Sequence;
use crate::partition::{Partition, State};
use crate::shared::{Filtering, Shared};
use crate::steps::{Step, step};
use crate::store::{self, Held};

/// A rebuilt filter has room for this part more than what is known: next to nothing, for the layer behind it opens when
/// it is needed, and room that is not used costs as much as room that is.
const REBUILD_HEADROOM: u64 = 64;
/// The last layer that a filter may have calls for a rebuild when it is so full: then the rebuild is done, as a rule, before
/// another one must open, which would be as large as all others together.
const NEARLY_FULL: f64 = 0.875;
/// Keys that a throttled scan takes between two rests: some milliseconds' work.
const KEYS_PER_REST: usize = 4096;
/// Longest rest without a look whether there is a hurry.
const NAP: Duration = Duration::from_millis(20);
/// Time between two lines of progress in the log.
const PROGRESS: Duration = Duration::from_secs(10);
/// Fewer forgotten URLs than this in a filter are no reason to rebuild it, whatever their share.
const MIN_STALE_KEYS: u64 = 64;
/// Notes of forgotten URLs that one rebuild deletes at most; what is left waits for the next one.
const PURGED: usize = 1_000_000;

/// Why a filter is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Somebody asked for it.
    Asked,
    /// Its files could not be used, so there is none.
    Missing,
    /// It has too many layers.
    Layers,
    /// Too much of what it holds has been forgotten.
    Stale,
    /// Its layers have used up their memory; one alone takes less.
    Memory,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "asked for",
            Self::Missing => "no filter",
            Self::Layers => "too many layers",
            Self::Stale => "too many forgotten URLs in it",
            Self::Memory => "filter.max_bytes reached",
        })
    }
}

/// Whether, and why, the filter must be made anew.
pub(crate) fn reason(state: &State, filtering: &Filtering) -> Option<Reason> {
    let Some(filter) = &state.filter else { return Some(Reason::Missing) };
    // What was left at the last rebuild would be left by another one.
    let stale = state.stale_keys.saturating_sub(state.stale_at_rebuild);
    let most_stale = filtering.max_stale_share * filter.len() as f64;
    match () {
        () if state.rebuild_asked => Some(Reason::Asked),
        () if filter.layer_count() > filtering.max_layers => Some(Reason::Layers),
        () if is_nearly_full(filter, filtering) => Some(Reason::Layers),
        () if stale > MIN_STALE_KEYS && stale as f64 > most_stale => Some(Reason::Stale),
        () if filter.layer_count() > 1 && filter.overload() > 0 => Some(Reason::Memory),
        () => None,
    }
}

/// Whether the last layer that it may have will soon be full. (One that is the only one was made to be.)
fn is_nearly_full(filter: &AnyScalable, filtering: &Filtering) -> bool {
    filter.layer_count() > 1 && filter.layer_count() == filtering.max_layers && filter.newest_load() > NEARLY_FULL
}

/// Makes the filter anew, as one layer, from the exact set and memory. Returns the number of keys; `None` if it was given up
/// because the work is to end.
pub(crate) fn rebuild(shared: &Shared, partition: &Partition) -> Result<Option<u64>, Error> {
    // Excludes merges: what is in memory now stays there until the scan has ended.
    let _no_merge = partition.merging.lock();
    let filtering = &shared.filtering;
    let (known, in_memory) = {
        let mut state = partition.state.lock();
        state.rebuild_asked = false;
        let known = state.books.discovered + state.books.imported - state.books.forgotten;
        (known.max(0) as u64, state.active.entries().map(|(fingerprint, _)| fingerprint).collect())
    };
    let capacity = known + known / REBUILD_HEADROOM;
    let mut filter = AnyScalable::with_capacity_for(filtering.kind, filtering.settings, capacity)
        .map_err(|e| Error::Poisoned(format!("filter of partition {}: {e}", partition.number)))?;
    let Some(notes) = scan(shared, partition, known, &in_memory, &mut filter)? else { return Ok(None) };
    step(Step::RebuildScanned);
    let keys = {
        let mut state = partition.state.lock();
        let state = &mut *state;
        for (fingerprint, _) in state.active.known() {
            // Bits of a plain filter stay, so what is there need not be there twice.
            if filtering.kind != Kind::Blocked || !filter.contains(fingerprint) {
                filter.insert(fingerprint);
            }
        }
        state.stale_keys = state.active.set_stale(|fingerprint| filter.contains(fingerprint));
        state.stale_at_rebuild = state.stale_keys;
        let keys = filter.len();
        warn_if_waived(partition.number, &filter);
        state.filter = Some(filter);
        keys
    };
    step(Step::RebuildSwapped);
    if !notes.is_empty() {
        partition.store.write(notes.iter().map(|key| store::remove_record(key)).collect())?;
        step(Step::RebuildPurged);
        partition.store.reopen()?;
    }
    Ok(Some(keys))
}

/// Takes the keys of the store in, but for those of which memory knows better: it is asked at the end. Returns the notes of
/// forgotten URLs that the new filter makes needless; `None` if the work is to end.
fn scan(
    shared: &Shared,
    partition: &Partition,
    known: u64,
    in_memory: &AHashSet<Fingerprint>,
    filter: &mut AnyScalable,
) -> Result<Option<Vec<String>>, Error> {
    let mut notes = Vec::new();
    let mut batch = Vec::with_capacity(KEYS_PER_REST);
    let mut pace = Pace { shared, partition, known, since: Instant::now(), said: Instant::now() };
    let whole = partition.store.scan_while(|key, held| {
        if held == Held::Forgotten {
            if notes.len() < PURGED {
                notes.push(key.to_owned());
            }
            return true;
        }
        let fingerprint = shared.secret.fingerprint(key);
        if !in_memory.contains(&fingerprint) {
            batch.push(fingerprint);
        }
        if batch.len() == KEYS_PER_REST {
            filter.insert_batch(&batch);
            batch.clear();
            pace.rest(filter.len());
            return !shared.is_closing();
        }
        true
    })?;
    filter.insert_batch(&batch);
    Ok(whole.then_some(notes))
}

fn warn_if_waived(partition: u16, filter: &AnyScalable) {
    if filter.waived() {
        let (rate, bytes) = (filter.predicted_rate(), filter.bytes());
        tracing::warn!(partition, rate, bytes, "filter.max_bytes does not do: false_positive_rate is exceeded");
    }
}

/// Keeps a scan to its share of one core, and tells how far it is.
struct Pace<'a> {
    shared: &'a Shared,
    partition: &'a Partition,
    known: u64,
    since: Instant,
    said: Instant,
}

impl Pace<'_> {
    fn rest(&mut self, keys: u64) {
        if self.said.elapsed() > PROGRESS {
            self.said = Instant::now();
            tracing::info!(partition = self.partition.number, keys, of = self.known, "rebuilding the filter");
        }
        let share = self.shared.filtering.cpu_share;
        let mut left = self.since.elapsed().mul_f64(1.0 / share - 1.0);
        while !left.is_zero() && !self.is_urgent() {
            let now = left.min(NAP);
            std::thread::sleep(now);
            left -= now;
        }
        self.since = Instant::now();
    }

    /// Without a filter every lookup pays; the last layer that a filter may have must not overflow; and a merge waits until
    /// this is done, and offers may wait for the merge.
    fn is_urgent(&self) -> bool {
        if self.shared.is_closing() || self.shared.is_merge_due() {
            return true;
        }
        let state = self.partition.state.lock();
        let Some(filter) = &state.filter else { return true };
        filter.layer_count() > self.shared.filtering.max_layers && filter.newest_load() > 0.5
    }
}

/// The filter of a partition at start: from its files, or none if they cannot be used or do not cover the store.
pub(crate) fn restore_filter(
    checkpoint: &mut Checkpoint,
    filtering: &Filtering,
    judge: Judge,
    covered: Sequence,
    state: &mut State,
) -> Result<(), String> {
    match checkpoint.read(filtering.kind, filtering.settings, judge)? {
        Some(restored) if restored.covered >= covered => {
            let mut filter = restored.filter;
            if filter.layer_count() > filtering.max_layers {
                filter.stop_growth();
            }
            state.filter = Some(filter);
            state.filter_covered = restored.covered;
            Ok(())
        }
        Some(restored) => Err(format!("the filter covers {}, the store {covered}", restored.covered)),
        None if covered == 0 => {
            let filter = AnyScalable::new(filtering.kind, filtering.settings).map_err(|e| e.to_string())?;
            state.filter = Some(filter);
            Ok(())
        }
        None => Err(format!("there is no filter, and the store covers {covered}")),
    }
}

#[cfg(test)]
mod tests;
