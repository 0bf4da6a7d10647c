//! The rate of false positives, predicted and measured, of a filter that the policy grows and rebuilds: at every size from
//! a thousand keys to a hundred million in steps of 1, 2 and 5, and just before and just after each growth and rebuild.
//! Not a measure of time.
//!
//! `cargo bench -p bench --bench rates` prints the table, and fails where the measured rate is above the budget or away
//! from the prediction. `BENCH_KEYS=1000000` stops at another size.

use std::ops::ControlFlow;

use bench::{RATE, SETTINGS, key, policy};
use bloom::ScalableBloomFilter;

/// Absent keys that each state is asked for, others each time.
const PROBES: u64 = 10_000_000;
/// Where no key of the filter is.
const ABSENT: u64 = 1 << 50;
/// Share by which measured and predicted rate may differ, where the latter is not small.
const TOLERANCE: f64 = 0.1;
/// Below this rate there are too few maybes for a share: the bound is three standard deviations of their number.
const SMALL_RATE: f64 = 0.001;
/// Most bits a key after a rebuild.
const BITS_A_KEY: f64 = 12.5;

/// What was seen on the way.
#[derive(Default)]
struct Log {
    states: u64,
    failures: u64,
    /// Integral of bits a key over the number of keys, so far.
    bits_a_key: f64,
    /// Keys and bits of the state before.
    before: Option<(u64, f64)>,
}

fn main() {
    let most = std::env::var("BENCH_KEYS").map_or(100_000_000, |keys| keys.parse().expect("BENCH_KEYS is a number"));
    let mut log = Log::default();
    let mut filter = ScalableBloomFilter::new(SETTINGS).expect("possible settings");
    println!("| keys | layers | bits a key | predicted | measured | verdict |\n|---|---|---|---|---|---|");
    let _ = (3..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power))).try_for_each(|size| {
        if size > most {
            return ControlFlow::Break(());
        }
        policy::grow(&mut filter, size, |filter| log.look(filter));
        log.look(&filter);
        ControlFlow::Continue(())
    });
    let average = log.bits_a_key / (filter.len() - SETTINGS.initial_capacity) as f64;
    policy::rebuild(&mut filter);
    log.look(&filter);
    let bits = filter.bytes() as f64 * 8.0 / filter.len() as f64;
    println!(
        "\n{bits:.2} bits a key after a rebuild, at most {BITS_A_KEY}; {average:.2} on average since the first layer was full"
    );
    log.failures += u64::from(bits > BITS_A_KEY);
    println!("{} states, {} failures", log.states, log.failures);
    if log.failures > 0 {
        std::process::exit(1);
    }
}

impl Log {
    fn look(&mut self, filter: &ScalableBloomFilter) {
        let (keys, bits) = (filter.len(), filter.bytes() as f64 * 8.0);
        if let Some((before, same_bits)) = self.before.filter(|&(before, _)| before >= SETTINGS.initial_capacity) {
            self.bits_a_key += same_bits * (keys as f64 / before as f64).ln();
        }
        self.before = Some((keys, bits));

        let maybes = maybes(filter, self.states);
        self.states += 1;
        let (predicted, measured) = (filter.predicted_rate(), maybes as f64 / PROBES as f64);
        let expected = predicted * PROBES as f64;
        let as_predicted = match predicted {
            SMALL_RATE.. => (predicted / measured - 1.0).abs() <= TOLERANCE,
            _ => (maybes as f64 - expected).abs() <= 3.0 * expected.max(1.0).sqrt(),
        };
        let verdict = match (measured <= RATE, as_predicted) {
            (false, _) => "above the budget",
            (true, false) => "not as predicted",
            (true, true) => "ok",
        };
        self.failures += u64::from(verdict != "ok");
        let (layers, bits) = (filter.layer_count(), bits / keys as f64);
        println!(
            "| {keys} | {layers} | {bits:.1} | {:.5} % | {:.5} % | {verdict} |",
            100.0 * predicted,
            100.0 * measured
        );
    }
}

/// How many absent keys the filter calls maybe.
fn maybes(filter: &ScalableBloomFilter, state: u64) -> usize {
    let (start, mut found, mut maybes) = (ABSENT + state * PROBES, vec![false; policy::CHUNK as usize], 0);
    for from in (start..start + PROBES).step_by(policy::CHUNK as usize) {
        let keys: Vec<u128> = (from..(start + PROBES).min(from + policy::CHUNK)).map(key).collect();
        let found = &mut found[..keys.len()];
        filter.contains_batch(&keys, found);
        maybes += found.iter().filter(|&&found| found).count();
    }
    maybes
}
