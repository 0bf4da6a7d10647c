//! Filters under test, each in a state that is of interest, behind one face. Not the measuring.
//!
//! Invariant: every filter holds the first keys of the row, as many as were asked for.

use std::hash::DefaultHasher;
use std::hint::black_box;
use std::rc::Rc;

use bench::policy::{self, CHUNK, by_chunks};
use bench::{RATE, SETTINGS};
use bloom::{AnyScalable, Scalable, ScalableBloomFilter};

/// As many keys as a page has links, about, and as many as a batch has under way at a time.
pub const PAGE: usize = 64;

/// The names by which others ask for a subject's row.
pub const REBUILT: &str = "after a rebuild";
pub const JUST_GROWN: &str = "… grown on, the third layer just opened";
pub const SBBF: &str = "sbbf-rs-safe";
pub const FASTBLOOM: &str = "fastbloom";

/// Counts the keys of a chunk that are maybe in.
pub type Probe = Box<dyn Fn(&[u128]) -> usize>;

/// A filter that is ready.
pub struct Subject {
    /// What it is, or the state that it is in.
    pub name: &'static str,
    /// Bits for each key, where it tells them.
    pub bits_per_key: Option<f64>,
    /// Layers, where it has any.
    pub layers: usize,
    /// One key at a time.
    pub single: Probe,
    /// All in one batch, which has 64 under way at a time, and in batches of [`PAGE`], each waited for; where it can.
    pub batches: Option<[Probe; 2]>,
}

/// Ours, in the states that the policy goes through, and in one that it prevents.
pub fn ours(count: u64) -> Vec<Subject> {
    let mut never = ScalableBloomFilter::new(SETTINGS).expect("possible settings");
    policy::insert(&mut never, count, Scalable::insert);
    vec![
        scalable(REBUILT, policy::rebuilt(count)),
        any("the same, kind chosen at run time", AnyScalable::Blocked(policy::rebuilt(count))),
        scalable("… grown on to this number", policy::grown(count).0),
        scalable(JUST_GROWN, policy::just_grown(count)),
        scalable("… grown on, all three layers full", policy::fullest(count)),
        scalable("… the rebuild too late, a fourth layer", policy::too_many(count)),
        scalable("never rebuilt", never),
    ]
}

/// Of one size for all keys, but for the growable one.
pub fn others(count: u64, slow_too: bool) -> Vec<Subject> {
    let (mut sbbf, mut fastbloom) = (self::sbbf(count), self::fastbloom(count));
    by_chunks(0..count, |keys| keys.iter().for_each(|&key| _ = sbbf.insert_hash(key as u64)));
    by_chunks(0..count, |keys| keys.iter().for_each(|&key| _ = fastbloom.insert_hash(key as u64)));
    let bits = [sbbf.as_bytes().len() as u64 * 8, fastbloom.num_bits() as u64];
    let mut others = vec![
        other(SBBF, Some(bits[0] as f64 / count as f64), move |key| sbbf.contains_hash(key as u64)),
        other(FASTBLOOM, Some(bits[1] as f64 / count as f64), move |key| fastbloom.contains_hash(key as u64)),
    ];
    if slow_too {
        others.extend(slow_others(count));
    }
    others
}

fn slow_others(count: u64) -> [Subject; 2] {
    let (mut growable, mut cuckoo) = (self::growable(), self::cuckoo(count));
    by_chunks(0..count, |keys| keys.iter().for_each(|&key| _ = growable.insert(key as u64)));
    // a failed `add` of this crate loses a key
    by_chunks(0..count, |keys| keys.iter().for_each(|&key| _ = black_box(cuckoo.add(&(key as u64)))));
    let bits = cuckoo.memory_usage() as f64 * 8.0 / count as f64;
    [
        other("growable-bloom-filter", None, move |key| growable.contains(key as u64)),
        other("cuckoofilter", Some(bits), move |key| cuckoo.contains(&(key as u64))),
    ]
}

pub fn sbbf(count: u64) -> sbbf_rs_safe::Filter {
    sbbf_rs_safe::Filter::new(10, count as usize)
}

pub fn fastbloom(count: u64) -> fastbloom::BloomFilter {
    fastbloom::BloomFilter::with_false_pos(RATE).expected_items(count as usize)
}

/// Grown from the same initial capacity as ours.
pub fn growable() -> growable_bloom_filter::GrowableBloom {
    growable_bloom_filter::GrowableBloom::new(RATE, SETTINGS.initial_capacity as usize)
}

pub fn cuckoo(count: u64) -> cuckoofilter::CuckooFilter<DefaultHasher> {
    cuckoofilter::CuckooFilter::with_capacity(count as usize)
}

fn scalable(name: &'static str, filter: ScalableBloomFilter) -> Subject {
    let (layers, filter) = (filter.layer_count(), Rc::new(filter));
    let bits_per_key = Some(filter.bytes() as f64 * 8.0 / filter.len() as f64);
    let batches = [CHUNK as usize, PAGE].map(|size| -> Probe {
        let filter = Rc::clone(&filter);
        Box::new(move |keys| count_batches(keys, size, |keys, found| filter.contains_batch(keys, found)))
    });
    let single: Probe = Box::new(move |keys| count_if(keys, |key| filter.contains(key)));
    Subject { name, bits_per_key, layers, single, batches: Some(batches) }
}

fn any(name: &'static str, filter: AnyScalable) -> Subject {
    let (layers, filter) = (filter.layer_count(), Rc::new(filter));
    let bits_per_key = Some(filter.bytes() as f64 * 8.0 / filter.len() as f64);
    let batches = [CHUNK as usize, PAGE].map(|size| -> Probe {
        let filter = Rc::clone(&filter);
        Box::new(move |keys| count_batches(keys, size, |keys, found| filter.contains_batch(keys, found)))
    });
    let single: Probe = Box::new(move |keys| count_if(keys, |key| filter.contains(key)));
    Subject { name, bits_per_key, layers, single, batches: Some(batches) }
}

fn other(name: &'static str, bits_per_key: Option<f64>, contains: impl Fn(u128) -> bool + 'static) -> Subject {
    let single: Probe = Box::new(move |keys| count_if(keys, &contains));
    Subject { name, bits_per_key, layers: 1, single, batches: None }
}

fn count_if(keys: &[u128], contains: impl Fn(u128) -> bool) -> usize {
    keys.iter().filter(|&&key| contains(key)).count()
}

fn count_batches(keys: &[u128], size: usize, contains: impl Fn(&[u128], &mut [bool])) -> usize {
    let mut found = [false; CHUNK as usize];
    let count = |keys: &[u128]| {
        let found = &mut found[..keys.len()];
        contains(keys, found);
        found.iter().filter(|&&found| found).count()
    };
    keys.chunks(size).map(count).sum()
}
