//! A random history as it happens: the frontier beside the set of URLs that it must know, and what crashes do to both.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use frontier::{
    Canonical, Completion, Error, FilterKind, FilterOptions, Found, FoundUrl, Frontier, Health, HostReport, Millis,
    Next, Options, Outcome, Tally,
};
use proptest::prelude::*;

use crate::journal::{self, Journal};

const DELAY_MS: u64 = 10;
const DOMAINS: [&str; 4] = ["example.com", "example.org", "example.net", "example.edu"];

/// All URLs that there are; a history offers some of them.
pub static WEB: LazyLock<Vec<Canonical>> = LazyLock::new(|| (0..2000).map(url).collect());

fn url(n: usize) -> Canonical {
    let host = ["a", "b"][n / 4 % 2];
    Canonical::parse(&format!("https://{host}.{}/{n}", DOMAINS[domain_of(n)])).expect("a URL")
}

/// A domain lies in one partition.
fn domain_of(n: usize) -> usize {
    n / 8 % DOMAINS.len()
}

#[derive(Debug, Clone)]
pub enum Op {
    Offer(Range<usize>),
    /// Fetches up to so many pages; these URLs are on each.
    Crawl(usize, Range<usize>),
    Forget(Range<usize>),
    Rebuild,
    Restart,
    /// Everything in memory is lost, and this part of the journal that no store covers yet, in 65,536ths.
    Crash(u16),
    /// A part of what a store covers is lost from the journal, in 65,536ths.
    Lose(u16),
}

#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub kind: FilterKind,
    pub partitions: u16,
    pub recent_bytes: u64,
}

/// An event that the frontier acknowledged, and what it did to the URLs.
pub struct Said {
    sequence: u64,
    fetched: Option<usize>,
    new: Vec<usize>,
    forgotten: Vec<usize>,
}

impl Said {
    /// Known URLs, and whether they were fetched, after the event.
    fn apply(&self, known: &mut BTreeMap<usize, bool>) {
        known.extend(self.fetched.map(|n| (n, true)));
        known.extend(self.new.iter().map(|n| (*n, false)));
        self.forgotten.iter().for_each(|n| {
            known.remove(n);
        });
    }
}

/// What histories came to, so that they cannot silently miss their point.
#[derive(Default)]
pub struct Happened {
    pub histories: Cell<u64>,
    pub merges: Cell<u64>,
    pub rebuilds: Cell<u64>,
    pub crashes_that_lost: Cell<u64>,
    pub losses_refused: Cell<u64>,
}

pub struct World<'a> {
    pub dir: &'a Path,
    pub size: Size,
    pub frontier: Option<Frontier>,
    pub now: Millis,
    pub known: BTreeMap<usize, bool>,
    pub said: Vec<Said>,
    pub happened: &'a Happened,
}

