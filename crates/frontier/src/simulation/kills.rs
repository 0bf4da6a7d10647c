//! A process that kills itself at each step of `steps`, on real files and real sled, and another one that judges what it
//! left.
//!
//! Both are this test again. A step that is not reached fails the test, so the table of steps holds no dead one. The dying
//! one tells what was durable; pages of URLs come in whole or not at all, and what it told is there.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::directory;
use crate::merge::{self, After};
use crate::rebuild;
use crate::statistics::Statistics;
use crate::steps::{Step, watched};
use crate::{
    Canonical, Completion, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport, Lease, Millis, Next, Options,
    Outcome, Tally,
};

/// New URLs of a page.
const PAGE: usize = 10;
const DELAY_MS: u64 = 10;
/// URLs that are forgotten on the way; no page links to them again.
const FORGOTTEN: [usize; 3] = [PAGE + 1, PAGE + 4, PAGE + 8];
/// More than all runs take of the frontier's time.
const LATER: Millis = 1_000_000;
/// Tells the processes that are to die, and to judge, what they are: role, directory, step, how many times it is passed.
const ROLE: &str = "STEP_KILL";
const TEST: &str = "simulation::kills::a_process_killed_at_any_step_loses_and_doubles_nothing";

fn open(dir: &Path, now: Millis) -> Frontier {
    let options = Options {
        partitions: 1,
        commit_interval: Duration::ZERO,
        journal_max_bytes: 1 << 12,
        filter: FilterOptions { initial_capacity: 16, false_positive_rate: 0.1, ..FilterOptions::default() },
        delay_ms: DELAY_MS,
        ..Options::new(dir)
    };
    Frontier::open_by_hand(options, now).expect("opens")
}

fn url(n: usize) -> Canonical {
    Canonical::parse(&format!("http://{}.example.com/{n}", ["a", "b"][n % 2])).expect("a URL")
}

fn number_of(lease: &Lease) -> usize {
    lease.url().rsplit('/').next().and_then(|n| n.parse().ok()).expect("a URL of this test")
}

/// A page of new URLs and some of the first page.
fn found(page: usize) -> Found {
    let numbers = (page * PAGE..(page + 1) * PAGE).chain(0..page.min(PAGE));
    Found { urls: numbers.map(|n| FoundUrl::new(url(n), 1)).collect(), ..Found::default() }
}

fn complete(frontier: &Frontier, lease: Lease, found: &Found, now: Millis) {
    let report = HostReport { ended: now, delay_ms: DELAY_MS, health: Health::Answered };
    let outcome = Outcome::Fetched { status: 200 };
    let completion =
        Completion { outcome, host: Some(report), tally: Tally::default(), visit: crate::Visit::default(), found };
    frontier.complete(lease, &completion, now).expect("completes");
}

fn merge(frontier: &Frontier) {
    merge::merge(&frontier.shared, &frontier.shared.partitions[0], After::Reopen).expect("merges");
}

/// Whole lines by one write, so that a kill does not tear them.
fn tell(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).expect("is heard");
}

/// Where this process dies.
static DEATH: OnceLock<(String, AtomicU64)> = OnceLock::new();

fn die_at(step: Step) {
    let (name, passes) = DEATH.get().expect("is set before the first step");
    if *name == format!("{step:?}") && passes.fetch_sub(1, Ordering::Relaxed) == 0 {
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::KILL).expect("is killed");
        std::thread::park();
    }
}

/// Crawls through every step, until it dies.
fn victim(dir: &Path, step: &str, passes: u64) {
    DEATH.set((step.to_owned(), AtomicU64::new(passes))).expect("once");
    watched::visit_everywhere(die_at);
    let (mut now, mut page) = (0, 0);
    for forgotten in FORGOTTEN {
        now += 1000;
        let frontier = open(dir, now);
        // As a crash in the middle of a merge leaves one.
        std::fs::write(directory::blocks_dir(dir, 0).join("99.tmp"), "half a file").expect("writes");
        for _ in 0..4 {
            now += DELAY_MS;
            let mut fetched = None;
            match frontier.lease(now).expect("answers") {
                Next::Lease(lease) => {
                    fetched = Some(number_of(&lease));
                    complete(&frontier, lease, &found(page), now);
                }
                Next::Wait { .. } => _ = frontier.offer(&found(page), None, now).expect("offers"),
            }
            page += 1;
            frontier.commit().expect("commits");
            tell(&format!("pages {page}"));
            fetched.iter().for_each(|n| tell(&format!("fetched {n}")));
        }
        frontier.forget(&[url(forgotten)]).expect("forgets");
        frontier.commit().expect("commits");
        tell(&format!("forgotten {forgotten}"));
        merge(&frontier);
        rebuild::rebuild(&frontier.shared, &frontier.shared.partitions[0]).expect("rebuilds");
    }
    tell("alive");
}

