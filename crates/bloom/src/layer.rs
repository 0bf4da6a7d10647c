//! One layer of a scalable filter: a blocked filter that knows what it was made for. Not the rule by which layers follow
//! each other (that is [`scalable`](crate::scalable)).
//!
//! Invariant: with `design_capacity` fingerprints in, the expected false-positive rate is at most `budget`.

use crate::blocked::{BLOCK_BYTES, BlockedFilter};
use crate::error::FilterError;
use crate::sizing;

/// A blocked filter with its place in the row of layers, its design capacity and its error budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    index: u32,
    design_capacity: u64,
    budget: f64,
    filter: BlockedFilter,
}

impl Layer {
    /// An empty layer, number `index`, sized for `design_capacity` fingerprints at a rate of at most `budget`.
    ///
    /// # Errors
    /// Those of [`sizing::blocks_for`] and [`BlockedFilter::new`].
    pub fn new(index: u32, design_capacity: u64, budget: f64) -> Result<Self, FilterError> {
        let filter = BlockedFilter::for_items(design_capacity, budget)?;
        Ok(Self::from_parts(index, design_capacity, budget, filter))
    }

    /// A layer from its parts, for the codec, which has checked that they fit together.
    pub(crate) fn from_parts(index: u32, design_capacity: u64, budget: f64, filter: BlockedFilter) -> Self {
        Self { index, design_capacity, budget, filter }
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

    /// Number of inserts so far, repeated fingerprints counted each time.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.filter.len()
    }

    /// True before the first insert.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// Size in bits, set or not.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.filter.bits()
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.filter.block_count() * BLOCK_BYTES
    }

    /// False-positive rate to expect of this layer alone with the inserts it has now.
    #[must_use]
    pub fn predicted_rate(&self) -> f64 {
        self.filter.predicted_rate()
    }

    /// False-positive rate to expect of this layer alone at its design capacity.
    #[must_use]
    pub fn design_rate(&self) -> f64 {
        sizing::predicted_rate(self.design_capacity, self.filter.block_count())
    }

    /// False: never inserted into this layer, for certain. True: *maybe*.
    #[inline]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        self.filter.contains(fingerprint)
    }

    /// The bits.
    #[must_use]
    pub fn filter(&self) -> &BlockedFilter {
        &self.filter
    }

    #[inline]
    pub(crate) fn insert(&mut self, fingerprint: u128) {
        self.filter.insert(fingerprint);
    }
}
