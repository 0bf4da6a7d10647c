//! A filter that can forget in a bit more than 17 bits a key: it keeps 16 bits of each key, a *tag*, in one of two
//! buckets of four. Its rate is about one in 8,700 when full, far below 1 %, so it is the choice only where keys have to
//! be removed. Not growable by itself; a full one says so.
//!
//! After Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom" (CoNEXT 2014): a tag
//! can move between its two buckets without its key. Their second bucket, i₁ xor hash(tag), needs a power of two of
//! buckets; here it is hash(tag) − i₁ modulo their number, which undoes itself as well and allows any number.
//!
//! # A failed insert loses nothing
//! When both buckets are full, tags are pushed to their other buckets, at most [`MAX_MOVES`] times. If that finds no
//! free slot, every move is undone: the insert reports [`Full`], and the filter is what it was, bit for bit.
//!
//! One that has to be taken in all the same ([`overload`](Growable::overload): no memory for another layer, or a bound on
//! it) goes into the slots that are left above [`DESIGN_LOAD`]; the first for which there is none *saturates* the filter,
//! which then answers maybe to everything and removes nothing. Other than a Bloom filter, which only gets worse, a cuckoo
//! filter at its bound is of no more use: give it the memory, or rebuild as another kind.
//!
//! # Copies
//! A key inserted again takes another slot, so that each removal takes one insert back. When all slots of both buckets
//! hold the same tag, further copies are not counted, and none of these tags is ever removed: a stale positive, as with
//! a saturated counter. Copies of one key can therefore never make a filter full.
//!
//! Invariant: every tag that was stored and not removed is in one of its two buckets.

use crate::blocked::WORDS_PER_BLOCK;
use crate::error::{FilterError, Full};
use crate::filter::{Filter, Growable, Kind, Removable, Shape};
use crate::lines::{Block, high_half, low_half, place, zeroed};
use crate::machine;

mod bucket;
mod sizing;

use bucket::{SLOTS, first_empty, holds, is_all, with_slot};
pub use sizing::{buckets_for, predicted_rate};

/// Share of the slots that a filter is sized to fill. The paper measures 95 % to be reachable with four slots a bucket;
/// one less keeps the last inserts cheap.
pub const DESIGN_LOAD: f64 = 0.94;

/// Most tags that one insert pushes on (500 in the paper's code).
pub const MAX_MOVES: usize = 500;

/// Different tags: all numbers of 16 bits but 0, which is an empty slot.
const TAGS: u64 = (1 << 16) - 1;

/// How many keys ahead of its probe a bucket is asked for (twice as many lines).
const AHEAD: usize = 8;

/// A set of fingerprints that answers *absent* (certain) or *maybe*, and can take one out again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CuckooFilter {
    lines: Vec<Block>,
    buckets: u64,
    len: u64,
    /// Set by [`overload`](Growable::overload): keys were taken in that are nowhere, so the answer is maybe to all.
    saturated: bool,
}

/// Where a key is looked for.
struct Home {
    tag: u16,
    buckets: [u64; 2],
}

impl CuckooFilter {
    /// An empty filter of `buckets` buckets of four slots of 16 bits.
    ///
    /// # Errors
    /// [`FilterError::NoCapacity`] for 0 buckets, [`FilterError::OutOfMemory`] above 8 × [`MAX_BLOCKS`](crate::sizing::MAX_BLOCKS) or when the
    /// allocator refuses.
    pub fn new(buckets: u64) -> Result<Self, FilterError> {
        let lines = zeroed(buckets.div_ceil(WORDS_PER_BLOCK as u64))?;
        Ok(Self { lines, buckets, len: 0, saturated: false })
    }

    fn home(&self, fingerprint: u128) -> Home {
        let tag = 1 + place(low_half(fingerprint), TAGS) as u16; // at most TAGS
        let bucket = place(high_half(fingerprint), self.buckets);
        Home { tag, buckets: [bucket, self.other(bucket, tag)] }
    }

    /// The other bucket of a tag in `bucket`. Other of other is the same again.
    fn other(&self, bucket: u64, tag: u16) -> u64 {
        let sum = place(spread(tag), self.buckets);
        if sum >= bucket { sum - bucket } else { sum + self.buckets - bucket }
    }

    fn bucket(&self, index: u64) -> u64 {
        self.lines[(index / WORDS_PER_BLOCK as u64) as usize].0[index as usize % WORDS_PER_BLOCK]
    }

    fn bucket_mut(&mut self, index: u64) -> &mut u64 {
        &mut self.lines[(index / WORDS_PER_BLOCK as u64) as usize].0[index as usize % WORDS_PER_BLOCK]
    }

    /// Puts the tag into an empty slot of the bucket, if there is one.
    fn put(&mut self, index: u64, tag: u16) -> bool {
        let bucket = self.bucket_mut(index);
        let Some(slot) = first_empty(*bucket) else { return false };
        *bucket = with_slot(*bucket, slot, tag).0;
        true
    }

    /// Swaps `tag` with what is in the slot, and gives that.
    fn swap(&mut self, index: u64, slot: u32, tag: u16) -> u16 {
        let bucket = self.bucket_mut(index);
        let (changed, before) = with_slot(*bucket, slot, tag);
        *bucket = changed;
        before
    }

