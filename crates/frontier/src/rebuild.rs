//! A partition's filter from its files at start, and made anew from the exact set when it cannot be read, has too many
//! layers, or somebody asks: background work, like merges, which it excludes.
//!
//! Absent means absent at every moment: the new filter holds all that the store holds and, taken in under the lock, all
//! that memory holds, before it answers its first question.

use std::time::Instant;

use bloom::ScalableFilter;

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::journal::Sequence;
use crate::partition::{Partition, State};
use crate::shared::Shared;

/// A rebuilt filter has room for this part more than what is known: an eighth, so that it is full soon, not at once.
const REBUILD_HEADROOM: u64 = 8;
/// Keys that a throttled scan takes between two rests: some milliseconds' work.
const KEYS_PER_REST: u32 = 4096;

/// Makes the filter anew, as one layer, from the exact set and memory. Meanwhile the old one answers, or, where there is
/// none, every answer is maybe. Returns the number of keys.
pub(crate) fn rebuild(shared: &Shared, partition: &Partition) -> Result<u64, Error> {
    // Excludes merges: what is in memory now stays there until the scan has ended.
    let _no_merge = partition.merging.lock();
    let (known, layers) = {
        let mut state = partition.state.lock();
        state.rebuild_asked = false;
        let known = state.books.discovered + state.books.imported - state.books.forgotten;
        (known.max(0) as u64, state.filter.as_ref().map_or(usize::MAX, ScalableFilter::layer_count))
    };
    let capacity = (known + known / REBUILD_HEADROOM).max(shared.filter_settings.initial_capacity);
    let mut filter = ScalableFilter::with_capacity_for(shared.filter_settings, capacity)
        .map_err(|e| Error::Poisoned(format!("filter of partition {}: {e}", partition.number)))?;
    // One layer too many may wait; with more, or with no filter, lookups pay for every moment.
    let share = if layers <= shared.rebuilding.max_layers + 1 { shared.rebuilding.cpu_share } else { 1.0 };
    let mut throttle = Throttle { share, since: Instant::now(), keys: 0 };
    partition.store.scan_keys(|key| {
        filter.insert(shared.secret.fingerprint(key));
        throttle.step();
    })?;
    let mut state = partition.state.lock();
    let state = &mut *state;
    for fingerprint in state.active.fingerprints() {
        filter.insert(fingerprint);
    }
    let keys = filter.len();
    state.filter = Some(filter);
    Ok(keys)
}

/// Keeps a scan to its share of one core.
struct Throttle {
    share: f64,
    since: Instant,
    keys: u32,
}

impl Throttle {
    fn step(&mut self) {
        self.keys += 1;
        if self.keys.is_multiple_of(KEYS_PER_REST) && self.share < 1.0 {
            std::thread::sleep(self.since.elapsed().mul_f64(1.0 / self.share - 1.0));
            self.since = Instant::now();
        }
    }
}

/// The filter of a partition at start: from its files, or none if they cannot be used or do not cover the store.
pub(crate) fn restore_filter(
    checkpoint: &mut Checkpoint,
    settings: bloom::Settings,
    covered: Sequence,
    state: &mut State,
) -> Result<(), String> {
    match checkpoint.read(settings)? {
        Some(restored) if restored.covered >= covered => {
            state.filter = Some(restored.filter);
            state.filter_covered = restored.covered;
            Ok(())
        }
        Some(restored) => Err(format!("the filter covers {}, the store {covered}", restored.covered)),
        None if covered == 0 => {
            let filter = ScalableFilter::new(settings).map_err(|e| e.to_string())?;
            state.filter = Some(filter);
            Ok(())
        }
        None => Err(format!("there is no filter, and the store covers {covered}")),
    }
}
