//! A process that crawls is killed with SIGKILL, twenty times in one directory for each kind of filter: while it opens the
//! directory or after a random number of commits that it told, a random moment later. What it told is there afterwards.
//!
//! URLs are numbered and come in pages, each offered or found in one verb; so what is there must be a whole number of
//! pages, at least those that were told. The killed process is this test itself, run again.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use frontier::{
    Canonical, Completion, FilterKind, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport, Lease, Millis,
    Next, Options, Outcome, Tally,
};

use crate::{Random, audit, directory, seed};

const KILLS: u64 = 20;
/// After every so many kills the audit is made; it takes as long as all the rest.
const AUDITED: u64 = 10;
/// New URLs of a page.
const PAGE: usize = 20;
const HOSTS: usize = 40;
const DELAY_MS: u64 = 10;
/// More than one run takes of the frontier's time.
const RUN_MS: u64 = 1_000_000;
/// Names the directory to the process that is to be killed, and so tells it from the one that kills.
const VICTIM: &str = "CRASH_VICTIM";

fn options(dir: &Path, kind: FilterKind) -> Options {
    let filter = FilterOptions {
        kind,
        initial_capacity: 256,
        max_layers: 2,
        rebuild_cpu_share: 1.0,
        ..FilterOptions::default()
    };
    Options {
        partitions: 2,
        hot_cache_entries: 64,
        // A merge every few hundred URLs.
        recent_bytes: 300_000,
        commit_interval: Duration::from_millis(1),
        journal_max_bytes: 1 << 18,
        filter,
        delay_ms: DELAY_MS,
        ..Options::new(dir)
    }
}

fn url(n: usize) -> Canonical {
    let host = n / 4 % HOSTS;
    Canonical::parse(&format!("https://www.site-{host}.com/{n}")).expect("a URL")
}

fn number_of(lease: &Lease) -> usize {
    lease.url().rsplit('/').next().and_then(|n| n.parse().ok()).expect("a URL of this test")
}

/// A page of new URLs, and links to some of an older one.
fn found(page: usize, random: &mut Random) -> Found {
    let older = random.below(page as u64 + 1) as usize * PAGE;
    let numbers = (page * PAGE..(page + 1) * PAGE).chain(older..older + PAGE / 2);
    Found { urls: numbers.map(|n| FoundUrl::new(url(n), 0)).collect(), ..Found::default() }
}

fn fetched(frontier: &Frontier, lease: Lease, found: &Found, now: Millis) -> u64 {
    let report = HostReport { ended: now, delay_ms: DELAY_MS, health: Health::Answered };
    let (outcome, tally) = (Outcome::Fetched { status: 200 }, Tally::default());
    let completion = Completion { outcome, host: Some(report), tally, visit: Default::default(), found };
    frontier.complete(lease, &completion, now).expect("completes").discovered
}

/// What the killed process told before it died.
#[derive(Default)]
struct Told {
    pages: usize,
    fetched: BTreeSet<usize>,
}

/// One process that is killed.
struct Run<'a> {
    dir: &'a Path,
    kind: FilterKind,
    number: u64,
    /// Pages that are there already.
    pages: usize,
}

