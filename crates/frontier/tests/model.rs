//! The frontier against a model: random histories of its verbs, with merges in the background, crashes and restarts.
//!
//! The model is a map from key to state. After each history everything is crawled to the end; then every URL that was ever
//! offered was recorded once, and finished once.

mod histories;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use frontier::{
    BlockReason, Canonical, Completion, FilterKind, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport,
    Lease, Millis, Next, Options, Outcome, Priority, Recrawl, Tally, Visit,
};
use proptest::prelude::*;

const DELAY_MS: u64 = 100;
const MAX_ATTEMPTS: u8 = 3;
const MAX_DEPTH: u16 = 5;

/// So short that pages come due again within a history.
const RECRAWL: Recrawl = Recrawl { initial_secs: 2, min_secs: 1, max_secs: 8, growth: 2.0, shrink: 0.5 };

fn options(dir: &Path, connections: u32, kind: FilterKind, recrawl: bool) -> Options {
    let filter = FilterOptions {
        kind,
        false_positive_rate: 0.2,
        initial_capacity: 16,
        max_layers: 2,
        ..FilterOptions::default()
    };
    Options {
        partitions: 2,
        hot_cache_entries: 64,
        // So little that merges run all the time.
        recent_bytes: 2000,
        commit_interval: Duration::ZERO,
        journal_max_bytes: 1 << 16,
        filter,
        connections_per_host: connections,
        delay_ms: DELAY_MS,
        max_attempts: MAX_ATTEMPTS,
        retry_delay_ms: 50,
        max_retry_delay_ms: 500,
        recrawl: recrawl.then_some(RECRAWL),
        ..Options::new(dir)
    }
}

/// URL number `n` of a small web: few hosts, two registrable domains.
fn url(n: u16) -> Canonical {
    let host = ["a.example.com", "b.example.com", "example.org", "127.0.0.1:81"][usize::from(n % 4)];
    Canonical::parse(&format!("http://{host}/{n}")).expect("a valid URL")
}

fn found(urls: &[u16]) -> Found {
    // At many depths, so that findings lower what is known; in all classes, so that queues are read out of order.
    let urls = (0..).zip(urls).map(|(i, n)| {
        let priority = Priority::new((n ^ i).into());
        FoundUrl { priority, ..FoundUrl::new(url(*n), 1 + i % MAX_DEPTH) }
    });
    let urls = urls.collect();
    Found { urls, page_duplicates: 2, out_of_scope: 1, ..Found::default() }
}

#[derive(Debug, Clone)]
enum Op {
    Offer(Vec<u16>),
    Lease,
    Complete(usize, End, Vec<u16>),
    GiveBack(usize),
    DropLease(usize),
    Forget(Vec<u16>),
    Rebuild,
    Pass(u64),
    Crash,
    Restart,
    Commit,
}

#[derive(Debug, Clone, Copy)]
enum End {
    /// With a body of this digest.
    Fetched(u64),
    NotModified,
    TryAgain,
    Failed,
    Denied,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let urls = || proptest::collection::vec(0u16..200, 0..12);
    let end = prop_oneof![4 => (0u64..2).prop_map(End::Fetched), 1 => Just(End::NotModified), 1 => Just(End::TryAgain), 1 => Just(End::Failed), 1 => Just(End::Denied)];
    let op = prop_oneof![
        3 => urls().prop_map(Op::Offer),
        12 => Just(Op::Lease),
        10 => (any::<usize>(), end, urls()).prop_map(|(i, end, urls)| Op::Complete(i, end, urls)),
        1 => any::<usize>().prop_map(Op::GiveBack),
        1 => any::<usize>().prop_map(Op::DropLease),
        3 => urls().prop_map(Op::Forget),
        1 => Just(Op::Rebuild),
        8 => (0u64..200).prop_map(Op::Pass),
        2 => (0u64..4000).prop_map(Op::Pass),
        1 => Just(Op::Crash),
        1 => Just(Op::Restart),
        4 => Just(Op::Commit),
    ];
    proptest::collection::vec(op, 1..120)
}

/// The frontier beside what it should be.
struct World<'d> {
    dir: &'d Path,
    connections: u32,
    kind: FilterKind,
    recrawl: bool,
    frontier: Option<Frontier>,
    now: Millis,
    leases: Vec<Lease>,
    known: BTreeSet<String>,
    attempts: BTreeMap<String, u8>,
    finished: BTreeSet<String>,
    /// Of pages that were fetched: when they are due again, in seconds, the interval, and the digest known.
    due: BTreeMap<String, (u64, u64, Option<u64>)>,
    /// Forgotten while in flight: seen until the lease has ended.
    leaving: BTreeSet<String>,
    /// Leases that were dropped, which the frontier learns at its next lease.
    dropped: BTreeSet<String>,
    /// Per host: when its last response ended, or the run began.
    ended: BTreeMap<String, Millis>,
}

