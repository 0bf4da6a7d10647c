//! How many blocks a blocked filter needs, and what false-positive rate follows from a size. Pure arithmetic; not the
//! textbook formula, which assumes that a key's bits are spread over the whole filter and promises too much here.
//!
//! # The rate of a blocked filter
//! With n keys in B blocks, the load J of the block that a probe falls into is binomial, in the limit Poisson with mean
//! λ = n/B. In a block with load j, a given bit of a given word is still 0 with probability (63/64)^j, as each key sets
//! one of 64 bits of that word; and the eight words are independent of each other. So
//!
//! ```text
//! rate = Σ_j  e^-λ λ^j / j!  ·  (1 − (63/64)^j)^8
//! ```
//!
//! Sources: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007, section 3 (Poisson mix
//! over block loads); the split form of the inner term is that of Apache Parquet's `BloomFilter.md`, and is exact where
//! "k random bits of a block" is not.
//!
//! What it costs, for a full filter (bits per key; in brackets the textbook minimum 1.44·log2(1/rate)): 10 %: 5.9 (4.8),
//! 1 %: 10.1 (9.6), 0.1 %: 15.7 (14.4), 0.01 %: 23.6 (19.1), 1 in a million: 51.9 (28.7). Eight bits a key are right
//! around 1 %; very low rates are bought with space.
//!
//! Invariant: for any size that [`blocks_for`] returns, [`predicted_rate`] is at most the rate that was asked for.

use crate::blocked::WORDS_PER_BLOCK;
use crate::error::FilterError;

/// Largest filter: 2^31 blocks, 128 GiB, about 10^11 keys at 1 %. Beyond is taken for a mistake in the settings.
pub const MAX_BLOCKS: u64 = 1 << 31;

/// Probability that one key leaves a given bit of a word at 0.
const STAYS_ZERO: f64 = 63.0 / 64.0;

/// Mean load from which the closed form is used: rates there are above 1 %, so its cancellation does no harm.
const CLOSED_FORM_LOAD: f64 = 64.0;

/// False-positive rate to expect of `blocks` blocks that hold `items` random fingerprints (different ones: repeats make
/// the prediction too high, never too low). Between 0 and 1; 0 without items, 1 without blocks.
#[must_use]
pub fn predicted_rate(items: u64, blocks: u64) -> f64 {
    match (items, blocks) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        _ => rate_at_load(items as f64 / blocks as f64),
    }
}

