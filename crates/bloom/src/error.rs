//! What can be wrong with the settings of a filter, or with layers put together. Not what can be wrong with bytes: that
//! is [`DecodeError`](crate::DecodeError).
//!
//! Invariant: no filter exists that one of these errors describes.

use thiserror::Error;

/// A cuckoo filter has no room for this fingerprint. Nothing has changed: make a larger filter, or add a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no room for another fingerprint")]
pub struct Full;

/// Why a filter cannot be made. Each says which number to change, or that the layers have to be rebuilt.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The false-positive rate is not strictly between 0 and 1 (or not a number).
    #[error("false-positive rate {rate} is not between 0 and 1")]
    Rate {
        /// The rate that was asked for.
        rate: f64,
    },
    /// A filter for no items, or of no blocks.
    #[error("capacity must be at least 1")]
    NoCapacity,
    /// A key of a classic filter would have no position, or too many.
    #[error("{positions} positions a key, not between 1 and {max}", max = crate::classic::MAX_POSITIONS)]
    Positions {
        /// Positions that were asked for.
        positions: u16,
    },
    /// The growth factor would shrink layers, or outgrow any memory in a few steps (or is not a number).
    #[error("growth factor {factor} is not between 1 and {max}", max = crate::scalable::MAX_GROWTH_FACTOR)]
    Growth {
        /// The factor that was asked for.
        factor: f64,
    },
    /// More than [`MAX_BLOCKS`](crate::sizing::MAX_BLOCKS) blocks would be needed: ask for fewer items or a higher rate.
    #[error("{items} items at false-positive rate {rate} need more than {max} bytes", max = crate::sizing::MAX_BLOCKS * crate::blocked::BLOCK_BYTES)]
    TooLarge {
        /// Items that should fit.
        items: u64,
        /// Rate that should hold when they are in.
        rate: f64,
    },
    /// The allocator refused.
    #[error("no memory for a filter of {bytes} bytes")]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// A bound on memory under which not even the smallest layer fits.
    #[error("no layer fits in {bytes} bytes")]
    Bytes {
        /// The bound.
        bytes: u64,
    },
    /// A filter was to be put together from no layers: make an empty one instead.
    #[error("no layers")]
    NoLayers,
    /// Layers of different kinds were to be put together: the kind was changed since. Rebuild.
    #[error("layers of different kinds")]
    MixedKinds,
    /// The layers are not numbered 0, 1, 2, … in this order: one is missing or foreign. Rebuild.
    #[error("layer {found} found in place {position}")]
    LayerOrder {
        /// Place in the list.
        position: u32,
        /// What the layer says of itself.
        found: u32,
    },
    /// A layer was made for a higher error budget than the settings allow it now. Rebuild.
    #[error("layer {index} was made for a rate of {budget}, but may have only {allowed}")]
    LayerBudget {
        /// Number of the layer.
        index: u32,
        /// Budget that it was made with.
        budget: f64,
        /// Budget that the settings give it.
        allowed: f64,
    },
}
