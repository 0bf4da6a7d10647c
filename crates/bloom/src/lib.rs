//! May I have seen this? Growing Bloom and cuckoo filters with a stable format on disk.
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
//! # The kinds
//! All answer through the trait [`Filter`]; any of them can be the layers of a growing filter ([`Scalable`]).
//!
//! | kind | bits a key at 1 % | measured rate | after a rebuild | while growing | removes |
//! |---|---|---|---|---|---|
//! | [`BlockedBloomFilter`] | 10.2 | 0.94 % | 12.2 | 27.1 | no |
//! | [`BloomFilter`] | 9.6 | 0.97 % | 11.5 | 23.7 | no |
//! | [`CountingBloomFilter`] | 40.7 | 0.94 % | 48.9 | 108.2 | yes |
//! | [`CuckooFilter`] | 17.0 | 0.01 % | 17.0 | 25.6 | yes |
//!
//! The second column is a filter whose size was known in advance; the third the rate that it then has. A filter that grows
//! splits its budget over layers: *after a rebuild* is one right-sized layer with its share of 1 %, *while growing* the
//! average on the way to a hundred times the first layer, half-empty layers included. (`tests/space.rs` measures the table
//! and fails when it is wrong.)
//!
//! * [`BlockedBloomFilter`]: one cache line a probe. The default, and the only one of these that is fast on a hit as well.
//! * [`BloomFilter`]: the classic. Smallest at low rates; several cache lines a probe.
//! * [`CountingBloomFilter`]: the blocked one with counters instead of bits, so that keys can be removed.
//! * [`CuckooFilter`]: sixteen bits of each key. Removes in the least space, at two cache lines a probe.
//!
//! # The life of a fingerprint
//! 1. It is **inserted** ([`Scalable::insert`]) into the newest [`Layer`], even if an older layer already says maybe to
//!    it: that maybe could be a false positive, and old layers may be dropped.
//! 2. In a plain layer its high half picks one 64-byte block, and its low half picks one bit in each of the block's eight
//!    words ([`blocked`]). One memory access, eight bits set. Bits are never cleared.
//! 3. When the newest layer holds what it was **sized** for ([`sizing`]) it is sealed, and a larger layer with a smaller
//!    error budget opens before the next insert ([`scalable`]).
//! 4. It is **tested** ([`Scalable::contains`]) against all layers, the oldest first, with the same fingerprint; many at a
//!    time ([`Scalable::contains_batch`]) so that waits for memory overlap.
//! 5. It may be **removed** ([`Scalable::remove`]), where the kind can, if exactly one layer says maybe to it.
//! 6. Its layer is **written down** ([`codec`]) under the sequence number that the layer covers, and read back with every
//!    byte checked. A layer that cannot be read is a named [`DecodeError`], and the caller rebuilds from its exact set,
//!    into one right-sized layer ([`Scalable::with_capacity_for`]).
//! 7. When layers pile up they are **rebuilt** while inserts go on: the newest is sealed ([`Scalable::seal`]), the exact
//!    set is scanned into a right-sized filter, and that takes the place of all sealed layers
//!    ([`Scalable::replace_sealed`]).
//!
//! # Where is…
//! | question | file |
//! |---|---|
//! | what can every filter do? | `filter.rs` |
//! | which bits are set and tested? | `blocked.rs` (portable), `machine.rs` (AVX2 and AVX-512, the same bits; with `machine/` all unsafe code) |
//! | how many blocks for so many items, and what rate follows? | `sizing.rs` |
//! | the textbook's filter and formulas? | `classic.rs` |
//! | how is a key taken out again? | `counting.rs`, `cuckoo.rs` |
//! | what does one layer know of itself? | `layer.rs` |
//! | when does the filter grow, how is the error split, how is it rebuilt? | `scalable.rs` |
//! | what if memory is bounded? | `scalable/bound.rs` |
//! | how is the kind chosen at run time? | `choice.rs` |
//! | how are many asked at once? | `scalable/batch.rs` |
//! | what is on the disk? | `codec.rs`, its first 84 bytes in `codec/header.rs` |
//! | what can be wrong with settings or layers? | `error.rs` |
//!
//! # Benches
//! `cargo bench -p bench --bench growth` grows ours from 62,500 keys to 10 and to 100 million, and measures them beside
//! sbbf-rs-safe and fastbloom (which are told the size), growable-bloom-filter and cuckoofilter: ratios of one run, taken in
//! turn, in processor time of the thread, with a verdict against the bars. `-- quick` leaves the last two out. On 1 December
//! 2026, on 2 cores of an Intel Xeon (2 MiB L2 each, 300 MiB L3 shared with others, 24 GiB) under KVM; mimalloc; nanoseconds
//! a key at 10 million / 100 million, in brackets over sbbf-rs-safe:
//!
//! | 1 % asked | miss | miss in a batch | … in batches of 64 | hit | bits a key |
//! |---|---|---|---|---|---|
//! | one layer, as after a rebuild | 20 / 15 (1.11 / 1.13) | 6.5 / 7.0 | 8.2 / 11 | 13 / 15 (1.13 / 1.07) | 12.4 |
//! | the same as [`AnyScalable`] | 22 / 15 (1.19 / 1.17) | 6.8 / 6.9 | 8.1 / 11 | 15 / 16 (1.30 / 1.19) | 12.4 |
//! | a third layer just opened | 52 / 34 (2.92 / 2.57) | 19 / 18 | 23 / 25 | 35 / 29 (2.92 / 2.17) | 32.8 |
//! | three full layers | 33 / 36 (1.84 / 2.65) | 17 / 19 | 20 / 26 | 33 / 38 (2.86 / 2.85) | 14.1 |
//! | a fourth one just opened | 55 / 43 (2.96 / 3.11) | 24 / 24 | 29 / 34 | 40 / 40 (3.30 / 2.92) | 32.7 |
//! | never rebuilt: 8 / 11 layers | 94 / 94 (5.1 / 6.9) | 47 / 65 | 50 / 73 | 79 / 87 (6.2 / 6.5) | 34 / 36 |
//! | sbbf-rs-safe 0.3, of fixed size, 1.27 % | 19 / 14 | – | – | 12 / 13 | 10.0 |
//! | fastbloom 0.17, of fixed size | 42 / 52 | – | – | 40 / 76 | 9.6 |
//! | growable-bloom-filter 2.1, 3.3 / 3.9 % | 549 / 692 | – | – | 549 / 805 | – |
//! | cuckoofilter 0.5, of fixed size, 1.9 / 2.3 % | 164 / 102 | – | – | 166 / 108 | 13.4 / 10.7 |
//!
//! (Runs differ: others use the L3 cache, too, and the first half of this one was slower than the second.) A batch keeps 64
//! lines on their way. Where one of 64 is waited for before the next one is begun, its last line is waited for in full, 150
//! ns here: the machine then needs 10 ns a key at the least, for it brings in no more than a line every 8 to 9 ns; and
//! single tests that do not wait for each other overlap by themselves (one after the other each takes those 150 ns). An insert
//! costs 15 / 15 ns, growth included (1.04 / 1.02), in batches 6.9 / 9.7, and 16 / 17 with the rebuilds.
//!
//! Memory on huge pages: mimalloc asks for them by itself, so all of the above have them. On an AMD EPYC, at 10 million keys
//! without (`BENCH_HUGE_PAGES=never`): one layer 17 ns a miss and 6.7 in batches, four layers 46 and 17,
//! sbbf-rs-safe 16, an insert 20 ns, in batches 9.2: a twentieth to a third more.
//!
//! `cargo bench -p bench --bench rates` measures the rate over 10 million absent keys at every size from a thousand to a
//! hundred million in steps of 1, 2 and 5, and around each growth and rebuild: on the same day at most 0.68 % in 39 states,
//! each as predicted (10 %, or three standard deviations below 0.1 %), 12.41 bits a key after the last rebuild, 22.5 on
//! average on the way there. `--bench filters` measures all kinds, of fixed size and growing.
//!
//! # Fuzzing
//! `cd crates/bloom && cargo +nightly fuzz run decode_blocked` (or `decode_classic`, `decode_counting`, `decode_cuckoo`),
//! with the files of `tests/fixtures` as first inputs. Checksums are made good on the way, so that the fuzzer gets behind
//! them. Three minutes and more of each (1.6 to 8.6 million inputs a run) have found nothing.
//!
//! # The promise, measured
//! ```
//! use bloom::{ScalableBloomFilter, Settings};
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
//! let settings = Settings { false_positive_rate: 0.01, initial_capacity: 5_000, growth_factor: 2.0, max_bytes: None };
//! let mut filter = ScalableBloomFilter::new(settings)?;
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
pub mod choice;
pub mod classic;
pub mod codec;
pub mod counting;
pub mod cuckoo;
pub mod error;
pub mod filter;
pub mod layer;
mod lines;
mod machine;
pub mod scalable;
pub mod sizing;

#[cfg(test)]
mod seeded;

pub use blocked::BlockedBloomFilter;
pub use choice::{AnyLayer, AnyScalable, LayerFacts};
pub use classic::BloomFilter;
pub use codec::{DecodeError, Decoded, Origin, decode, decode_layer, encode, encode_layer};
pub use counting::CountingBloomFilter;
pub use cuckoo::CuckooFilter;
pub use error::{FilterError, Full};
pub use filter::{Filter, Growable, Kind, Removable, Shape};
pub use layer::{Layer, LayerOf};
pub use lines::Block;
pub use scalable::{Scalable, ScalableBloomFilter, ScalableCountingBloomFilter, ScalableCuckooFilter, Settings};
