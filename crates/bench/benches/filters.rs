//! Insert, hit and miss of every filter, at 10 million keys (`BENCH_KEYS` for another number). Each measurement runs over
//! all keys: read the throughput column (items per second), or divide the time by the number of keys.
//!
//! Hashing is not measured where it can be left out: ours, fastbloom and sbbf take ready hashes; growable-bloom-filter and
//! cuckoofilter hash the 8 bytes that they are given.

use std::hash::DefaultHasher;
use std::hint::black_box;

use bench::{ABSENT, COUNT, PRESENT, RATE, SETTINGS, grown, rebuilt};
use bloom::{BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, Filter, Growable, Scalable};
use divan::Bencher;
use divan::counter::ItemsCount;

/// As many keys as a page has links, about.
const BATCH: usize = 64;

fn main() {
    println!("{} keys", PRESENT.len().min(ABSENT.len()));
    divan::main();
}

/// Number of keys for which `contains` is true.
fn probe(bencher: Bencher, keys: &[u128], contains: impl Fn(u128) -> bool + Sync) {
    bencher.counter(ItemsCount::new(*COUNT)).bench(|| keys.iter().filter(|&&key| contains(key)).count());
}

fn probe_batches(bencher: Bencher, keys: &[u128], filter: &(impl Filter + Sync)) {
    bencher.counter(ItemsCount::new(*COUNT)).bench(|| {
        let mut found = [false; BATCH];
        let count = |keys: &[u128]| {
            let found = &mut found[..keys.len()];
            filter.contains_batch(keys, found);
            found.iter().filter(|&&found| found).count()
        };
        keys.chunks(BATCH).map(count).sum::<usize>()
    });
}

/// Inserts all keys into what `empty` makes.
fn fill<F>(bencher: Bencher, empty: impl Fn() -> F + Sync, insert: impl Fn(&mut F, u128) + Sync) {
    bencher.counter(ItemsCount::new(*COUNT)).with_inputs(&empty).bench_values(|mut filter| {
        PRESENT.iter().for_each(|&key| insert(&mut filter, key));
        filter
    });
}

/// A filter sized for all keys in advance.
fn fixed<F: Growable>() -> F {
    let mut filter = F::for_items(*COUNT as u64, RATE).expect("possible size");
    filter.insert_batch(&PRESENT).expect("sized for them");
    filter
}

#[divan::bench_group(sample_count = 5, sample_size = 1)]
mod fixed_size {
    use super::*;

    #[divan::bench(types = [BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter])]
    fn insert<F: Growable + Send>(bencher: Bencher) {
        let empty = || F::for_items(*COUNT as u64, RATE).expect("possible size");
        fill(bencher, empty, |filter, key| filter.insert(key).expect("sized for them"));
    }

    #[divan::bench(types = [BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter])]
    fn hit<F: Growable + Sync>(bencher: Bencher) {
        let filter = fixed::<F>();
        probe(bencher, &PRESENT, |key| filter.contains(key));
    }

    #[divan::bench(types = [BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter])]
    fn miss<F: Growable + Sync>(bencher: Bencher) {
        let filter = fixed::<F>();
        probe(bencher, &ABSENT, |key| filter.contains(key));
    }

    #[divan::bench(types = [BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter])]
    fn miss_in_batches<F: Growable + Sync>(bencher: Bencher) {
        probe_batches(bencher, &ABSENT, &fixed::<F>());
    }
}

#[divan::bench_group(sample_count = 5, sample_size = 1)]
mod growing {
    use super::*;

    #[divan::bench(types = [BlockedBloomFilter, CountingBloomFilter, CuckooFilter])]
    fn insert<F: Growable + Send>(bencher: Bencher) {
        let empty = || Scalable::<F>::new(SETTINGS).expect("possible settings");
        fill(bencher, empty, |filter, key| filter.insert(key));
    }

    #[divan::bench]
    fn insert_in_batches(bencher: Bencher) {
        let empty = || Scalable::<BlockedBloomFilter>::new(SETTINGS).expect("possible settings");
        bencher.counter(ItemsCount::new(*COUNT)).with_inputs(empty).bench_values(|mut filter| {
            PRESENT.chunks(BATCH).for_each(|keys| filter.insert_batch(keys));
            filter
        });
    }

    #[divan::bench(types = [BlockedBloomFilter, CountingBloomFilter, CuckooFilter])]
    fn hit<F: Growable + Send + Sync>(bencher: Bencher) {
        let filter = grown::<F>();
        probe(bencher, &PRESENT, |key| filter.contains(key));
    }

    #[divan::bench(types = [BlockedBloomFilter, CountingBloomFilter, CuckooFilter])]
    fn miss<F: Growable + Send + Sync>(bencher: Bencher) {
        let filter = grown::<F>();
        probe(bencher, &ABSENT, |key| filter.contains(key));
    }