/// Blocks for `items` fingerprints at a false-positive rate of at most `rate` when all are in.
///
/// One block in 128 is added to the exact answer. It lowers the expected rate by about 4 % of itself, so that the scatter
/// between real sets does not put every second filter above the rate that was asked for.
///
/// # Errors
/// [`FilterError::NoCapacity`] for 0 items, [`FilterError::Rate`] for a rate not strictly between 0 and 1,
/// [`FilterError::TooLarge`] above [`MAX_BLOCKS`].
pub fn blocks_for(items: u64, rate: f64) -> Result<u64, FilterError> {
    if items == 0 {
        return Err(FilterError::NoCapacity);
    }
    if !(rate > 0.0 && rate < 1.0) {
        return Err(FilterError::Rate { rate });
    }
    let too_large = FilterError::TooLarge { items, rate };
    if predicted_rate(items, MAX_BLOCKS) > rate {
        return Err(too_large);
    }
    // the rate falls as blocks are added: bisect; `enough` always keeps the rate
    let (mut too_few, mut enough) = (0, MAX_BLOCKS);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if predicted_rate(items, middle) <= rate {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    let blocks = enough + enough.div_ceil(128);
    if blocks > MAX_BLOCKS {
        return Err(too_large);
    }
    Ok(blocks)
}

/// The formula of the module page. `load` is the mean number of keys per block, above 0.
fn rate_at_load(load: f64) -> f64 {
    if load < CLOSED_FORM_LOAD { rate_by_sum(load) } else { rate_in_closed_form(load) }
}

/// The sum as it stands: all terms positive, so that small rates keep their digits. Needs `load` < 700 (e^-load > 0).
fn rate_by_sum(load: f64) -> f64 {
    // Beyond the mean plus 12 standard deviations (and 40, for small means) the Poisson tail is below 1e-30.
    let last = (load + 12.0 * load.sqrt()) as u32 + 40;
    let mut weight = (-load).exp();
    let mut zero = 1.0;
    let mut rate = 0.0;
    for j in 1..=last {
        weight *= load / f64::from(j);
        zero *= STAYS_ZERO;
        rate += weight * eighth_power(1.0 - zero);
    }
    rate.min(1.0)
}

/// The same by the binomial theorem and E[s^J] = e^(−λ(1−s)): Σ_k (8 over k) (−1)^k e^(−λ(1 − (63/64)^k)). Nine terms,
/// whatever the load, but alternating ones: exact to about 1e-14, which is nothing only where the rate is not small.
fn rate_in_closed_form(load: f64) -> f64 {
    let binomials = [1.0, -8.0, 28.0, -56.0, 70.0, -56.0, 28.0, -8.0, 1.0];
    let mut zero = 1.0;
    let mut rate = 0.0;
    for coefficient in binomials {
        rate += coefficient * (-load * (1.0 - zero)).exp();
        zero *= STAYS_ZERO;
    }
    rate.clamp(0.0, 1.0)
}

fn eighth_power(x: f64) -> f64 {
    const { assert!(WORDS_PER_BLOCK == 8) };
    let (x2, x4);
    x2 = x * x;
    x4 = x2 * x2;
    x4 * x4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocked::BlockedBloomFilter;
    use crate::seeded::fingerprints;

    #[test]
    fn both_forms_agree_where_they_meet() {
        for load in [20.0, 40.0, CLOSED_FORM_LOAD, 100.0, 300.0, 600.0] {
            let (sum, closed) = (rate_by_sum(load), rate_in_closed_form(load));
            assert!((sum / closed - 1.0).abs() < 1e-7, "{load}: {sum} {closed}");
        }
    }

    #[test]
    fn rates_at_the_edges() {
        let check = |items, blocks, least: f64, most: f64| {
            let rate = predicted_rate(items, blocks);
            assert!((least..=most).contains(&rate), "{items} {blocks}: {rate}");
        };
        check(0, 0, 0.0, 0.0);
        check(0, 5, 0.0, 0.0);
        check(5, 0, 1.0, 1.0);
        // one key in very many blocks: hit its block (2^-31) and its eight positions (2^-48)
        check(1, MAX_BLOCKS, 1.65e-24, 1.66e-24);
        check(1 << 20, 1, 1.0, 1.0);
        check(u64::MAX, 1, 1.0, 1.0);
        check(u64::MAX, u64::MAX, 0.0, 1e-10);
    }

    #[test]
    fn size_grows_with_items_and_falls_with_rate() {
        let blocks = |items, rate| blocks_for(items, rate).expect("possible");
        for (few, many) in [(1, 100), (100, 1_000), (1_000, 1_000_000)] {
            assert!(blocks(few, 0.01) < blocks(many, 0.01));
        }
        for (low, high) in [(1e-9, 1e-6), (1e-6, 0.001), (0.001, 0.01), (0.01, 0.5)] {
            assert!(blocks(10_000, low) > blocks(10_000, high));
        }
    }

    #[test]
    fn a_size_keeps_its_rate_and_wastes_little() {
        for items in [1, 7, 1_000, 123_456, 10_000_000, 2_000_000_000] {
            for rate in [0.9, 0.1, 0.01, 1e-3, 1e-6] {
                let blocks = blocks_for(items, rate).expect("possible");
                assert!(predicted_rate(items, blocks) <= rate, "{items} {rate}");
                let spare = blocks - blocks / 128 - 2;
                assert!(predicted_rate(items, spare) >= rate, "{items} {rate}");
            }
        }
    }

    #[test]
    fn impossible_requests_are_errors() {
        assert_eq!(blocks_for(0, 0.01), Err(FilterError::NoCapacity));
        for rate in [0.0, 1.0, -0.1, 1.5, f64::INFINITY, f64::NAN] {
            assert!(matches!(blocks_for(1, rate), Err(FilterError::Rate { .. })));
        }
        for (items, rate) in [(u64::MAX, 0.01), (1 << 37, 0.01), (1 << 34, 1e-12)] {
            let expect = FilterError::TooLarge { items, rate };
            assert_eq!(blocks_for(items, rate), Err(expect));
        }
    }

    /// Measured on seeded random fingerprints: within 10 % of the prediction, and never above what was asked for.
    #[test]
    fn prediction_is_what_is_measured() {
        let check = |items: u64, rate: f64, probes: u32| {
            let mut filter = BlockedBloomFilter::for_items(items, rate).expect("possible");
            let count = usize::try_from(items).expect("small");
            fingerprints(1).take(count).for_each(|key| filter.insert(key));
            let probed = fingerprints(2).take(probes as usize);
            let maybes = probed.filter(|&key| filter.contains(key)).count();
            let measured = maybes as f64 / f64::from(probes);
            let predicted = filter.predicted_rate();
            assert!(
                (measured / predicted - 1.0).abs() < 0.1,
                "{items} {rate}: measured {measured}, predicted {predicted}"
            );
            assert!(measured <= rate, "{items} {rate}: measured {measured}");
        };
        check(100_000, 0.1, 200_000);
        check(100_000, 0.01, 500_000);
        check(50_000, 0.003, 500_000);
        check(50_000, 0.001, 1_000_000);
    }
}
