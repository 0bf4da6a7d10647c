//! Tests of growth, of the bound over all layers, and of the promise that absent means absent.

use proptest::prelude::*;

use super::*;
use crate::Layer;
use crate::codec::{decode, encode};
use crate::seeded::fingerprints;

mod bound;
mod kinds;
mod rebuild;

const SETTINGS: Settings =
    Settings { false_positive_rate: 0.01, initial_capacity: 1_000, growth_factor: 2.0, max_bytes: None };

fn filled(settings: Settings, seed: u64, items: usize) -> ScalableBloomFilter {
    let mut filter = ScalableBloomFilter::new(settings).expect("possible settings");
    fingerprints(seed).take(items).for_each(|key| filter.insert(key));
    filter
}

#[test]
fn budgets_of_any_number_of_layers_sum_to_the_rate() {
    for rate in [0.5, 0.01, 1e-6] {
        let settings = Settings { false_positive_rate: rate, ..SETTINGS };
        let sum: f64 = (0..1_000).map(|index| settings.budget(index)).sum();
        assert!(sum <= rate * (1.0 + 1e-12), "{rate}: {sum}");
        assert!(sum > rate * 0.999, "{rate}: {sum}");
        assert_eq!(settings.budget(u32::MAX), 0.0);
    }
}

#[test]
fn impossible_settings_are_errors() {
    let check = |rate: f64, capacity: u64, factor: f64, expect: &str| {
        let settings =
            Settings { false_positive_rate: rate, initial_capacity: capacity, growth_factor: factor, max_bytes: None };
        let message = ScalableBloomFilter::new(settings).err().map(|e| e.to_string());
        assert_eq!(message.as_deref(), Some(expect));
        assert_eq!(settings.validate().err().map(|e| e.to_string()), message);
    };
    check(0.0, 1, 2.0, "false-positive rate 0 is not between 0 and 1");
    check(1.0, 1, 2.0, "false-positive rate 1 is not between 0 and 1");
    check(-0.5, 1, 2.0, "false-positive rate -0.5 is not between 0 and 1");
    check(f64::NAN, 1, 2.0, "false-positive rate NaN is not between 0 and 1");
    check(0.01, 0, 2.0, "capacity must be at least 1");
    check(0.01, 1, 0.99, "growth factor 0.99 is not between 1 and 100");
    check(0.01, 1, 101.0, "growth factor 101 is not between 1 and 100");
    check(0.01, 1, f64::NAN, "growth factor NaN is not between 1 and 100");
    check(
        0.5,
        u64::MAX,
        2.0,
        "18446744073709551615 items at false-positive rate 0.2 need more than 137438953472 bytes",
    );
}

#[test]
fn a_layer_opens_when_the_newest_is_full_and_not_before() {
    let check = |items: usize, capacities: &[u64]| {
        let filter = filled(SETTINGS, 3, items);
        let design: Vec<u64> = filter.layers().map(Layer::design_capacity).collect();
        assert_eq!(design, capacities, "{items}");
        assert_eq!(filter.layer_count(), capacities.len());
        assert_eq!(filter.len(), items as u64);
        assert!(filter.sealed().iter().all(|l| l.len() == l.design_capacity()));
        assert!(filter.layers().all(|layer| layer.design_rate() <= layer.budget()));
    };
    check(0, &[1_000]);
    check(1_000, &[1_000]);
    check(1_001, &[1_000, 2_000]);
    check(3_000, &[1_000, 2_000]);
    check(3_001, &[1_000, 2_000, 4_000]);
    check(7_001, &[1_000, 2_000, 4_000, 8_000]);
}

#[test]
fn growth_factors_shape_the_layers() {
    let check = |factor: f64, items: usize, capacities: &[u64]| {
        let settings = Settings { initial_capacity: 10, growth_factor: factor, ..SETTINGS };
        let filter = filled(settings, 3, items);
        let design: Vec<u64> = filter.layers().map(Layer::design_capacity).collect();
        assert_eq!(design, capacities, "{factor}");
    };
    check(1.0, 31, &[10, 10, 10, 10]);
    check(1.25, 40, &[10, 13, 17]);
    check(100.0, 11, &[10, 1_000]);
}