    #[divan::bench(types = [BlockedBloomFilter, CountingBloomFilter, CuckooFilter])]
    fn miss_in_batches<F: Growable + Send + Sync>(bencher: Bencher) {
        probe_batches(bencher, &ABSENT, &grown::<F>());
    }

    #[divan::bench]
    fn hit_after_rebuild(bencher: Bencher) {
        let filter = rebuilt::<BlockedBloomFilter>();
        probe(bencher, &PRESENT, |key| filter.contains(key));
    }

    #[divan::bench]
    fn miss_after_rebuild(bencher: Bencher) {
        let filter = rebuilt::<BlockedBloomFilter>();
        probe(bencher, &ABSENT, |key| filter.contains(key));
    }

    #[divan::bench]
    fn miss_in_batches_after_rebuild(bencher: Bencher) {
        probe_batches(bencher, &ABSENT, &rebuilt::<BlockedBloomFilter>());
    }
}

#[divan::bench_group(sample_count = 5, sample_size = 1)]
mod others {
    use super::*;

    fn sbbf() -> sbbf_rs_safe::Filter {
        sbbf_rs_safe::Filter::new(10, *COUNT)
    }

    fn fastbloom() -> fastbloom::BloomFilter {
        fastbloom::BloomFilter::with_false_pos(RATE).expected_items(*COUNT)
    }

    /// Grown from the same initial capacity as ours.
    fn growable() -> growable_bloom_filter::GrowableBloom {
        growable_bloom_filter::GrowableBloom::new(RATE, SETTINGS.initial_capacity as usize)
    }

    fn cuckoo() -> cuckoofilter::CuckooFilter<DefaultHasher> {
        cuckoofilter::CuckooFilter::with_capacity(*COUNT)
    }

    fn filled<F>(mut filter: F, insert: impl Fn(&mut F, u128)) -> F {
        PRESENT.iter().for_each(|&key| insert(&mut filter, key));
        filter
    }

    #[divan::bench]
    fn sbbf_insert(bencher: Bencher) {
        fill(bencher, sbbf, |filter, key| _ = filter.insert_hash(key as u64));
    }

    #[divan::bench]
    fn sbbf_hit(bencher: Bencher) {
        let filter = filled(sbbf(), |filter, key| _ = filter.insert_hash(key as u64));
        probe(bencher, &PRESENT, |key| filter.contains_hash(key as u64));
    }

    #[divan::bench]
    fn sbbf_miss(bencher: Bencher) {
        let filter = filled(sbbf(), |filter, key| _ = filter.insert_hash(key as u64));
        probe(bencher, &ABSENT, |key| filter.contains_hash(key as u64));
    }

    #[divan::bench]
    fn fastbloom_insert(bencher: Bencher) {
        fill(bencher, fastbloom, |filter, key| _ = filter.insert_hash(key as u64));
    }

    #[divan::bench]
    fn fastbloom_hit(bencher: Bencher) {
        let filter = filled(fastbloom(), |filter, key| _ = filter.insert_hash(key as u64));
        probe(bencher, &PRESENT, |key| filter.contains_hash(key as u64));
    }

    #[divan::bench]
    fn fastbloom_miss(bencher: Bencher) {
        let filter = filled(fastbloom(), |filter, key| _ = filter.insert_hash(key as u64));
        probe(bencher, &ABSENT, |key| filter.contains_hash(key as u64));
    }

    #[divan::bench]
    fn growable_insert(bencher: Bencher) {
        fill(bencher, growable, |filter, key| _ = filter.insert(key as u64));
    }

    #[divan::bench]
    fn growable_hit(bencher: Bencher) {
        let filter = filled(growable(), |filter, key| _ = filter.insert(key as u64));
        probe(bencher, &PRESENT, |key| filter.contains(key as u64));
    }

    #[divan::bench]
    fn growable_miss(bencher: Bencher) {
        let filter = filled(growable(), |filter, key| _ = filter.insert(key as u64));
        probe(bencher, &ABSENT, |key| filter.contains(key as u64));
    }

    /// A failed `add` of this crate loses a key, so its result is only passed on.
    #[divan::bench]
    fn cuckoofilter_insert(bencher: Bencher) {
        fill(bencher, cuckoo, |filter, key| _ = black_box(filter.add(&(key as u64))));
    }

    #[divan::bench]
    fn cuckoofilter_hit(bencher: Bencher) {
        let filter = filled(cuckoo(), |filter, key| _ = black_box(filter.add(&(key as u64))));
        probe(bencher, &PRESENT, |key| filter.contains(&(key as u64)));
    }

    #[divan::bench]
    fn cuckoofilter_miss(bencher: Bencher) {
        let filter = filled(cuckoo(), |filter, key| _ = black_box(filter.add(&(key as u64))));
        probe(bencher, &ABSENT, |key| filter.contains(&(key as u64)));
    }
}
