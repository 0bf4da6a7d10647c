//! scrapy#5307, katana#742, colly#43: the memory of a crawl grew with the URLs that it had seen.
//!
//! Measured at the allocator, so nothing else may run in this process: one test. What is measured is what a frontier holds
//! when it is opened on a seen set of growing size. What it reads later goes to the store's cache, which has a size of its
//! own; what a merge touches is given back when it has ended.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use frontier::transfer::ListedAs;
use frontier::{FilterOptions, Frontier, Options};

/// Counts the bytes that are allocated.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// URLs of a stretch; an exact set of them in memory would take more than their 80 bytes each. So many that the store's
/// cache of 1 MiB, filled more or less when it is measured, is little beside what three stretches may take.
const URLS: usize = 40_000;

/// Makes a stretch of URLs seen, and opens the frontier again; gives the bytes that it holds then.
fn see(options: &Options, from: usize) -> usize {
    let frontier = Frontier::open(options.clone(), 0, || {}).expect("opens");
    for chunk in (from..from + URLS).collect::<Vec<_>>().chunks(500) {
        let url = |n: &usize| format!("https://www.host-{}.example.com/a/path/as/they/are/with/{n:040}", n % 100);
        let urls = chunk.iter().map(|n| frontier.rules().parse(&url(n)).expect("a URL")).collect();
        assert_eq!(frontier.import_urls(urls, ListedAs::Seen, 1).expect("imports").imported, 500);
    }
    frontier.close().expect("closes");
    let frontier = Frontier::open(options.clone(), 0, || {}).expect("opens");
    assert_eq!(frontier.statistics().expect("answers").books.imported_seen, (from + URLS) as i64);
    let held = LIVE.load(Ordering::Relaxed);
    frontier.close().expect("closes");
    held
}

#[test]
fn scrapy_5307_katana_742_colly_43_memory_does_not_grow_with_the_seen_set() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options {
        partitions: 1,
        hot_cache_entries: 1000,
        recent_bytes: 1 << 20,
        store_cache_bytes: 1 << 20,
        journal_max_bytes: 1 << 22,
        commit_interval: Duration::from_millis(1),
        // The filter does grow with the set, by some ten bits a URL: here it has its size from the start.
        filter: FilterOptions { initial_capacity: 10 * URLS as u64, ..FilterOptions::default() },
        ..Options::new(dir.path())
    };
    let held: Vec<usize> = (0..5).map(|stretch| see(&options, stretch * URLS)).collect();
    println!("held {held:?}");
    let grown = held[4].saturating_sub(held[1]);
    assert!(grown < 3 * URLS * 20, "{} bytes for each URL more: {held:?}", grown / (3 * URLS));
}