/// A key goes to the newest layer even if an older one says maybe: old layers can be dropped.
#[test]
fn a_known_key_is_written_to_the_newest_layer_again() {
    let mut filter = filled(SETTINGS, 4, 1_001);
    let old = fingerprints(4).next().expect("endless");
    assert!(filter.contains(old) && !filter.newest().contains(old));
    filter.insert(old);
    assert!(filter.newest().contains(old));
}

#[test]
fn measured_rate_over_many_layers_is_predicted_and_within_the_bound() {
    for (rate, items) in [(0.05, 60_000), (0.01, 127_000)] {
        let settings = Settings { false_positive_rate: rate, ..SETTINGS };
        let filter = filled(settings, 5, items);
        assert!(filter.layer_count() >= 6);
        let probes = 400_000;
        let maybes = fingerprints(6).take(probes).filter(|&k| filter.contains(k)).count();
        let measured = maybes as f64 / probes as f64;
        let predicted = filter.predicted_rate();
        assert!(measured <= rate, "measured {measured}");
        assert!(predicted <= rate, "predicted {predicted}");
        assert!((measured / predicted - 1.0).abs() < 0.1, "{measured} {predicted}");
    }
}

/// Just before each growth and just after it, and after a rebuild of that size.
#[test]
fn the_rate_is_kept_at_every_growth_and_rebuild() {
    let absent: Vec<u128> = fingerprints(24).take(200_000).collect();
    let check = |filter: &ScalableBloomFilter| {
        let mut found = vec![false; absent.len()];
        filter.contains_batch(&absent, &mut found);
        let maybes = found.iter().filter(|&&found| found).count() as f64;
        let expected = filter.predicted_rate() * absent.len() as f64;
        assert!(maybes <= 0.01 * absent.len() as f64, "{}: {maybes} maybes", filter.len());
        // 10 %, or three standard deviations where those are more
        let scatter = (0.1 * expected).max(3.0 * expected.sqrt()).max(3.0);
        assert!((maybes - expected).abs() <= scatter, "{}: {maybes} maybes, {expected} expected", filter.len());
    };
    let keys: Vec<u128> = fingerprints(25).take(63_001).collect();
    let mut filter = filled(SETTINGS, 25, 0);
    let mut layers = 1;
    for (count, &key) in keys.iter().enumerate() {
        if filter.newest().len() == filter.newest().design_capacity() {
            check(&filter);
            filter.insert(key);
            check(&filter);
            let mut rebuilt = ScalableBloomFilter::with_capacity_for(SETTINGS, count as u64).expect("possible");
            rebuilt.insert_batch(&keys[..count]);
            check(&rebuilt);
            layers += 1;
        } else {
            filter.insert(key);
        }
    }
    assert_eq!((filter.layer_count(), layers), (7, 7));
}

#[test]
fn predicted_rate_starts_at_zero_and_rises() {
    let mut filter = ScalableBloomFilter::new(SETTINGS).expect("possible");
    assert!(filter.is_empty());
    assert_eq!(filter.predicted_rate().to_bits(), 0.0_f64.to_bits());
    let mut before = 0.0;
    for key in fingerprints(7).take(5_000) {
        filter.insert(key);
        let now = filter.predicted_rate();
        assert!(now > before);
        before = now;
    }
}

#[test]
fn a_rebuild_gets_one_layer_of_the_right_size() {
    let mut filter = ScalableBloomFilter::with_capacity_for(SETTINGS, 7_500).expect("possible");
    fingerprints(8).take(7_500).for_each(|key| filter.insert(key));
    assert_eq!(filter.layer_count(), 1);
    filter.insert(1);
    let design: Vec<u64> = filter.layers().map(Layer::design_capacity).collect();
    assert_eq!(design, [7_500, 15_000]);
    let few = ScalableBloomFilter::with_capacity_for(SETTINGS, 3).expect("possible");
    assert_eq!(few.newest().design_capacity(), 1_000);
}

