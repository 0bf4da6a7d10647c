//! What a test costs, of a key that is in and of one that is not, and how often the latter is a maybe.

use bench::policy::{CHUNK, by_chunks, cpu_time};
use bench::{key, split_mix};

use crate::subject::{FASTBLOOM, Probe, SBBF, Subject};

const ROUNDS: u64 = 9;
/// Of each subject in each round; a million and a bit.
const PROBES: u64 = 256 * CHUNK;

/// Nanoseconds a key, one for each round; those of different subjects in one round are neighbours in time.
#[derive(Default)]
pub struct Probed {
    pub name: &'static str,
    pub miss: Vec<f64>,
    /// In one batch, and in batches of the size of a page.
    pub batches: [Vec<f64>; 2],
    pub hit: Vec<f64>,
    /// Share of the absent keys that are called maybe.
    rate: f64,
}

/// All subjects in turn, round after round.
pub fn measure(subjects: &[Subject], count: u64) -> Vec<Probed> {
    let mut probed: Vec<_> = subjects.iter().map(|s| Probed { name: s.name, ..Probed::default() }).collect();
    for round in 0..ROUNDS {
        for (subject, probed) in subjects.iter().zip(&mut probed) {
            let absent = count + round * PROBES..count + (round + 1) * PROBES;
            let (miss, maybes) = time_absent(&subject.single, absent.clone());
            probed.miss.push(miss);
            probed.rate += maybes as f64 / (ROUNDS * PROBES) as f64;
            for (batch, times) in subject.batches.iter().flatten().zip(&mut probed.batches) {
                let (miss, again) = time_absent(batch, absent.clone());
                assert_eq!(maybes, again, "{}: a batch answers as one by one", subject.name);
                times.push(miss);
            }
            probed.hit.push(time_present(&subject.single, round, count));
        }
    }
    probed
}

/// Nanoseconds a key, and the number of maybes.
fn time_absent(probe: &Probe, items: std::ops::Range<u64>) -> (f64, usize) {
    let (probes, mut maybes) = (items.end - items.start, 0);
    let took = by_chunks(items, |keys| maybes += probe(keys));
    (took.as_nanos() as f64 / probes as f64, maybes)
}

/// Nanoseconds a key, of keys drawn from all that are in, so that old and new ones mix.
fn time_present(probe: &Probe, round: u64, count: u64) -> f64 {
    let mut took = std::time::Duration::ZERO;
    for chunk in 0..PROBES / CHUNK {
        let places = (round * PROBES + chunk * CHUNK..).take(CHUNK as usize);
        let keys: Vec<u128> = places.map(|place| key(split_mix(place) % count)).collect();
        let from = cpu_time();
        let found = probe(&keys);
        took += cpu_time() - from;
        // growable-bloom-filter and ours find them all; cuckoofilter may have lost some when it was filled
        assert!(found > keys.len() / 2, "{found} of {}", keys.len());
    }
    took.as_nanos() as f64 / PROBES as f64
}

/// The row of this name.
pub fn of<'a>(probed: &'a [Probed], name: &str) -> &'a Probed {
    probed.iter().find(|probed| probed.name == name).expect("all names are those of subjects")
}

/// Median over the rounds of one over the other.
pub fn ratio(these: &[f64], those: &[f64]) -> f64 {
    median(these.iter().zip(those).map(|(this, that)| this / that).collect())
}

/// The middle one; not a number for none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A row for each subject.
pub fn print(subjects: &[Subject], probed: &[Probed]) {
    println!(
        "| filter | layers | bits a key | maybes | miss ns | / sbbf | / fastbloom | in a batch ns | / single | in 64s ns | / single | hit ns | / sbbf |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let (sbbf, fastbloom) = (of(probed, SBBF), of(probed, FASTBLOOM));
    for (subject, Probed { name, miss, batches, hit, rate }) in subjects.iter().zip(probed) {
        let (layers, rate) = (subject.layers, 100.0 * rate);
        let bits = subject.bits_per_key.map_or("–".into(), |bits| format!("{bits:.1}"));
        let [batch, pages] = batches.each_ref().map(|times| match times[..] {
            [] => "– | –".into(),
            _ => format!("{:.1} | {:.2}", median(times.clone()), ratio(times, miss)),
        });
        let (miss_ns, hit_ns) = (median(miss.clone()), median(hit.clone()));
        let over_sbbf = [ratio(miss, &sbbf.miss), ratio(hit, &sbbf.hit)];
        let over_fastbloom = ratio(miss, &fastbloom.miss);
        println!(
            "| {name} | {layers} | {bits} | {rate:.2} % | {miss_ns:.1} | {:.2} | {over_fastbloom:.2} | {batch} | {pages} | {hit_ns:.1} | {:.2} |",
            over_sbbf[0], over_sbbf[1]
        );
    }
}
