//! Tests of the counting filter, against a list of what is in and against the blocked filter of the same keys.

use proptest::prelude::*;

use super::*;
use crate::BlockedBloomFilter;
use crate::seeded::fingerprints;

#[test]
fn what_is_removed_is_gone_and_the_rest_stays() {
    let mut filter = CountingBloomFilter::for_items(10_000, 0.01).expect("small");
    let keys: Vec<u128> = fingerprints(31).take(10_000).collect();
    keys.iter().for_each(|&key| filter.insert(key));
    let (gone, kept) = keys.split_at(5_000);
    assert!(gone.iter().all(|&key| filter.remove(key)));
    assert!(kept.iter().all(|&key| filter.contains(key)));
    assert_eq!(filter.len(), 5_000);
    // what still answers maybe are false positives of the kept half
    let stale = gone.iter().filter(|&&key| filter.contains(key)).count();
    assert!(stale < 20, "{stale}");
    assert!(kept.iter().all(|&key| filter.remove(key)));
    assert_eq!((filter.len(), filter.saturated_counters()), (0, 0));
    assert!(filter.lines().iter().all(|line| *line == Block([0; 8])), "all counters are back at 0");
}

#[test]
fn the_first_plane_is_the_blocked_filter() {
    let mut filter = CountingBloomFilter::new(50).expect("small");
    let mut blocked = BlockedBloomFilter::new(50).expect("small");
    for key in fingerprints(32).take(2_000) {
        filter.insert(key);
        blocked.insert(key);
    }
    assert_eq!(&filter.lines()[..filter.blocks() as usize], blocked.lines());
    assert_eq!(filter.predicted_rate().to_bits(), blocked.predicted_rate().to_bits());
    assert_eq!(filter.bits(), 4 * blocked.bits());
}

#[test]
fn a_counter_goes_to_eight_and_stays_there() {
    let check = |inserts: u32, removed: u32| {
        let mut filter = CountingBloomFilter::new(1).expect("one block");
        (0..inserts).for_each(|_| filter.insert(5));
        let taken = (0..100).filter(|_| filter.remove(5)).count();
        assert_eq!(taken as u32, removed, "{inserts}");
        assert_eq!(filter.contains(5), removed < inserts);
        assert_eq!(filter.saturated_counters(), if removed < inserts { 8 } else { 0 });
    };
    (0..8).for_each(|inserts| check(inserts, inserts));
    check(8, 0);
    check(9, 0);
    check(100, 0);
}

#[test]
fn at_its_design_size_hardly_a_counter_saturates() {
    let mut filter = CountingBloomFilter::for_items(200_000, 0.003).expect("small");
    fingerprints(33).take(200_000).for_each(|key| filter.insert(key));
    let counters = filter.bits() / COUNTER_BITS;
    assert!(filter.saturated_counters() * 500_000 < counters, "{} of {counters}", filter.saturated_counters());
}

proptest! {
    /// Whatever goes in and out, in blocks overloaded until counters saturate: what is in is never called absent.
    #[test]
    fn absent_means_absent(
        steps in prop::collection::vec((0_usize..40, any::<bool>()), 1..600),
        blocks in 1_u64..4,
    ) {
        let keys: Vec<u128> = fingerprints(34).take(40).collect();
        let mut filter = CountingBloomFilter::new(blocks).expect("small");
        let mut held: Vec<usize> = Vec::new();
        for (key, insert) in steps {
            if insert {
                filter.insert(keys[key]);
                held.push(key);
            } else if let Some(at) = held.iter().position(|&k| k == key) {
                held.swap_remove(at);
                filter.remove(keys[key]);
            }
            prop_assert!(held.iter().all(|&k| filter.contains(keys[k])));
        }
    }
}
