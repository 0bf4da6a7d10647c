//! Many hosts at once, each politely: 1,000 hosts with 500 ms between requests, crawled by the real binary.
//!
//! Not a micro-benchmark: one crawl, its access log, three numbers. Prints pages per second, the least gap on the site's
//! clock and the process's peak memory; ends with an error when a page is missing or a host was asked too soon. Numbers of
//! hosts and of pages per host may be given as arguments (`cargo bench -p crawler --bench many_hosts -- 1000 40`).

#[path = "../../../tests/generated.rs"]
mod generated;
#[path = "../../../tests/web.rs"]
mod web;

use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use generated::Generated;
use web::{Hit, Web, least_gap};

const DELAY: Duration = Duration::from_millis(500);

/// Least pages per second that are asked for: with 1,000 hosts two per host and second are possible at most.
const MIN_PAGES_PER_SEC: f64 = 1_600.0;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let site = Generated { hosts: numbers.next().unwrap_or(1_000), pages: numbers.next().unwrap_or(40) };
    let web = Web::start(move |host, path| site.page(host, path));
    let home = tempfile::tempdir().expect("a directory");
    let began = Instant::now();
    let peak_bytes = crawl(site, &web, home.path());
    let took = began.elapsed();

    let hits = web.hits();
    let pages: Vec<&Hit> = hits.iter().filter(|hit| hit.path != "/robots.txt").collect();
    let (gap, _) = least_gap(&hits).expect("hosts were asked twice");
    let between = |first: &Hit, last: &Hit| last.arrived.duration_since(first.arrived).as_secs_f64();
    let fetching = pages.first().zip(pages.last()).map_or(f64::NAN, |(first, last)| between(first, last));
    let per_sec = pages.len() as f64 / fetching;
    println!("{} hosts, {} pages, {} requests in {took:.1?}", site.hosts, pages.len(), hits.len());
    println!("{per_sec:.0} pages/s from the first page to the last");
    println!("least gap {gap:.1?} on the site's clock, with a delay of {DELAY:?}");
    println!("peak memory {} MiB", peak_bytes >> 20);
    let whole = pages.len() == site.hosts * site.pages;
    let fast = per_sec >= MIN_PAGES_PER_SEC || site.hosts < 1_000;
    if whole && fast && gap >= DELAY { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Crawls the site to its end; the peak of the process's memory in bytes.
fn crawl(site: Generated, web: &Web, home: &std::path::Path) -> u64 {
    let hosts = site.names();
    let resolve: String = hosts.iter().map(|host| format!("\"{host}\" = \"{}\"\n", web.address)).collect();
    let config = home.join("crawler.toml");
    std::fs::write(&config, format!("[fetch.resolve]\n{resolve}")).expect("the config is written");
    let seeds = home.join("seeds.txt");
    std::fs::write(&seeds, site.seeds().join("\n") + "\n").expect("the seeds are written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawld"));
    command.arg("run").arg("--exit-when-done").arg("--config").arg(&config);
    command.arg("--seeds").arg(&seeds).arg("--data").arg(home.join("data"));
    for set in [
        format!("politeness.delay_ms={}", DELAY.as_millis()),
        // All hosts are this machine: that it is busy must not count as theirs.
        "politeness.adaptive_delay_factor=0".to_owned(),
        format!("fetch.concurrency={}", site.hosts),
        "fetch.allow_private_networks=true".to_owned(),
        "crawl.idle_exit_secs=2".to_owned(),
        "store.min_free_disk_bytes=0".to_owned(),
    ] {
        command.args(["--set", &set]);
    }
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    watch(&mut child)
}

fn watch(child: &mut Child) -> u64 {
    let mut peak_kib = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak_kib = peak_kib.max(peak.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("the child is ours") {
            assert!(status.success(), "the crawl failed: {status}");
            return peak_kib * 1024;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
