//! The verbs of the frontier. Each is one call; what belongs together is one event. How a lease ends: `ending`.
//!
//! Seen-or-new-and-queued is one verb, never "check" then "mark". A page's completion and all URLs found on it are one
//! frame of the journal. Nobody acts on an event before it is durable: a URL is leased only when the event that queued
//! it is, and [`Frontier::statistics`] waits until what it shows is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use crate::Millis;
use crate::audit::{self, Check};
use crate::booking;
use crate::canonical::{Canonical, RuleOptions, Rules, host_name, host_of_key, url_of_key};
use crate::checkpoint::Judge;
use crate::completion::{Attempts, HostReport};
use crate::directory::{self, Lock, Meta};
use crate::error::{Error, IoContext};
use crate::event::Event;
use crate::explain::{self, Explanation};
use crate::forgetting::{self, Forgotten};
use crate::found::Found;
use crate::hinting;
use crate::host::Politeness;
use crate::lease::{Lease, Next};
use crate::leasing::{self, Turn};
use crate::lowering;
use crate::merge::{self, After};
use crate::offering;
use crate::opening;
use crate::options::{FilterOptions, Options};
use crate::parking::{self, Grant, HostUsage, Released};
use crate::partition::{Partition, Recall};
use crate::returns::Returns;
use crate::revisiting;
use crate::shared::Shared;
use crate::statistics::Statistics;
use crate::steps::{Step, step};
use crate::store::Held;

#[cfg(test)]
mod by_hand;
mod ending;

/// URLs offered in one frame: bounds the time under locks and the size of a commit.
const OFFER_CHUNK: usize = 4096;
/// Milliseconds after which a lease is worth another try where all that is due is in a store that is being opened again.
const BUSY_MS: u64 = 5;

/// A durable, polite crawl frontier. Shared by all threads; every verb is synchronous and may read the disk.
pub struct Frontier {
    pub(crate) shared: Arc<Shared>,
    merger: Option<JoinHandle<()>>,
    rules: Rules,
    attempts: Attempts,
    pub(crate) politeness: Politeness,
    returns: Arc<Returns>,
}

/// What an offer came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// The journal sequence of the offer.
    pub sequence: u64,
    /// URLs new to the crawl.
    pub discovered: u64,
}

