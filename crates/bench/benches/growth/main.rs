//! Growing filters beside those of other crates, as ratios: in each round all of them probe the same keys in turn, and
//! the median of the rounds' ratios counts, so that a busy machine slows all of them alike.
//!
//! `cargo bench -p bench --bench growth` measures 10 and 100 million keys, prints a table for each, and fails where a
//! ratio is above its bar. `BENCH_KEYS=1000000` takes another number of keys (the bars are for the two above).
//! `-- quick` leaves out the two that are slow enough to wait for, growable-bloom-filter and cuckoofilter, and
//! `BENCH_HUGE_PAGES=never` takes the huge pages from all of them (the allocator asks for them, on Linux).
//!
//! Keys are made a few thousand at a time while the clock stands, so that neither their making nor their memory is
//! measured. Hashing is left out where it can be: ours, fastbloom and sbbf take ready hashes; growable-bloom-filter and
//! cuckoofilter hash the 8 bytes that they are given.

mod bars;
mod inserts;
mod probes;
mod subject;

fn main() {
    #[cfg(target_os = "linux")]
    if std::env::var("BENCH_HUGE_PAGES").is_ok_and(|choice| choice == "never") {
        rustix::thread::disable_transparent_huge_pages(true).expect("Linux 3.15 or newer");
    }
    let slow_too = std::env::args().all(|argument| argument != "quick");
    let counts = match std::env::var("BENCH_KEYS") {
        Ok(keys) => vec![keys.parse().expect("BENCH_KEYS is a number")],
        Err(_) => vec![10_000_000, 100_000_000],
    };
    let mut failures = 0;
    for count in counts {
        println!("\n== {count} keys\n");
        let mut subjects = subject::ours(count);
        subjects.extend(subject::others(count, slow_too));
        let probes = probes::measure(&subjects, count);
        probes::print(&subjects, &probes);
        drop(subjects);
        let inserts = inserts::measure(count, slow_too);
        inserts::print(&inserts);
        failures += bars::check(&probes, &inserts);
    }
    if failures > 0 {
        println!("\n{failures} above their bar");
        std::process::exit(1);
    }
}