    /// Stores the tag by pushing others on, or changes nothing.
    #[cold]
    fn push_on(&mut self, home: &Home, seed: u64) -> Result<(), Full> {
        let mut moves = [(0, 0); MAX_MOVES];
        // an LCG (Knuth, MMIX): any choice of victims will do, as long as it does not go in circles; its high bits are best
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 61) as u32
        };
        let mut tag = home.tag;
        let mut bucket = home.buckets[random() as usize % 2];
        for done in &mut moves {
            let slot = random() % SLOTS;
            *done = (bucket, slot);
            tag = self.swap(bucket, slot, tag);
            bucket = self.other(bucket, tag);
            if self.put(bucket, tag) {
                return Ok(());
            }
        }
        for (bucket, slot) in moves.into_iter().rev() {
            tag = self.swap(bucket, slot, tag);
        }
        Err(Full)
    }

    fn full_of(&self, home: &Home) -> bool {
        home.buckets.iter().all(|&bucket| is_all(self.bucket(bucket), home.tag))
    }

    fn fetch(&self, fingerprint: u128) {
        for bucket in self.home(fingerprint).buckets {
            machine::prefetch(&self.lines[(bucket / WORDS_PER_BLOCK as u64) as usize]);
        }
    }
}

/// The shape of so many empty buckets.
fn shape(buckets: u64) -> Shape {
    Shape { len: 0, size: buckets, width: SLOTS as u16, saturated: false }
}

/// A number of 64 bits for a tag: MurmurHash3's finalizer (Appleby, public domain), to spread neighbours far apart.
fn spread(tag: u16) -> u64 {
    let mut z = u64::from(tag).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

impl Filter for CuckooFilter {
    fn insert(&mut self, fingerprint: u128) -> Result<(), Full> {
        let home = self.home(fingerprint);
        let [first, second] = home.buckets;
        let stored = self.saturated || self.put(first, home.tag) || self.put(second, home.tag) || self.full_of(&home);
        if !stored {
            self.push_on(&home, low_half(fingerprint))?;
        }
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    #[inline]
    fn contains(&self, fingerprint: u128) -> bool {
        let Home { tag, buckets: [first, second] } = self.home(fingerprint);
        // both without a branch: two loads at once
        holds(self.bucket(first), tag) | holds(self.bucket(second), tag) | self.saturated
    }

    fn insert_batch(&mut self, fingerprints: &[u128]) -> Result<(), Full> {
        for (at, &fingerprint) in fingerprints.iter().enumerate() {
            fingerprints.get(at + AHEAD).into_iter().for_each(|&ahead| self.fetch(ahead));
            self.insert(fingerprint)?;
        }
        Ok(())
    }

    fn contains_batch(&self, fingerprints: &[u128], found: &mut [bool]) {
        assert_eq!(fingerprints.len(), found.len(), "one answer per fingerprint");
        fingerprints.iter().take(AHEAD).for_each(|&ahead| self.fetch(ahead));
        for (at, (&fingerprint, found)) in fingerprints.iter().zip(found).enumerate() {
            fingerprints.get(at + AHEAD).into_iter().for_each(|&ahead| self.fetch(ahead));
            *found = self.contains(fingerprint);
        }
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn bits(&self) -> u64 {
        self.buckets * 64
    }

    fn predicted_rate(&self) -> f64 {
        if self.saturated { 1.0 } else { predicted_rate(self.len, self.buckets) }
    }
}

impl Removable for CuckooFilter {
    fn remove(&mut self, fingerprint: u128) -> bool {
        let home = self.home(fingerprint);
        if self.saturated || self.full_of(&home) {
            return false;
        }
        for index in home.buckets {
            let bucket = self.bucket(index);
            if let Some(slot) = bucket::slot_of(bucket, home.tag) {
                *self.bucket_mut(index) = with_slot(bucket, slot, 0).0;
                self.len = self.len.saturating_sub(1);
                return true;
            }
        }
        false
    }
}

impl Growable for CuckooFilter {
    const KIND: Kind = Kind::Cuckoo;

    fn shape_for(items: u64, rate: f64) -> Result<Shape, FilterError> {
        Ok(shape(buckets_for(items, rate)?))
    }

    fn shape_within(_items: u64, lines: u64) -> Shape {
        shape(lines.saturating_mul(WORDS_PER_BLOCK as u64))
    }

    fn most_items(shape: &Shape) -> u64 {
        (shape.size as f64 * f64::from(SLOTS) * DESIGN_LOAD) as u64
    }

    fn rate_with(&self, items: u64) -> f64 {
        predicted_rate(items, self.buckets)
    }

    fn prefetch(&self, fingerprint: u128) {
        self.fetch(fingerprint);
    }

    fn overload(&mut self, fingerprint: u128) {
        if self.insert(fingerprint).is_err() {
            self.saturated = true;
            self.len = self.len.saturating_add(1);
        }
    }

    fn shape(&self) -> Shape {
        Shape { len: self.len, saturated: self.saturated, ..shape(self.buckets) }
    }

    fn lines(&self) -> &[Block] {
        &self.lines
    }

    fn lines_of(shape: &Shape) -> Result<u64, &'static str> {
        if u32::from(shape.width) != SLOTS {
            return Err("impossible shape");
        }
        Ok(shape.size.div_ceil(WORDS_PER_BLOCK as u64))
    }

    fn from_lines(shape: &Shape, lines: Vec<Block>) -> Self {
        Self { lines, buckets: shape.size, len: shape.len, saturated: shape.saturated }
    }
}

#[cfg(test)]
mod tests;
