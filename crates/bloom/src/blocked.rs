//! A Bloom filter of fixed size whose every key lives in one cache line. Not growable, and without an opinion on how
//! large it should be (that is [`sizing`]).
//!
//! The layout is that of the blocked filter of Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom
//! Filters" (WEA 2007), in the split form of Apache Impala and Apache Parquet (*split block Bloom filter*: one bit in each
//! word of a block), but with blocks of 8 × 64 bits instead of 8 × 32, and with the bits taken straight from the
//! fingerprint instead of multiplied out of 32 bits of it.
//!
//! Invariant: bits are only ever set, so a fingerprint that went in is found for as long as the filter lives.

use crate::error::FilterError;
use crate::sizing::{self, MAX_BLOCKS};

/// Words in a block, and so bits set by a key.
pub const WORDS_PER_BLOCK: usize = 8;
/// Bytes in a block: one cache line of today's x86 and ARM server processors.
pub const BLOCK_BYTES: u64 = 64;
/// Bits in a block.
pub const BLOCK_BITS: u64 = BLOCK_BYTES * 8;

/// One cache line of filter. The alignment makes a probe touch one line, never two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Block(pub(crate) [u64; WORDS_PER_BLOCK]);

impl Block {
    const EMPTY: Block = Block([0; WORDS_PER_BLOCK]);
}

/// A set of fingerprints that answers *absent* (certain) or *maybe*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedFilter {
    blocks: Vec<Block>,
    len: u64,
}

impl BlockedFilter {
    /// An empty filter of `blocks` blocks of 64 bytes.
    ///
    /// # Errors
    /// [`FilterError::NoCapacity`] for 0 blocks, [`FilterError::OutOfMemory`] above
    /// [`MAX_BLOCKS`] or when the allocator refuses.
    pub fn new(blocks: u64) -> Result<Self, FilterError> {
        if blocks == 0 {
            return Err(FilterError::NoCapacity);
        }
        let no_memory = || FilterError::OutOfMemory { bytes: blocks.saturating_mul(BLOCK_BYTES) };
        let count = usize::try_from(blocks).map_err(|_| no_memory())?;
        let mut storage = Vec::new();
        if blocks > MAX_BLOCKS || storage.try_reserve_exact(count).is_err() {
            return Err(no_memory());
        }
        storage.resize(count, Block::EMPTY);
        Ok(Self { blocks: storage, len: 0 })
    }

    /// An empty filter that holds `items` fingerprints at a false-positive rate of at most `rate`.
    ///
    /// # Errors
    /// Those of [`sizing::blocks_for`] and [`BlockedFilter::new`].
    pub fn for_items(items: u64, rate: f64) -> Result<Self, FilterError> {
        Self::new(sizing::blocks_for(items, rate)?)
    }

    /// A filter from its parts, for the codec. `blocks` must not be empty.
    pub(crate) fn from_parts(blocks: Vec<Block>, len: u64) -> Self {
        debug_assert!(!blocks.is_empty());
        Self { blocks, len }
    }

    /// Adds a fingerprint. From now on [`contains`](Self::contains) is true for it.
    #[inline]
    pub fn insert(&mut self, fingerprint: u128) {
        let index = block_index(high_half(fingerprint), self.blocks.len());
        let mask = bit_masks(low_half(fingerprint));
        for (word, bit) in self.blocks[index].0.iter_mut().zip(mask) {
            *word |= bit;
        }
        // saturating: a length read from a file may be anything
        self.len = self.len.saturating_add(1);
    }

