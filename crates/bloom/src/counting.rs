//! A blocked filter that can forget: where [`BlockedBloomFilter`](crate::BlockedBloomFilter) has a bit, this has a counter of four
//! bits. Four times the space, the same positions and the same rate; not a count of how often a key was inserted.
//!
//! After Fan, Cao, Almeida and Broder, "Summary Cache: A Scalable Wide-Area Web Cache Sharing Protocol" (IEEE/ACM
//! Transactions on Networking 8(3), 2000), who show that four bits are enough.
//!
//! # Layout
//! The counters lie in bit planes. The first plane says "not 0" and is exactly the blocked filter of the same keys, so a
//! test touches one line and runs the same code. The other three planes count the further keys at a position, 0 to 7, in
//! binary, so a counter goes from 0 to 8; the planes of a block lie together, behind all first planes.
//!
//! # Saturation
//! A counter that reached 8 stays there for good: how many keys it stands for is no longer known. That costs stale
//! positives, never a false absent. At the usual loads about one counter in a million gets there.
//!
//! Invariant: a counter is at least the number of keys in the filter that have it, or 8; so none of them is called absent.

use crate::blocked::{BLOCK_BITS, WORDS_PER_BLOCK, bit_masks};
use crate::error::{FilterError, Full};
use crate::filter::{Filter, Growable, Kind, Removable, Shape};
use crate::lines::{Block, low_half, zeroed};
use crate::machine::Table;
use crate::sizing::MAX_BLOCKS;
use crate::{blocked, machine, sizing};

/// Bits of a counter.
pub const COUNTER_BITS: u64 = 4;

/// Planes beside the first.
const HIGHER: usize = 3;

/// A set of fingerprints that answers *absent* (certain) or *maybe*, and can take one out again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingBloomFilter {
    /// The first planes of all blocks, then the higher planes, block by block.
    table: Table,
    len: u64,
}

impl CountingBloomFilter {
    /// An empty filter of `blocks` blocks of 512 counters, 256 bytes each.
    ///
    /// # Errors
    /// [`FilterError::NoCapacity`] for 0 blocks, [`FilterError::OutOfMemory`] above a quarter of
    /// [`MAX_BLOCKS`] or when the allocator refuses.
    pub fn new(blocks: u64) -> Result<Self, FilterError> {
        let lines = zeroed(blocks.saturating_mul(COUNTER_BITS))?;
        Ok(Self { table: Table::new(lines, blocks), len: 0 })
    }

    /// Adds a fingerprint.
    pub fn insert(&mut self, fingerprint: u128) {
        let masks = bit_masks(low_half(fingerprint));
        let (first, higher) = self.planes(self.table.place(fingerprint));
        for (word, mask) in masks.into_iter().enumerate() {
            let mut carry = first.0[word] & mask;
            first.0[word] |= mask;
            for plane in higher.iter_mut() {
                let both = plane.0[word] & carry;
                plane.0[word] ^= carry;
                carry = both;
            }
            // what would go from 7 to 0 stays at 7
            higher.iter_mut().for_each(|plane| plane.0[word] |= carry);
        }
        self.len = self.len.saturating_add(1);
    }

    /// False: not in, for certain. True: *maybe* in.
    #[inline]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        machine::contains(&self.table, fingerprint)
    }

    fn blocks(&self) -> u64 {
        self.table.places()
    }

    /// First and higher planes of a block.
    fn planes(&mut self, index: usize) -> (&mut Block, &mut [Block]) {
        let blocks = self.blocks() as usize; // they are in memory: it fits
        let (first, higher) = self.table.lines_mut().split_at_mut(blocks);
        (&mut first[index], &mut higher[HIGHER * index..HIGHER * (index + 1)])
    }

    /// How many counters are saturated.
    #[must_use]
    pub fn saturated_counters(&self) -> u64 {
        let (higher, _) = self.table.lines()[self.blocks() as usize..].as_chunks::<HIGHER>();
        let words = higher.iter().flat_map(|[a, b, c]| (0..WORDS_PER_BLOCK).map(|w| a.0[w] & b.0[w] & c.0[w]));
        words.map(|full| u64::from(full.count_ones())).sum()
    }
}

