//! Tests of the cuckoo filter: against a list of what is in, at and beyond its capacity.

use proptest::prelude::*;

use super::*;
use crate::seeded::fingerprints;

#[test]
fn a_tag_goes_back_and_forth_between_two_buckets() {
    for buckets in [1, 2, 3, 7, 1_000, (1 << 33) + 1] {
        let filter = CuckooFilter { lines: Vec::new(), buckets, len: 0, saturated: false };
        for key in fingerprints(41).take(1_000) {
            let Home { tag, buckets: [first, second] } = filter.home(key);
            assert!(tag != 0 && first < buckets && second < buckets);
            assert_eq!(filter.other(second, tag), first);
        }
    }
}

#[test]
fn a_filter_takes_what_it_was_sized_for_at_the_predicted_rate() {
    let check = |items: usize, rate: f64, probes: usize, bits_per_key: f64| {
        let mut filter = CuckooFilter::for_items(items as u64, rate).expect("possible");
        for key in fingerprints(42).take(items) {
            filter.insert(key).expect("sized for it");
        }
        assert!(fingerprints(42).take(items).all(|key| filter.contains(key)));
        assert!(filter.predicted_rate() <= rate);
        assert!(filter.bits() as f64 / items as f64 <= bits_per_key);
        let maybes = fingerprints(43).take(probes).filter(|&key| filter.contains(key)).count() as f64;
        let expected = filter.predicted_rate() * probes as f64;
        assert!((maybes - expected).abs() < 4.0 * expected.sqrt(), "{maybes} of {expected}");
    };
    check(20_000, 0.01, 1_000_000, 17.1);
    check(100_000, 0.01, 2_000_000, 17.1);
    check(20_000, 5e-5, 2_000_000, 40.0);
}

#[test]
fn a_full_filter_says_so_and_has_not_changed() {
    for (buckets, seed) in [(1, 44), (2, 45), (10, 46), (200, 47)] {
        let mut filter = CuckooFilter::new(buckets).expect("small");
        let (mut held, mut refused) = (Vec::new(), 0);
        for key in fingerprints(seed).take(1_200) {
            let before = filter.clone();
            match filter.insert(key) {
                Ok(()) => held.push(key),
                Err(Full) => {
                    refused += 1;
                    assert_eq!(filter, before);
                }
            }
        }
        assert!(refused > 300);
        assert!(held.len() as u64 <= 4 * buckets);
        assert!(held.iter().all(|&key| filter.contains(key)));
        assert!(held.iter().all(|&key| filter.remove(key)));
        assert_eq!(filter, CuckooFilter::new(buckets).expect("small"));
    }
}

#[test]
fn copies_fill_two_buckets_and_no_more() {
    let mut filter = CuckooFilter::new(100).expect("small");
    let key = fingerprints(48).next().expect("endless");
    (0..50).for_each(|_| filter.insert(key).expect("copies never make it full"));
    assert_eq!(filter.lines().iter().flat_map(|line| line.0).filter(|&bucket| bucket != 0).count(), 2);
    assert!(!filter.remove(key), "nobody knows any more how many there are");
    assert!(filter.contains(key));
    let mut few = CuckooFilter::new(100).expect("small");
    (0..7).for_each(|_| few.insert(key).expect("room"));
    assert_eq!((0..50).filter(|_| few.remove(key)).count(), 7);
    assert!(few.is_empty() && !few.contains(key));
}

#[test]
fn an_overloaded_filter_says_maybe_to_everything() {
    let mut filter = CuckooFilter::new(1).expect("small");
    fingerprints(49).take(5).for_each(|key| filter.overload(key));
    assert!(fingerprints(50).take(100).all(|key| filter.contains(key) && !filter.remove(key)));
    assert_eq!((filter.len(), filter.predicted_rate().to_bits()), (5, 1.0_f64.to_bits()));
}

#[test]
fn impossible_requests_are_errors() {
    assert_eq!(buckets_for(0, 0.01), Err(FilterError::NoCapacity));
    assert!(matches!(buckets_for(1, f64::NAN), Err(FilterError::Rate { .. })));
    assert!(matches!(buckets_for(u64::MAX, 0.01), Err(FilterError::TooLarge { .. })));
    assert!(matches!(buckets_for(1 << 30, 1e-9), Err(FilterError::TooLarge { .. })));
}

proptest! {
    /// Whatever goes in and out, with copies and refusals: what is in is never called absent.
    #[test]
    fn absent_means_absent(
        steps in prop::collection::vec((0_usize..60, any::<bool>()), 1..400),
        buckets in 1_u64..12,
    ) {
        let keys: Vec<u128> = fingerprints(51).take(60).collect();
        let mut filter = CuckooFilter::new(buckets).expect("small");
        let mut held: Vec<usize> = Vec::new();
        for (key, insert) in steps {
            if insert {
                if filter.insert(keys[key]).is_ok() {
                    held.push(key);
                }
            } else if let Some(at) = held.iter().position(|&k| k == key) {
                held.swap_remove(at);
                filter.remove(keys[key]);
            }
            prop_assert!(held.iter().all(|&k| filter.contains(keys[k])));
        }
        let (all, mut found) = (keys.clone(), vec![false; keys.len()]);
        filter.contains_batch(&all, &mut found);
        prop_assert!(all.iter().zip(found).all(|(&key, found)| filter.contains(key) == found));
    }
}