impl World<'_> {
    fn options(&self) -> Options {
        let filter = FilterOptions {
            kind: self.size.kind,
            false_positive_rate: 0.2,
            initial_capacity: 64,
            max_layers: 2,
            rebuild_cpu_share: 1.0,
            ..FilterOptions::default()
        };
        Options {
            partitions: self.size.partitions,
            hot_cache_entries: 16,
            recent_bytes: self.size.recent_bytes,
            commit_interval: Duration::ZERO,
            filter,
            delay_ms: DELAY_MS,
            ..Options::new(self.dir)
        }
    }

    pub fn frontier(&self) -> &Frontier {
        self.frontier.as_ref().expect("is open")
    }

    pub fn open(&mut self) {
        self.now += 1;
        self.frontier = Some(Frontier::open(self.options(), self.now, || {}).expect("opens"));
    }

    /// Ends the frontier as a crash does: nothing is merged. What was said is in the journal.
    pub fn drop_frontier(&mut self) {
        if let Some(frontier) = self.frontier.take() {
            let statistics = frontier.statistics().expect("answers");
            self.happened.merges.set(self.happened.merges.get() + statistics.merges);
            self.happened.rebuilds.set(self.happened.rebuilds.get() + statistics.filter_rebuilds);
        }
    }

    fn say(&mut self, said: Said) {
        said.apply(&mut self.known);
        self.said.push(said);
    }

    fn found(&mut self, sequence: u64, fetched: Option<usize>, urls: &Range<usize>) -> u64 {
        let new: Vec<usize> = urls.clone().filter(|n| !self.known.contains_key(n)).collect();
        let discovered = new.len() as u64;
        self.say(Said { sequence, fetched, new, forgotten: Vec::new() });
        discovered
    }

    fn offer(&mut self, urls: &Range<usize>) -> Result<(), TestCaseError> {
        let offered = self.frontier().offer(&found(urls), None, self.now).expect("offers");
        prop_assert_eq!(offered.discovered, self.found(offered.sequence, None, urls), "of {:?}", urls);
        Ok(())
    }

    fn crawl(&mut self, pages: usize, urls: &Range<usize>) -> Result<(), TestCaseError> {
        self.frontier().commit().expect("commits");
        for _ in 0..pages {
            self.now += DELAY_MS;
            let Next::Lease(lease) = self.frontier().lease(self.now).expect("answers") else { continue };
            let page = lease.url().rsplit('/').next().and_then(|n| n.parse().ok());
            let report = HostReport { ended: self.now, delay_ms: DELAY_MS, health: Health::Answered };
            let (outcome, tally) = (Outcome::Fetched { status: 200 }, Tally::default());
            let completion =
                Completion { outcome, host: Some(report), tally, visit: Default::default(), found: &found(urls) };
            let completed = self.frontier().complete(lease, &completion, self.now).expect("completes");
            prop_assert_eq!(completed.discovered, self.found(completed.sequence, page, urls), "of {:?}", urls);
        }
        Ok(())
    }

    /// Domain by domain, so that each is one event.
    fn forget(&mut self, urls: &Range<usize>) -> Result<(), TestCaseError> {
        for domain in 0..DOMAINS.len() {
            let of_domain: Vec<usize> = urls.clone().filter(|n| domain_of(*n) == domain).collect();
            let asked: Vec<Canonical> = of_domain.iter().map(|n| WEB[*n].clone()).collect();
            let forgotten = of_domain.into_iter().filter(|n| self.known.contains_key(n)).collect::<Vec<_>>();
            let answer = self.frontier().forget(&asked).expect("forgets");
            prop_assert_eq!((answer.forgotten, answer.in_flight), (forgotten.len() as u64, 0));
            self.say(Said { sequence: answer.sequence, fetched: None, new: Vec::new(), forgotten });
        }
        Ok(())
    }

    pub fn run(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Offer(urls) => self.offer(urls),
            Op::Crawl(pages, urls) => self.crawl(*pages, urls),
            Op::Forget(urls) => self.forget(urls),
            Op::Rebuild => {
                self.frontier().rebuild_filters();
                Ok(())
            }
            Op::Restart => {
                self.frontier.take().expect("is open").close().expect("closes");
                self.open();
                self.check()
            }
            Op::Crash(part) => {
                self.drop_frontier();
                self.crash(*part);
                self.open();
                self.check()
            }
            Op::Lose(part) => {
                self.drop_frontier();
                self.lose(*part)?;
                self.open();
                self.check()
            }
        }
    }

    fn crash(&mut self, part: u16) {
        let journal = Journal::read(self.dir);
        let from = journal.end_of(journal::covered(self.dir));
        let cut = from + within(journal.bytes() - from, part);
        journal.cut(cut);
        let last = journal.last_within(cut);
        let before = self.said.len();
        self.said.retain(|said| said.sequence <= last);
        self.known.clear();
        self.said.iter().for_each(|said| said.apply(&mut self.known));
        let lost = u64::from(self.said.len() < before);
        self.happened.crashes_that_lost.set(self.happened.crashes_that_lost.get() + lost);
    }

    fn lose(&mut self, part: u16) -> Result<(), TestCaseError> {
        let journal = Journal::read(self.dir);
        let needed = journal.end_of(journal::covered(self.dir));
        if needed > 0 {
            journal.cut(within(needed - 1, part));
            let opened = Frontier::open(self.options(), self.now, || {});
            let refused = matches!(opened, Err(Error::Corrupt { .. }));
            prop_assert!(refused, "a journal that ends below what a store covers was opened");
            journal.restore();
            self.happened.losses_refused.set(self.happened.losses_refused.get() + 1);
        }
        Ok(())
    }

    /// Every URL of the web is known or not, as the set says.
    fn check(&self) -> Result<(), TestCaseError> {
        for (n, url) in WEB.iter().enumerate() {
            prop_assert_eq!(self.frontier().seen(url).expect("answers"), self.known.contains_key(&n), "{}", url.key());
        }
        let books = self.frontier().statistics().expect("answers").books;
        prop_assert_eq!(books.check(), Ok(()));
        prop_assert_eq!((books.discovered - books.forgotten) as usize, self.known.len());
        prop_assert_eq!(books.fetched as usize, self.known.values().filter(|fetched| **fetched).count());
        Ok(())
    }
}

pub fn found(urls: &Range<usize>) -> Found {
    let urls = WEB[urls.clone()].iter().map(|url| FoundUrl::new(url.clone(), 0));
    Found { urls: urls.collect(), ..Found::default() }
}

/// A number from 0 to `most`.
fn within(most: u64, part: u16) -> u64 {
    ((most + 1) * u64::from(part)) >> 16
}
