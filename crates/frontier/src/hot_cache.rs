//! The hot cache: fingerprints of URLs confirmed as seen, so that the popular ones cost no store read.
//!
//! A set-associative table: four fingerprints (one cache line) a set, most recently hit first, the last one gives way.
//! 120 bits of each are kept, so a hit is a fact, not a guess; the other eight, which the place of the set mostly says
//! again, hold the depth of a URL that is not finished, so that a nearer finding is noticed without another look.

use crate::fingerprint::Fingerprint;

const WAYS: usize = 4;

/// Where the depth lies: the highest of the bits that choose the set.
const DEPTH_SHIFT: u32 = 56;
const DEPTH: Fingerprint = 0xff << DEPTH_SHIFT;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Set([Fingerprint; WAYS]);

/// Zero marks an empty place; a fingerprint of zero is never kept, which only costs a read.
pub(crate) struct HotCache {
    sets: Vec<Set>,
}

impl HotCache {
    /// A cache of about `entries` fingerprints (16 bytes each); with none it never answers.
    pub(crate) fn new(entries: usize) -> Self {
        Self { sets: vec![Set([0; WAYS]); entries.div_ceil(WAYS)] }
    }

    /// The depth that is noted of a URL that is confirmed as seen; `None` when it is not in here. Moves it to the front of
    /// its set.
    pub(crate) fn find(&mut self, fingerprint: Fingerprint) -> Option<u16> {
        let set = self.set(fingerprint)?;
        let place = set.iter().position(|kept| is_same(*kept, fingerprint))?;
        set[..=place].rotate_right(1);
        Some(((set[0] & DEPTH) >> DEPTH_SHIFT) as u16)
    }

    /// Whether a URL is in here; it stays where it is.
    pub(crate) fn holds(&self, fingerprint: Fingerprint) -> bool {
        let set = self.sets.get(self.index(fingerprint));
        set.is_some_and(|set| set.0.iter().any(|kept| is_same(*kept, fingerprint)))
    }

    /// Keeps a URL that is confirmed as seen and was not found here. `depth`: if it is not finished, else zero; 255 stands
    /// for more.
    pub(crate) fn insert(&mut self, fingerprint: Fingerprint, depth: u16) {
        if let Some(set) = self.set(fingerprint) {
            set.rotate_right(1);
            set[0] = with_depth(fingerprint, depth);
        }
    }

    /// Notes another depth of a URL that is in here.
    pub(crate) fn set_depth(&mut self, fingerprint: Fingerprint, depth: u16) {
        if let Some(set) = self.set(fingerprint) {
            let kept = set.iter_mut().filter(|kept| is_same(**kept, fingerprint));
            kept.for_each(|kept| *kept = with_depth(fingerprint, depth));
        }
    }

    /// Drops a URL that is forgotten.
    pub(crate) fn remove(&mut self, fingerprint: Fingerprint) {
        if let Some(set) = self.set(fingerprint) {
            set.iter_mut().filter(|kept| is_same(**kept, fingerprint)).for_each(|kept| *kept = 0);
        }
    }

    fn set(&mut self, fingerprint: Fingerprint) -> Option<&mut [Fingerprint; WAYS]> {
        let index = self.index(fingerprint);
        self.sets.get_mut(index).map(|set| &mut set.0)
    }

    fn index(&self, fingerprint: Fingerprint) -> usize {
        // Multiply-shift of the middle bits: the partition's filter uses the outer ones.
        let bits = (fingerprint >> 32) as u32;
        ((u64::from(bits) * self.sets.len() as u64) >> 32) as usize
    }
}

fn is_same(kept: Fingerprint, fingerprint: Fingerprint) -> bool {
    kept & !DEPTH == fingerprint & !DEPTH && kept & !DEPTH != 0
}

fn with_depth(fingerprint: Fingerprint, depth: u16) -> Fingerprint {
    fingerprint & !DEPTH | Fingerprint::from(depth.min(255)) << DEPTH_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_hit_of_a_set_gives_way() {
        let mut cache = HotCache::new(WAYS);
        for fingerprint in 1..=4 {
            assert_eq!(cache.find(fingerprint), None);
            cache.insert(fingerprint, 0);
        }
        assert_eq!(cache.find(1), Some(0));
        cache.insert(5, 0);
        assert_eq!([1, 2, 3, 4, 5].map(|f| cache.find(f).is_some()), [true, false, true, true, true]);
    }

    #[test]
    fn what_is_removed_does_not_answer() {
        let mut cache = HotCache::new(WAYS);
        [7, 8].into_iter().for_each(|fingerprint| cache.insert(fingerprint, 9));
        cache.remove(7);
        assert_eq!((cache.find(7), cache.find(8)), (None, Some(9)));
    }

    #[test]
    fn all_bits_but_those_of_the_depth_count() {
        let mut cache = HotCache::new(WAYS);
        cache.insert(7, 0);
        for bit in (0..128).filter(|bit| DEPTH >> bit & 1 == 0) {
            assert_eq!(cache.find(7 ^ 1 << bit), None, "{bit}");
        }
        assert_eq!(cache.find(7), Some(0));
    }

    #[test]
    fn depths_are_kept_and_bounded() {
        let mut cache = HotCache::new(1024);
        for (fingerprint, depth, kept) in [(u128::MAX, 3, 3), (1 << 64, 0, 0), (0xabcd << 48, 70, 70), (5, 300, 255)] {
            cache.insert(fingerprint, depth);
            assert_eq!(cache.find(fingerprint), Some(kept), "{fingerprint:x}");
            cache.set_depth(fingerprint, 1);
            assert_eq!(cache.find(fingerprint), Some(1), "{fingerprint:x}");
        }
    }

    #[test]
    fn a_cache_of_nothing_never_answers() {
        let mut cache = HotCache::new(0);
        cache.insert(7, 0);
        assert_eq!(cache.find(7), None);
    }
}
