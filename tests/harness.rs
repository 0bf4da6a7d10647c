//! Starts the real binary as a child, watches it, ends it, and reads what it has left.
//!
//! Not a web server ([`web`](crate::web)) and not an opinion on what a crawl should come to, but for one: [`statistics`]
//! checks every line it reads, and every test ends with it. Invariant: no wait is without a deadline, and no child
//! outlives its [`Run`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub const CRAWLD: &str = env!("CARGO_BIN_EXE_crawld");

/// Longest time that any crawl of these tests may take.
pub const DEADLINE: Duration = Duration::from_secs(90);

/// Time between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(2);

/// What every crawl of the tests is set to, before its own settings.
const BASE: &[&str] = &[
    "fetch.allow_private_networks=true",
    "politeness.delay_ms=0",
    "crawl.idle_exit_secs=5",
    "frontier.partitions=4",
    "frontier.hot_cache_entries=10000",
    "filter.initial_capacity=10000",
    "store.min_free_disk_bytes=0",
    "statistics.interval_secs=1",
    // What a crawl asks for is what its test says.
    "sitemap.enabled=false",
];

/// A crawl that can be started again and again on one data directory.
pub struct Crawl {
    /// Holds the data directory and everything beside it.
    pub home: TempDir,
    /// `--set` options over [`BASE`].
    pub sets: Vec<String>,
    /// Seeds on the command line.
    pub urls: Vec<String>,
    /// Text of the config file.
    pub config: String,
    /// Whether the crawl ends when it is done.
    pub exit_when_done: bool,
    /// The data directory, where it is not the one in `home`.
    pub elsewhere: Option<PathBuf>,
}

impl Crawl {
    /// A crawl from these seeds.
    pub fn new(sets: &[&str], urls: &[String]) -> Self {
        Self {
            home: tempfile::tempdir().expect("a directory for the test"),
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            urls: urls.to_vec(),
            config: String::new(),
            exit_when_done: true,
            elsewhere: None,
        }
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.elsewhere.clone().unwrap_or_else(|| self.home.path().join("data"))
    }

    /// A file of the data directory's log folder; empty when it is not there yet.
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.data().join("log").join(name)).unwrap_or_default()
    }

    /// Starts the daemon.
    pub fn start(&self) -> Run {
        let config = self.home.path().join("crawler.toml");
        fs::write(&config, &self.config).expect("the config is written");
        let errors = self.home.path().join("stderr.txt");
        let mut command = Command::new(CRAWLD);
        command.arg("run").arg("--config").arg(config).arg("--data").arg(self.data());
        for set in BASE.iter().copied().chain(self.sets.iter().map(String::as_str)) {
            command.args(["--set", set]);
        }
        if self.exit_when_done {
            command.arg("--exit-when-done");
        }
        let stderr = File::create(&errors).expect("a file for standard error");
        let child = command.args(&self.urls).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn();
        Run { child: child.expect("the binary starts"), errors, peak_bytes: 0 }
    }

    /// Runs until the end, which has to be a success. Gives the peak of its memory in bytes.
    pub fn finish(&self) -> u64 {
        let mut run = self.start();
        let status = run.wait(DEADLINE);
        assert_eq!(status.code(), Some(0), "{}", run.stderr());
        run.peak_bytes
    }

    /// `crawld stats --json`, running or stopped.
    pub fn stats(&self) -> Value {
        let output = crawld(&["stats", "--json", "--data", &self.data().to_string_lossy()], "");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }

    /// Which of the URLs `crawld seen` says are seen, running or stopped.
    pub fn seen(&self, urls: &[String]) -> Vec<bool> {
        let output = crawld(&["seen", "--data", &self.data().to_string_lossy()], &(urls.join("\n") + "\n"));
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let seen = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("a JSON line");
            line["seen"].as_bool().expect("an answer")
        };
        let seen: Vec<bool> = text.lines().map(seen).collect();
        assert_eq!(seen.len(), urls.len(), "one line for each URL");
        seen
    }
}

/// A daemon that was started; killed when dropped.
pub struct Run {
    child: Child,
    errors: PathBuf,
    /// The most memory that it was seen to have had, in bytes.
    pub peak_bytes: u64,
}

impl Run {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said on standard error.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.errors).unwrap_or_default()
    }

    /// Sends SIGTERM.
    pub fn term(&self) {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("the child is ours");
    }

    /// `kill -9`, and waits for its end. False if it had ended by itself.
    pub fn kill(&mut self) -> bool {
        let running = self.ended().is_none();
        self.child.kill().expect("the child is ours");
        self.child.wait().expect("the child is ours");
        running
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        let peak_kib: u64 = peak.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        self.peak_bytes = self.peak_bytes.max(peak_kib * 1024);
        self.child.try_wait().expect("the child is ours")
    }

    /// Waits for its end.
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(Instant::now() < deadline, "still running after {limit:?}:\n{}", self.stderr());
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the frontier is open.
    pub fn until_started(&mut self) {
        let errors = self.errors.clone();
        let said = || fs::read_to_string(&errors).unwrap_or_default();
        self.until("the start", || said().contains("event=\"start\""));
    }

    /// Waits until something holds, while it runs.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !holds() {
            assert!(self.ended().is_none(), "it has ended before {what}:\n{}", self.stderr());
            assert!(Instant::now() < deadline, "{what} has not come:\n{}", self.stderr());
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command of the binary to its end.
pub fn crawld(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(CRAWLD)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    // A command that does not read its input may be gone by now.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the child is ours")
}

