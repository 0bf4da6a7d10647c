//! What a fetched page takes on disk, beside a URL that is only known: its record says more, and its queue entry goes.

use std::path::Path;

use frontier::{Completion, Found, Frontier, Health, HostReport, Next, Options, Outcome, Recrawl, Tally, Visit};

use crate::measure::disk_bytes;
use crate::web::{PAGE, Random, Web};

/// Measures both: pages that are visited once, and pages of which the next visit is to know what this one brought.
pub fn pages(total: usize, dir: &Path) {
    let recrawl = Recrawl { initial_secs: 86_400, min_secs: 3_600, max_secs: 2_592_000, growth: 1.5, shrink: 0.5 };
    for (name, recrawl) in [("visited once", None), ("visited again, with ETag and Last-Modified", Some(recrawl))] {
        measure(name, recrawl, total, &dir.join(name));
    }
}

fn measure(name: &str, recrawl: Option<Recrawl>, total: usize, dir: &Path) {
    let open = |now| {
        let options = Options { delay_ms: 0, connections_per_host: 64, recrawl, ..Options::new(dir) };
        Frontier::open(options, now, || {}).expect("opens")
    };
    let frontier = open(1);
    let mut web = Web { random: Random(2), pages: Vec::new() };
    for _ in 0..total / PAGE {
        let page = web.grow();
        frontier.offer(&web.page(page), Some("https://www.example.com/"), 1).expect("offers");
    }
    frontier.close().expect("closes");
    let known = disk_bytes(dir) as f64;
    let frontier = open(10_000);
    let fetched = fetch_all(&frontier, total / PAGE * PAGE);
    frontier.close().expect("closes");
    let more = (disk_bytes(dir) as f64 - known) / fetched as f64;
    println!("{name}: {:.1} bytes a URL known; {more:+.1} when it is fetched ({fetched} pages)", known / total as f64);
}

/// Fetches every page; each has its own validators, as pages have.
fn fetch_all(frontier: &Frontier, total: usize) -> usize {
    let (mut fetched, mut random, found) = (0, Random(3), Found::default());
    while fetched < total {
        let now = 20_000 + fetched as u64;
        let Next::Lease(lease) = frontier.lease(now).expect("answers") else {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        };
        let etag = format!("\"{:x}-{:x}\"", random.next() >> 48, random.next() >> 12);
        let modified = format!(
            "Tue, {:02} Dec 2026 {:02}:{:02}:{:02} GMT",
            random.below(28) + 1,
            random.below(24),
            random.below(60),
            random.below(60)
        );
        let completion = Completion {
            outcome: Outcome::Fetched { status: 200 },
            host: Some(HostReport { ended: now, delay_ms: 0, health: Health::Answered }),
            tally: Tally { fetches: 1, bytes: 20_000, statuses: [1, 0, 0, 0] },
            visit: Visit {
                not_modified: false,
                digest: Some(random.next()),
                etag: Some(&etag),
                last_modified: Some(&modified),
            },
            found: &found,
        };
        frontier.complete(lease, &completion, now).expect("completes");
        fetched += 1;
    }
    fetched
}
