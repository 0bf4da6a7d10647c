//! Tests that hold for all kinds of layers, and of what only some can do.

use super::*;

/// What growth, batches and removals have in common for all kinds.
fn grows_in_batches_as_one_by_one<F: Growable + PartialEq + std::fmt::Debug>() {
    let settings = Settings { initial_capacity: 300, ..SETTINGS };
    let mut one_by_one: Scalable<F> = Scalable::new(settings).expect("possible settings");
    let mut batches = one_by_one.clone();
    let keys: Vec<u128> = fingerprints(13).take(4_000).collect();
    keys.iter().for_each(|&key| one_by_one.insert(key));
    keys.chunks(111).for_each(|keys| batches.insert_batch(keys));
    assert!(batches.layers().eq(one_by_one.layers()));
    assert!(batches.layer_count() >= 4 && batches.len() == 4_000 && batches.overload() == 0);
    let probes: Vec<u128> = keys.iter().copied().chain(fingerprints(14).take(20_000)).collect();
    let mut found = vec![false; probes.len()];
    probes.chunks(777).zip(found.chunks_mut(777)).for_each(|(keys, found)| batches.contains_batch(keys, found));
    assert!(probes.iter().zip(&found).all(|(&key, &found)| batches.contains(key) == found));
    assert!(found[..4_000].iter().all(|&found| found), "absent means absent");
    let maybes = found[4_000..].iter().filter(|&&found| found).count();
    assert!(maybes <= 200, "{maybes} of 20,000");
    assert!(batches.predicted_rate() <= 0.01);
}

#[test]
fn every_kind_grows_in_batches_as_one_by_one() {
    grows_in_batches_as_one_by_one::<BlockedBloomFilter>();
    grows_in_batches_as_one_by_one::<crate::BloomFilter>();
    grows_in_batches_as_one_by_one::<CountingBloomFilter>();
    grows_in_batches_as_one_by_one::<CuckooFilter>();
}

fn removes_from_any_layer<F: Growable + Removable + PartialEq + std::fmt::Debug>() {
    let mut filter: Scalable<F> = Scalable::new(SETTINGS).expect("possible settings");
    let keys: Vec<u128> = fingerprints(15).take(6_000).collect();
    keys.iter().for_each(|&key| filter.insert(key));
    let snapshot = filter.clone();
    let (gone, kept) = keys.split_at(4_000);
    let removed = gone.iter().filter(|&&key| filter.remove(key)).count();
    // those that a second layer says maybe to stay: fewer than one in a hundred
    assert!(removed >= 3_960, "{removed}");
    assert_eq!(filter.len(), 6_000 - removed as u64);
    assert!(kept.iter().all(|&key| filter.contains(key)));
    let stale = gone.iter().filter(|&&key| filter.contains(key)).count();
    assert!(stale <= 80, "{stale}");
    assert!(keys.iter().all(|&key| snapshot.contains(key)), "a clone does not change");
    assert!(!filter.remove(fingerprints(16).find(|&key| !filter.contains(key)).expect("most are absent")));
}

#[test]
fn kinds_that_can_remove_do_so_in_any_layer() {
    removes_from_any_layer::<CountingBloomFilter>();
    removes_from_any_layer::<CuckooFilter>();
}

/// Four copies fill a bucket, eight both: more of them must not open layer after layer.
#[test]
fn copies_of_a_key_do_not_grow_a_cuckoo_filter() {
    let mut filter = ScalableCuckooFilter::new(SETTINGS).expect("possible settings");
    (0..900).for_each(|_| filter.insert(5));
    assert_eq!((filter.layer_count(), filter.len()), (1, 900));
}

/// A cuckoo filter can be full before it holds what it was sized for; the row then opens a layer early.
#[test]
fn a_layer_that_is_full_early_is_followed_by_another() {
    let mut filter = ScalableCuckooFilter::new(SETTINGS).expect("possible settings");
    let small = CuckooFilter::new(10).expect("small");
    filter.newest = LayerOf::from_parts(0, 1_000, 0.003, small);
    let keys: Vec<u128> = fingerprints(17).take(300).collect();
    filter.insert_batch(&keys[..150]);
    keys[150..].iter().for_each(|&key| filter.insert(key));
    assert!(keys.iter().all(|&key| filter.contains(key)));
    assert_eq!((filter.layer_count(), filter.len()), (2, 300));
    assert!(filter.sealed()[0].len() <= 40);
}
