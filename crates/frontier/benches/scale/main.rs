//! The frontier at scale, through its public API and with its defaults, everything included: keys, journal synced, filter,
//! records, queue blocks, merges.
//!
//! ```text
//! cargo bench -p frontier --bench scale -- [millions of URLs, default 1]
//! cargo bench -p frontier --bench scale -- hosts [millions of hosts, default 1]
//! cargo bench -p frontier --bench scale -- pages [millions of pages, default 1]
//! ```
//! 1. *New*: nothing but new URLs, to the number asked for; a line each quarter with rate, memory and disk.
//! 2. *Repeats*: of popular URLs (hot cache), of one host's pages after the other (exact set, near keys), of any (exact
//!    set, random keys).
//! 3. *Mixed*: 93 % repeats, nine in ten of them popular, as measured on documentation sites; the rest new. The others of
//!    the repeats are of one host's pages after the other, or each page is of any host.
//! 4. *Crawl*: lease and complete while merges run, and how long each took; closing; the same after opening again.
//!
//! *Hosts* is about the schedule alone (`hosts`), *pages* about the disk that a fetched page takes (`pages`).

mod crawl;
mod hosts;
mod measure;
mod pages;
mod process;
mod repeats;
mod web;

use std::path::Path;
use std::time::{Duration, Instant};

use frontier::{Frontier, Options};

use crawl::{Spell, crawl};
use measure::disk_bytes;
use process::{cpu_seconds, rss_mib};
use web::{PAGE, Random, Web};

/// As the daemon has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let millions: f64 = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1.0);
    let total = (millions * 1e6) as usize;
    let dir = tempfile::tempdir().expect("a directory");
    if std::env::args().any(|argument| argument == "hosts") {
        return hosts::hosts(total, dir.path());
    }
    if std::env::args().any(|argument| argument == "pages") {
        return pages::pages(total, dir.path());
    }
    let open = |now| {
        let options = Options { delay_ms: 0, connections_per_host: 64, ..Options::new(dir.path()) };
        Frontier::open(options, now, || {}).expect("opens")
    };
    let frontier = open(1);
    let mut web = Web { random: Random(1), pages: Vec::new() };
    new_urls(&frontier, &mut web, total, dir.path());
    repeats::repeats(&frontier, &mut web);
    repeats::mixed(&frontier, &mut web);
    let mut spell = |frontier: &Frontier, name, from, seconds| {
        let spell = Spell { name, lasts: Duration::from_secs(seconds), from, delay_ms: 0 };
        let mut page = || {
            let page = web.grow();
            web.page(page)
        };
        crawl(frontier, &spell, &mut page);
    };
    spell(&frontier, "crawl", 10, 30);
    close(frontier, dir.path());
    let opening = Instant::now();
    let frontier = open(100_000);
    println!("opened in {:.1?}, {} MiB", opening.elapsed(), rss_mib());
    spell(&frontier, "crawl after opening", 100_010, 15);
    close(frontier, dir.path());
}

/// Closes, and says what is left on disk of each URL.
fn close(frontier: Frontier, dir: &Path) {
    let known = frontier.statistics().expect("answers").books.discovered as f64;
    let closing = Instant::now();
    frontier.close().expect("closes");
    println!("closed in {:.1?}; {:.1} bytes/URL on disk", closing.elapsed(), disk_bytes(dir) as f64 / known);
}

fn new_urls(frontier: &Frontier, web: &mut Web, total: usize, dir: &Path) {
    println!(
        "{:>10} {:>10} {:>10} {:>7} {:>9} {:>10} {:>7}",
        "new URLs", "URLs/s", "average", "CPU s", "RSS MiB", "bytes/URL", "merges"
    );
    let cpu = cpu_seconds();
    let (start, mut last, mut done) = (Instant::now(), Instant::now(), 0);
    while done < total {
        let page = web.grow();
        frontier.offer(&web.page(page), Some("https://www.example.com/"), 1).expect("offers");
        done += PAGE;
        if done % (total / 4).max(PAGE) < PAGE {
            let statistics = frontier.statistics().expect("answers");
            let rate = (total / 4) as f64 / last.elapsed().as_secs_f64();
            let average = done as f64 / start.elapsed().as_secs_f64();
            let disk = disk_bytes(dir) as f64 / done as f64;
            let (cpu, rss, merges) = (cpu_seconds() - cpu, rss_mib(), statistics.merges);
            println!("{done:>10} {rate:>10.0} {average:>10.0} {cpu:>7.1} {rss:>9} {disk:>10.1} {merges:>7}");
            last = Instant::now();
        }
    }
}
