//! Tests of the classic filter: its formulas against tables and against what is measured.

use super::*;
use crate::seeded::fingerprints;

#[test]
fn sizes_and_rates_of_the_textbooks() {
    // Broder and Mitzenmacher: 8 bits a key, 5 or 6 hash functions, a bit over 2 %
    let check = |items, bits, positions, expect: f64| {
        let rate = predicted_rate(items, bits, positions);
        assert!((rate - expect).abs() < 5e-5, "{items} {bits} {positions}: {rate}");
    };
    check(1_000, 8_000, 5, 0.0217);
    check(1_000, 8_000, 6, 0.0216);
    check(1_000, 10_000, 7, 0.0082);
    check(0, 10, 2, 0.0);
    check(1, 0, 2, 1.0);
    assert_eq!(optimal_positions(8_000, 1_000), 6); // 5.545
    assert_eq!(optimal_positions(10_000, 1_000), 7); // 6.931
    assert_eq!(optimal_positions(1, 1_000), 1);
    assert_eq!(optimal_positions(1_000, 0), MAX_POSITIONS);
}

#[test]
fn a_size_keeps_its_rate_and_costs_the_textbook_minimum() {
    for items in [1, 10, 1_000, 1_000_000, 10_000_000_000] {
        for rate in [0.5, 0.1, 0.01, 0.003, 1e-3, 1e-6, 1e-15] {
            let (bits, positions) = size_for(items, rate).expect("possible");
            assert!(predicted_rate(items, bits, positions) <= rate, "{items} {rate}");
            let least = items as f64 * -rate.ln() / std::f64::consts::LN_2.powi(2);
            assert!((bits as f64) < least * 1.05 + 3.0, "{items} {rate}: {bits} bits, least {least}");
        }
    }
}

#[test]
fn impossible_requests_are_errors() {
    assert_eq!(size_for(0, 0.01), Err(FilterError::NoCapacity));
    for rate in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(matches!(size_for(1, rate), Err(FilterError::Rate { .. })));
    }
    assert!(matches!(size_for(u64::MAX, 0.01), Err(FilterError::TooLarge { .. })));
    assert_eq!(BloomFilter::with_bits(0, 1), Err(FilterError::NoCapacity));
    for positions in [0, 65, u16::MAX] {
        assert_eq!(BloomFilter::with_bits(10, positions), Err(FilterError::Positions { positions }));
    }
    assert!(matches!(BloomFilter::with_bits(u64::MAX, 1), Err(FilterError::OutOfMemory { .. })));
}

#[test]
fn predicted_is_what_is_measured() {
    let check = |items: u64, rate: f64, probes: usize| {
        let mut filter = BloomFilter::for_items(items, rate).expect("possible");
        fingerprints(21).take(items as usize).for_each(|key| filter.insert(key));
        assert!(fingerprints(21).take(items as usize).all(|key| filter.contains(key)));
        let maybes = fingerprints(22).take(probes).filter(|&key| filter.contains(key)).count();
        let (measured, predicted) = (maybes as f64 / probes as f64, filter.predicted_rate());
        assert!((measured / predicted - 1.0).abs() < 0.1, "{items} {rate}: {measured} {predicted}");
    };
    check(50_000, 0.1, 100_000);
    check(50_000, 0.01, 200_000);
    check(20_000, 0.003, 500_000);
}

#[test]
#[should_panic(expected = "bit 10 of 10")]
fn a_position_beyond_the_end_is_refused() {
    let _ = BloomFilter::with_bits(10, 2).expect("small").bit(10);
}