    /// False: never inserted, for certain. True: *maybe* inserted.
    #[inline]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        let index = block_index(high_half(fingerprint), self.blocks.len());
        let mask = bit_masks(low_half(fingerprint));
        // All eight words without a branch: the line is loaded anyway, and a mispredicted exit costs more than it saves.
        let missing = self.blocks[index].0.iter().zip(mask).fold(0, |missing, (word, bit)| missing | (bit & !word));
        missing == 0
    }

    /// Number of inserts, repeated fingerprints counted each time.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True before the first insert.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of blocks, at least 1.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Size in bits, set or not.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.block_count() * BLOCK_BITS
    }

    /// False-positive rate to expect now, from size and number of inserts ([`sizing::predicted_rate`]).
    #[must_use]
    pub fn predicted_rate(&self) -> f64 {
        sizing::predicted_rate(self.len, self.block_count())
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

fn high_half(fingerprint: u128) -> u64 {
    (fingerprint >> 64) as u64
}

/// The low half; the cast drops the high one.
fn low_half(fingerprint: u128) -> u64 {
    fingerprint as u64
}

/// The block of a key: `high / 2^64` of the way through the blocks. Always below `blocks` (at least 1).
///
/// Multiply-shift range reduction (Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 2019): no division,
/// any number of blocks, and all 64 bits take part, so that filters beyond 2^32 bits are filled evenly.
fn block_index(high: u64, blocks: usize) -> usize {
    ((u128::from(high) * blocks as u128) >> 64) as usize
}

/// One bit for each word of the block: word i takes bits 6i .. 6i+5 of the low half (48 of the 64 bits are used). The
/// block comes from the other half alone, so positions tell nothing about the block.
fn bit_masks(low: u64) -> [u64; WORDS_PER_BLOCK] {
    std::array::from_fn(|word| 1 << ((low >> (6 * word)) & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::fingerprints;

    #[test]
    fn a_block_is_one_aligned_cache_line() {
        assert_eq!(size_of::<Block>() as u64, BLOCK_BYTES);
        let filter = BlockedFilter::new(3).expect("three blocks fit");
        assert_eq!(filter.blocks().as_ptr().align_offset(64), 0);
    }

    #[test]
    fn range_reduction_reaches_every_size() {
        let check = |high: u64, blocks: u64, expect: u64| {
            assert_eq!(block_index(high, blocks as usize), expect as usize, "{high:#x} of {blocks}");
        };
        for blocks in [1, 2, 3, 1000, 1 << 23, (1 << 23) + 1, MAX_BLOCKS] {
            check(0, blocks, 0);
            check(u64::MAX, blocks, blocks - 1);
            check(1 << 63, blocks, blocks / 2);
        }
        // 2^31 blocks are 2^40 bits: the index still follows the high bits one for one
        check(0x1234_5678_0000_0000, 1 << 31, 0x1234_5678 >> 1);
    }

    #[test]
    fn positions_are_six_bits_each_of_the_low_half() {
        let check = |low: u64, expect: [u32; 8]| {
            assert_eq!(bit_masks(low).map(u64::trailing_zeros), expect, "{low:#x}");
        };
        check(0, [0; 8]);
        check(u64::MAX, [63; 8]);
        check(0xffff_0000_0000_0000, [0; 8]); // the top 16 bits are unused
        check(1, [1, 0, 0, 0, 0, 0, 0, 0]);
        check(1 << 47, [0, 0, 0, 0, 0, 0, 0, 32]);
        check(0b10_000011_000001, [1, 3, 2, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn block_and_positions_are_independent_and_uniform() {
        // block (of 16) x word x position: 160,000 keys give 156.25 in each cell, standard deviation 12.5
        let mut cells = vec![0_u32; 16 * 8 * 64];
        for key in fingerprints(11).take(160_000) {
            let block = block_index(high_half(key), 16);
            for (word, bit) in bit_masks(low_half(key)).into_iter().enumerate() {
                cells[(block * 8 + word) * 64 + bit.trailing_zeros() as usize] += 1;
            }
        }
        let (least, most) = (cells.iter().min(), cells.iter().max());
        assert!(least > Some(&94), "{least:?}"); // five standard deviations
        assert!(most < Some(&219), "{most:?}");
    }

    #[test]
    fn absent_until_inserted_then_found() {
        let mut filter = BlockedFilter::for_items(1000, 0.001).expect("small");
        let keys: Vec<u128> = fingerprints(1).take(1000).collect();
        assert!(filter.is_empty());
        assert!(keys.iter().all(|&key| !filter.contains(key)));
        for &key in &keys {
            filter.insert(key);
            assert!(filter.contains(key));
        }
        assert!(keys.iter().all(|&key| filter.contains(key)));
        assert_eq!(filter.len(), 1000);
        assert_eq!(filter.bits(), filter.block_count() * 512);
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert_eq!(BlockedFilter::new(0), Err(FilterError::NoCapacity));
        for blocks in [MAX_BLOCKS + 1, u64::MAX] {
            assert!(matches!(BlockedFilter::new(blocks), Err(FilterError::OutOfMemory { .. })));
        }
    }
}