#[test]
fn without_room_for_a_layer_the_newest_takes_more() {
    // the second layer would need 2^37 keys
    let settings = Settings { initial_capacity: 10, ..SETTINGS };
    let mut filter = ScalableBloomFilter::new(settings).expect("possible");
    filter.newest = Layer::from_parts(0, 1 << 36, 0.003, filter.newest.filter().clone());
    filter.grow_at = 10;
    let keys: Vec<u128> = fingerprints(9).take(100).collect();
    keys.iter().for_each(|&key| filter.insert(key));
    assert_eq!((filter.layer_count(), filter.len()), (1, 100));
    assert_eq!(filter.grow_at, 160); // asked at 10, 20, 40, 80
    assert!(keys.iter().all(|&key| filter.contains(key)));
    assert!(filter.predicted_rate() > 0.003);
}

#[test]
fn a_clone_is_a_snapshot_that_shares_the_sealed_layers() {
    let mut filter = filled(SETTINGS, 10, 2_000);
    let snapshot = filter.clone();
    assert!(Arc::ptr_eq(&filter.sealed()[0], &snapshot.sealed()[0]));
    fingerprints(11).take(5_000).for_each(|key| filter.insert(key));
    assert_eq!((snapshot.len(), snapshot.layer_count()), (2_000, 2));
    assert!(fingerprints(10).take(2_000).all(|key| snapshot.contains(key)));
}

#[test]
fn layers_that_do_not_belong_together_are_errors() {
    let layers = || -> Vec<Layer> { filled(SETTINGS, 12, 5_000).layers().cloned().collect() };
    let check = |settings: Settings, layers: Vec<Layer>, expect: Option<&str>| {
        let result = ScalableBloomFilter::from_layers(settings, layers);
        assert_eq!(result.err().map(|e| e.to_string()).as_deref(), expect);
    };
    let rate = |rate| Settings { false_positive_rate: rate, ..SETTINGS };
    check(SETTINGS, layers(), None);
    check(rate(0.02), layers(), None);
    check(SETTINGS, vec![], Some("no layers"));
    check(SETTINGS, layers().split_off(1), Some("layer 1 found in place 0"));
    check(SETTINGS, vec![layers().remove(0), layers().remove(2)], Some("layer 2 found in place 1"));
    check(rate(0.005), layers(), Some("layer 0 was made for a rate of 0.004, but may have only 0.002"));
    check(rate(2.0), layers(), Some("false-positive rate 2 is not between 0 and 1"));
}

fn reopened(filter: &ScalableBloomFilter) -> ScalableBloomFilter {
    let layers = filter.layers().map(|layer| {
        let decoded = decode(&encode(layer, 7, 42), 7).expect("just encoded");
        assert_eq!((&decoded.layer, decoded.covered), (layer, 42));
        decoded.layer
    });
    ScalableBloomFilter::from_layers(filter.settings(), layers.collect()).expect("its own layers")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No false absent, whatever the keys, through growth, clones and bytes, in any order.
    #[test]
    fn absent_means_absent(
        steps in prop::collection::vec((any::<u128>(), 0_u8..20), 1..300),
        initial_capacity in 1_u64..50,
        growth_factor in 1.0_f64..4.0,
        false_positive_rate in 0.001_f64..0.9,
    ) {
        let settings = Settings { false_positive_rate, initial_capacity, growth_factor, max_bytes: None };
        let mut filter = ScalableBloomFilter::new(settings).expect("possible settings");
        for (count, &(key, then)) in steps.iter().enumerate() {
            filter.insert(key);
            match then {
                0 => filter = reopened(&filter),
                1 => filter = filter.clone(),
                _ => {}
            }
            prop_assert_eq!(filter.len(), count as u64 + 1);
            prop_assert!(filter.contains(key));
        }
        prop_assert!(steps.iter().all(|&(key, _)| filter.contains(key)));
        prop_assert!(filter.sealed().iter().all(|l| l.len() == l.design_capacity()));
    }
}