/// What the victim told before it died.
#[derive(Default)]
struct Told {
    pages: usize,
    fetched: BTreeSet<usize>,
    forgotten: BTreeSet<usize>,
}

impl Told {
    fn hear(lines: impl Iterator<Item = String>) -> Self {
        let mut told = Self::default();
        for line in lines {
            match line.split_once(' ').map(|(what, n)| (what, n.parse())) {
                Some(("pages", Ok(n))) => told.pages = n,
                Some(("fetched", Ok(n))) => _ = told.fetched.insert(n),
                Some(("forgotten", Ok(n))) => _ = told.forgotten.insert(n),
                _ => {}
            }
        }
        told
    }
}

/// Opens what the victim left: whole pages, no fewer than told, and every URL of them once.
fn judge(dir: &Path, told: &Told) {
    let frontier = open(dir, LATER);
    let books = Statistics::collect(&frontier.shared).expect("answers").books;
    assert_eq!(books.check(), Ok(()));
    let urls = books.discovered as usize;
    assert!(urls.is_multiple_of(PAGE) && urls >= told.pages * PAGE, "{urls} URLs, told {} pages", told.pages);
    let mut seen = BTreeSet::new();
    for n in 0..urls + 2 * PAGE {
        let is_seen = frontier.seen(&url(n)).expect("answers");
        let may_be_forgotten = FORGOTTEN.contains(&n);
        assert!(is_seen == (n < urls) || may_be_forgotten, "seen {n}: {is_seen}, of {urls}");
        assert!(!is_seen || !told.forgotten.contains(&n), "{n} was forgotten");
        seen.extend(is_seen.then_some(n));
    }
    assert_eq!(seen.len(), urls - books.forgotten as usize);
    let (mut fetched, mut now) = (BTreeSet::new(), LATER);
    while fetched.len() < books.queued as usize {
        now += DELAY_MS;
        assert!(now < 2 * LATER, "{} of {} URLs were leased", fetched.len(), books.queued);
        frontier.commit().expect("commits");
        while let Next::Lease(lease) = frontier.lease(now).expect("answers") {
            let n = number_of(&lease);
            assert!(seen.contains(&n) && !told.fetched.contains(&n) && fetched.insert(n), "{n} once more");
            complete(&frontier, lease, &Found::default(), now);
        }
    }
    merge(&frontier);
    frontier.close().expect("closes");
    let frontier = open(dir, 2 * LATER);
    let after = Statistics::collect(&frontier.shared).expect("answers").books;
    assert_eq!((after.queued, after.fetched, after.check()), (0, books.fetched + books.queued, Ok(())));
    assert!((0..urls).all(|n| frontier.seen(&url(n)).expect("answers") == seen.contains(&n)));
}

/// This test again, in a role.
fn play(role: &str, dir: &Path, step: Step, passes: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("is known"));
    command.args(["--exact", "--nocapture", TEST]);
    command.env(ROLE, format!("{role}\n{}\n{step:?}\n{passes}", dir.display()));
    // So that sled finds no `sync` to run: it would wait for all disks of the machine.
    command.env("PATH", "").stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn kill_at(step: Step, passes: u64) {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory");
    let mut victim = play("victim", dir.path(), step, passes).spawn().expect("starts");
    let lines = BufReader::new(victim.stderr.take().expect("is a pipe")).lines();
    let told: Vec<String> = lines.map(|line| line.expect("reads")).collect();
    let status = victim.wait().expect("ends");
    let (killed, alive) = (status.code().is_none(), told.iter().any(|line| line == "alive"));
    assert!(killed || (passes > 0 && alive), "{step:?} was not reached ({status}):\n{}", told.join("\n"));
    let mut judge = play("judge", dir.path(), step, passes).stdin(Stdio::piped()).spawn().expect("starts");
    let mut words = judge.stdin.take().expect("is a pipe");
    words.write_all(told.join("\n").as_bytes()).expect("is heard");
    drop(words);
    let judged = judge.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success(), "killed at {step:?}, passed {passes} times: {said}");
}

#[test]
fn a_process_killed_at_any_step_loses_and_doubles_nothing() {
    if let Ok(role) = std::env::var(ROLE) {
        let words: Vec<&str> = role.split('\n').collect();
        let dir = Path::new(words[1]);
        return match words[0] {
            "victim" => victim(dir, words[2], words[3].parse().expect("a number")),
            _ => judge(dir, &Told::hear(std::io::stdin().lines().map(|line| line.expect("reads")))),
        };
    }
    // Each step at its first time, and at one in the midst of what earlier ones have left.
    std::thread::scope(|scope| {
        for passes in [0, 2] {
            scope.spawn(move || Step::ALL.into_iter().for_each(|step| kill_at(step, passes)));
        }
    });
}
