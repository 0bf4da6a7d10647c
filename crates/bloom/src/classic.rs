//! The classic Bloom filter: one array of m bits, k positions for each key, spread over the whole array. Not the filter
//! to choose for speed (each probe of a present key touches k cache lines; [`blocked`](crate::blocked) touches one), but
//! the one that the textbooks' formulas are exact for, and the smallest of the kinds at low rates.
//!
//! # The formulas
//! With n keys in, the expected rate of false positives is `(1 − e^(−kn/m))^k`; for given m and n it is least at
//! `k = (m/n) ln 2`, where it is `2^−k` and half of the bits are set. Sources: Bloom, "Space/Time Trade-offs in Hash Coding
//! with Allowable Errors", CACM 13(7), 1970; the forms used here: Broder and Mitzenmacher, "Network Applications of Bloom
//! Filters: A Survey", Internet Mathematics 1(4), 2004, section 1.
//!
//! # Positions
//! The k positions come from the two halves of the fingerprint as h₁ + i·h₂, which costs nothing in rate: Kirsch and
//! Mitzenmacher, "Less Hashing, Same Performance: Building a Better Bloom Filter", ESA 2006. Whoever brings k hash
//! functions of their own gives the positions directly ([`BloomFilter::insert_positions`]).
//!
//! # The textbook examples
//! Ten bits, two hash functions. Grape was never inserted, but its bits are set by others: a false positive.
//! ```
//! use bloom::BloomFilter;
//!
//! let mut filter = BloomFilter::with_bits(10, 2)?;
//! filter.insert_positions(&[3, 7]); // apple
//! filter.insert_positions(&[2, 7]); // banana
//! assert!(!filter.contains_positions(&[3, 5])); // cherry: bit 5 is 0, so it is absent for certain
//! assert!(filter.contains_positions(&[3, 7])); // grape: maybe, though it is not in
//! # Ok::<(), bloom::FilterError>(())
//! ```
//! Three hash functions: alice sets bits 1, 4 and 8; bob is absent, because one of his bits is still 0.
//! ```
//! use bloom::BloomFilter;
//!
//! let mut filter = BloomFilter::with_bits(10, 3)?;
//! filter.insert_positions(&[1, 4, 8]); // alice
//! assert_eq!((0..10).filter(|&bit| filter.bit(bit)).collect::<Vec<_>>(), [1, 4, 8]);
//! assert!(filter.contains_positions(&[1, 4, 8]));
//! assert!(!filter.contains_positions(&[1, 5, 8])); // bob
//! # Ok::<(), bloom::FilterError>(())
//! ```
//!
//! Invariant: bits are only ever set, so a fingerprint that went in is found for as long as the filter lives.

use crate::blocked::BLOCK_BITS;
use crate::error::{FilterError, Full};
use crate::filter::{Filter, Growable, Kind, Shape};
use crate::lines::{Block, high_half, low_half, place, zeroed};
use crate::sizing::MAX_BLOCKS;

/// Most positions of a key: enough for a rate of 2^−64.
pub const MAX_POSITIONS: u16 = 64;

/// Most bits of a filter: 128 GiB.
pub const MAX_BITS: u64 = MAX_BLOCKS * BLOCK_BITS;

/// A set of fingerprints that answers *absent* (certain) or *maybe*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    lines: Vec<Block>,
    bits: u64,
    positions: u16,
    len: u64,
}

impl BloomFilter {
    /// An empty filter of `bits` bits (m), `positions` of them for each key (k).
    ///
    /// # Errors
    /// [`FilterError::NoCapacity`] for no bits, [`FilterError::Positions`] for a `positions` of 0 or above
    /// [`MAX_POSITIONS`], [`FilterError::OutOfMemory`] above [`MAX_BITS`] or when the allocator refuses.
    pub fn with_bits(bits: u64, positions: u16) -> Result<Self, FilterError> {
        if !(1..=MAX_POSITIONS).contains(&positions) {
            return Err(FilterError::Positions { positions });
        }
        Ok(Self { lines: zeroed(bits.div_ceil(BLOCK_BITS))?, bits, positions, len: 0 })
    }

    /// An empty filter that holds `items` fingerprints at a false-positive rate of at most `rate`, in the fewest bits.
    ///
    /// # Errors
    /// Those of [`size_for`] and [`with_bits`](Self::with_bits).
    pub fn for_items(items: u64, rate: f64) -> Result<Self, FilterError> {
        let (bits, positions) = size_for(items, rate)?;
        Self::with_bits(bits, positions)
    }

    /// Adds a fingerprint. From now on [`contains`](Self::contains) is true for it.
    pub fn insert(&mut self, fingerprint: u128) {
        for position in positions(fingerprint, self.bits, self.positions) {
            self.set(position);
        }
        self.len = self.len.saturating_add(1);
    }

