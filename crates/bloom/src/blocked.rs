//! A Bloom filter of fixed size whose every key lives in one cache line. Not growable, and without an opinion on how
//! large it should be (that is [`sizing`]).
//!
//! The layout is that of the blocked filter of Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom
//! Filters" (WEA 2007), in the split form of Apache Impala and Apache Parquet (*split block Bloom filter*: one bit in each
//! word of a block), but with blocks of 8 × 64 bits instead of 8 × 32, and with the bits taken straight from the
//! fingerprint instead of multiplied out of 32 bits of it.
//!
//! The bits are defined here in portable Rust. Where the processor has AVX-512 or AVX2 the same bits are set and tested
//! eight or four words at once, chosen at run time; and the batch forms ask for the lines of later keys while they test earlier ones.
//!
//! Invariant: bits are only ever set, so a fingerprint that went in is found for as long as the filter lives.

use crate::error::{FilterError, Full};
use crate::filter::{Filter, Growable, Kind, Shape};
use crate::lines::{Block, zeroed};
use crate::machine::Table;
use crate::{machine, sizing};

/// Words in a block, and so bits set by a key.
pub const WORDS_PER_BLOCK: usize = 8;
/// Bytes in a block: one cache line of today's x86 and ARM server processors.
pub const BLOCK_BYTES: u64 = 64;
/// Bits in a block.
pub const BLOCK_BITS: u64 = BLOCK_BYTES * 8;

/// A set of fingerprints that answers *absent* (certain) or *maybe*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedBloomFilter {
    table: Table,
    len: u64,
}

impl BlockedBloomFilter {
    /// An empty filter of `blocks` blocks of 64 bytes.
    ///
    /// # Errors
    /// [`FilterError::NoCapacity`] for 0 blocks, [`FilterError::OutOfMemory`] above
    /// [`MAX_BLOCKS`](sizing::MAX_BLOCKS) or when the allocator refuses.
    pub fn new(blocks: u64) -> Result<Self, FilterError> {
        Ok(Self { table: Table::new(zeroed(blocks)?, blocks), len: 0 })
    }

    /// An empty filter that holds `items` fingerprints at a false-positive rate of at most `rate`.
    ///
    /// # Errors
    /// Those of [`sizing::blocks_for`] and [`BlockedBloomFilter::new`].
    pub fn for_items(items: u64, rate: f64) -> Result<Self, FilterError> {
        Self::new(sizing::blocks_for(items, rate)?)
    }

    /// Adds a fingerprint. From now on [`contains`](Self::contains) is true for it.
    #[inline]
    pub fn insert(&mut self, fingerprint: u128) {
        machine::insert(&mut self.table, fingerprint);
        // saturating: a length read from a file may be anything
        self.len = self.len.saturating_add(1);
    }

    /// False: never inserted, for certain. True: *maybe* inserted.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        machine::contains(&self.table, fingerprint)
    }

    /// Adds them all, asking for memory ahead.
    pub fn insert_batch(&mut self, fingerprints: &[u128]) {
        machine::insert_batch(&mut self.table, fingerprints);
        self.len = self.len.saturating_add(fingerprints.len() as u64);
    }

    /// Tests them all, asking for memory ahead: `found[i]` becomes the answer for `fingerprints[i]`.
    ///
    /// # Panics
    /// When the two lengths differ.
    pub fn contains_batch(&self, fingerprints: &[u128], found: &mut [bool]) {
        assert_eq!(fingerprints.len(), found.len(), "one answer per fingerprint");
        machine::contains_batch(&self.table, fingerprints, found);
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
        self.table.places()
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
}

impl Filter for BlockedBloomFilter {
    #[inline]
    fn insert(&mut self, fingerprint: u128) -> Result<(), Full> {
        self.insert(fingerprint);
        Ok(())
    }

    #[inline]
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
        self.len
    }

    fn bits(&self) -> u64 {
        self.bits()
    }

    fn predicted_rate(&self) -> f64 {
        self.predicted_rate()
    }
}

impl Growable for BlockedBloomFilter {
    const KIND: Kind = Kind::Blocked;

    fn shape_for(items: u64, rate: f64) -> Result<Shape, FilterError> {
        Ok(shape(sizing::blocks_for(items, rate)?, 0))
    }

    fn shape_within(_items: u64, lines: u64) -> Shape {
        shape(lines, 0)
    }

    fn rate_with(&self, items: u64) -> f64 {
        sizing::predicted_rate(items, self.block_count())
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
        shape(self.block_count(), self.len)
    }

    fn lines(&self) -> &[Block] {
        self.table.lines()
    }

    fn lines_of(shape: &Shape) -> Result<u64, &'static str> {
        if usize::from(shape.width) != WORDS_PER_BLOCK || shape.saturated {
            return Err("impossible shape");
        }
        Ok(shape.size)
    }

    fn from_lines(shape: &Shape, lines: Vec<Block>) -> Self {
        Self { table: Table::new(lines, shape.size), len: shape.len }
    }
}

/// The shape of so many blocks that hold `len` keys, here and in a counting filter.
pub(crate) fn shape(blocks: u64, len: u64) -> Shape {
    Shape { len, size: blocks, width: WORDS_PER_BLOCK as u16, saturated: false }
}

/// One bit for each word of the block: word i takes bits 6i .. 6i+5 of the low half (48 of the 64 bits are used). The
/// block comes from the other half alone, so positions tell nothing about the block.
pub(crate) fn bit_masks(low: u64) -> [u64; WORDS_PER_BLOCK] {
    std::array::from_fn(|word| 1 << ((low >> (6 * word)) & 63))
}

/// Whether these bits are all set.
#[inline]
pub(crate) fn covers(block: &Block, masks: [u64; WORDS_PER_BLOCK]) -> bool {
    // All eight words without a branch: the line is loaded anyway, and a mispredicted exit costs more than it saves.
    let missing = block.0.iter().zip(masks).fold(0, |missing, (word, bit)| missing | (bit & !word));
    missing == 0
}

/// Sets these bits.
#[inline]
pub(crate) fn set(block: &mut Block, masks: [u64; WORDS_PER_BLOCK]) {
    for (word, bit) in block.0.iter_mut().zip(masks) {
        *word |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{high_half, low_half, place};
    use crate::seeded::fingerprints;
    use crate::sizing::MAX_BLOCKS;

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
            let block = place(high_half(key), 16) as usize;
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
        let mut filter = BlockedBloomFilter::for_items(1000, 0.001).expect("small");
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
        assert_eq!(BlockedBloomFilter::new(0), Err(FilterError::NoCapacity));
        for blocks in [MAX_BLOCKS + 1, u64::MAX] {
            assert!(matches!(BlockedBloomFilter::new(blocks), Err(FilterError::OutOfMemory { .. })));
        }
    }
}
