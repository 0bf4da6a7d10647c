//! Cost of an insert, a hit and a miss at a million keys. Each measurement runs over all keys: read the throughput column
//! (items per second), or divide the time by a million. Not a measurement of hashing: fingerprints are made beforehand.

use bloom::{BlockedFilter, ScalableFilter, Settings};
use divan::Bencher;
use divan::counter::ItemsCount;

const KEYS: usize = 1_000_000;

/// Four layers at a million keys: 100,000 + 200,000 + 400,000 + 800,000.
const SETTINGS: Settings = Settings { false_positive_rate: 0.01, initial_capacity: 100_000, growth_factor: 2.0 };

fn main() {
    divan::main();
}

/// Random fingerprints, the same in every run (SplitMix64).
fn keys(seed: u64) -> Vec<u128> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..KEYS).map(|_| u128::from(next()) << 64 | u128::from(next())).collect()
}

fn empty_blocked() -> BlockedFilter {
    BlockedFilter::for_items(KEYS as u64, 0.01).expect("possible size")
}

fn full_blocked() -> BlockedFilter {
    let mut filter = empty_blocked();
    keys(1).into_iter().for_each(|key| filter.insert(key));
    filter
}

fn empty_scalable() -> ScalableFilter {
    ScalableFilter::new(SETTINGS).expect("possible settings")
}

fn full_scalable() -> ScalableFilter {
    let mut filter = empty_scalable();
    keys(1).into_iter().for_each(|key| filter.insert(key));
    filter
}

/// Measures `contains` over all `keys`.
fn probe(bencher: Bencher, keys: &[u128], contains: impl Fn(u128) -> bool + Sync) {
    bencher.counter(ItemsCount::new(KEYS)).bench(|| keys.iter().filter(|&&key| contains(key)).count());
}

#[divan::bench(sample_count = 20)]
fn blocked_insert(bencher: Bencher) {
    let keys = keys(1);
    bencher
        .counter(ItemsCount::new(KEYS))
        .with_inputs(empty_blocked)
        .bench_refs(|filter| keys.iter().for_each(|&key| filter.insert(key)));
}

#[divan::bench(sample_count = 20)]
fn blocked_hit(bencher: Bencher) {
    let filter = full_blocked();
    probe(bencher, &keys(1), |key| filter.contains(key));
}

#[divan::bench(sample_count = 20)]
fn blocked_miss(bencher: Bencher) {
    let filter = full_blocked();
    probe(bencher, &keys(2), |key| filter.contains(key));
}

#[divan::bench(sample_count = 20)]
fn scalable_insert(bencher: Bencher) {
    let keys = keys(1);
    bencher
        .counter(ItemsCount::new(KEYS))
        .with_inputs(empty_scalable)
        .bench_refs(|filter| keys.iter().for_each(|&key| filter.insert(key)));
}

#[divan::bench(sample_count = 20)]
fn scalable_hit(bencher: Bencher) {
    let filter = full_scalable();
    probe(bencher, &keys(1), |key| filter.contains(key));
}

#[divan::bench(sample_count = 20)]
fn scalable_miss(bencher: Bencher) {
    let filter = full_scalable();
    probe(bencher, &keys(2), |key| filter.contains(key));
}