    /// False: never inserted, for certain. True: *maybe* inserted.
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        positions(fingerprint, self.bits, self.positions).all(|position| self.bit(position))
    }

    /// Adds a key by its positions, for callers with hash functions of their own. Number and choice of the positions are
    /// theirs; repeated ones do no harm.
    ///
    /// # Panics
    /// When a position is not below [`bits`](Filter::bits).
    pub fn insert_positions(&mut self, positions: &[u64]) {
        positions.iter().for_each(|&position| self.set(position));
        self.len = self.len.saturating_add(1);
    }

    /// Whether all bits at these positions are set: *maybe*. False: no key with these positions was inserted.
    ///
    /// # Panics
    /// When a position is not below [`bits`](Filter::bits).
    #[must_use]
    pub fn contains_positions(&self, positions: &[u64]) -> bool {
        positions.iter().all(|&position| self.bit(position))
    }

    /// Whether this bit is set.
    ///
    /// # Panics
    /// When `position` is not below [`bits`](Filter::bits).
    #[must_use]
    pub fn bit(&self, position: u64) -> bool {
        assert!(position < self.bits, "bit {position} of {}", self.bits);
        let Block(words) = &self.lines[(position / BLOCK_BITS) as usize];
        words[(position % BLOCK_BITS / 64) as usize] >> (position % 64) & 1 == 1
    }

    fn set(&mut self, position: u64) {
        assert!(position < self.bits, "bit {position} of {}", self.bits);
        let Block(words) = &mut self.lines[(position / BLOCK_BITS) as usize];
        words[(position % BLOCK_BITS / 64) as usize] |= 1 << (position % 64);
    }

    /// Positions of each key (k).
    #[must_use]
    pub fn positions(&self) -> u16 {
        self.positions
    }
}

/// The positions of a fingerprint among `bits` bits.
fn positions(fingerprint: u128, bits: u64, count: u16) -> impl Iterator<Item = u64> {
    let (mut at, step) = (high_half(fingerprint), low_half(fingerprint));
    (0..count).map(move |_| {
        let position = place(at, bits);
        at = at.wrapping_add(step);
        position
    })
}

/// Expected rate of false positives of `bits` bits that hold `items` keys of `positions` bits each:
/// `(1 − e^(−kn/m))^k`. Between 0 and 1; 0 without items, 1 without bits.
#[must_use]
pub fn predicted_rate(items: u64, bits: u64, positions: u16) -> f64 {
    match (items, bits) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        _ => {
            let positions = f64::from(positions);
            // exp_m1 keeps the digits where few bits are set
            let share_set = -(-positions * items as f64 / bits as f64).exp_m1();
            share_set.powf(positions)
        }
    }
}

/// The number of positions (k) with the least rate for so many bits and items: `(m/n) ln 2`, to a whole number between 1
/// and [`MAX_POSITIONS`].
#[must_use]
pub fn optimal_positions(bits: u64, items: u64) -> u16 {
    let best = bits as f64 / items.max(1) as f64 * std::f64::consts::LN_2;
    best.round().clamp(1.0, f64::from(MAX_POSITIONS)) as u16
}

/// Bits (m) and positions (k) for `items` keys at a rate of at most `rate`: k is log₂(1/rate), rounded, and m the least
/// that keeps the rate with that k, `−kn / ln(1 − rate^(1/k))`.
///
/// # Errors
/// [`FilterError::NoCapacity`] for 0 items, [`FilterError::Rate`] for a rate not strictly between 0 and 1,
/// [`FilterError::TooLarge`] above [`MAX_BITS`].
pub fn size_for(items: u64, rate: f64) -> Result<(u64, u16), FilterError> {
    if items == 0 {
        return Err(FilterError::NoCapacity);
    }
    if !(rate > 0.0 && rate < 1.0) {
        return Err(FilterError::Rate { rate });
    }
    let k = (-rate.log2()).round().clamp(1.0, f64::from(MAX_POSITIONS));
    let bits = (-k * items as f64 / (-rate.powf(1.0 / k)).ln_1p()).ceil();
    if bits > MAX_BITS as f64 {
        return Err(FilterError::TooLarge { items, rate });
    }
    // one in a thousand more, so that rounding of the logarithms never exceeds the rate
    let spare = (bits / 1024.0).ceil();
    Ok((((bits + spare) as u64).min(MAX_BITS), k as u16))
}

impl Filter for BloomFilter {
    fn insert(&mut self, fingerprint: u128) -> Result<(), Full> {
        self.insert(fingerprint);
        Ok(())
    }

    fn contains(&self, fingerprint: u128) -> bool {
        self.contains(fingerprint)
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn bits(&self) -> u64 {
        self.bits
    }

    fn predicted_rate(&self) -> f64 {
        predicted_rate(self.len, self.bits, self.positions)
    }
}

impl Growable for BloomFilter {
    const KIND: Kind = Kind::Classic;

    fn shape_for(items: u64, rate: f64) -> Result<Shape, FilterError> {
        let (bits, positions) = size_for(items, rate)?;
        Ok(Shape { len: 0, size: bits, width: positions, saturated: false })
    }

    fn shape_within(items: u64, lines: u64) -> Shape {
        let bits = lines.saturating_mul(BLOCK_BITS);
        Shape { len: 0, size: bits, width: optimal_positions(bits, items), saturated: false }
    }

    fn rate_with(&self, items: u64) -> f64 {
        predicted_rate(items, self.bits, self.positions)
    }

    fn overload(&mut self, fingerprint: u128) {
        self.insert(fingerprint);
    }

    fn shape(&self) -> Shape {
        Shape { len: self.len, size: self.bits, width: self.positions, saturated: false }
    }

    fn lines(&self) -> &[Block] {
        &self.lines
    }

    fn lines_of(shape: &Shape) -> Result<u64, &'static str> {
        if !(1..=MAX_POSITIONS).contains(&shape.width) || shape.saturated {
            return Err("impossible shape");
        }
        Ok(shape.size.div_ceil(BLOCK_BITS))
    }

    fn from_lines(shape: &Shape, lines: Vec<Block>) -> Self {
        Self { lines, bits: shape.size, positions: shape.width, len: shape.len }
    }
}

#[cfg(test)]
mod tests;
