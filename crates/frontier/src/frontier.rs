//! The verbs of the frontier: offer, lease, complete, give back. Each is one call; what belongs together is one event.
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
use crate::books::Books;
use crate::canonical::{Canonical, host_name, host_of_key, url_of_key};
use crate::completion::{Completed, Completion, HostReport, Tally, after, end_of, outcome_books, tally_books};
use crate::directory;
use crate::error::{Error, IoContext};
use crate::event::{Event, frame};
use crate::found::Found;
use crate::host::Politeness;
use crate::lease::{Lease, Next};
use crate::leasing::{self, Turn, change_of};
use crate::merge::{self, After};
use crate::offering;
use crate::opening;
use crate::options::Options;
use crate::partition::{Answer, Partition};
use crate::record::State;
use crate::returns::Returns;
use crate::shared::Shared;
use crate::statistics::Statistics;

/// URLs offered in one frame: bounds the time under locks and the size of a commit.
const OFFER_CHUNK: usize = 4096;
/// A durable, polite crawl frontier. Shared by all threads; every verb is synchronous and may read the disk.
pub struct Frontier {
    pub(crate) shared: Arc<Shared>,
    merger: Option<JoinHandle<()>>,
    max_attempts: u8,
    politeness: Politeness,
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
        let shared = Arc::new(opening::open(&options, now, Arc::new(wake))?);
        let merging = Arc::clone(&shared);
        let merger = std::thread::Builder::new().name("merge".into()).spawn(move || merging.merge_until_closed());
        let (merger, returns) = (Some(merger.at(&options.dir)?), Arc::default());
        let politeness = options.politeness(shared.partitions.len());
        Ok(Self { shared, merger, max_attempts: options.max_attempts.max(1), politeness, returns })
    }

    /// Opens the directory of a stopped crawl to ask it questions.
    ///
    /// # Errors
    /// [`Error::NoCrawl`] when there is none; as [`Frontier::open`].
    pub fn open_existing(dir: &Path, now: Millis) -> Result<Self, Error> {
        let meta = directory::read_meta(dir)?;
        Self::open(Options::for_questions(dir, meta.partitions), now, || {})
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
            shared.wait_for_room(chunk)?;
            let home = chunk.first().map_or(0, |offer| offer.partition);
            let mut locked = offering::decide(&shared.partitions, chunk, Some(home))?;
            let mut parts = found_parts(&locked, chunk, referrer, now);
            let books = std::mem::take(&mut page_books);
            match parts.iter_mut().find(|(number, _)| *number == home) {
                Some((_, Event::Found { books: of_home, .. })) => of_home.add(&books),
                _ => parts.push((home, Event::Found { at: now, referrer, urls: Vec::new(), books })),
            }
            offered.discovered += discovered(&parts);
            offered.sequence = shared.record(&mut locked, &parts)?;
        }
        Ok(offered)
    }

    /// The next URL that may be fetched at `now`.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn lease(&self, now: Millis) -> Result<Next, Error> {
        self.take_returns(now)?;
        let shared = &*self.shared;
        loop {
            let durable = shared.journal.durable();
            let due = |p: &Partition| {
                let committed = p.next_commit.load(Ordering::Acquire) <= durable;
                if committed { 0 } else { p.next_due.load(Ordering::Acquire) }
            };
            // The partition whose host has waited longest: fair across hosts.
            let first = shared.partitions.iter().map(|p| (due(p), p)).min_by_key(|(due, _)| *due);
            let Some((_, partition)) = first.filter(|(due, _)| *due <= now) else {
                let until = first.map(|(due, _)| due).filter(|due| *due != Millis::MAX);
                return Ok(Next::Wait { until });
            };
            match leasing::lease(partition, &shared.journal, &shared.secret, now)? {
                Turn::Out(leased) => return Ok(Next::Lease(self.lease_of(partition.number, leased))),
                Turn::Crowded => shared.request_merge(partition.number),
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

    /// Ends a lease: the outcome and all URLs found on the page become one event. The host's slot is free at once; the
    /// page is done when the event is durable.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`]. The URL is then fetched again after a restart.
    pub fn complete(&self, mut lease: Lease, completion: &Completion<'_>, now: Millis) -> Result<Completed, Error> {
        let shared = &*self.shared;
        let mut offers = offering::assign(completion.found, &shared.secret, shared.partitions.len() as u16);
        let home = lease.partition;
        let mut locked = offering::decide(&shared.partitions, &mut offers, Some(home))?;
        let mut item = lease.item.take().expect("a lease that can be passed has its item");
        let state = locked.state(home);
        let (end, status) = end_of(&completion.outcome, item.record.attempts, self.max_attempts);
        item.record.block = state.queues.block_of(lease.fingerprint, &item);
        item.record.attempts += u8::from(end == State::Queued);
        (item.record.state, item.record.status, item.record.starts) = (end, status, 0);
        let before = state.queues.host(lease.host).state;
        let host = completion.host.map(|report| after(&before, &report, &self.politeness));

        let mut books = outcome_books(end);
        books.add(&tally_books(&completion.tally));
        books.add(&offering::page_books(completion.found));
        let event = Event::Completed { change: change_of(&item), host, books };
        let mut parts = vec![(home, event)];
        parts.extend(found_parts(&locked, &offers, Some(&lease.url), now));
        let state = locked.state(home);
        state.queues.ended(lease.host, lease.fingerprint);
        match &completion.host {
            Some(report) => state.queues.response_ended(lease.host, report.ended, report.delay_ms),
            None => state.queues.restore_slot(lease.host, lease.slots),
        }
        let sequence = shared.record(&mut locked, &parts)?;
        let state = locked.state(home);
        state.queues.schedule(lease.host);
        shared.partitions[usize::from(home)].publish(state);
        Ok(Completed { sequence, discovered: discovered(&parts), requeued: end == State::Queued })
    }

    /// Gives a URL back unfetched: its host's robots.txt had to be fetched first, or the crawl stops. Not an attempt.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn give_back(&self, mut lease: Lease, host: Option<HostReport>, tally: Tally) -> Result<(), Error> {
        let mut item = lease.item.take().expect("a lease that can be passed has its item");
        item.record.starts = item.record.starts.saturating_sub(1);
        let shared = &*self.shared;
        let partition = &shared.partitions[usize::from(lease.partition)];
        let mut state = partition.state.lock();
        item.record.block = state.queues.block_of(lease.fingerprint, &item);
        let mut parts = vec![Event::Leased(change_of(&item))];
        let before = state.queues.host(lease.host).state;
        let name = host_of_key(&item.key).to_owned();
        match host {
            Some(report) => {
                let host = after(&before, &report, &self.politeness);
                state.queues.response_ended(lease.host, report.ended, report.delay_ms);
                parts.push(Event::Host { host: &name, state: host, books: tally_books(&tally) });
            }
            None => state.queues.restore_slot(lease.host, lease.slots),
        }
        let numbered: Vec<(u16, &Event<'_>)> = parts.iter().map(|event| (lease.partition, event)).collect();
        let sequence = shared.journal.append(&frame(&numbered))?;
        parts.iter().for_each(|event| state.apply(sequence, event));
        drop(parts);
        state.queues.put_back(lease.host, lease.fingerprint, item);
        partition.publish(&state);
        Ok(())
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
        // Bound first: the lock must not be held over a read.
        let answer = partition.state.lock().probe(shared.secret.fingerprint(url.key()));
        match answer {
            Answer::Seen => Ok(true),
            Answer::Absent => Ok(false),
            Answer::Maybe | Answer::Bypassed => Ok(partition.store.contains([url.key()].into_iter())? == [true]),
        }
    }

    /// Puts the filter's promises to the test, on the live data; records nothing. `budget` is the
    /// rate of false positives that was asked for. Takes seconds for millions of URLs.
    ///
    /// # Errors
    /// What the disk says.
    pub fn audit(&self, budget: f64) -> Result<Vec<Check>, Error> {
        audit::audit(&self.shared, budget)
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

    /// Leases that were dropped: their URLs go back, and their hosts wait a full delay from now.
    fn take_returns(&self, now: Millis) -> Result<(), Error> {
        for returned in self.returns.take() {
            let partition = &self.shared.partitions[usize::from(returned.partition)];
            let mut state = partition.state.lock();
            let name = host_of_key(&returned.item.key).to_owned();
            let mut host = state.queues.host(returned.host).state;
            host.next_slot = host.next_slot.max(now + host.delay_ms);
            state.queues.response_ended(returned.host, now, host.delay_ms);
            let event = Event::Host { host: &name, state: host, books: Books::default() };
            let sequence = self.shared.journal.append(&frame(&[(returned.partition, &event)]))?;
            state.apply(sequence, &event);
            let mut item = returned.item;
            item.record.block = state.queues.block_of(returned.fingerprint, &item);
            state.queues.put_back(returned.host, returned.fingerprint, item);
            partition.publish(&state);
        }
        Ok(())
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
fn found_parts<'a>(
    locked: &offering::Locked<'_>,
    offers: &[offering::Offer<'a>],
    referrer: Option<&'a str>,
    at: Millis,
) -> Vec<(u16, Event<'a>)> {
    let numbers = locked.0.iter().map(|(number, _)| *number);
    numbers
        .filter_map(|number| {
            let urls = offering::new_urls(offers, number);
            let books = offering::books(offers, number);
            (books != Books::default()).then_some((number, Event::Found { at, referrer, urls, books }))
        })
        .collect()
}

fn discovered(parts: &[(u16, Event<'_>)]) -> u64 {
    let count = |event: &Event<'_>| if let Event::Found { urls, .. } = event { urls.len() as u64 } else { 0 };
    parts.iter().map(|(_, event)| count(event)).sum()
}
