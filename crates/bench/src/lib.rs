//! Keys and filters that the benches measure. Not part of the daemon: this crate exists so that the filters of other
//! crates are compiled only for benches.
//!
//! Invariant: the same keys in every run, and every filter is asked for a false-positive rate of 1 %.

use std::sync::LazyLock;

pub mod policy;

use bloom::{Growable, Scalable, Settings};

// the allocator of the daemon
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rate that every filter is asked for.
pub const RATE: f64 = 0.01;

/// Number of keys: 10 million, or what the environment variable `BENCH_KEYS` says.
pub static COUNT: LazyLock<usize> =
    LazyLock::new(|| std::env::var("BENCH_KEYS").ok().and_then(|keys| keys.parse().ok()).unwrap_or(10_000_000));

/// The keys that are in.
pub static PRESENT: LazyLock<Vec<u128>> = LazyLock::new(|| fingerprints(1, *COUNT));

/// As many keys that are not in.
pub static ABSENT: LazyLock<Vec<u128>> = LazyLock::new(|| fingerprints(2, *COUNT));

/// What a partition of the frontier starts with by default.
pub const SETTINGS: Settings =
    Settings { false_positive_rate: RATE, initial_capacity: 62_500, growth_factor: 2.0, max_bytes: None };

/// Grown from [`SETTINGS`] to [`PRESENT`]: the state just before a rebuild that never came.
#[must_use]
pub fn grown<F: Growable>() -> Scalable<F> {
    let mut filter = Scalable::new(SETTINGS).expect("possible settings");
    filter.insert_batch(&PRESENT);
    filter
}

/// [`PRESENT`] in one layer with room for one in 64 more, as after a rebuild.
#[must_use]
pub fn rebuilt<F: Growable>() -> Scalable<F> {
    let known = PRESENT.len() as u64;
    let mut filter = Scalable::with_capacity_for(SETTINGS, known + known / 64).expect("possible settings");
    filter.insert_batch(&PRESENT);
    filter
}

/// Key number `item` of an endless row: random, and the same in every run.
#[must_use]
pub fn key(item: u64) -> u128 {
    u128::from(split_mix(2 * item)) << 64 | u128::from(split_mix(2 * item + 1))
}

/// The first `count` keys behind a far place of the row.
fn fingerprints(seed: u64, count: usize) -> Vec<u128> {
    (0..count as u64).map(|item| key((seed << 50) + item)).collect()
}

/// SplitMix64's number `place`: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#[must_use]
pub fn split_mix(place: u64) -> u64 {
    let z = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
