//! A growing filter whose kind is chosen at run time, for a caller with a setting for it. Nothing here is new: each
//! function is that of [`Scalable`] for the kind at hand.
//!
//! Invariant: all layers of a filter are of its kind.

use std::sync::Arc;

use crate::blocked::BlockedBloomFilter;
use crate::classic::BloomFilter;
use crate::codec::{self, Origin};
use crate::counting::CountingBloomFilter;
use crate::cuckoo::CuckooFilter;
use crate::error::FilterError;
use crate::filter::{Growable, Kind, Removable};
use crate::layer::LayerOf;
use crate::scalable::{Scalable, Settings};

/// The expression for the filter or layer at hand.
macro_rules! of_any {
    ($kinds:ident, $any:expr, $inner:ident => $result:expr) => {
        match $any {
            $kinds::Blocked($inner) => $result,
            $kinds::Classic($inner) => $result,
            $kinds::Counting($inner) => $result,
            $kinds::Cuckoo($inner) => $result,
        }
    };
}

mod layer;

use layer::facts;
pub use layer::{AnyLayer, LayerFacts};

/// [`Scalable`] of any kind. A clone shares the sealed layers and copies the newest one.
#[derive(Clone, Debug)]
pub enum AnyScalable {
    /// Of [`BlockedBloomFilter`].
    Blocked(Scalable<BlockedBloomFilter>),
    /// Of [`BloomFilter`].
    Classic(Scalable<BloomFilter>),
    /// Of [`CountingBloomFilter`].
    Counting(Scalable<CountingBloomFilter>),
    /// Of [`CuckooFilter`].
    Cuckoo(Scalable<CuckooFilter>),
}

impl AnyScalable {
    /// As [`Scalable::new`].
    ///
    /// # Errors
    /// As there.
    pub fn new(kind: Kind, settings: Settings) -> Result<Self, FilterError> {
        Self::with_capacity_for(kind, settings, 0)
    }

    /// As [`Scalable::with_capacity_for`].
    ///
    /// # Errors
    /// As there.
    pub fn with_capacity_for(kind: Kind, settings: Settings, items: u64) -> Result<Self, FilterError> {
        Self::within_bytes(kind, settings, items, settings.max_bytes.unwrap_or(u64::MAX))
    }

    /// As [`Scalable::within_bytes`].
    ///
    /// # Errors
    /// As there.
    pub fn within_bytes(kind: Kind, settings: Settings, items: u64, max_bytes: u64) -> Result<Self, FilterError> {
        Ok(match kind {
            Kind::Blocked => Self::Blocked(Scalable::within_bytes(settings, items, max_bytes)?),
            Kind::Classic => Self::Classic(Scalable::within_bytes(settings, items, max_bytes)?),
            Kind::Counting => Self::Counting(Scalable::within_bytes(settings, items, max_bytes)?),
            Kind::Cuckoo => Self::Cuckoo(Scalable::within_bytes(settings, items, max_bytes)?),
        })
    }

    /// As [`Scalable::from_layers`], of the kind of the first layer.
    ///
    /// # Errors
    /// As there, and [`FilterError::MixedKinds`].
    pub fn from_layers(settings: Settings, layers: Vec<AnyLayer>) -> Result<Self, FilterError> {
        /// All layers as those of one kind.
        fn all<F: Clone>(
            layers: Vec<AnyLayer>,
            one: impl Fn(AnyLayer) -> Option<Arc<LayerOf<F>>>,
        ) -> Result<Vec<LayerOf<F>>, FilterError> {
            let owned = |layer| one(layer).map(Arc::unwrap_or_clone).ok_or(FilterError::MixedKinds);
            layers.into_iter().map(owned).collect()
        }
        macro_rules! of_kind {
            ($kind:ident) => {{
                let one = |layer| if let AnyLayer::$kind(layer) = layer { Some(layer) } else { None };
                Self::$kind(Scalable::from_layers(settings, all(layers, one)?)?)
            }};
        }
        Ok(match layers.first() {
            None => return Err(FilterError::NoLayers),
            Some(AnyLayer::Blocked(_)) => of_kind!(Blocked),
            Some(AnyLayer::Classic(_)) => of_kind!(Classic),
            Some(AnyLayer::Counting(_)) => of_kind!(Counting),
            Some(AnyLayer::Cuckoo(_)) => of_kind!(Cuckoo),
        })
    }

    /// Kind of the layers.
    #[must_use]
    pub fn kind(&self) -> Kind {
        fn of<F: Growable>(_: &Scalable<F>) -> Kind {
            F::KIND
        }
        of_any!(Self, self, filter => of(filter))
    }

    /// As [`Scalable::insert`].
    #[inline]
    pub fn insert(&mut self, fingerprint: u128) {
        of_any!(Self, self, filter => filter.insert(fingerprint));
    }

