//! One layer of a scalable filter: a filter that knows what it was made for. Not the rule by which layers follow each
//! other (that is [`scalable`](crate::scalable)).
//!
//! Invariant: with `design_capacity` fingerprints in, the expected false-positive rate is at most `budget`.

use crate::blocked::{BLOCK_BYTES, BlockedBloomFilter};
use crate::error::{FilterError, Full};
use crate::filter::{Growable, Removable};
use crate::sizing::MAX_BLOCKS;

/// A layer of the plain kind, which is the fastest and smallest.
pub type Layer = LayerOf<BlockedBloomFilter>;

/// Highest rate that a layer is made for where memory is bounded: one that says maybe to every second key saves little,
/// so what comes beyond is counted as overload.
pub const MAX_BUDGET: f64 = 0.5;

/// A filter with its place in the row of layers, its design capacity and its error budget.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerOf<F> {
    index: u32,
    design_capacity: u64,
    budget: f64,
    filter: F,
}

impl<F: Growable> LayerOf<F> {
    /// An empty layer, number `index`, sized for `design_capacity` fingerprints at a rate of at most `budget`.
    ///
    /// # Errors
    /// Those of [`Growable::for_items`].
    pub fn new(index: u32, design_capacity: u64, budget: f64) -> Result<Self, FilterError> {
        let filter = F::for_items(design_capacity, budget)?;
        Ok(Self::from_parts(index, design_capacity, budget, filter))
    }

    /// An empty layer of at most `bytes` bytes: that of [`new`](Self::new) if it fits, else the largest that does. Its
    /// budget is then the rate that it has with `design_capacity` fingerprints in; and where that is above
    /// [`MAX_BUDGET`], or the kind cannot hold so many at any rate (cuckoo), the design capacity is lower too.
    ///
    /// # Errors
    /// Those of [`Growable::for_items`], [`FilterError::Bytes`].
    pub fn within(index: u32, design_capacity: u64, budget: f64, bytes: u64) -> Result<Self, FilterError> {
        if fits::<F>(design_capacity, budget, bytes)? {
            return Self::new(index, design_capacity, budget);
        }
        let shape = F::shape_within(design_capacity, (bytes / BLOCK_BYTES).min(MAX_BLOCKS));
        if shape.size == 0 {
            return Err(FilterError::Bytes { bytes });
        }
        let filter = F::empty(&shape)?;
        let mut capacity = design_capacity.min(F::most_items(&shape));
        while filter.rate_with(capacity) > MAX_BUDGET.max(budget) {
            capacity /= 2;
        }
        let budget = filter.rate_with(capacity).max(budget);
        Ok(Self::from_parts(index, capacity, budget, filter))
    }

    /// A layer from its parts, for the codec, which has checked that they fit together.
    pub(crate) fn from_parts(index: u32, design_capacity: u64, budget: f64, filter: F) -> Self {
        Self { index, design_capacity, budget, filter }
    }

    /// The same layer in another place, whose budget must not be smaller.
    pub(crate) fn moved_to(self, index: u32) -> Self {
        Self { index, ..self }
    }

    /// Place in the row of layers, from 0.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Number of inserts that the layer was sized for.
    #[must_use]
    pub fn design_capacity(&self) -> u64 {
        self.design_capacity
    }

    /// False-positive rate that the layer may reach at its design capacity.
    #[must_use]
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// Number of inserts so far less removals, repeated fingerprints counted each time.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.filter.len()
    }

    /// True when nothing is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// What is in, as a share of the design capacity. Above 1 the layer is overloaded.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.len() as f64 / self.design_capacity as f64
    }

    /// Inserts beyond the design capacity. Above 0 only when no further layer was possible.
    #[must_use]
    pub fn overload(&self) -> u64 {
        self.len().saturating_sub(self.design_capacity)
    }

    /// Size in bits, used or not.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.filter.bits()
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        size_of_val(self.filter.lines()) as u64
    }

    /// False-positive rate to expect of this layer alone with the inserts it has now.
    #[must_use]
    pub fn predicted_rate(&self) -> f64 {
        self.filter.predicted_rate()
    }

    /// False-positive rate to expect of this layer alone at its design capacity.
    #[must_use]
    pub fn design_rate(&self) -> f64 {
        self.filter.rate_with(self.design_capacity)
    }

    /// False: never inserted into this layer, for certain. True: *maybe*.
    #[inline]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        self.filter.contains(fingerprint)
    }

    /// The filter.
    #[must_use]
    pub fn filter(&self) -> &F {
        &self.filter
    }

    #[inline]
    pub(crate) fn insert(&mut self, fingerprint: u128) -> Result<(), Full> {
        self.filter.insert(fingerprint)
    }

    pub(crate) fn insert_batch(&mut self, fingerprints: &[u128]) -> Result<(), Full> {
        self.filter.insert_batch(fingerprints)
    }

    pub(crate) fn overload_with(&mut self, fingerprint: u128) {
        self.filter.overload(fingerprint);
    }
}

/// Whether a layer for so many items at this rate takes at most so many bytes.
///
/// # Errors
/// Those of [`Growable::shape_for`], but [`FilterError::TooLarge`], which does not fit.
pub(crate) fn fits<F: Growable>(items: u64, rate: f64, bytes: u64) -> Result<bool, FilterError> {
    match F::shape_for(items, rate) {
        Ok(shape) => Ok(F::lines_of(&shape).is_ok_and(|lines| lines <= bytes / BLOCK_BYTES)),
        Err(FilterError::TooLarge { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

impl<F: Growable + Removable> LayerOf<F> {
    pub(crate) fn remove(&mut self, fingerprint: u128) -> bool {
        self.filter.remove(fingerprint)
    }
}
