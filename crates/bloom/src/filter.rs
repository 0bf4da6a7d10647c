//! What all filters have in common, as small traits. Not a way to mix kinds at run time, and no sizing formula.
//!
//! Invariant of every implementation: a fingerprint whose insert succeeded, and that was not removed since, is never
//! called absent.

use crate::error::{FilterError, Full};
use crate::lines::{Block, zeroed};

/// A set of fingerprints that answers *absent* (certain) or *maybe*.
///
/// The Bloom kinds also have an `insert` of their own that cannot fail; through the trait it always gives `Ok`.
pub trait Filter {
    /// Adds a fingerprint.
    ///
    /// # Errors
    /// [`Full`], only from a cuckoo filter: nothing has changed, this fingerprint is *not* in, all others are.
    fn insert(&mut self, fingerprint: u128) -> Result<(), Full>;

    /// False: never inserted (or removed since), for certain. True: *maybe* inserted.
    fn contains(&self, fingerprint: u128) -> bool;

    /// Adds them in order. Faster than one by one where the filter is larger than the cache.
    ///
    /// # Errors
    /// [`Full`] at the first one that does not fit; those before it are in, it and those after it are not.
    fn insert_batch(&mut self, fingerprints: &[u128]) -> Result<(), Full> {
        fingerprints.iter().try_for_each(|&fingerprint| self.insert(fingerprint))
    }

    /// Tests them all: `found[i]` becomes the answer for `fingerprints[i]`. Faster than one by one where the filter is
    /// larger than the cache.
    ///
    /// # Panics
    /// When the two lengths differ.
    fn contains_batch(&self, fingerprints: &[u128], found: &mut [bool]) {
        assert_eq!(fingerprints.len(), found.len(), "one answer per fingerprint");
        for (&fingerprint, found) in fingerprints.iter().zip(found) {
            *found = self.contains(fingerprint);
        }
    }

    /// Number of inserts less removals, repeated fingerprints counted each time.
    fn len(&self) -> u64;

    /// True when nothing is in.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size in bits, used or not.
    fn bits(&self) -> u64;

    /// False-positive rate to expect now: probability of *maybe* for a random fingerprint that was never inserted.
    fn predicted_rate(&self) -> f64;
}

/// A filter that forgets.
pub trait Removable: Filter {
    /// Takes back one insert of this fingerprint. True: one was taken back. False: nothing has changed, because the
    /// fingerprint is absent, or because its counters are saturated, so that it stays as a stale positive.
    ///
    /// Only a fingerprint that *was* inserted may be removed: removing a false positive would take bits from another
    /// one. Ask an exact set first.
    fn remove(&mut self, fingerprint: u128) -> bool;
}

/// What a filter needs to be a layer: to be made for a number of items and a rate, and to have a form on disk.
pub trait Growable: Filter + Clone + 'static {
    /// Number of the kind on disk.
    const KIND: Kind;

    /// Shape of the smallest filter that holds `items` fingerprints at a false-positive rate of at most `rate`.
    ///
    /// # Errors
    /// [`FilterError::NoCapacity`], [`FilterError::Rate`], [`FilterError::TooLarge`].
    fn shape_for(items: u64, rate: f64) -> Result<Shape, FilterError>;

    /// Shape of the largest filter of at most so many lines, at its best for `items` fingerprints. Of size 0 where the
    /// kind needs more lines.
    fn shape_within(items: u64, lines: u64) -> Shape;

    /// Fingerprints that a filter of this shape is made to hold at the most, at whatever rate.
    fn most_items(_shape: &Shape) -> u64 {
        u64::MAX
    }

    /// An empty filter that holds `items` fingerprints at a false-positive rate of at most `rate`.
    ///
    /// # Errors
    /// Those of [`shape_for`](Self::shape_for), [`FilterError::OutOfMemory`].
    fn for_items(items: u64, rate: f64) -> Result<Self, FilterError> {
        Self::empty(&Self::shape_for(items, rate)?)
    }

    /// An empty filter of a shape that [`shape_for`](Self::shape_for) or [`shape_within`](Self::shape_within) gave.
    ///
    /// # Errors
    /// [`FilterError::NoCapacity`] for size 0, [`FilterError::OutOfMemory`].
    fn empty(shape: &Shape) -> Result<Self, FilterError> {
        let lines = Self::lines_of(shape).map_err(|_| FilterError::NoCapacity)?;
        Ok(Self::from_lines(shape, zeroed(lines)?))
    }

    /// False-positive rate to expect when `items` are in.
    fn rate_with(&self, items: u64) -> f64;

    /// Whether one of the others or this filter says maybe, asked in this order. Kinds that pick the same bits in every
    /// filter do that work once.
    #[inline]
    fn any_or_self_contains<'a>(&self, mut others: impl Iterator<Item = &'a Self>, fingerprint: u128) -> bool {
        others.any(|filter| filter.contains(fingerprint)) || self.contains(fingerprint)
    }

    /// [`any_or_self_contains`](Self::any_or_self_contains) for all, in slices of one length; asking for the memory of
    /// later ones meanwhile, where the kind can.
    fn any_or_self_contains_batch<'a>(
        &self,
        others: impl Iterator<Item = &'a Self> + Clone,
        fingerprints: &[u128],
        found: &mut [bool],
    ) {
        for (at, (&fingerprint, found)) in fingerprints.iter().zip(found).enumerate() {
            if let Some(&ahead) = fingerprints.get(at + 4) {
                self.prefetch(ahead);
                others.clone().for_each(|filter| filter.prefetch(ahead));
            }
            *found = self.any_or_self_contains(others.clone(), fingerprint);
        }
    }

    /// Asks for the memory that a test of this fingerprint will touch, if that is little. Changes no answer.
    #[inline]
    fn prefetch(&self, _fingerprint: u128) {}

    /// Adds a fingerprint though there is no room for it, at whatever price in false positives.
    fn overload(&mut self, fingerprint: u128);

    /// The numbers that, with [`lines`](Self::lines), are the whole filter.
    fn shape(&self) -> Shape;

    /// The content, 64 bytes each.
    fn lines(&self) -> &[Block];

    /// Number of lines of a filter of this shape, or what is wrong with the shape.
    ///
    /// # Errors
    /// What is impossible about it.
    fn lines_of(shape: &Shape) -> Result<u64, &'static str>;

    /// The filter of a possible shape and as many lines as [`lines_of`](Self::lines_of) says.
    fn from_lines(shape: &Shape, lines: Vec<Block>) -> Self;
}

/// Kinds of filter, by their number on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// [`BlockedBloomFilter`](crate::BlockedBloomFilter).
    Blocked = 1,
    /// [`BloomFilter`](crate::BloomFilter).
    Classic = 2,
    /// [`CountingBloomFilter`](crate::CountingBloomFilter).
    Counting = 3,
    /// [`CuckooFilter`](crate::CuckooFilter).
    Cuckoo = 4,
}

/// Size and state of a filter, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Inserts less removals.
    pub len: u64,
    /// Blocks, bits (classic) or buckets (cuckoo).
    pub size: u64,
    /// Bits set by a key (blocked, classic, counting) or slots of a bucket (cuckoo).
    pub width: u16,
    /// Whether the filter was overloaded to the point of answering maybe to everything.
    pub saturated: bool,
}