    /// As [`Scalable::contains`].
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
        match self {
            Self::Blocked(filter) => filter.contains(fingerprint),
            _ => self.another_contains(fingerprint),
        }
    }

    /// Out of the way of the usual kind, which then costs no more than without a choice.
    #[inline(never)]
    fn another_contains(&self, fingerprint: u128) -> bool {
        of_any!(Self, self, filter => filter.contains(fingerprint))
    }

    /// As [`Scalable::insert_batch`].
    pub fn insert_batch(&mut self, fingerprints: &[u128]) {
        of_any!(Self, self, filter => filter.insert_batch(fingerprints));
    }

    /// As [`Scalable::contains_batch`].
    ///
    /// # Panics
    /// When the two lengths differ.
    pub fn contains_batch(&self, fingerprints: &[u128], found: &mut [bool]) {
        of_any!(Self, self, filter => filter.contains_batch(fingerprints, found));
    }

    /// As [`Scalable::remove`]; always false for the kinds that cannot remove.
    pub fn remove(&mut self, fingerprint: u128) -> bool {
        fn from<F: Growable + Removable>(filter: &mut Scalable<F>, fingerprint: u128) -> bool {
            filter.remove(fingerprint)
        }
        match self {
            Self::Blocked(_) | Self::Classic(_) => false,
            Self::Counting(filter) => from(filter, fingerprint),
            Self::Cuckoo(filter) => from(filter, fingerprint),
        }
    }

    /// As [`Scalable::seal`].
    ///
    /// # Errors
    /// As there.
    pub fn seal(&mut self, capacity: u64) -> Result<(), FilterError> {
        of_any!(Self, self, filter => filter.seal(capacity))
    }

    /// As [`Scalable::stop_growth`].
    pub fn stop_growth(&mut self) {
        of_any!(Self, self, filter => filter.stop_growth());
    }

    /// As [`Scalable::replace_sealed`].
    ///
    /// # Errors
    /// As there, and [`FilterError::MixedKinds`].
    pub fn replace_sealed(&mut self, rebuilt: Self) -> Result<(), FilterError> {
        match (self, rebuilt) {
            (Self::Blocked(filter), Self::Blocked(rebuilt)) => filter.replace_sealed(rebuilt),
            (Self::Classic(filter), Self::Classic(rebuilt)) => filter.replace_sealed(rebuilt),
            (Self::Counting(filter), Self::Counting(rebuilt)) => filter.replace_sealed(rebuilt),
            (Self::Cuckoo(filter), Self::Cuckoo(rebuilt)) => filter.replace_sealed(rebuilt),
            _ => Err(FilterError::MixedKinds),
        }
    }

    /// The layers that take no inserts any more, oldest first.
    #[must_use]
    pub fn sealed(&self) -> Vec<AnyLayer> {
        match self {
            Self::Blocked(filter) => filter.sealed().iter().cloned().map(AnyLayer::Blocked).collect(),
            Self::Classic(filter) => filter.sealed().iter().cloned().map(AnyLayer::Classic).collect(),
            Self::Counting(filter) => filter.sealed().iter().cloned().map(AnyLayer::Counting).collect(),
            Self::Cuckoo(filter) => filter.sealed().iter().cloned().map(AnyLayer::Cuckoo).collect(),
        }
    }

    /// The bytes of the layer that takes the inserts, and its index.
    #[must_use]
    pub fn encode_newest(&self, origin: &Origin, covered: u64) -> (u32, Vec<u8>) {
        of_any!(Self, self, filter => {
            let newest = filter.newest();
            (newest.index(), codec::encode_layer(newest, origin, covered))
        })
    }

    /// The numbers of all layers, oldest first.
    #[must_use]
    pub fn layer_facts(&self) -> Vec<LayerFacts> {
        of_any!(Self, self, filter => filter.layers().map(facts).collect())
    }

    /// What each layer says to a fingerprint, oldest first: false is absent, true maybe. For people who want to know why
    /// the filter says maybe; [`contains`](Self::contains) is the question.
    #[must_use]
    pub fn contains_by_layer(&self, fingerprint: u128) -> Vec<bool> {
        of_any!(Self, self, filter => filter.layers().map(|layer| layer.contains(fingerprint)).collect())
    }

    /// What the newest layer holds, as a share of its design capacity.
    #[must_use]
    pub fn newest_load(&self) -> f64 {
        of_any!(Self, self, filter => filter.newest().load())
    }

    /// As [`Scalable::settings`].
    #[must_use]
    pub fn settings(&self) -> Settings {
        of_any!(Self, self, filter => filter.settings())
    }

    /// As [`Scalable::layer_count`].
    #[must_use]
    pub fn layer_count(&self) -> usize {
        of_any!(Self, self, filter => filter.layer_count())
    }

    /// As [`Scalable::len`].
    #[must_use]
    pub fn len(&self) -> u64 {
        of_any!(Self, self, filter => filter.len())
    }

    /// As [`Scalable::is_empty`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        of_any!(Self, self, filter => filter.is_empty())
    }

    /// As [`Scalable::overload`].
    #[must_use]
    pub fn overload(&self) -> u64 {
        of_any!(Self, self, filter => filter.overload())
    }

    /// As [`Scalable::waived`].
    #[must_use]
    pub fn waived(&self) -> bool {
        of_any!(Self, self, filter => filter.waived())
    }

    /// As [`Scalable::bytes`].
    #[must_use]
    pub fn bytes(&self) -> u64 {
        of_any!(Self, self, filter => filter.bytes())
    }

    /// As [`Scalable::predicted_rate`].
    #[must_use]
    pub fn predicted_rate(&self) -> f64 {
        of_any!(Self, self, filter => filter.predicted_rate())
    }
}

#[cfg(test)]
mod tests;
