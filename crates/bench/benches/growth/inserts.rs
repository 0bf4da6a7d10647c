//! What an insert costs, from an empty filter to all keys: growth and first touch of the memory included, rebuilds apart.

use std::hint::black_box;
use std::time::Duration;

use bench::SETTINGS;
use bench::policy::{self, by_chunks};
use bloom::{BlockedBloomFilter, Scalable, ScalableBloomFilter};

use crate::probes::{median, ratio};
use crate::subject::{self, FASTBLOOM, PAGE, SBBF};

const ROUNDS: usize = 3;

/// The names by which others ask for a row.
pub const ONE_BY_ONE: &str = "growing, one by one";
pub const WITH_REBUILDS: &str = "the policy's inserts and rebuilds";

/// Nanoseconds a key, one for each round.
pub struct Inserted {
    pub name: &'static str,
    pub times: Vec<f64>,
}

/// All in turn, round after round; the two slow ones, if at all, in the first round only.
pub fn measure(count: u64, slow_too: bool) -> Vec<Inserted> {
    let mut inserted: Vec<Inserted> = Vec::new();
    for round in 0..ROUNDS {
        for (name, took) in one_round(count, slow_too && round == 0) {
            let time = took.as_nanos() as f64 / count as f64;
            match inserted.iter_mut().find(|row| row.name == name) {
                Some(row) => row.times.push(time),
                None => inserted.push(Inserted { name, times: vec![time] }),
            }
        }
    }
    inserted
}

fn one_round(count: u64, slow_too: bool) -> Vec<(&'static str, Duration)> {
    let (mut sbbf, mut fastbloom) = (subject::sbbf(count), subject::fastbloom(count));
    let mut rows = vec![(SBBF, fill(count, |key| _ = sbbf.insert_hash(key as u64)))];
    drop(sbbf);
    let mut grown = ScalableBloomFilter::new(SETTINGS).expect("possible settings");
    rows.push((ONE_BY_ONE, policy::insert(&mut grown, count, Scalable::insert)));
    let mut grown = ScalableBloomFilter::new(SETTINGS).expect("possible settings");
    let batches = |keys: &[u128]| keys.chunks(PAGE).for_each(|keys| grown.insert_batch(keys));
    rows.push(("growing, in batches of 64", by_chunks(0..count, batches)));
    let (_, took) = policy::grown::<BlockedBloomFilter>(count);
    rows.push(("the policy's inserts alone", took.inserts));
    rows.push((WITH_REBUILDS, took.inserts + took.rebuilds));
    rows.push((FASTBLOOM, fill(count, |key| _ = fastbloom.insert_hash(key as u64))));
    if slow_too {
        let (mut growable, mut cuckoo) = (subject::growable(), subject::cuckoo(count));
        rows.push(("growable-bloom-filter", fill(count, |key| _ = growable.insert(key as u64))));
        rows.push(("cuckoofilter", fill(count, |key| _ = black_box(cuckoo.add(&(key as u64))))));
    }
    rows
}

fn fill(count: u64, mut insert: impl FnMut(u128)) -> Duration {
    by_chunks(0..count, |keys| keys.iter().for_each(|&key| insert(key)))
}

/// The row of this name.
pub fn of<'a>(inserted: &'a [Inserted], name: &str) -> &'a [f64] {
    &inserted.iter().find(|row| row.name == name).expect("all names are measured").times
}

/// A row for each.
pub fn print(inserted: &[Inserted]) {
    println!("\n| filter | insert ns | / sbbf |\n|---|---|---|");
    for Inserted { name, times } in inserted {
        println!("| {name} | {:.1} | {:.2} |", median(times.clone()), ratio(times, of(inserted, SBBF)));
    }
}
