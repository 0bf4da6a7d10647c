//! May I have seen this? A scalable, cache-line blocked Bloom filter with a stable format on disk.
//!
//! # The promise
//! **Absent means absent; maybe is never a yes.** A fingerprint that was inserted is never called absent: not after
//! growth, not in a clone, not after a trip through bytes. A fingerprint that was not inserted is called maybe at a rate
//! that the settings bound, over all layers together. Whoever gets a maybe asks the exact set.
//!
//! # What this crate does not know
//! No I/O, no clock, no threads, no logging, no URLs and **no hash function**. Items arrive as 128-bit fingerprints, which
//! the caller makes with a hash that is keyed by a secret and is the same on every machine and in every version
//! (SipHash-1-3 with 128 bits of output): an unkeyed hash lets strangers choose colliding items, an unstable one turns a
//! stored filter into false absents. All of the high 64 bits and of the low 48 bits have to be uniform. A caller that
//! splits its items over several filters must not split by these bits.
//!
//! # The life of a fingerprint
//! 1. It is **inserted** ([`ScalableFilter::insert`]) into the newest [`Layer`], even if an older layer already says maybe
//!    to it: that maybe could be a false positive, and old layers may be dropped.
//! 2. In the layer its high half picks one 64-byte block, and its low half picks one bit in each of the block's eight
//!    words ([`blocked`]). One memory access, eight bits set. Bits are never cleared.
//! 3. When the newest layer holds what it was **sized** for ([`sizing`]) it is sealed, and a larger layer with a smaller
//!    error budget opens before the next insert ([`scalable`]).
//! 4. It is **tested** ([`ScalableFilter::contains`]) against all layers, the newest first, with the same fingerprint.
//! 5. Its layer is **written down** ([`codec`]) under the sequence number that the layer covers, and read back with every
//!    byte checked. A layer that cannot be read is a named [`DecodeError`], and the caller rebuilds from its exact set,
//!    into one right-sized layer ([`ScalableFilter::with_capacity_for`]).
//!
//! # Where is…
//! | question | file |
//! |---|---|
//! | which bits are set and tested? | `blocked.rs` |
//! | how many blocks for so many items, and what rate follows? | `sizing.rs` |
//! | what does one layer know of itself? | `layer.rs` |
//! | when does the filter grow, and how is the error split? | `scalable.rs` |
//! | what is on the disk? | `codec.rs` |
//! | what can be wrong with settings or layers? | `error.rs` |
//!
//! # The promise, measured
//! ```
//! use bloom::{ScalableFilter, Settings};
//!
//! // Stands for the caller's keyed hash (here: SplitMix64, twice).
//! fn fingerprint(item: u64) -> u128 {
//!     let mix = |mut z: u64| {
//!         z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
//!         z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
//!         z ^ (z >> 31)
//!     };
//!     let step = 0x9e37_79b9_7f4a_7c15_u64;
//!     let high = mix((2 * item).wrapping_mul(step));
//!     let low = mix((2 * item + 1).wrapping_mul(step));
//!     u128::from(high) << 64 | u128::from(low)
//! }
//!
//! let settings = Settings { false_positive_rate: 0.01, initial_capacity: 5_000, growth_factor: 2.0 };
//! let mut filter = ScalableFilter::new(settings)?;
//! for item in 0..30_000 {
//!     filter.insert(fingerprint(item));
//! }
//! assert_eq!(filter.layers().count(), 3); // 5,000 + 10,000 + 20,000
//!
//! // absent means absent
//! assert!((0..30_000).all(|item| filter.contains(fingerprint(item))));
//!
//! // maybe is rare, as rare as predicted, and at most what was asked
//! let maybes = (30_000..230_000).filter(|&item| filter.contains(fingerprint(item))).count();
//! let measured = maybes as f64 / 200_000.0;
//! assert!(measured <= 0.01);
//! assert!((measured / filter.predicted_rate() - 1.0).abs() < 0.1);
//!
//! // and it costs about 15 bits an item, with the last layer not yet full
//! let bits_per_item = filter.bytes() as f64 * 8.0 / 30_000.0;
//! assert!(bits_per_item < 18.0);
//! # Ok::<(), bloom::FilterError>(())
//! ```

pub mod blocked;
pub mod codec;
pub mod error;
pub mod layer;
pub mod scalable;
pub mod sizing;

#[cfg(test)]
mod seeded;

pub use blocked::BlockedFilter;
pub use codec::{DecodeError, Decoded, decode, encode};
pub use error::FilterError;
pub use layer::Layer;
pub use scalable::{ScalableFilter, Settings};
