//! Starting again after kill -9, through the public API and with the default options: how long until a frontier of
//! millions of URLs answers, and how fast its filters can be made anew from the exact set.
//!
//! ```text
//! cargo bench -p frontier --bench restart -- [millions of URLs, default 2]
//! ```
//! 1. A child process records the URLs and is killed with SIGKILL when they are durable. What is then on disk is what the
//!    merges so far have left, filters checkpointed, and a journal that holds the rest.
//! 2. Children open the directory and ask for a known and an unknown URL; each is ended without closing. *Cold*: the
//!    directory's files were dropped from the page cache before (`posix_fadvise`; the bytes then read from the disk tell
//!    whether that worked). *Warm*: they were not. The first has also to mend what the kill left.
//! 3. With everything merged all filters are rebuilt, at full speed and at the default's share of a core.
//!
//! The stream is the one of `scale`: pages of 20 links over 50,000 hosts, log-uniform as on the web.

#[path = "scale/process.rs"]
mod process;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use frontier::{Canonical, Found, FoundUrl, Frontier, Options};
use process::{cpu_seconds, rss_mib};
use rustix::fs::{Advice, fadvise};

/// As the daemon has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOSTS: f64 = 50_000.0;
const PAGE: u64 = 20;
/// Opens of each sort; the median counts.
const OPENS: usize = 5;
/// Tells a child what it is for.
const ROLE: &str = "RESTART_BENCH_ROLE";

fn main() {
    let argument = std::env::args().skip(1).find_map(|a| a.parse::<f64>().ok());
    let value = argument.unwrap_or(2.0);
    match std::env::var(ROLE).as_deref() {
        Ok("build") => build(&directory(), (value * 1e6) as u64),
        Ok("open") => open(&directory()),
        Ok("rebuild") => rebuild(&directory(), value),
        _ => bench(value),
    }
}

/// Where a child finds the crawl: its current directory.
fn directory() -> PathBuf {
    std::env::current_dir().expect("is known")
}

fn bench(millions: f64) {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let began = Instant::now();
    let built = child(dir, "build", millions, true);
    println!("{built} URLs recorded in {:.1?}, then killed", began.elapsed());
    let of = |name: &str| {
        let inside = files(dir).into_iter().filter(|path| path.components().any(|part| part.as_os_str() == name));
        mib(inside.map(|path| bytes(&path)).sum())
    };
    println!("on disk: stores {} MiB, filters {} MiB, journal {} MiB", of("store"), of("filter"), of("journal"));
    for cold in [true, false] {
        let mut lines = Vec::new();
        for _ in 0..OPENS {
            if cold {
                drop_from_page_cache(dir);
            }
            lines.push(child(dir, "open", millions, false));
        }
        println!("opens, {}: {OPENS} times, in this order", if cold { "cold" } else { "warm" });
        lines.iter().for_each(|line| println!("    {line}"));
        lines.sort();
        println!("    median: {}", lines[OPENS / 2]);
    }
    for share in [1.0, 0.25] {
        println!("rebuild, share of a core {share}: {}", child(dir, "rebuild", share, false));
    }
}

/// Runs a child to its first line, which it returns, and to its end, or kills it.
fn child(dir: &Path, role: &str, argument: f64, kill: bool) -> String {
    let mut child = Command::new(std::env::current_exe().expect("is known"))
        .arg(argument.to_string())
        .env(ROLE, role)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("is a pipe")).read_line(&mut line).expect("reads");
    if kill {
        child.kill().expect("is killed");
    }
    child.wait().expect("ends");
    line.trim_end().to_owned()
}

/// SplitMix64, of a number.
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn url(page: u64, place: u64) -> Canonical {
    let random = mixed(page);
    let host = HOSTS.powf((random >> 11) as f64 / (1u64 << 53) as f64) as u64;
    let url = format!("https://www.site-{host}.com/articles/{:08x}/page-{place}-of-{page}.html", random as u32);
    Canonical::parse(&url).expect("a URL")
}

fn build(dir: &Path, total: u64) {
    let frontier = Frontier::open(Options::new(dir), 1, || {}).expect("opens");
    for page in 0..total / PAGE {
        let urls = (0..PAGE).map(|place| FoundUrl::new(url(page, place), 1));
        let found = Found { urls: urls.collect(), ..Found::default() };
        frontier.offer(&found, Some("https://www.example.com/"), 1).expect("offers");
    }
    frontier.commit().expect("commits");
    println!("{}", total / PAGE * PAGE);
    loop {
        std::thread::park();
    }
}

fn open(dir: &Path) {
    let began = Instant::now();
    let frontier = Frontier::open(Options::new(dir), 2, || {}).expect("opens");
    let opened = began.elapsed();
    assert!(frontier.seen(&url(0, 0)).expect("answers"), "a known URL");
    assert!(!frontier.seen(&url(u64::MAX, 0)).expect("answers"), "an unknown URL");
    let answered = began.elapsed();
    let (cpu, rss) = (cpu_seconds(), rss_mib());
    let statistics = frontier.statistics().expect("answers");
    assert!(
        statistics.false_positive_rate_predicted < 1.0 && statistics.filter_rebuilds == 0,
        "a checkpoint is not valid"
    );
    println!(
        "answers after {:.3} s (open {:.3} s; CPU {cpu:.2} s), {:>5} MiB read from disk, RSS {rss} MiB, filters {} MiB in {} layers",
        answered.as_secs_f64(),
        opened.as_secs_f64(),
        mib(read_from_disk()),
        mib(statistics.filter_bytes),
        statistics.filter_layers,
    );
    // No destructor runs: nothing is closed.
    std::process::exit(0);
}

fn rebuild(dir: &Path, share: f64) {
    let mut options = Options::new(dir);
    options.filter.rebuild_cpu_share = share;
    // What the journal holds goes into the stores first, so that all keys come from there.
    Frontier::open(options.clone(), 3, || {}).and_then(Frontier::close).expect("merges");
    let frontier = Frontier::open(options, 3, || {}).expect("opens");
    let before = frontier.statistics().expect("answers");
    let partitions = fs::read_dir(dir.join("partitions")).expect("lists").count() as u64;
    let began = Instant::now();
    frontier.rebuild_filters();
    while frontier.statistics().expect("answers").filter_rebuilds < before.filter_rebuilds + partitions {
        std::thread::sleep(Duration::from_millis(5));
    }
    let taken = began.elapsed();
    let keys = before.books.discovered;
    println!("{keys} keys in {taken:.2?}, {:.0} keys/s", keys as f64 / taken.as_secs_f64());
    frontier.close().expect("closes");
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("lists") {
        let path = entry.expect("lists").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Bytes that a file takes: sled's are larger than what they hold.
fn bytes(path: &Path) -> u64 {
    fs::metadata(path).expect("is there").blocks() * 512
}

/// Only clean pages can go.
fn drop_from_page_cache(dir: &Path) {
    for path in files(dir) {
        let file = File::open(&path).expect("opens");
        file.sync_all().expect("syncs");
        fadvise(&file, 0, None, Advice::DontNeed).expect("is taken");
    }
}

/// What this process had the disk read.
fn read_from_disk() -> u64 {
    number_in("/proc/self/io", "read_bytes:")
}

/// The number after a name in a file of `/proc`; zero where there is none.
fn number_in(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    value.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn mib(bytes: u64) -> u64 {
    bytes >> 20
}
