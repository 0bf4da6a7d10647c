//! How the frontier grows a partition's filter: layers open as they fill, and when there are too many the exact set is
//! scanned into one of the right size, which takes the place of all. Here the exact set is the row of [`key`]s.
//!
//! Invariant: a filter of so many keys holds the first so many of the row.

use std::time::Duration;

use bloom::{Growable, Scalable};

use crate::{SETTINGS, key};

/// Layers before the last of which is full a rebuild is due: the default of the frontier.
pub const MAX_LAYERS: usize = 3;

/// How full that is, in eighths.
const NEARLY_FULL_EIGHTHS: u64 = 7;

/// Keys that are made, then inserted, at a time: they stay in the nearest cache.
pub const CHUNK: u64 = 4096;

/// What growing took, the making of keys left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Inserts, growth included.
    pub inserts: Duration,
    /// Rebuilds.
    pub rebuilds: Duration,
}

/// Grown from nothing to `count` keys with rebuilds on the way.
#[must_use]
pub fn grown<F: Growable>(count: u64) -> (Scalable<F>, Took) {
    let mut filter = Scalable::new(SETTINGS).expect("possible settings");
    let took = grow(&mut filter, count, |_| {});
    (filter, took)
}

/// Grows a filter on to `count` keys. `look` sees it just before and just after each growth and rebuild.
pub fn grow<F: Growable>(filter: &mut Scalable<F>, count: u64, mut look: impl FnMut(&Scalable<F>)) -> Took {
    let mut took = Took::default();
    while filter.len() < count {
        let newest = filter.newest();
        let is_last = filter.layer_count() == MAX_LAYERS;
        let most = newest.design_capacity();
        let room = if is_last { most * NEARLY_FULL_EIGHTHS / 8 } else { most }.saturating_sub(newest.len());
        if room == 0 {
            look(filter);
            match is_last {
                true => took.rebuilds += rebuild(filter),
                false => took.inserts += insert(filter, 1, Scalable::insert),
            }
            look(filter);
        }
        let more = room.min(count - filter.len());
        took.inserts += insert(filter, more, Scalable::insert);
    }
    took
}

/// Inserts the next `more` keys of the row.
pub fn insert<F: Growable>(filter: &mut Scalable<F>, more: u64, insert: impl Fn(&mut Scalable<F>, u128)) -> Duration {
    let start = filter.len();
    by_chunks(start..start + more, |keys| keys.iter().for_each(|&key| insert(filter, key)))
}

/// Puts all keys so far into one layer.
pub fn rebuild<F: Growable>(filter: &mut Scalable<F>) -> Duration {
    let known = filter.len();
    let mut rebuilt = empty_for(known);
    let took = by_chunks(0..known, |keys| rebuilt.insert_batch(keys));
    *filter = rebuilt;
    took
}

/// What a rebuild fills: room for what is known and one in 64 more.
fn empty_for<F: Growable>(known: u64) -> Scalable<F> {
    Scalable::with_capacity_for(SETTINGS, known + known / 64).expect("possible size")
}

/// Time that `work` takes over these keys of the row, made a chunk at a time while the clock stands.
pub fn by_chunks(items: std::ops::Range<u64>, mut work: impl FnMut(&[u128])) -> Duration {
    let mut keys = Vec::with_capacity(CHUNK as usize);
    let mut took = Duration::ZERO;
    for start in items.clone().step_by(CHUNK as usize) {
        keys.clear();
        keys.extend((start..items.end.min(start + CHUNK)).map(key));
        let from = cpu_time();
        work(&keys);
        took += cpu_time() - from;
    }
    took
}

/// Time that this thread has run: what others take from it on a busy machine is not counted (what they do to the caches
/// is).
#[must_use]
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("not negative")
}

/// The state that a rebuild leaves.
#[must_use]
pub fn rebuilt<F: Growable>(count: u64) -> Scalable<F> {
    let mut filter = empty_for(count);
    insert(&mut filter, count, Scalable::insert);
    filter
}

/// The layers that wait for no rebuild, all full: of one, two and four parts of the keys.
#[must_use]
pub fn fullest<F: Growable>(count: u64) -> Scalable<F> {
    let mut filter = Scalable::with_capacity_for(SETTINGS, count.div_ceil(7)).expect("possible size");
    insert(&mut filter, count, Scalable::insert);
    assert_eq!(filter.layer_count(), MAX_LAYERS, "the row of layers is another one now");
    filter
}

/// The last of these layers just opened, the others full.
#[must_use]
pub fn just_grown<F: Growable>(count: u64) -> Scalable<F> {
    let mut filter = Scalable::with_capacity_for(SETTINGS, count / 3 - 1).expect("possible size");
    insert(&mut filter, count, Scalable::insert);
    assert_eq!(filter.layer_count(), MAX_LAYERS, "the row of layers is another one now");
    filter
}

/// [`fullest`], and one more layer just opened, because the rebuild comes too late.
#[must_use]
pub fn too_many<F: Growable>(count: u64) -> Scalable<F> {
    let mut filter = Scalable::with_capacity_for(SETTINGS, count / 7 - 1).expect("possible size");
    insert(&mut filter, count, Scalable::insert);
    assert_eq!(filter.layer_count(), MAX_LAYERS + 1, "the row of layers is another one now");
    filter
}
