//! A layer whose kind is known at run time, and its numbers. Not the row of layers.
//!
//! Invariant: a layer never changes its kind; what is decoded as one kind was encoded as that.

use std::sync::Arc;

use crate::blocked::BlockedBloomFilter;
use crate::classic::BloomFilter;
use crate::codec::{self, DecodeError, Origin};
use crate::counting::CountingBloomFilter;
use crate::cuckoo::CuckooFilter;
use crate::filter::{Growable, Kind};
use crate::layer::LayerOf;

/// A layer of any kind, shared.
#[derive(Clone, Debug)]
pub enum AnyLayer {
    /// Of [`BlockedBloomFilter`].
    Blocked(Arc<LayerOf<BlockedBloomFilter>>),
    /// Of [`BloomFilter`].
    Classic(Arc<LayerOf<BloomFilter>>),
    /// Of [`CountingBloomFilter`].
    Counting(Arc<LayerOf<CountingBloomFilter>>),
    /// Of [`CuckooFilter`].
    Cuckoo(Arc<LayerOf<CuckooFilter>>),
}

/// The numbers of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerFacts {
    /// Place in the row of layers, from 0.
    pub index: u32,
    /// Number of inserts that the layer was sized for.
    pub design_capacity: u64,
    /// Number of inserts less removals.
    pub len: u64,
    /// What is in, as a share of the design capacity.
    pub load: f64,
    /// Inserts beyond the design capacity.
    pub overload: u64,
    /// Size in bits.
    pub bits: u64,
    /// False-positive rate that the layer may reach at its design capacity.
    pub budget: f64,
    /// False-positive rate to expect at its design capacity.
    pub design_rate: f64,
    /// False-positive rate to expect now.
    pub predicted_rate: f64,
}

pub(super) fn facts<F: Growable>(layer: &LayerOf<F>) -> LayerFacts {
    LayerFacts {
        index: layer.index(),
        design_capacity: layer.design_capacity(),
        len: layer.len(),
        load: layer.load(),
        overload: layer.overload(),
        bits: layer.bits(),
        budget: layer.budget(),
        design_rate: layer.design_rate(),
        predicted_rate: layer.predicted_rate(),
    }
}

impl AnyLayer {
    /// The layer of this kind in these bytes, and the sequence number that it covers; as [`codec::decode_layer`].
    ///
    /// # Errors
    /// As there.
    pub fn decode(kind: Kind, bytes: &[u8], origin: &Origin) -> Result<(Self, u64), DecodeError> {
        macro_rules! of_kind {
            ($kind:ident) => {{
                let decoded = codec::decode_layer(bytes, origin)?;
                (Self::$kind(Arc::new(decoded.layer)), decoded.covered)
            }};
        }
        Ok(match kind {
            Kind::Blocked => of_kind!(Blocked),
            Kind::Classic => of_kind!(Classic),
            Kind::Counting => of_kind!(Counting),
            Kind::Cuckoo => of_kind!(Cuckoo),
        })
    }

    /// The bytes of the layer; as [`codec::encode_layer`].
    #[must_use]
    pub fn encode(&self, origin: &Origin, covered: u64) -> Vec<u8> {
        of_any!(Self, self, layer => codec::encode_layer(layer, origin, covered))
    }

    /// The numbers of the layer.
    #[must_use]
    pub fn facts(&self) -> LayerFacts {
        of_any!(Self, self, layer => facts(layer))
    }

    /// Whether the two are one and the same in memory, so that what was written of one need not be written again. (While
    /// the one is kept, a removal changes a copy, which is another.)
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Blocked(one), Self::Blocked(other)) => Arc::ptr_eq(one, other),
            (Self::Classic(one), Self::Classic(other)) => Arc::ptr_eq(one, other),
            (Self::Counting(one), Self::Counting(other)) => Arc::ptr_eq(one, other),
            (Self::Cuckoo(one), Self::Cuckoo(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}
