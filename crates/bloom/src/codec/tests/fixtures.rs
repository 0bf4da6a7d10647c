//! Files of each kind as this version writes them, in `tests/fixtures`. A later version, whatever it writes, must still
//! read them; so these files are never replaced, only others added.

use std::path::PathBuf;

use super::*;
use crate::filter::Removable;

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", name].iter().collect()
}

/// The layer that the file holds: keys of seed 79, the first ten inserted twice.
fn check<F: Growable + PartialEq + std::fmt::Debug>(name: &str, filter: F, after: impl Fn(&mut F)) {
    let mut filter = filter;
    let keys: Vec<u128> = fingerprints(79).take(200).collect();
    keys.iter().chain(&keys[..10]).for_each(|&key| filter.insert(key).expect("room"));
    after(&mut filter);
    let layer = LayerOf::from_parts(1, 200, 0.2, filter);
    let origin = Origin { key_check: KEY_CHECK, hash: SIPHASH_1_3_128, rules: 1 };
    let bytes = encode_layer(&layer, &origin, 1_234);
    // to add the file of a new kind or version: write it once by hand from these bytes
    if std::env::var_os("WRITE_FIXTURES").is_some() && !path(name).exists() {
        std::fs::write(path(name), &bytes).expect("the folder is there");
    }
    let file = std::fs::read(path(name)).expect("a fixture");
    let decoded = decode_layer::<F>(&file, &origin).expect("a layer");
    assert_eq!((decoded.covered, decoded.layer.index(), decoded.layer.design_capacity()), (1_234, 1, 200));
    assert!(keys[20..].iter().all(|&key| decoded.layer.contains(key)), "absent means absent");
    assert_eq!(decoded.layer, layer);
    // what is written today; a later version may drop this line, not those above
    assert_eq!(file, bytes, "{name}");
}

/// The first twenty keys taken out once: ten of them are still in.
fn remove_some<F: Removable>(filter: &mut F) {
    fingerprints(79).take(20).for_each(|key| assert!(filter.remove(key)));
    assert!(fingerprints(79).take(10).all(|key| filter.contains(key)));
}

#[test]
fn files_of_version_2_are_read() {
    check("blocked-v2.layer", BlockedBloomFilter::new(8).expect("small"), |_| ());
    check("classic-v2.layer", BloomFilter::with_bits(3_001, 5).expect("small"), |_| ());
    check("counting-v2.layer", CountingBloomFilter::new(8).expect("small"), remove_some);
    check("cuckoo-v2.layer", CuckooFilter::new(57).expect("small"), remove_some);
}
