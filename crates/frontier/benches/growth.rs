//! How the frontier grows: new URLs only, through the public API, everything included (keys, journal synced, filter,
//! records, queue blocks, merges).
//!
//! `cargo bench -p frontier --bench growth -- [millions of URLs, default 1]` prints a line each quarter: rate, memory,
//! disk. The stream is one of pages of 20 links over 50,000 hosts, log-uniform as on the web; its seed is fixed.

use std::time::Instant;

use frontier::{Canonical, Found, FoundUrl, Frontier, Options};

/// As the daemon has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOSTS: f64 = 50_000.0;
const PAGE: usize = 20;

/// SplitMix64: small, seeded, good enough for a stream of hosts.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn main() {
    let millions: f64 = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1.0);
    let total = (millions * 1e6) as usize;
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options {
        dir: dir.path().to_owned(),
        partitions: 16,
        hot_cache_entries: 1 << 20,
        recent_bytes: 256 << 20,
        commit_interval: std::time::Duration::from_millis(20),
        journal_max_bytes: 256 << 20,
        false_positive_rate: 0.01,
        filter_initial_capacity: 1_000_000,
        filter_growth_factor: 2.0,
        filter_max_layers: 3,
        filter_rebuild_cpu_share: 0.25,
        store_cache_bytes: 64 << 20,
        connections_per_host: 1,
        delay_ms: 1000,
        max_attempts: 3,
        retry_delay_ms: 30_000,
        max_retry_delay_ms: 3_600_000,
    };
    let frontier = Frontier::open(options, 1, || {}).expect("opens");
    let mut random = Random(1);
    let (start, mut last, mut done) = (Instant::now(), Instant::now(), 0);
    println!("{:>10} {:>10} {:>10} {:>10} {:>10} {:>8}", "URLs", "URLs/s", "average", "RSS MiB", "disk MiB", "merges");
    while done < total {
        let host = HOSTS.powf(random.unit()) as u64;
        let urls = (0..PAGE).map(|i| {
            let url =
                format!("https://www.site-{host}.com/articles/{:08x}/page-{}.html", random.next() as u32, done + i);
            FoundUrl { canonical: Canonical::parse(&url).expect("a URL"), depth: 1 }
        });
        let found = Found { urls: urls.collect(), ..Found::default() };
        frontier.offer(&found, Some("https://www.example.com/"), 1).expect("offers");
        done += PAGE;
        if done % (total / 4).max(PAGE) < PAGE {
            let statistics = frontier.statistics().expect("answers");
            let rate = (total / 4) as f64 / last.elapsed().as_secs_f64();
            let average = done as f64 / start.elapsed().as_secs_f64();
            let disk = (statistics.store_bytes + statistics.journal_bytes) >> 20;
            println!("{done:>10} {rate:>10.0} {average:>10.0} {:>10} {disk:>10} {:>8}", rss_mib(), statistics.merges);
            last = Instant::now();
        }
    }
    let closing = Instant::now();
    frontier.close().expect("closes");
    println!("closed in {:?}", closing.elapsed());
}

fn rss_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) >> 10
}