impl Removable for CountingBloomFilter {
    fn remove(&mut self, fingerprint: u128) -> bool {
        if !self.contains(fingerprint) {
            return false;
        }
        let masks = bit_masks(low_half(fingerprint));
        let (first, higher) = self.planes(self.table.place(fingerprint));
        let mut taken = false;
        for (word, mask) in masks.into_iter().enumerate() {
            let saturated = higher.iter().fold(mask, |all, plane| all & plane.0[word]);
            let counted = mask & !saturated;
            let further = higher.iter().fold(0, |any, plane| any | plane.0[word]);
            first.0[word] &= !(counted & !further); // from 1 to 0
            let mut borrow = counted & further;
            for plane in higher.iter_mut() {
                let next = borrow & !plane.0[word];
                plane.0[word] ^= borrow;
                borrow = next;
            }
            taken |= counted != 0;
        }
        self.len = self.len.saturating_sub(u64::from(taken));
        taken
    }
}

impl Filter for CountingBloomFilter {
    fn insert(&mut self, fingerprint: u128) -> Result<(), Full> {
        self.insert(fingerprint);
        Ok(())
    }

    #[inline]
    fn contains(&self, fingerprint: u128) -> bool {
        self.contains(fingerprint)
    }

    fn contains_batch(&self, fingerprints: &[u128], found: &mut [bool]) {
        assert_eq!(fingerprints.len(), found.len(), "one answer per fingerprint");
        machine::contains_batch(&self.table, fingerprints, found);
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn bits(&self) -> u64 {
        self.blocks() * COUNTER_BITS * BLOCK_BITS
    }

    fn predicted_rate(&self) -> f64 {
        self.rate_with(self.len)
    }
}

impl Growable for CountingBloomFilter {
    const KIND: Kind = Kind::Counting;

    fn shape_for(items: u64, rate: f64) -> Result<Shape, FilterError> {
        let blocks = sizing::blocks_for(items, rate)?;
        if blocks > MAX_BLOCKS / COUNTER_BITS {
            return Err(FilterError::TooLarge { items, rate });
        }
        Ok(blocked::shape(blocks, 0))
    }

    fn shape_within(_items: u64, lines: u64) -> Shape {
        blocked::shape(lines / COUNTER_BITS, 0)
    }

    fn rate_with(&self, items: u64) -> f64 {
        sizing::predicted_rate(items, self.blocks())
    }

    #[inline]
    fn any_or_self_contains<'a>(&self, others: impl Iterator<Item = &'a Self>, fingerprint: u128) -> bool {
        machine::contains_in_any(others.map(|filter| &filter.table), &self.table, fingerprint)
    }

    fn any_or_self_contains_batch<'a>(
        &self,
        others: impl Iterator<Item = &'a Self> + Clone,
        fingerprints: &[u128],
        found: &mut [bool],
    ) {
        machine::contains_in_any_batch(others.map(|filter| &filter.table), &self.table, fingerprints, found);
    }

    fn overload(&mut self, fingerprint: u128) {
        self.insert(fingerprint);
    }

    fn shape(&self) -> Shape {
        blocked::shape(self.blocks(), self.len)
    }

    fn lines(&self) -> &[Block] {
        self.table.lines()
    }

    fn lines_of(shape: &Shape) -> Result<u64, &'static str> {
        if usize::from(shape.width) != WORDS_PER_BLOCK || shape.saturated {
            return Err("impossible shape");
        }
        Ok(shape.size.saturating_mul(COUNTER_BITS))
    }

    fn from_lines(shape: &Shape, lines: Vec<Block>) -> Self {
        Self { table: Table::new(lines, shape.size), len: shape.len }
    }
}

#[cfg(test)]
mod tests;
