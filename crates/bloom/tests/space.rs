//! The table of space per key on the crate's page, measured. Not the rates' own tests: those are beside the code.
//!
//! If a row has changed, the failing line is the new one.

use bloom::{BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, Growable, Scalable, Settings};

const KEYS: u64 = 100_000;
const RATE: f64 = 0.01;

/// SplitMix64's output function, twice.
fn fingerprint(item: u64) -> u128 {
    let mix = |z: u64| {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let half = |number: u64| mix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    u128::from(half(2 * item + 1)) << 64 | u128::from(half(2 * item + 2))
}

/// Bits per key: of a fixed size, after a rebuild, and on average while a filter grows to a hundred times its first layer.
fn row<F: Growable>(name: &str, removes: &str) -> String {
    let mut fixed = F::for_items(KEYS, RATE).expect("possible");
    (0..KEYS).for_each(|item| fixed.insert(fingerprint(item)).expect("sized for it"));
    let maybes = (KEYS..4 * KEYS).filter(|&item| fixed.contains(fingerprint(item))).count();
    let measured = maybes as f64 / (3 * KEYS) as f64;
    assert!(measured <= RATE, "{name}: {measured}");

    let settings =
        Settings { false_positive_rate: RATE, initial_capacity: KEYS / 100, growth_factor: 2.0, max_bytes: None };
    let rebuilt = Scalable::<F>::with_capacity_for(settings, KEYS).expect("possible");
    let mut grown = Scalable::<F>::new(settings).expect("possible");
    let (mut sum, mut samples) = (0.0, 0);
    for item in 0..KEYS {
        grown.insert(fingerprint(item));
        if item >= KEYS / 100 && item % 500 == 0 {
            sum += grown.bytes() as f64 * 8.0 / grown.len() as f64;
            samples += 1;
        }
    }
    let per_key = |bits: u64| bits as f64 / KEYS as f64;
    let (fixed, rebuilt, average) = (per_key(fixed.bits()), per_key(rebuilt.bytes() * 8), sum / f64::from(samples));
    let percent = measured * 100.0;
    format!("//! | {name} | {fixed:.1} | {percent:.2} % | {rebuilt:.1} | {average:.1} | {removes} |\n")
}

#[test]
fn the_table_on_the_page_is_what_is_measured() {
    let page = include_str!("../src/lib.rs");
    let rows = [
        row::<BlockedBloomFilter>("[`BlockedBloomFilter`]", "no"),
        row::<BloomFilter>("[`BloomFilter`]", "no"),
        row::<CountingBloomFilter>("[`CountingBloomFilter`]", "yes"),
        row::<CuckooFilter>("[`CuckooFilter`]", "yes"),
    ];
    let missing: String = rows.into_iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "not in lib.rs:\n{missing}");
}
