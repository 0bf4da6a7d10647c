//! The hot cache: fingerprints of URLs confirmed as seen, so that the popular ones cost no store read.
//!
//! A set-associative table: four fingerprints (one cache line) a set, most recently hit first, the last one gives way.
//! All 128 bits are kept, so a hit is a fact, not a guess.

use crate::fingerprint::Fingerprint;

const WAYS: usize = 4;

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

    /// Whether the URL is confirmed as seen. Moves it to the front of its set.
    pub(crate) fn contains(&mut self, fingerprint: Fingerprint) -> bool {
        let Some(set) = self.set(fingerprint) else { return false };
        match set.iter().position(|kept| *kept == fingerprint) {
            Some(place) if fingerprint != 0 => {
                set[..=place].rotate_right(1);
                true
            }
            _ => false,
        }
    }

    /// Keeps a URL that is confirmed as seen and was not found here.
    pub(crate) fn insert(&mut self, fingerprint: Fingerprint) {
        if let Some(set) = self.set(fingerprint) {
            set.rotate_right(1);
            set[0] = fingerprint;
        }
    }

    fn set(&mut self, fingerprint: Fingerprint) -> Option<&mut [Fingerprint; WAYS]> {
        // Multiply-shift of the middle bits: the partition's filter uses the outer ones.
        let bits = (fingerprint >> 32) as u32;
        let index = (u64::from(bits) * self.sets.len() as u64) >> 32;
        self.sets.get_mut(index as usize).map(|set| &mut set.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_hit_of_a_set_gives_way() {
        let mut cache = HotCache::new(WAYS);
        for fingerprint in 1..=4 {
            assert!(!cache.contains(fingerprint));
            cache.insert(fingerprint);
        }
        assert!(cache.contains(1));
        cache.insert(5);
        assert_eq!([1, 2, 3, 4, 5].map(|f| cache.contains(f)), [true, false, true, true, true]);
    }

    #[test]
    fn all_bits_count() {
        let mut cache = HotCache::new(WAYS);
        cache.insert(7);
        assert!(!cache.contains(7 | 1 << 127) && !cache.contains(7 | 1 << 20) && cache.contains(7));
    }

    #[test]
    fn a_cache_of_nothing_never_answers() {
        let mut cache = HotCache::new(0);
        cache.insert(7);
        assert!(!cache.contains(7));
    }
}
