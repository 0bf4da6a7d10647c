//! What the figures have to be. Not the figures.

use crate::inserts::{self, Inserted, ONE_BY_ONE};
use crate::probes::{self, Probed, ratio};
use crate::subject::{FASTBLOOM, JUST_GROWN, REBUILT, SBBF};

/// A test over that of sbbf-rs-safe, which is of one size and one layer.
const OVER_SBBF: f64 = 1.3;
const OVER_FASTBLOOM: f64 = 0.5;
/// A test in a batch, with 64 under way, over one alone.
const BATCH: f64 = 0.6;
const INSERT: f64 = 2.0;
/// How much more is allowed while a rebuild is due.
const JUST_GROWN_FACTOR: f64 = 2.5;

/// Prints each with its bar; the number of those above it.
pub fn check(probed: &[Probed], inserted: &[Inserted]) -> u32 {
    let (sbbf, fastbloom) = (probes::of(probed, SBBF), probes::of(probed, FASTBLOOM));
    let mut failures = 0;
    let mut judge = |what: &str, value: f64, bar: f64| {
        let verdict = if value <= bar { "PASS" } else { "FAIL" };
        println!("{verdict}  {what}: {value:.2}, at most {bar:.2}");
        failures += u32::from(verdict == "FAIL");
    };
    println!();
    // fastbloom stops at the first bit that is not set: where the cache holds the filters, not even sbbf-rs-safe takes half
    // its time, and nothing could that takes as long as that one
    let over_fastbloom = |sbbf: &[f64], fastbloom: &[f64]| OVER_FASTBLOOM.max(OVER_SBBF * ratio(sbbf, fastbloom));
    let miss_bar = over_fastbloom(&sbbf.miss, &fastbloom.miss);
    let hit_bar = over_fastbloom(&sbbf.hit, &fastbloom.hit);
    for (name, factor) in [(REBUILT, 1.0), (JUST_GROWN, JUST_GROWN_FACTOR)] {
        let ours = probes::of(probed, name);
        judge(&format!("{name}: miss / sbbf"), ratio(&ours.miss, &sbbf.miss), factor * OVER_SBBF);
        judge(&format!("{name}: miss / fastbloom"), ratio(&ours.miss, &fastbloom.miss), factor * miss_bar);
        judge(&format!("{name}: batch miss / single"), ratio(&ours.batches[0], &ours.miss), BATCH);
        judge(&format!("{name}: hit / sbbf"), ratio(&ours.hit, &sbbf.hit), factor * OVER_SBBF);
        judge(&format!("{name}: hit / fastbloom"), ratio(&ours.hit, &fastbloom.hit), factor * hit_bar);
    }
    judge("insert / sbbf", ratio(inserts::of(inserted, ONE_BY_ONE), inserts::of(inserted, SBBF)), INSERT);
    failures
}
