//! A growing filter whose kind is chosen at run time, for a caller with a setting for it. Nothing here is new: each
//! function is that of [`Scalable`] for the kind at hand.
//!
//! Invariant: all layers of a filter are of its kind.

use std::sync::Arc;

use crate::blocked::BlockedFilter;
use crate::classic::BloomFilter;
use crate::codec::{self, Origin};
use crate::counting::CountingFilter;
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
    /// Of [`BlockedFilter`].
    Blocked(Scalable<BlockedFilter>),
    /// Of [`BloomFilter`].
    Classic(Scalable<BloomFilter>),
    /// Of [`CountingFilter`].
    Counting(Scalable<CountingFilter>),
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
        Ok(match kind {
            Kind::Blocked => Self::Blocked(Scalable::with_capacity_for(settings, items)?),
            Kind::Classic => Self::Classic(Scalable::with_capacity_for(settings, items)?),
            Kind::Counting => Self::Counting(Scalable::with_capacity_for(settings, items)?),
            Kind::Cuckoo => Self::Cuckoo(Scalable::with_capacity_for(settings, items)?),
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
    #[inline]
    #[must_use]
    pub fn contains(&self, fingerprint: u128) -> bool {
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
