//! Tests of bounded memory: it is never passed, no key is lost for it, and the price is told.

use super::*;
use crate::BloomFilter;
use crate::codec::{Origin, decode_layer, encode_layer};

fn bounded(max_bytes: u64) -> Settings {
    Settings { max_bytes: Some(max_bytes), ..SETTINGS }
}

fn reopened<F: Growable>(settings: Settings, filter: &Scalable<F>) -> Result<Scalable<F>, FilterError> {
    let origin = Origin::new(3);
    let layers = filter.layers().map(|layer| encode_layer(layer, &origin, 5));
    let decode = |bytes: Vec<u8>| decode_layer(&bytes, &origin).expect("just encoded").layer;
    Scalable::from_layers(settings, layers.map(decode).collect())
}

/// Grows far beyond what the bound has room for.
fn keeps_the_bound<F: Growable>(max_bytes: u64, full_at: usize) {
    let mut filter: Scalable<F> = Scalable::new(bounded(max_bytes)).expect("possible settings");
    let keys: Vec<u128> = fingerprints(41).take(4 * full_at).collect();
    for (count, keys) in (0..).step_by(50).zip(keys.chunks(50)) {
        filter.insert_batch(keys);
        assert!(filter.bytes() <= max_bytes);
        if count < full_at * 3 / 4 {
            assert_eq!((filter.overload(), filter.waived()), (0, false), "{count}");
        }
    }
    assert!(filter.overload() > 0 && filter.waived());
    assert!(filter.bytes() > max_bytes * 9 / 10, "the last layer takes the room there is");
    assert_eq!(filter.len(), keys.len() as u64);
    assert!(keys.iter().all(|&key| filter.contains(key)), "absent means absent");
    let again = reopened(bounded(max_bytes), &filter).expect("its own layers");
    assert!(keys.iter().all(|&key| again.contains(key)));
    assert_eq!(again.overload(), filter.overload());
}

#[test]
fn growth_keeps_the_bound_and_loses_no_key() {
    keeps_the_bound::<BlockedBloomFilter>(40_000, 22_000);
    keeps_the_bound::<BloomFilter>(40_000, 24_000);
    keeps_the_bound::<CountingBloomFilter>(160_000, 22_000);
    keeps_the_bound::<CuckooFilter>(40_000, 18_000);
}

#[test]
fn a_bound_with_room_changes_nothing() {
    let settings = bounded(16_000);
    let bound = Scalable::<BlockedBloomFilter>::within_bytes(settings, 7_000, 16_000).expect("possible");
    let free = ScalableBloomFilter::with_capacity_for(SETTINGS, 7_000).expect("possible");
    assert!(bound.layers().eq(free.layers()));
    assert!(!bound.waived());
}

/// All of the memory, at the rate that then follows.
fn waives<F: Growable + PartialEq + std::fmt::Debug>(max_bytes: u64, items: usize) {
    let settings = bounded(max_bytes);
    let mut filter: Scalable<F> = Scalable::within_bytes(settings, items as u64, max_bytes).expect("possible");
    let layer = filter.newest();
    assert!((max_bytes - 256..=max_bytes).contains(&layer.bytes()));
    assert!(layer.budget() > settings.budget(0) && layer.design_rate() <= layer.budget());
    assert_eq!(layer.design_capacity(), items as u64);
    assert!(!filter.waived(), "nothing is in yet");
    fingerprints(42).take(items).for_each(|key| filter.insert(key));
    let maybes = fingerprints(43).take(100_000).filter(|&key| filter.contains(key)).count();
    let (measured, predicted) = (maybes as f64 / 100_000.0, filter.predicted_rate());
    assert!((measured / predicted - 1.0).abs() < 0.1, "{measured} {predicted}");
    assert!(filter.waived() && filter.overload() == 0 && filter.layer_count() == 1);

    // read again, where the bound is the reason for the rate; refused where there is room for a better layer
    assert!(reopened(settings, &filter).expect("its own layer").layers().eq(filter.layers()));
    for settings in [SETTINGS, bounded(10 * max_bytes), bounded(max_bytes / 2)] {
        let refused = reopened(settings, &filter).err();
        assert!(matches!(refused, Some(FilterError::LayerBudget { index: 0, .. })), "{refused:?}");
    }
}

#[test]
fn a_layer_for_too_little_memory_is_made_for_a_higher_rate() {
    waives::<BlockedBloomFilter>(10_000, 15_000);
    waives::<BloomFilter>(10_000, 15_000);
    waives::<CountingBloomFilter>(40_000, 15_000);
}

#[test]
fn a_layer_is_made_for_no_more_than_it_can_hold() {
    let layer = Layer::within(0, 1_000_000, 0.004, 6_400).expect("possible");
    assert!(layer.design_capacity() > 6_400 && layer.budget() <= 0.5, "{layer:?}");
    let cuckoo: LayerOf<CuckooFilter> = LayerOf::within(0, 1_000_000, 0.004, 6_400).expect("possible");
    assert_eq!((cuckoo.design_capacity(), cuckoo.budget().to_bits()), (3_008, 0.004_f64.to_bits()));
}

/// A rebuild beside a layer that stays, read again as a checkpoint leaves it, before and after.
#[test]
fn a_rebuild_under_the_bound_is_put_in_place() {
    let settings = bounded(10_000);
    let mut filter = filled(settings, 44, 12_000);
    filter.seal(200).expect("a small layer");
    filter.insert(1);
    let during = reopened(settings, &filter).expect("its own layers");
    assert!(during.contains(1) && during.bytes() > 10_000);
    let room = 10_000 - filter.newest().bytes();
    let mut rebuilt = ScalableBloomFilter::within_bytes(settings, 12_000, room).expect("possible");
    fingerprints(44).take(12_000).for_each(|key| rebuilt.insert(key));
    filter.replace_sealed(rebuilt).expect("the bound is the reason for its rate");
    assert!(filter.bytes() <= 10_000 && filter.layer_count() == 2 && filter.waived());
    let again = reopened(settings, &filter).expect("its own layers");
    assert!(fingerprints(44).take(12_000).chain([1]).all(|key| again.contains(key)));
}

#[test]
fn bounds_below_any_layer_are_errors() {
    let message = |bytes| ScalableBloomFilter::new(bounded(bytes)).err().map(|e| e.to_string());
    assert_eq!(message(255).as_deref(), Some("no layer fits in 255 bytes"));
    assert_eq!(message(256), None);
    let none = ScalableCountingBloomFilter::within_bytes(bounded(1_000), 5, 255).err();
    assert_eq!(none, Some(FilterError::Bytes { bytes: 255 }));
}
