//! Many fingerprints at once, over all layers. Not another meaning: the answers, and what is in afterwards, are those of
//! one by one.
//!
//! While one fingerprint is tested, the lines of later ones are on their way, from all layers, so that the waits for
//! memory overlap. That brings in lines of newer layers in vain where an older one says maybe; layers are few.
//!
//! Invariant: `found[i]` is the answer for `fingerprints[i]`.

use crate::error::Full;
use crate::filter::{Filter, Growable};

use super::Scalable;

impl<F: Growable> Scalable<F> {
    /// Adds them all, in order, as [`insert`](Self::insert) would.
    pub fn insert_batch(&mut self, fingerprints: &[u128]) {
        let mut left = fingerprints;
        while !left.is_empty() {
            if self.newest.len() >= self.grow_at {
                self.grow();
            }
            let room = self.grow_at.saturating_sub(self.newest.len()).max(1);
            let (now, later) = left.split_at(left.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
            let before = self.newest.len();
            if self.newest.insert_batch(now) == Err(Full) {
                // those in before it are counted; take that one by another layer, and go on
                let done = usize::try_from(self.newest.len() - before).expect("at most the length of a slice");
                self.insert_into_another(now[done]);
                left = &left[done + 1..];
            } else {
                left = later;
            }
        }
    }

    /// Tests them all: `found[i]` becomes the answer for `fingerprints[i]`.
    ///
    /// # Panics
    /// When the two lengths differ.
    pub fn contains_batch(&self, fingerprints: &[u128], found: &mut [bool]) {
        assert_eq!(fingerprints.len(), found.len(), "one answer per fingerprint");
        let sealed = self.sealed.iter().rev().map(|layer| layer.filter());
        self.newest.filter().any_or_self_contains_batch(sealed, fingerprints, found);
    }
}

impl<F: Growable> Filter for Scalable<F> {
    fn insert(&mut self, fingerprint: u128) -> Result<(), Full> {
        self.insert(fingerprint);
        Ok(())
    }

    fn contains(&self, fingerprint: u128) -> bool {
        self.contains(fingerprint)
    }

    fn insert_batch(&mut self, fingerprints: &[u128]) -> Result<(), Full> {
        self.insert_batch(fingerprints);
        Ok(())
    }

    fn contains_batch(&self, fingerprints: &[u128], found: &mut [bool]) {
        self.contains_batch(fingerprints, found);
    }

    fn len(&self) -> u64 {
        self.len()
    }

    fn bits(&self) -> u64 {
        self.layers().map(super::LayerOf::bits).sum()
    }

    fn predicted_rate(&self) -> f64 {
        self.predicted_rate()
    }
}