impl World<'_> {
    fn frontier(&self) -> &Frontier {
        self.frontier.as_ref().expect("is open")
    }

    fn open(&mut self) {
        self.now += 10;
        self.leaving.clear();
        self.dropped.clear();
        let options = options(self.dir, self.connections, self.kind, self.recrawl);
        self.frontier = Some(Frontier::open(options, self.now, || {}).expect("opens"));
        self.ended.values_mut().for_each(|ended| *ended = self.now);
    }

    fn is_seen(&self, key: &str) -> bool {
        self.known.contains(key) || self.leaving.contains(key)
    }

    /// Those of the URLs that are not seen.
    fn new_among(&self, urls: &[u16]) -> BTreeSet<String> {
        urls.iter().map(|n| url(*n).key().to_owned()).filter(|key| !self.is_seen(key)).collect()
    }

    fn forget(&mut self, urls: &[u16]) -> Result<(), TestCaseError> {
        let keys: BTreeSet<String> = urls.iter().map(|n| url(*n).key().to_owned()).collect();
        let known: Vec<&String> = keys.iter().filter(|key| self.known.contains(*key)).collect();
        let is_out = |key: &String| self.dropped.contains(key) || self.leases.iter().any(|lease| lease.key() == key);
        let out: Vec<String> = known.iter().filter(|key| is_out(key)).map(|key| (*key).clone()).collect();
        let asked: Vec<Canonical> = urls.iter().map(|n| url(*n)).collect();
        let forgotten = self.frontier().forget(&asked).expect("forgets");
        prop_assert_eq!((forgotten.forgotten, forgotten.in_flight), (known.len() as u64, out.len() as u64));
        self.leaving.extend(out);
        for key in keys {
            self.known.remove(&key);
            self.finished.remove(&key);
            self.attempts.remove(&key);
            self.due.remove(&key);
        }
        Ok(())
    }

    fn lease(&mut self) -> Result<bool, TestCaseError> {
        for key in std::mem::take(&mut self.dropped) {
            self.leaving.remove(&key);
        }
        let lease = match self.frontier().lease(self.now).expect("answers") {
            Next::Lease(lease) => lease,
            Next::Wait { until } => {
                prop_assert!(until.is_none_or(|until| until > self.now), "a time to wait for lies ahead");
                return Ok(false);
            }
        };
        let key = lease.key().to_owned();
        let canonical = Canonical::parse(lease.url()).expect("a URL");
        prop_assert_eq!(canonical.key(), &*key);
        prop_assert!(self.known.contains(&key), "{} was never offered", key);
        if self.finished.remove(&key) {
            let due = self.due.get(&key).map(|(due, _, _)| *due);
            prop_assert!(due.is_some_and(|due| due <= self.now / 1000), "{} is finished; due {:?}", key, due);
            self.attempts.remove(&key);
        }
        prop_assert_eq!(lease.is_revisit(), self.due.contains_key(&key));
        prop_assert!(self.leases.iter().all(|l| l.key() != key), "{} is out already", key);
        let attempts = self.attempts.get(&key).copied().unwrap_or(0);
        prop_assert_eq!(lease.attempt(), u16::from(attempts) + 1);
        prop_assert!((1..=MAX_DEPTH).contains(&lease.depth()), "depth {}", lease.depth());
        let open = self.leases.iter().filter(|l| l.host() == lease.host()).count();
        prop_assert!(open < self.connections as usize, "no more connections than allowed");
        if let Some(ended) = self.ended.get(lease.host()) {
            prop_assert!(self.now >= ended + DELAY_MS, "{} was asked {} ms after", lease.host(), self.now - ended);
        }
        self.leases.push(lease);
        Ok(true)
    }

    fn complete(&mut self, index: usize, end: End, urls: &[u16]) {
        if self.leases.is_empty() {
            return;
        }
        let lease = self.leases.swap_remove(index % self.leases.len());
        let (key, host) = (lease.key().to_owned(), lease.host().to_owned());
        let attempts = self.attempts.get(&key).copied().unwrap_or(0);
        let again = attempts + 1 < MAX_ATTEMPTS;
        let (outcome, health, finished) = match end {
            End::Fetched(_) => (Outcome::Fetched { status: 200 }, Health::Answered, true),
            End::NotModified => (Outcome::Fetched { status: 304 }, Health::Answered, true),
            End::TryAgain => {
                (Outcome::TryAgain { status: 503 }, Health::RetryAfter(BlockReason::Unavailable, 70), !again)
            }
            End::Failed => {
                (Outcome::Failed { code: -2, transient: true }, Health::Failing(BlockReason::ConnectFailed), !again)
            }
            End::Denied => (Outcome::RobotsDenied, Health::Answered, true),
        };
        if self.leaving.contains(&key) {
            // What became of it is nobody's business any more.
        } else if finished {
            self.finished.insert(key.clone());
            self.finish(&key, end);
        } else {
            self.attempts.insert(key.clone(), attempts + 1);
        }
        let report = HostReport { ended: self.now, delay_ms: DELAY_MS, health };
        let host_report = (!matches!(end, End::Denied)).then_some(report);
        if host_report.is_some() {
            self.ended.insert(host, self.now);
        }
        let tally = Tally { fetches: 1, bytes: 10, statuses: [1, 0, 0, 0] };
        let found = found(urls);
        self.known.extend(self.new_among(urls));
        self.leaving.remove(&key);
        let completion = Completion { outcome, host: host_report, tally, visit: visit_of(end), found: &found };
        self.frontier().complete(lease, &completion, self.now).expect("completes");
    }

    /// When a page is due again: the rule of the frontier, said once more.
    fn finish(&mut self, key: &str, end: End) {
        let before = self.due.remove(key);
        let interval = before.map(|(_, interval, _)| interval);
        let known = before.and_then(|(_, _, digest)| digest);
        let (interval, digest) = match (end, interval) {
            (End::Denied, _) | (End::Failed, None) => return,
            (End::Failed, Some(interval)) => (interval, known),
            (_, None) if !self.recrawl => return,
            (End::TryAgain | End::NotModified, None) => (2, None),
            (End::Fetched(digest), None) => (2, Some(digest)),
            (End::TryAgain, Some(interval)) => (interval, known),
            (End::NotModified, Some(interval)) => (if self.recrawl { (interval * 2).min(8) } else { interval }, known),
            (End::Fetched(digest), Some(interval)) if !self.recrawl => (interval, Some(digest)),
            (End::Fetched(digest), Some(interval)) if known == Some(digest) => ((interval * 2).min(8), known),
            (End::Fetched(digest), Some(interval)) => (interval.div_ceil(2), Some(digest)),
        };
        self.due.insert(key.to_owned(), (self.now / 1000 + interval, interval, digest));
    }

    /// All that is to come due does. Each is denied then, so that it is not due again: a first class that always has
    /// something to fetch keeps the others waiting.
    fn come_due(&mut self) -> Result<(), TestCaseError> {
        self.recrawl = true;
        self.run(&Op::Restart)?;
        let mut left: BTreeSet<String> = self.due.keys().cloned().collect();
        self.now += 20_000;
        for _ in 0..20_000 {
            if left.is_empty() {
                return Ok(());
            }
            self.frontier().commit().expect("commits");
            if self.lease()? {
                left.remove(self.leases[0].key());
                self.complete(0, End::Denied, &[]);
            } else {
                self.now += DELAY_MS;
            }
        }
        let told = |key: &String| self.frontier().explain(&url(key.rsplit('/').next()?.parse().ok()?)).ok();
        let told: Vec<_> = left.iter().map(told).collect();
        Err(TestCaseError::fail(format!("never due: {left:?}: {told:?}")))
    }

    fn run(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Offer(urls) => {
                let new = self.new_among(urls);
                let offered = self.frontier().offer(&found(urls), None, self.now).expect("offers");
                prop_assert_eq!(offered.discovered, new.len() as u64);
                self.known.extend(new);
            }
            Op::Lease => {
                self.lease()?;
            }
            Op::Complete(index, end, urls) => self.complete(*index, *end, urls),
            Op::GiveBack(index) if !self.leases.is_empty() => {
                let lease = self.leases.swap_remove(index % self.leases.len());
                self.ended.insert(lease.host().to_owned(), self.now);
                self.leaving.remove(lease.key());
                let report = HostReport { ended: self.now, delay_ms: DELAY_MS, health: Health::Answered };
                let given = self.frontier().give_back(lease, Some(report), Tally::default());
                given.expect("gives back");
            }
            Op::DropLease(index) if !self.leases.is_empty() => {
                let lease = self.leases.swap_remove(index % self.leases.len());
                self.ended.insert(lease.host().to_owned(), self.now);
                self.dropped.insert(lease.key().to_owned());
                drop(lease);
            }
            Op::GiveBack(_) | Op::DropLease(_) => {}
            Op::Forget(urls) => self.forget(urls)?,
            Op::Rebuild => self.frontier().rebuild_filters(),
            Op::Pass(ms) => self.now += ms,
            Op::Crash => {
                // Everything in memory is lost; the journal, being committed, is not.
                std::mem::take(&mut self.leases);
                self.frontier().commit().expect("commits");
                drop(self.frontier.take());
                self.open();
            }
            Op::Restart => {
                std::mem::take(&mut self.leases);
                self.frontier.take().expect("is open").close().expect("closes");
                self.open();
            }
            Op::Commit => self.frontier().commit().expect("commits"),
        }
        let statistics = self.frontier().statistics().expect("answers");
        prop_assert_eq!(statistics.books.check(), Ok(()));
        prop_assert_eq!((statistics.books.discovered - statistics.books.forgotten) as usize, self.known.len());
        let due_again = self.due.keys().filter(|key| self.finished.contains(*key)).count();
        // Those that are due by now may be back in their queues, and not yet leased.
        prop_assert!(statistics.books.due_again as usize <= due_again, "{} due again", statistics.books.due_again);
        Ok(())
    }

    fn queued(&self) -> i64 {
        self.frontier().statistics().expect("answers").books.queued
    }

    /// Crawls to the end.
    fn drain(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..20_000 {
            self.frontier().commit().expect("commits");
            if self.lease()? || !self.leases.is_empty() {
                self.complete(0, End::Fetched(1), &[]);
            // A page that was due is back in its queue before it is leased.
            } else if self.finished.len() == self.known.len() && self.queued() == 0 {
                return Ok(());
            } else {
                self.now += DELAY_MS;
                // A store that is being opened again takes real time.
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        let lost: Vec<_> = self.known.difference(&self.finished).collect();
        Err(TestCaseError::fail(format!("never leased: {lost:?}")))
    }
}

/// What an answer brings for the next visit.
fn visit_of(end: End) -> Visit<'static> {
    match end {
        End::Fetched(digest) => Visit { digest: Some(digest), ..Visit::default() },
        End::NotModified => Visit { not_modified: true, ..Visit::default() },
        _ => Visit::default(),
    }
}