/// The config text that sends these hosts to one address.
pub fn resolve(hosts: &[String], address: SocketAddr) -> String {
    let lines = hosts.iter().map(|host| format!("\"{host}\" = \"{address}\"\n"));
    format!("[fetch.resolve]\n{}", lines.collect::<String>())
}

/// One line of `crawl.log`.
#[derive(Debug, Clone)]
pub struct Line {
    /// HTTP status or negative code.
    pub status: i32,
    /// Decoded body bytes.
    pub bytes: u64,
    /// What was fetched.
    pub url: String,
    /// Words on why and how.
    pub notes: Vec<String>,
}

/// The lines of `crawl.log`, each of which must have its nine columns.
pub fn crawl_log(crawl: &Crawl) -> Vec<Line> {
    let line = |text: &str| {
        let columns: Vec<&str> = text.split_whitespace().collect();
        let [_, status, bytes, url, _, _, _, _, notes] = columns[..] else { panic!("not nine columns: {text}") };
        Line {
            status: status.parse().expect("a status"),
            bytes: bytes.parse().expect("bytes"),
            url: url.to_owned(),
            notes: notes.split(',').map(str::to_owned).collect(),
        }
    };
    crawl.log("crawl.log").lines().map(line).collect()
}

/// Fields that a line of the statistics has at least.
const FIELDS: &str = "timestamp event elapsed_secs urls_found page_duplicates invalid refused out_of_scope offered \
    hot_cache_seen filter_absent filter_maybe confirmed_seen false_positives stale_positives filter_bypassed \
    over_budget imported forgotten parked imported_seen fetches false_positive_rate_measured \
    false_positive_rate_predicted filter_layers filter_bytes store_reads store_bytes discovered queued in_flight \
    fetched failed robots_denied excluded bytes_downloaded pages_per_sec pages_per_sec_average hosts hosts_waiting \
    status_2xx status_3xx status_4xx status_5xx resident_bytes refused_by revisits not_modified due_again duplicate_pages \
    near_duplicate_pages";

/// Counts of events, which never go down.
const COUNTS: &str = "urls_found page_duplicates invalid refused out_of_scope offered hot_cache_seen filter_absent \
    filter_maybe confirmed_seen false_positives stale_positives filter_bypassed over_budget imported forgotten fetches \
    store_reads discovered bytes_downloaded status_2xx status_3xx status_4xx status_5xx revisits not_modified";

/// The identities: each side is a sum of fields.
const IDENTITIES: &[(&str, &str)] = &[
    ("urls_found", "page_duplicates invalid refused out_of_scope offered"),
    ("offered", "hot_cache_seen filter_absent filter_maybe"),
    ("filter_maybe", "confirmed_seen false_positives stale_positives filter_bypassed"),
    ("discovered over_budget", "filter_absent false_positives stale_positives filter_bypassed"),
    ("discovered imported", "forgotten queued in_flight fetched failed robots_denied excluded parked imported_seen"),
];

/// The lines of `crawl-statistics.jsonl`, after checking every one: all fields, all identities, no count that goes down,
/// and the same moments in the log for people. `kills` is how often the process was killed, each of which may have cost
/// one line between the two files.
pub fn statistics(crawl: &Crawl, kills: usize) -> Vec<Value> {
    let text = crawl.log("crawl-statistics.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    assert!(text.ends_with('\n') && !lines.is_empty(), "whole lines: {text:?}");
    lines.iter().for_each(check_line);
    for pair in lines.windows(2) {
        for name in COUNTS.split_whitespace() {
            assert!(pair[0][name].as_i64() <= pair[1][name].as_i64(), "{name} goes down:\n{}\n{}", pair[0], pair[1]);
        }
    }
    let columns = crawl.log("crawl-statistics.log");
    let for_people = columns.lines().filter(|line| !line.starts_with("timestamp")).count();
    let more = for_people.checked_sub(lines.len()).expect("each moment is in the log for people first");
    assert!(more <= kills, "{more} lines more in the log for people");
    lines
}

/// One moment balances and is complete.
pub fn check_line(line: &Value) {
    for name in FIELDS.split_whitespace() {
        assert!(line.get(name).is_some(), "{name} is missing: {line}");
    }
    let sum = |names: &str| -> i64 {
        let value = |name: &str| line[name].as_i64().unwrap_or_else(|| panic!("{name} is no count: {line}"));
        names.split_whitespace().map(value).sum()
    };
    for (left, right) in IDENTITIES {
        assert_eq!(sum(left), sum(right), "{left} = {right}: {line}");
    }
    for name in COUNTS.split_whitespace().chain("queued in_flight fetched failed".split_whitespace()) {
        assert!(sum(name) >= 0, "{name}: {line}");
    }
}

/// The count of each thing.
pub fn tally<T: Ord>(things: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for thing in things {
        *counts.entry(thing).or_default() += 1;
    }
    counts
}

/// A generator of reproducible numbers (SplitMix64, Steele et al. 2014).
pub struct Random(pub u64);

impl Random {
    /// The seed in `CRAWLD_TEST_SEED`, or else this one; printed, so that a failure can be had again.
    pub fn seeded(otherwise: u64) -> Self {
        let given = std::env::var("CRAWLD_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or(otherwise);
        println!("seed {seed} (set CRAWLD_TEST_SEED for another)");
        Self(seed)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// The source tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
