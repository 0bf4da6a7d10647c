//! A filter that grows by layers and keeps one error bound over all of them. Not a set of exact keys, and nothing here
//! decides when to rebuild.
//!
//! # How the error is split
//! After Almeida, Baquero, Preguiça and Hutchison, "Scalable Bloom Filters" (Information Processing Letters 101, 2007):
//! layer i gets the budget `rate · (1 − r) · r^i` with a tightening ratio r below 1. A geometric series: however many
//! layers there are, the budgets sum to at most `rate`, and a probe of a key that was never inserted meets a false
//! positive in *any* layer with at most that probability.
//!
//! The paper advises r between 0.8 and 0.9 for filters that grow by many layers. Ours are rebuilt into one layer when
//! layers pile up, so the first few count: [`TIGHTENING_RATIO`] 0.6 costs 12.1 bits a key with one full layer (12.8 at
//! 0.7, 13.8 at 0.8), 15.1 with four (14.9, 15.2) and 17.9 with six (16.8, 16.4), at 1 % and growth factor 2.
//!
//! The layers share one hash without losing independence: a false positive in a layer depends on which *other* keys fell
//! into the block, and those differ from layer to layer.
//!
//! # Who writes where
//! Inserts go to the newest layer only. Sealed layers take no inserts any more, so clones share them; a removal, where the
//! kind has it, copies a sealed layer that is shared before it changes it.
//!
//! # How large the next layer is
//! `growth_factor` times the newest one, or as large as makes *all* layers together grow by that factor, if that is more.
//! The two are the same in a filter that only ever grew; after a rebuild the newest layer can be a small one, behind
//! which the row must not start again from little.
//!
//! Invariant: every fingerprint ever inserted is in one of the layers, and layer i was made for a rate of at most its
//! budget.

use std::sync::Arc;

use crate::blocked::BlockedBloomFilter;
use crate::counting::CountingBloomFilter;
use crate::cuckoo::CuckooFilter;
use crate::error::{FilterError, Full};
use crate::filter::{Growable, Removable};
use crate::layer::LayerOf;

mod batch;
pub mod bound;
mod rebuild;

pub use bound::LEAST_BYTES;
use bound::check_place;

/// Ratio of the error budgets of a layer and the one before it.
pub const TIGHTENING_RATIO: f64 = 0.6;

/// Largest growth factor; beyond, the second or third layer is absurd.
pub const MAX_GROWTH_FACTOR: f64 = 100.0;

/// What a scalable filter is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Highest false-positive rate, over all layers together. Strictly between 0 and 1.
    pub false_positive_rate: f64,
    /// Inserts that the first layer is sized for. At least 1.
    pub initial_capacity: u64,
    /// Design capacity of a layer over that of the one before it. 1 (all layers alike) to [`MAX_GROWTH_FACTOR`].
    pub growth_factor: f64,
    /// Most bytes that all layers together may take ([`bound`]); at least [`LEAST_BYTES`]. `None`: as many as it needs.
    pub max_bytes: Option<u64>,
}

impl Settings {
    /// Error budget of layer `index`: the expected false-positive rate that it may reach when full.
    #[must_use]
    pub fn budget(&self, index: u32) -> f64 {
        let tightening = TIGHTENING_RATIO.powi(i32::try_from(index).unwrap_or(i32::MAX));
        self.false_positive_rate * (1.0 - TIGHTENING_RATIO) * tightening
    }

    /// Whether a filter can be made of these, memory aside.
    ///
    /// # Errors
    /// [`FilterError::Rate`], [`FilterError::NoCapacity`], [`FilterError::Growth`], [`FilterError::Bytes`], or
    /// [`FilterError::TooLarge`] when not even the first layer is possible.
    pub fn validate(&self) -> Result<(), FilterError> {
        let Settings { false_positive_rate: rate, growth_factor: factor, .. } = *self;
        if !(rate > 0.0 && rate < 1.0) {
            return Err(FilterError::Rate { rate });
        }
        if !(1.0..=MAX_GROWTH_FACTOR).contains(&factor) {
            return Err(FilterError::Growth { factor });
        }
        if let Some(bytes) = self.max_bytes.filter(|&bytes| bytes < LEAST_BYTES) {
            return Err(FilterError::Bytes { bytes });
        }
        crate::sizing::blocks_for(self.initial_capacity, self.budget(0)).map(|_| ())
    }

