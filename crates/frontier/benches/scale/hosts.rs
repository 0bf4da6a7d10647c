//! Very many hosts with few URLs each: what the schedule takes in memory, how long opening takes, how fast hosts that are
//! on disk only are leased.

use std::path::Path;
use std::time::{Duration, Instant};

use frontier::{Canonical, Found, Frontier, Options};

use crate::crawl::{Spell, crawl};
use crate::measure::disk_bytes;
use crate::process::rss_mib;
use crate::web::{PAGE, found};

/// URLs of each host.
const EACH: usize = 2;
const DELAY_MS: u64 = 1000;

fn options(dir: &Path) -> Options {
    Options { delay_ms: DELAY_MS, ..Options::new(dir) }
}

fn url(n: usize) -> Canonical {
    let (host, page) = (n / EACH, n % EACH);
    // In no order, as links come.
    let host = host.wrapping_mul(0x9E37_79B9) as u32;
    Canonical::parse(&format!("https://www.site-{host:08x}.com/page-{page}.html")).expect("a URL")
}

pub fn hosts(hosts: usize, dir: &Path) {
    let empty = rss_mib();
    let frontier = Frontier::open(options(dir), 1, || {}).expect("opens");
    println!("{hosts} hosts of {EACH} URLs; resident before {empty} MiB, opened {} MiB", rss_mib());
    let (start, mut most) = (Instant::now(), 0);
    for first in (0..hosts * EACH).step_by(PAGE) {
        let page = found((first..(first + PAGE).min(hosts * EACH)).map(url));
        frontier.offer(&page, Some("https://www.example.com/"), 1).expect("offers");
        if first % 100_000 == 0 {
            most = most.max(rss_mib());
        }
    }
    let statistics = frontier.statistics().expect("answers");
    let rate = (hosts * EACH) as f64 / start.elapsed().as_secs_f64();
    println!("new: {rate:.0} URLs/s, at most {most} MiB resident, {} merges", statistics.merges);
    let closing = Instant::now();
    frontier.close().expect("closes");
    let bytes = disk_bytes(dir) as f64 / (hosts * EACH) as f64;
    println!("closed in {:.1?}, {bytes:.1} bytes/URL on disk, {} MiB resident", closing.elapsed(), rss_mib());

    let opening = Instant::now();
    let frontier = Frontier::open(options(dir), 10_000, || {}).expect("opens");
    let opened = opening.elapsed();
    let statistics = frontier.statistics().expect("answers");
    assert_eq!((statistics.hosts, statistics.hosts_waiting), (hosts as u64, hosts as u64));
    println!("opened in {opened:.1?}, {} MiB resident; all {hosts} hosts wait", rss_mib());
    let spell = |name, from| Spell { name, lasts: Duration::from_secs(20), from, delay_ms: DELAY_MS };
    crawl(&frontier, &spell("crawl, hosts from disk", 20_000), Found::default);
    crawl(&frontier, &spell("crawl, more of them", 40_000), Found::default);
    let statistics = frontier.statistics().expect("answers");
    println!("{} hosts wait, {} MiB resident", statistics.hosts_waiting, rss_mib());
    let closing = Instant::now();
    frontier.close().expect("closes");
    println!("closed in {:.1?}", closing.elapsed());
}