fn check(ops: &[Op], connections: u32, kind: FilterKind, recrawl: bool) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut world = World {
        dir: dir.path(),
        connections,
        kind,
        recrawl,
        frontier: None,
        now: 1_000_000,
        leases: Vec::new(),
        known: BTreeSet::new(),
        attempts: BTreeMap::new(),
        finished: BTreeSet::new(),
        due: BTreeMap::new(),
        leaving: BTreeSet::new(),
        dropped: BTreeSet::new(),
        ended: BTreeMap::new(),
    };
    world.open();
    for op in ops {
        world.run(op)?;
    }
    // Then no page comes due, and all come to their end.
    world.recrawl = false;
    world.run(&Op::Restart)?;
    world.drain()?;
    for n in 0..200 {
        let known = world.known.contains(url(n).key());
        prop_assert_eq!(world.frontier().seen(&url(n)).expect("answers"), known);
    }
    // Closed, so that no merge is between its write and its end: then the number of hosts is exact too.
    world.run(&Op::Restart)?;
    let statistics = world.frontier().statistics().expect("answers");
    prop_assert_eq!(statistics.books.queued, 0);
    let hosts: BTreeSet<&str> = world.known.iter().filter_map(|key| key.split(')').next()).collect();
    // A host of which everything was forgotten is still a host that was asked.
    let (counted, exact) = (statistics.hosts as usize, statistics.books.forgotten == 0);
    prop_assert!(counted == hosts.len() || (!exact && counted > hosts.len()), "{counted} hosts, {hosts:?}");
    prop_assert_eq!(statistics.books.due_again as usize, world.due.len());
    world.come_due()
}

proptest! {
    #![proptest_config(histories::config(32))]

    #[test]
    fn no_url_is_lost_doubled_or_hurried(
        ops in ops(), connections in 1u32..3, kind in 0usize..3, recrawl: bool,
    ) {
        check(&ops, connections, FilterKind::ALL[kind], recrawl)?;
    }
}