impl Run<'_> {
    fn arguments(&self) -> [String; 4] {
        [self.dir.display().to_string(), self.kind.name().to_owned(), self.number.to_string(), self.pages.to_string()]
    }

    /// Starts the process, kills it and hears what it told.
    fn kill(&self, test: &str, random: &mut Random) -> Told {
        let mut victim = Command::new(std::env::current_exe().expect("is known"))
            .args(["--exact", "--nocapture", test])
            .env(VICTIM, self.arguments().join("\n"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let lines = BufReader::new(victim.stderr.take().expect("is a pipe")).lines();
        // A quarter dies while it opens, or soon after.
        let mut left = if random.below(4) == 0 { 0 } else { random.below(12) };
        let pause = Duration::from_micros(random.below(if left == 0 { 30_000 } else { 3_000 }));
        let (mut told, mut killed, mut said) = (Told::default(), false, String::new());
        for line in lines {
            let line = line.expect("reads");
            match line.split_once(' ') {
                Some(("fetched", n)) => {
                    told.fetched.insert(n.parse().expect("a number"));
                }
                Some(("pages", n)) => {
                    told.pages = n.parse().expect("a number");
                    left = left.saturating_sub(1);
                }
                _ if line == "opening" => {}
                _ => said = said + &line + "\n",
            }
            if left == 0 && !killed && (line == "opening" || line.starts_with("pages")) {
                std::thread::sleep(pause);
                victim.kill().expect("is killed");
                killed = true;
            }
        }
        let status = victim.wait().expect("ends");
        assert!(killed && status.code().is_none(), "ended by itself ({status}):\n{said}");
        told
    }
}

/// Crawls until it is killed.
fn victim(arguments: &str) -> ! {
    let mut arguments = arguments.split('\n');
    let mut next = || arguments.next().expect("four arguments");
    let (dir, kind) = (next(), next());
    let kind = FilterKind::ALL.into_iter().find(|known| known.name() == kind).expect("a kind");
    let (run, mut page): (u64, usize) = (next().parse().expect("a number"), next().parse().expect("a number"));
    let mut random = Random(seed().wrapping_add(run));
    let mut now = run * RUN_MS;
    tell("opening");
    let frontier = Frontier::open(options(Path::new(dir), kind), now, || {}).expect("opens");
    loop {
        let mut lines = String::new();
        for _ in 0..1 + random.below(4) {
            now += DELAY_MS;
            let found = found(page, &mut random);
            let discovered = match frontier.lease(now).expect("answers") {
                Next::Lease(lease) => {
                    lines += &format!("fetched {}\n", number_of(&lease));
                    fetched(&frontier, lease, &found, now)
                }
                Next::Wait { .. } => frontier.offer(&found, None, now).expect("offers").discovered,
            };
            assert_eq!(discovered, PAGE as u64, "new URLs of page {page}");
            page += 1;
        }
        if random.below(8) == 0 {
            frontier.rebuild_filters();
        }
        frontier.commit().expect("commits");
        tell(&format!("{lines}pages {page}"));
    }
}

/// Whole lines by one write, so that a kill does not tear them.
fn tell(lines: &str) {
    std::io::stderr().write_all(format!("{lines}\n").as_bytes()).expect("is heard");
}

/// Opens what a kill left: whole pages, no fewer than were told, every URL of them and none besides. Returns their number.
fn judge(frontier: &Frontier, told: &Told) -> usize {
    let books = frontier.statistics().expect("answers").books;
    assert_eq!(books.check(), Ok(()));
    let urls = books.discovered as usize;
    assert!(urls.is_multiple_of(PAGE), "a page was torn: {urls} URLs");
    assert!(urls >= told.pages * PAGE, "lost: {urls} URLs of {} pages", told.pages);
    assert!(books.fetched as usize >= told.fetched.len(), "{} fetched of {}", books.fetched, told.fetched.len());
    for n in 0..urls + 5 * PAGE {
        assert_eq!(frontier.seen(&url(n)).expect("answers"), n < urls, "{}", url(n).key());
    }
    urls / PAGE
}

/// Crawls to the end: what was told as fetched is not fetched again, and nothing else is left out or fetched twice.
fn drain(frontier: &Frontier, told: &Told, mut now: Millis) {
    let mut ended = BTreeSet::new();
    let before = frontier.statistics().expect("answers").books;
    while ended.len() < before.queued as usize {
        now += DELAY_MS;
        let mut idle = true;
        while let Next::Lease(lease) = frontier.lease(now).expect("answers") {
            let n = number_of(&lease);
            assert!(!told.fetched.contains(&n), "{n} had been fetched");
            assert!(ended.insert(n), "{n} was fetched twice");
            fetched(frontier, lease, &Found::default(), now);
            idle = false;
        }
        assert!(!idle || now < u64::MAX / 2);
    }
    let books = frontier.statistics().expect("answers").books;
    assert_eq!((books.fetched, books.queued, books.check()), (books.discovered, 0, Ok(())));
}

fn survive(test: &str, kind: FilterKind) {
    if let Ok(arguments) = std::env::var(VICTIM) {
        victim(&arguments);
    }
    let dir = directory();
    let mut random = Random(seed() ^ kind as u64);
    let (mut pages, mut told) = (0, Told::default());
    let open =
        |kills: u64| Frontier::open(options(dir.path(), kind), kills * RUN_MS + RUN_MS / 2, || {}).expect("opens");
    for kills in 0..KILLS {
        let last = Run { dir: dir.path(), kind, number: kills, pages }.kill(test, &mut random);
        told.pages = told.pages.max(last.pages).max(pages);
        told.fetched.extend(last.fetched);
        let frontier = open(kills);
        pages = judge(&frontier, &told);
        if kills % AUDITED == AUDITED - 1 {
            audit(&frontier);
            // With memory empty, so that filter and store answer for every URL.
            frontier.close().expect("closes");
            judge(&open(kills), &told);
        }
    }
    assert!(pages > 0, "nothing was ever committed");
    drain(&open(KILLS), &told, (KILLS + 1) * RUN_MS);
}

#[test]
fn plain_filters_survive_kill_9() {
    survive("kill::plain_filters_survive_kill_9", FilterKind::ScalableBloom);
}

#[test]
fn counting_filters_survive_kill_9() {
    survive("kill::counting_filters_survive_kill_9", FilterKind::ScalableCounting);
}

#[test]
fn cuckoo_filters_survive_kill_9() {
    survive("kill::cuckoo_filters_survive_kill_9", FilterKind::ScalableCuckoo);
}