impl Frontier {
    /// Opens the data directory, replays what its stores do not cover yet, and starts the background work.
    ///
    /// `wake` is called from background threads whenever a lease may have become possible, and must be cheap.
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::Incompatible`], and what the disk says.
    pub fn open(options: Options, now: Millis, wake: impl Fn() + Send + Sync + 'static) -> Result<Self, Error> {
        let shared = Arc::new(opening::open(&options, Judge::BySettings, now, Arc::new(wake))?);
        shared.will_merge();
        let merging = Arc::clone(&shared);
        let merger = std::thread::Builder::new().name("merge".into()).spawn(move || merging.merge_until_closed());
        let (merger, returns) = (Some(merger.at(&options.dir)?), Arc::default());
        let politeness = options.politeness(shared.partitions.len());
        let attempts = Attempts::new(options.max_attempts, &options.max_attempts_by_reason);
        Ok(Self { shared, merger, rules: options.rules, attempts, politeness, returns })
    }

    /// Opens the directory of a stopped crawl to ask it questions: nothing is merged or rebuilt. `filter` is what its
    /// filters are judged by; without, they are taken as they are.
    ///
    /// # Errors
    /// [`Error::NoCrawl`] when there is none; as [`Frontier::open`].
    pub fn open_existing(dir: &Path, filter: Option<FilterOptions>, now: Millis) -> Result<Self, Error> {
        let meta = directory::read_meta(dir)?;
        let use_as = if filter.is_some() { Judge::BySettings } else { Judge::AsItIs };
        let options = Options::for_questions(dir, meta.partitions, filter);
        Self::open_stopped(Options { rules: Rules::new(meta.rules), ..options }, use_as, now)
    }

    /// The same, with the budgets and delays of a crawl: what is asked may depend on them. Rules and partitions are the
    /// directory's, whatever the options say, and its filters are taken as they are.
    ///
    /// # Errors
    /// [`Error::NoCrawl`] when there is none; as [`Frontier::open`].
    pub fn open_existing_under(options: Options, now: Millis) -> Result<Self, Error> {
        let meta = directory::read_meta(&options.dir)?;
        let (rules, partitions) = (Rules::new(meta.rules), meta.partitions);
        let journal_max_bytes = u64::MAX;
        Self::open_stopped(Options { rules, partitions, journal_max_bytes, ..options }, Judge::AsItIs, now)
    }

    fn open_stopped(options: Options, use_as: Judge, now: Millis) -> Result<Self, Error> {
        let shared = Arc::new(opening::open(&options, use_as, now, Arc::new(|| {}))?);
        let politeness = options.politeness(shared.partitions.len());
        let attempts = Attempts::new(1, &options.max_attempts_by_reason);
        Ok(Self { shared, merger: None, rules: options.rules, attempts, politeness, returns: Arc::default() })
    }

    /// Opens a directory that was taken, to be read by [`Rekey`](crate::Rekey): nothing is rebuilt, and no key made.
    pub(crate) fn open_to_rekey(
        dir: &Path,
        new: &Options,
        meta: Meta,
        lock: Arc<Lock>,
        now: Millis,
    ) -> Result<Self, Error> {
        let options = Options {
            rules: Rules::new(meta.rules.clone()),
            delay_ms: new.delay_ms,
            retry_delay_ms: new.retry_delay_ms,
            max_retry_delay_ms: new.max_retry_delay_ms,
            ..Options::for_questions(dir, meta.partitions, None)
        };
        let shared = Arc::new(opening::open_locked(&options, lock, &meta, Judge::AsItIs, now, Arc::new(|| {}))?);
        let politeness = options.politeness(shared.partitions.len());
        let attempts = Attempts::new(1, &options.max_attempts_by_reason);
        Ok(Self { shared, merger: None, rules: options.rules, attempts, politeness, returns: Arc::default() })
    }

    /// The rules by which the URLs of this crawl are made one. Every URL that is offered or asked for must come from them.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// That a directory holds a crawl, of a format that this program reads; and the rules that it was made under.
    ///
    /// # Errors
    /// [`Error::NoCrawl`] when there is none; [`Error::Incompatible`]; what the disk says.
    pub fn look(dir: &Path) -> Result<RuleOptions, Error> {
        directory::read_meta(dir).map(|meta| meta.rules)
    }

    /// Puts URLs that no page brought (seeds) through the seen-test and queues the new ones. Waits while memory is full.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn offer(&self, found: &Found, referrer: Option<&str>, now: Millis) -> Result<Offered, Error> {
        let shared = &*self.shared;
        let mut offers = offering::assign(found, &shared.secret, shared.partitions.len() as u16);
        let mut offered = Offered { sequence: 0, discovered: 0 };
        let mut page_books = offering::page_books(found);
        let mut chunks: Vec<&mut [offering::Offer<'_>]> = offers.chunks_mut(OFFER_CHUNK).collect();
        if chunks.is_empty() {
            chunks.push(&mut []);
        }
        for chunk in chunks {
            shared.wait_for_room(chunk.iter().map(|offer| offer.partition))?;
            let home = chunk.first().map_or(0, |offer| offer.partition);
            let mut locked = offering::decide(&shared.partitions, chunk, Some(home))?;
            step(Step::LinksJudged);
            offering::hold_back(&mut locked, chunk);
            let (new, mut books) = offering::outcome(chunk);
            books.add(&std::mem::take(&mut page_books));
            let mut parts: Vec<_> = found_parts(new, referrer, now).collect();
            match parts.iter_mut().find(|(number, _)| *number == home) {
                Some((_, Event::Found { books: of_home, .. })) => of_home.add(&books),
                _ => parts.push((home, Event::Found { at: now, referrer, urls: Vec::new(), books })),
            }
            offered.discovered += discovered(&parts);
            offered.sequence = shared.record(&mut locked, &parts)?;
            drop((locked, parts));
            lowering::lower(shared, chunk)?;
            hinting::hint(shared, chunk, now)?;
        }
        Ok(offered)
    }

    /// The next URL that may be fetched at `now`.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn lease(&self, now: Millis) -> Result<Next, Error> {
        let shared = &*self.shared;
        shared.health()?;
        self.take_returns(now)?;
        loop {
            let durable = shared.journal.durable();
            let due = |p: &Partition| {
                let committed = p.next_commit.load(Ordering::Acquire) <= durable;
                if committed { 0 } else { p.next_due.load(Ordering::Acquire) }
            };
            // The partition whose host has waited longest: fair across hosts. One whose store is just being opened again
            // comes after all others that are due.
            let dues = shared.partitions.iter().map(|p| (due(p), p));
            let first = dues.min_by_key(|(due, p)| (*due > now, *due <= now && p.store.is_reopening(), *due));
            let Some((_, partition)) = first.filter(|(due, _)| *due <= now) else {
                let until = first.map(|(due, _)| due).filter(|due| *due != Millis::MAX);
                return Ok(Next::Wait { until });
            };
            if !partition.store.is_reopening() {
                revisiting::queue_due(shared, partition, now)?;
            }
            match leasing::lease(shared, partition, now)? {
                Turn::Out(leased) => return Ok(Next::Lease(self.lease_of(partition.number, leased))),
                Turn::Later => return Ok(Next::Wait { until: Some(now) }),
                Turn::Busy => return Ok(Next::Wait { until: Some(now + BUSY_MS) }),
                Turn::Nothing => {}
            }
        }
    }

    fn lease_of(&self, partition: u16, leased: leasing::Leased) -> Lease {
        let key = &leased.item.key;
        Lease {
            url: leased.item.alternate.as_deref().map_or_else(|| url_of_key(key), str::to_owned),
            host_name: host_name(host_of_key(key)),
            partition,
            host: leased.host,
            fingerprint: leased.fingerprint,
            slots: leased.slots,
            item: Some(leased.item),
            returns: Arc::clone(&self.returns),
        }
    }

    /// Books a request to a host that no lease of it stands for, such as one for the robots.txt to which another host
    /// redirects. Returns when it may be made; if that is after `now`, call again then with what was `booked`: the host
    /// may have been asked, or have asked for rest, meanwhile. When it has ended, [`Frontier::report`] says so.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn book(&self, url: &Canonical, booked: Option<Millis>, now: Millis) -> Result<Millis, Error> {
        booking::book(&self.shared, &self.politeness, url, booked, now)
    }

    /// Takes in how a booked request ended: the host's next slot and back-off follow, as after any other.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn report(&self, url: &Canonical, report: &HostReport) -> Result<(), Error> {
        booking::report(&self.shared, &self.politeness, url, report)
    }

    /// Highest sequence that is durable.
    pub fn durable(&self) -> u64 {
        self.shared.journal.durable()
    }

    /// Waits until all that was said so far is durable.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    pub fn commit(&self) -> Result<(), Error> {
        self.shared.journal.wait_durable(self.shared.journal.last())
    }

    /// A snapshot whose books balance, of what is durable: waits up to a commit interval.
    ///
    /// # Errors
    /// [`Error::Poisoned`]; what the disk says.
    pub fn statistics(&self) -> Result<Statistics, Error> {
        let statistics = Statistics::collect(&self.shared)?;
        self.commit()?;
        Ok(statistics)
    }

    /// Whether a URL is known, without recording that it was asked for.
    ///
    /// # Errors
    /// What the disk says.
    pub fn seen(&self, url: &Canonical) -> Result<bool, Error> {
        let shared = &*self.shared;
        let number = shared.secret.partition(url.registrable_domain(), shared.partitions.len() as u16);
        let partition = &shared.partitions[usize::from(number)];
        let fingerprint = shared.secret.fingerprint(url.key());
        let mut state = partition.state.lock();
        match state.recall(fingerprint) {
            Recall::Seen { .. } => return Ok(true),
            Recall::Forgotten { .. } => return Ok(false),
            Recall::Unknown if state.ask_filter(&[fingerprint]) == [Some(false)] => return Ok(false),
            Recall::Unknown => {}
        }
        // The lock must not be held over a read.
        drop(state);
        Ok(matches!(partition.store.holds([url.key()].into_iter())?[..], [Held::Yes { .. }]))
    }

    /// All that is known of a URL and its host, and what would become of it if it were found; nothing is recorded.
    ///
    /// # Errors
    /// What the disk says.
    pub fn explain(&self, url: &Canonical) -> Result<Explanation, Error> {
        explain::explain(&self.shared, url)
    }

    /// Un-sees those of the URLs that are known: finished ones, and queued ones together with their place in the queue.
    /// One in flight counts as seen until its lease ends, and is gone then. If they are found again they are new.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn forget(&self, urls: &[Canonical]) -> Result<Forgotten, Error> {
        forgetting::forget(&self.shared, urls, false)
    }

    /// What [`Frontier::forget`] would come to now; nothing is forgotten.
    ///
    /// # Errors
    /// What the disk says.
    pub fn would_forget(&self, urls: &[Canonical]) -> Result<Forgotten, Error> {
        forgetting::forget(&self.shared, urls, true)
    }

    /// What is known of the URL's host, and how much of its budgets it has used.
    ///
    /// # Errors
    /// What the disk says.
    pub fn usage(&self, host: &Canonical) -> Result<HostUsage, Error> {
        parking::usage(&self.shared, host)
    }

    /// Has the growth guard leave the URL's host alone for good: it is asked at its own pace again. Durable with the next
    /// commit.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn unslow(&self, host: &Canonical) -> Result<HostUsage, Error> {
        parking::unslow(&self.shared, host)
    }

    /// The hosts with parked URLs, a grant or a word of the growth guard, those with most parked URLs first. Reads every
    /// host in the store.
    ///
    /// # Errors
    /// What the disk says.
    pub fn held_back(&self) -> Result<Vec<HostUsage>, Error> {
        parking::held_back(&self.shared)
    }

    /// Sets what the URL's host is granted beyond its budgets; it is durable with the next commit.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn grant(&self, host: &Canonical, grant: Grant) -> Result<HostUsage, Error> {
        parking::grant(&self.shared, host, grant)
    }

    /// Puts parked URLs of the URL's host back into its queue, as far as the budgets have room for them; all of them where
    /// there is no budget. Their referrers are not kept. Takes a merge.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn release(&self, host: &Canonical) -> Result<Released, Error> {
        parking::release(&self.shared, host)
    }

    /// Puts the filter's promises to the test, on the live data; records nothing. Takes seconds for millions of URLs.
    ///
    /// # Errors
    /// What the disk says.
    pub fn audit(&self) -> Result<Vec<Check>, Error> {
        audit::audit(&self.shared)
    }

    /// Asks for every filter to be rebuilt from the exact set, in the background.
    pub fn rebuild_filters(&self) {
        self.shared.request_rebuild();
    }

    /// That journal, stores and background work are well.
    ///
    /// # Errors
    /// [`Error::Poisoned`] when one has failed or hangs: the process must end.
    pub fn health(&self) -> Result<(), Error> {
        self.shared.health()
    }

    /// Commits, merges everything into the stores with filters checkpointed, and releases the directory.
    ///
    /// # Errors
    /// What the disk says. All that was durable before stays so.
    pub fn close(mut self) -> Result<(), Error> {
        self.stop_merger();
        self.health()?;
        self.commit()?;
        for partition in &self.shared.partitions {
            merge::merge(&self.shared, partition, After::Close)?;
        }
        self.shared.journal.close()
    }

    fn stop_merger(&mut self) {
        self.shared.stop_merging();
        if let Some(merger) = self.merger.take()
            && merger.join().is_err()
        {
            self.shared.fail("the merge thread panicked".into());
        }
    }
}

impl Drop for Frontier {
    fn drop(&mut self) {
        self.stop_merger();
    }
}

/// The event of each locked partition that the offers concern.
/// The events of a batch's new URLs.
fn found_parts<'a>(
    new: Vec<offering::NewUrls<'a>>,
    referrer: Option<&'a str>,
    at: Millis,
) -> impl Iterator<Item = (u16, Event<'a>)> {
    new.into_iter().map(move |offering::NewUrls { partition, urls, books }| {
        (partition, Event::Found { at, referrer, urls, books })
    })
}

fn discovered(parts: &[(u16, Event<'_>)]) -> u64 {
    let count = |event: &Event<'_>| if let Event::Found { urls, .. } = event { urls.len() as u64 } else { 0 };
    parts.iter().map(|(_, event)| count(event)).sum()
}