    /// Design capacity of the layer after one of `newest`, in a row that holds `all`.
    fn next_capacity(&self, newest: u64, all: u64) -> u64 {
        let next = (newest as f64 * self.growth_factor).max(all as f64 * (self.growth_factor - 1.0));
        // a cast from float saturates; layers of that size are refused by the sizing
        next.ceil() as u64
    }
}

/// The plain kind: fastest and smallest, removes nothing.
pub type ScalableBloomFilter = Scalable<BlockedBloomFilter>;
/// Layers of four-bit counters: removes, at four times the space.
pub type ScalableCountingBloomFilter = Scalable<CountingBloomFilter>;
/// Layers of cuckoo filters: removes, at 17 bits a key and two memory accesses.
pub type ScalableCuckooFilter = Scalable<CuckooFilter>;

/// A growing set of fingerprints that answers *absent* (certain) or *maybe*.
///
/// A clone shares the sealed layers and copies the newest one: cheap enough for a checkpoint to take under a lock.
#[derive(Clone, Debug)]
pub struct Scalable<F> {
    settings: Settings,
    sealed: Vec<Arc<LayerOf<F>>>,
    newest: LayerOf<F>,
    /// Length of the newest layer at which the next insert first opens another.
    grow_at: u64,
}

impl<F: Growable> Scalable<F> {
    /// An empty filter with one layer of the initial capacity.
    ///
    /// # Errors
    /// Those of [`Settings::validate`], and [`FilterError::OutOfMemory`].
    pub fn new(settings: Settings) -> Result<Self, FilterError> {
        Self::with_capacity_for(settings, 0)
    }

    /// An empty filter whose first layer is sized for `items` inserts (or the initial capacity, if that is more): what a
    /// rebuild fills. The second layer grows from there. Where `max_bytes` is too little for it, it is smaller.
    ///
    /// # Errors
    /// Those of [`Settings::validate`], [`FilterError::TooLarge`] for too many items, and [`FilterError::OutOfMemory`].
    pub fn with_capacity_for(settings: Settings, items: u64) -> Result<Self, FilterError> {
        Self::within_bytes(settings, items, settings.max_bytes.unwrap_or(u64::MAX))
    }

    /// The filter that had these layers, oldest first. The last one stays open for inserts until it is full.
    ///
    /// `settings` need not be those of the time when the layers were made: other capacities and growth factors, and a
    /// higher rate, hold for new layers only.
    ///
    /// # Errors
    /// Those of [`Settings::validate`]; [`FilterError::NoLayers`]; [`FilterError::LayerOrder`] when one is missing, and
    /// [`FilterError::LayerBudget`] when the rate was lowered since: then the bound would not hold, so rebuild. (A layer
    /// that is over its budget because it fills `max_bytes` is taken.)
    pub fn from_layers(settings: Settings, mut layers: Vec<LayerOf<F>>) -> Result<Self, FilterError> {
        settings.validate()?;
        let all_bytes = layers.iter().map(LayerOf::bytes).sum();
        for (position, layer) in (0..).zip(&layers) {
            check_place(&settings, position, layer, all_bytes)?;
        }
        let newest = layers.pop().ok_or(FilterError::NoLayers)?;
        let sealed = layers.into_iter().map(Arc::new).collect();
        Ok(Self::with_newest(settings, sealed, newest))
    }

    fn with_newest(settings: Settings, sealed: Vec<Arc<LayerOf<F>>>, newest: LayerOf<F>) -> Self {
        Self { settings, sealed, grow_at: newest.design_capacity(), newest }
    }

    /// Adds a fingerprint to the newest layer, after opening a new one if that is full. From now on
    /// [`contains`](Self::contains) is true for it.
    ///
    /// Constant time, but for the insert that opens a layer.
    ///
    /// When no further layer is possible (beyond [`MAX_BLOCKS`](crate::sizing::MAX_BLOCKS) or `max_bytes`, or no memory)
    /// the newest one is filled beyond its design: no key is lost, [`overload`](Self::overload) counts it, and
    /// [`predicted_rate`](Self::predicted_rate) shows the price.
    #[inline]
    pub fn insert(&mut self, fingerprint: u128) {
        if self.newest.len() >= self.grow_at {
            self.grow();
        }
        if self.newest.insert(fingerprint) == Err(Full) {
            self.insert_into_another(fingerprint);
        }
    }

