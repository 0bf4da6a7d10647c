//! More than 2^32 bits and more than 2^31 keys, for real. It takes gigabytes and minutes, so it runs only where the
//! environment variable `BLOOM_BIG_KEYS` says how many keys (2,200,000,000 for what the name promises):
//! `BLOOM_BIG_KEYS=2200000000 cargo test --release -p bloom --test big`. The arithmetic behind it is tested everywhere,
//! in `lines.rs`.

use bloom::BlockedBloomFilter;

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

#[test]
fn a_filter_beyond_32_bits_keeps_its_keys_and_its_rate() {
    let Some(keys) = std::env::var("BLOOM_BIG_KEYS").ok().and_then(|keys| keys.parse::<u64>().ok()) else { return };
    let mut filter = BlockedBloomFilter::for_items(keys, 0.1).expect("memory for it");
    println!("{keys} keys in {} bits", filter.bits());
    let mut batch = Vec::with_capacity(4_096);
    for start in (0..keys).step_by(4_096) {
        batch.clear();
        batch.extend((start..keys.min(start + 4_096)).map(fingerprint));
        filter.insert_batch(&batch);
    }
    assert_eq!(filter.len(), keys);
    assert!((0..keys).step_by(101).all(|item| filter.contains(fingerprint(item))), "absent means absent");
    let probes = 1_000_000;
    let maybes = (keys..keys + probes).filter(|&item| filter.contains(fingerprint(item))).count();
    let (measured, predicted) = (maybes as f64 / probes as f64, filter.predicted_rate());
    println!("measured {measured}, predicted {predicted}");
    assert!((measured / predicted - 1.0).abs() < 0.02, "{measured} {predicted}");
}