    /// For a layer that is full before its time: a cuckoo filter may be.
    #[cold]
    fn insert_into_another(&mut self, fingerprint: u128) {
        self.grow();
        self.newest.overload_with(fingerprint);
    }

    /// False: never inserted (or removed since), for certain. True: *maybe* inserted.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        if self.sealed.is_empty() {
            return self.newest.contains(fingerprint); // one layer is what rebuilds are for: no loop, measured
        }
        // the newest last: it has just been opened, or holds less than all others; of those, the larger first
        let sealed = self.sealed.iter().rev().map(|layer| layer.filter());
        self.newest.filter().any_or_self_contains(sealed, fingerprint)
    }

    /// Opens another layer behind the newest one, where that is possible.
    #[cold]
    fn grow(&mut self) {
        // a cuckoo filter may be full before it is at `grow_at`
        let stopped = self.grow_at == u64::MAX;
        let opened = !stopped && self.next_capacity().is_some_and(|capacity| self.open(capacity).is_ok());
        if !opened && !stopped {
            // not again on every insert: when the layer holds twice as much, memory may be there
            self.grow_at = self.newest.len().saturating_mul(2);
        }
    }

    fn open(&mut self, capacity: u64) -> Result<(), FilterError> {
        let index = self.newest.index() + 1;
        let layer = LayerOf::new(index, capacity, self.settings.budget(index))?;
        let full = std::mem::replace(&mut self.newest, layer);
        self.sealed.push(Arc::new(full));
        self.grow_at = capacity;
        Ok(())
    }

    /// What the filter was made for.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// All layers, oldest first.
    pub fn layers(&self) -> impl Iterator<Item = &LayerOf<F>> {
        self.sealed.iter().map(Arc::as_ref).chain(std::iter::once(&self.newest))
    }

    /// The layers that take no inserts any more, oldest first: all but the newest.
    #[must_use]
    pub fn sealed(&self) -> &[Arc<LayerOf<F>>] {
        &self.sealed
    }

    /// The layer that takes the inserts.
    #[must_use]
    pub fn newest(&self) -> &LayerOf<F> {
        &self.newest
    }

    /// Number of layers, at least 1.
    #[must_use]
    pub fn layer_count(&self) -> usize {
        self.sealed.len() + 1
    }

    /// Number of inserts less removals, repeated fingerprints counted each time.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.layers().fold(0, |sum, layer| sum.saturating_add(layer.len()))
    }

    /// True when nothing is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers().all(LayerOf::is_empty)
    }

    /// Inserts beyond the design capacity of their layer, because no other layer was possible. Above 0 the rate that was
    /// asked for may be exceeded: rebuild, or raise the limit.
    #[must_use]
    pub fn overload(&self) -> u64 {
        self.layers().fold(0, |sum, layer| sum.saturating_add(layer.overload()))
    }

    /// Size of all layers in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layers().map(LayerOf::bytes).sum()
    }

    /// False-positive rate to expect now of all layers together: 1 − Π(1 − pᵢ).
    #[must_use]
    pub fn predicted_rate(&self) -> f64 {
        // by logarithms, which keep the digits of small rates
        let log_all_absent: f64 = self.layers().map(|layer| (-layer.predicted_rate()).ln_1p()).sum();
        // + 0.0: an empty filter has rate 0, not −0
        -log_all_absent.exp_m1() + 0.0
    }
}

impl<F: Growable + Removable> Scalable<F> {
    /// Takes back one insert of a fingerprint that *was* inserted, if exactly one layer says maybe to it. False: nothing
    /// has changed; with two layers saying maybe nobody knows which one holds it, and it stays as a stale positive.
    ///
    /// A sealed layer that is shared with a clone is copied first, which takes time and memory of its size.
    pub fn remove(&mut self, fingerprint: u128) -> bool {
        let mut holders = (0..).zip(&self.sealed).filter(|(_, layer)| layer.contains(fingerprint)).map(|(i, _)| i);
        match (self.newest.contains(fingerprint), holders.next(), holders.next()) {
            (true, None, _) => self.newest.remove(fingerprint),
            (false, Some(at), None) => Arc::make_mut(&mut self.sealed[at]).remove(fingerprint),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
