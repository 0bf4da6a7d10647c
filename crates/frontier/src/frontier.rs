//! The verbs of the frontier: offer, lease, complete, give back. Each is one call; what belongs together is one event.
//!
//! Seen-or-new-and-queued is one verb, never "check" then "mark". A page's completion and all URLs found on it are one
//! frame of the journal. Nobody acts on an event before it is durable: a URL is leased only when the event that queued
//! it is, and [`Frontier::statistics`] waits until what it shows is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::Millis;
use crate::books::Books;
use crate::canonical::{Canonical, host_name, host_of_key, url_of_key};
use crate::checkpoint::Checkpoint;
use crate::completion::{Completed, Completion, Health, HostReport, Outcome, Tally};
use crate::directory::{self, Lock};
use crate::error::{Error, IoContext};
use crate::event::{Event, decode_parts, frame};
use crate::fingerprint::Secret;
use crate::found::Found;
use crate::journal::{Journal, Pace, Sequence};
use crate::lease::{Lease, Next};
use crate::leasing::{self, Turn, change_of};
use crate::merge::{self, After};
use crate::offering;
use crate::partition::{Answer, Partition, State};
use crate::queue::{Politeness, Queues};
use crate::record::{HostState, State as UrlState};
use crate::returns::Returns;
use crate::statistics::Statistics;
use crate::store::Store;

/// URLs offered in one frame: bounds the time under locks and the size of a commit.
const OFFER_CHUNK: usize = 4096;
/// Share of `recent_bytes` that one generation of one partition may use: two generations.
const GENERATIONS: u64 = 2;
/// Hosts that all partitions together keep in memory though they have nothing to do now. About 400 bytes each.
const HOSTS_IN_MEMORY: usize = 65_536;
/// … and each of many partitions at least.
const MIN_HOSTS_IN_MEMORY: usize = 256;
/// A journal sync or store flush that takes longer has failed (a flush on a full disk hangs and returns no error).
const SYNC_LIMIT: Duration = Duration::from_secs(60);

/// What a frontier is opened with. Sizes are totals of the process, split over partitions.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory; made when missing.
    pub dir: PathBuf,
    /// Number of partitions of a directory that is made now; an existing one keeps its own.
    pub partitions: u16,
    /// Fingerprints in the hot cache, 16 bytes each.
    pub hot_cache_entries: usize,
    /// Memory for URLs not yet merged, in bytes.
    pub recent_bytes: u64,
    /// Pause between two commits of the journal.
    pub commit_interval: Duration,
    /// Size beyond which the journal makes the partition merge that keeps its oldest segment, in bytes.
    pub journal_max_bytes: u64,
    /// Rate of false positives, over all layers of a filter.
    pub false_positive_rate: f64,
    /// URLs for which the first layers are sized.
    pub filter_initial_capacity: u64,
    /// How much larger each further layer is.
    pub filter_growth_factor: f64,
    /// Memory for the stores' caches, in bytes.
    pub store_cache_bytes: u64,
    /// Requests open to one host at a time.
    pub connections_per_host: u32,
    /// Delay of hosts not asked yet, in milliseconds.
    pub delay_ms: u64,
    /// Attempts at a URL before it has failed.
    pub max_attempts: u8,
    /// First back-off of a failing host, doubled with each further failure, in milliseconds.
    pub retry_delay_ms: u64,
    /// Longest back-off, and longest Retry-After that is honoured, in milliseconds.
    pub max_retry_delay_ms: u64,
}

/// A durable, polite crawl frontier. Shared by all threads; every verb is synchronous and may read the disk.
pub struct Frontier {
    pub(crate) shared: Arc<Shared>,
    merger: Option<JoinHandle<()>>,
    max_attempts: u8,
    politeness: Politeness,
    returns: Arc<Returns>,
}

/// What verbs and background work share.
pub(crate) struct Shared {
    pub(crate) secret: Secret,
    pub(crate) journal: Journal,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) filter_settings: bloom::Settings,
    generation_bytes: usize,
    journal_max_bytes: u64,
    wake: Arc<dyn Fn() + Send + Sync>,
    /// Partitions that want a merge.
    requests: Mutex<Vec<u16>>,
    requested: Condvar,
    closing: AtomicBool,
    failed: Mutex<Option<String>>,
    merges: AtomicU64,
    offer_waits: AtomicU64,
    _lock: Lock,
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
        std::fs::create_dir_all(&options.dir).at(&options.dir)?;
        let lock = directory::lock(&options.dir)?;
        let meta = directory::meta(&options.dir, options.partitions)?;
        if meta.partitions != options.partitions {
            tracing::warn!(asked = options.partitions, kept = meta.partitions, "the directory keeps its partitions");
        }
        let count = u64::from(meta.partitions);
        let politeness = Politeness {
            connections_per_host: options.connections_per_host.max(1),
            delay_ms: options.delay_ms,
            retry_delay_ms: options.retry_delay_ms,
            max_retry_delay_ms: options.max_retry_delay_ms,
            hosts_in_memory: (HOSTS_IN_MEMORY / usize::from(meta.partitions)).max(MIN_HOSTS_IN_MEMORY),
        };
        let filter_settings = bloom::Settings {
            false_positive_rate: options.false_positive_rate,
            initial_capacity: options.filter_initial_capacity.div_ceil(count).max(1),
            growth_factor: options.filter_growth_factor,
        };
        let mut partitions = (0..meta.partitions)
            .map(|number| open_partition(&options, &meta, number, filter_settings, Queues::new(politeness, now)))
            .collect::<Result<Vec<_>, _>>()?;
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
        let journal = open_journal(&options, &mut partitions, Arc::clone(&wake))?;
        for partition in &mut partitions {
            partition.state.get_mut().queues.wait_full_delays();
        }
        let shared = Arc::new(Shared {
            secret: meta.secret,
            journal,
            partitions,
            filter_settings,
            generation_bytes: (options.recent_bytes / count / GENERATIONS) as usize,
            journal_max_bytes: options.journal_max_bytes,
            wake,
            requests: Mutex::new(Vec::new()),
            requested: Condvar::new(),
            closing: AtomicBool::new(false),
            failed: Mutex::new(None),
            merges: AtomicU64::new(0),
            offer_waits: AtomicU64::new(0),
            _lock: lock,
        });
        let merger = {
            let shared = Arc::clone(&shared);
            let spawned = std::thread::Builder::new().name("merge".into()).spawn(move || shared.merge_until_closed());
            Some(spawned.at(&options.dir)?)
        };
        let returns = Arc::default();
        Ok(Self { shared, merger, max_attempts: options.max_attempts.max(1), politeness, returns })
    }

    /// Opens the directory of a stopped crawl to ask it questions.
    ///
    /// # Errors
    /// [`Error::NoCrawl`] when there is none; as [`Frontier::open`].
    pub fn open_existing(dir: &Path, now: Millis) -> Result<Self, Error> {
        let meta = directory::read_meta(dir)?;
        let options = Options {
            dir: dir.to_owned(),
            partitions: meta.partitions,
            hot_cache_entries: 0,
            recent_bytes: 1 << 28,
            commit_interval: Duration::ZERO,
            journal_max_bytes: u64::MAX,
            // Layers of whatever budget are read; none is written.
            false_positive_rate: 0.5,
            filter_initial_capacity: 1,
            filter_growth_factor: 2.0,
            store_cache_bytes: 1 << 24,
            connections_per_host: 1,
            delay_ms: 0,
            max_attempts: 1,
            retry_delay_ms: 0,
            max_retry_delay_ms: 0,
        };
        Self::open(options, now, || {})
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
            self.wait_for_room(chunk)?;
            let home = chunk.first().map_or(0, |offer| offer.partition);
            let mut locked = offering::decide(&shared.partitions, chunk, Some(home))?;
            let mut parts = found_parts(&locked, chunk, referrer, now);
            if let Some((_, Event::Found { books, .. })) = parts.iter_mut().find(|(number, _)| *number == home) {
                books.add(&std::mem::take(&mut page_books));
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
            let Some((due, partition)) = first.filter(|(due, _)| *due <= now) else {
                let until = first.map(|(due, _)| due).filter(|due| *due != Millis::MAX);
                return Ok(Next::Wait { until });
            };
            debug_assert!(due <= now);
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
            slot_before: leased.slot_before,
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
        let (end, status) = self.end_of(&completion.outcome, item.record.attempts);
        item.record.block = state.queues.held.get(&lease.fingerprint).map_or(item.record.block, |held| held.block);
        item.record.attempts += u8::from(end == UrlState::Queued);
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
        if host.is_none() {
            state.queues.host_mut(lease.host).state.next_slot = lease.slot_before;
        }
        let sequence = shared.record(&mut locked, &parts)?;
        let state = locked.state(home);
        state.queues.schedule(lease.host);
        shared.partitions[usize::from(home)].publish(state);
        Ok(Completed { sequence, discovered: discovered(&parts), requeued: end == UrlState::Queued })
    }

    /// Gives a URL back unfetched: its host's robots.txt had to be fetched first, or the crawl stops. Not an attempt.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn give_back(
        &self,
        mut lease: Lease,
        host: Option<HostReport>,
        tally: Tally,
        _now: Millis,
    ) -> Result<(), Error> {
        let mut item = lease.item.take().expect("a lease that can be passed has its item");
        item.record.starts = item.record.starts.saturating_sub(1);
        let shared = &*self.shared;
        let partition = &shared.partitions[usize::from(lease.partition)];
        let mut state = partition.state.lock();
        item.record.block = state.queues.held.get(&lease.fingerprint).map_or(item.record.block, |held| held.block);
        let mut parts = vec![Event::Leased(change_of(&item))];
        let before = state.queues.host(lease.host).state;
        let name = host_of_key(&item.key).to_owned();
        match host {
            Some(report) => {
                let host = after(&before, &report, &self.politeness);
                parts.push(Event::Host { host: &name, state: host, books: tally_books(&tally) });
            }
            None => state.queues.host_mut(lease.host).state.next_slot = lease.slot_before,
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
        match partition.state.lock().probe(shared.secret.fingerprint(url.key())) {
            Answer::Seen => Ok(true),
            Answer::Absent => Ok(false),
            Answer::Maybe | Answer::Bypassed => Ok(partition.store.contains([url.key()].into_iter())? == [true]),
        }
    }

    /// That journal, stores and background work are well.
    ///
    /// # Errors
    /// [`Error::Poisoned`] when one has failed or hangs: the process must end.
    pub fn health(&self) -> Result<(), Error> {
        if let Some(why) = &*self.shared.failed.lock() {
            return Err(Error::Poisoned(why.clone()));
        }
        self.shared.journal.health(SYNC_LIMIT)?;
        self.shared.partitions.iter().try_for_each(|p| p.store.health(SYNC_LIMIT))
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
            let event = Event::Host { host: &name, state: host, books: Books::default() };
            let sequence = self.shared.journal.append(&frame(&[(returned.partition, &event)]))?;
            state.apply(sequence, &event);
            let mut item = returned.item;
            item.record.block = state.queues.held.get(&returned.fingerprint).map_or(item.record.block, |h| h.block);
            state.queues.put_back(returned.host, returned.fingerprint, item);
            partition.publish(&state);
        }
        Ok(())
    }

    /// State and status after an outcome.
    fn end_of(&self, outcome: &Outcome, attempts: u8) -> (UrlState, i16) {
        let again = attempts + 1 < self.max_attempts;
        match *outcome {
            Outcome::Fetched { status } => (UrlState::Fetched, status as i16),
            Outcome::TryAgain { status } if again => (UrlState::Queued, status as i16),
            Outcome::TryAgain { status } => (UrlState::Fetched, status as i16),
            Outcome::Failed { code, transient: true } if again => (UrlState::Queued, code),
            Outcome::Failed { code, .. } => (UrlState::Failed, code),
            Outcome::RobotsDenied => (UrlState::RobotsDenied, 0),
            Outcome::Excluded { code } => (UrlState::Excluded, code),
        }
    }

    /// Offers wait, leases and completions do not: what a page brought is taken in whatever it costs.
    fn wait_for_room(&self, offers: &[offering::Offer<'_>]) -> Result<(), Error> {
        let shared = &*self.shared;
        let mut waited = shared.journal.wait_room()?;
        for offer in offers {
            let partition = &shared.partitions[usize::from(offer.partition)];
            let mut state = partition.state.lock();
            while state.frozen.is_some() && state.active.bytes() > shared.generation_bytes {
                waited = true;
                self.health()?;
                partition.room.wait_for(&mut state, Duration::from_secs(1));
            }
        }
        shared.offer_waits.fetch_add(u64::from(waited), Ordering::Relaxed);
        Ok(())
    }

    fn stop_merger(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.requested.notify_one();
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

impl Shared {
    /// Makes the parts of one verb one event: journaled, then folded into each partition, all under their locks.
    fn record(&self, locked: &mut offering::Locked<'_>, parts: &[(u16, Event<'_>)]) -> Result<Sequence, Error> {
        let numbered: Vec<(u16, &Event<'_>)> = parts.iter().map(|(number, event)| (*number, event)).collect();
        let sequence = self.journal.append(&frame(&numbered))?;
        for (number, event) in parts {
            locked.state(*number).apply(sequence, event);
        }
        for (number, state) in &locked.0 {
            self.partitions[usize::from(*number)].publish(state);
            if state.frozen.is_none() && (state.active.bytes() > self.generation_bytes || state.active.is_full()) {
                self.request_merge(*number);
            }
        }
        Ok(sequence)
    }

    fn request_merge(&self, number: u16) {
        let mut requests = self.requests.lock();
        if !requests.contains(&number) {
            requests.push(number);
            self.requested.notify_one();
        }
    }

    /// Deletes journal segments that no store or filter needs any more.
    pub(crate) fn trim_journal(&self) -> Result<(), Error> {
        let covered = self.partitions.iter().map(|p| p.state.lock().covered.sequence).min();
        self.journal.trim(covered.unwrap_or(0))
    }

    fn merge_until_closed(&self) {
        if let Err(error) = self.merge_loop() {
            self.fail(error.to_string());
        }
    }

    fn merge_loop(&self) -> Result<(), Error> {
        for partition in &self.partitions {
            if partition.state.lock().filter.is_none() {
                merge::rebuild(self, partition)?;
                tracing::info!(partition = partition.number, "filter rebuilt from the exact set");
            }
        }
        while !self.closing.load(Ordering::Acquire) {
            let Some(number) = self.next_merge() else { continue };
            let partition = &self.partitions[usize::from(number)];
            merge::merge(self, partition, After::Reopen)?;
            self.requests.lock().retain(|n| *n != number);
            self.merges.fetch_add(1, Ordering::Relaxed);
            (self.wake)();
        }
        Ok(())
    }

    /// The partition to merge next: one that asked, or, when the journal is too large, the one that keeps its oldest
    /// segment. Waits a second for one.
    fn next_merge(&self) -> Option<u16> {
        let mut requests = self.requests.lock();
        if requests.is_empty() {
            self.requested.wait_for(&mut requests, Duration::from_secs(1));
        }
        if let Some(number) = requests.first() {
            return Some(*number);
        }
        drop(requests);
        let oldest_end = self.journal.oldest_segment_end()?;
        if self.journal.bytes() <= self.journal_max_bytes {
            return None;
        }
        let covered = |p: &&Partition| p.state.lock().covered.sequence;
        self.partitions.iter().min_by_key(covered).filter(|p| covered(p) < oldest_end).map(|p| p.number)
    }

    fn fail(&self, why: String) {
        self.failed.lock().get_or_insert(why);
        (self.wake)();
    }

    /// Merges done and offers that had to wait, since the start.
    pub(crate) fn pressure(&self) -> (u64, u64) {
        (self.merges.load(Ordering::Relaxed), self.offer_waits.load(Ordering::Relaxed))
    }
}

fn open_partition(
    options: &Options,
    meta: &directory::Meta,
    number: u16,
    settings: bloom::Settings,
    queues: Queues,
) -> Result<Partition, Error> {
    let (store_dir, filter_dir) = directory::partition_dirs(&options.dir, number);
    std::fs::create_dir_all(&store_dir).at(&store_dir)?;
    let count = usize::from(meta.partitions);
    let store = Store::open(&store_dir, options.store_cache_bytes as usize / count)?;
    let covered = store.covered()?;
    let mut checkpoint = Checkpoint::open(&filter_dir, meta.secret.check())?;
    let mut state = State::new(meta.secret.clone(), options.hot_cache_entries.div_ceil(count), queues, covered);
    if let Err(reason) = merge::restore_filter(&mut checkpoint, settings, covered.sequence, &mut state) {
        tracing::warn!(partition = number, reason, "filter cannot be used: answering maybe and rebuilding it");
    }
    Ok(Partition::new(number, store, checkpoint, state))
}

/// Replays what each partition's store (or filter) does not cover.
fn open_journal(
    options: &Options,
    partitions: &mut [Partition],
    wake: Arc<dyn Fn() + Send + Sync>,
) -> Result<Journal, Error> {
    let dir = options.dir.join("journal");
    let known = partitions.iter_mut().map(|p| p.state.get_mut().covered.sequence).max().unwrap_or(0);
    let pace = Pace { interval: options.commit_interval, max_bytes: options.journal_max_bytes };
    let damaged = dir.clone();
    Journal::open(&dir, &pace, known, Box::new(move || wake()), |sequence, event| {
        let parts = decode_parts(event).map_err(|e| Error::corrupt(&damaged, format!("event {sequence}: {e}")))?;
        for (number, event) in parts {
            let Some(partition) = partitions.get_mut(usize::from(number)) else {
                return Err(Error::corrupt(&damaged, format!("event {sequence} is of partition {number}")));
            };
            let state = partition.state.get_mut();
            if sequence > state.covered.sequence {
                state.apply(sequence, &event);
            }
        }
        Ok(())
    })
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

/// The host after a request: its next slot, its back-off up after a failure, one step down after an answer.
fn after(before: &HostState, report: &HostReport, politeness: &Politeness) -> HostState {
    let mut host = *before;
    host.delay_ms = report.delay_ms;
    host.next_slot = host.next_slot.max(report.ended + report.delay_ms);
    let wait = match report.health {
        Health::Answered => {
            host.failures = host.failures.saturating_sub(1);
            return host;
        }
        Health::Failing => {
            let doublings = u32::from(host.failures).min(20);
            politeness.retry_delay_ms.saturating_mul(1 << doublings)
        }
        Health::RetryAfter(ms) => ms,
    };
    host.failures = host.failures.saturating_add(1);
    host.blocked_until = host.blocked_until.max(report.ended + wait.min(politeness.max_retry_delay_ms));
    host
}

fn outcome_books(end: UrlState) -> Books {
    let mut books = Books::default();
    let state = match end {
        UrlState::Queued => return books,
        UrlState::Fetched => &mut books.fetched,
        UrlState::Failed => &mut books.failed,
        UrlState::RobotsDenied => &mut books.robots_denied,
        UrlState::Excluded => &mut books.excluded,
    };
    *state = 1;
    books.queued = -1;
    books
}

fn tally_books(tally: &Tally) -> Books {
    let [status_2xx, status_3xx, status_4xx, status_5xx] = tally.statuses.map(|n| n as i64);
    let (fetches, bytes_downloaded) = (tally.fetches as i64, tally.bytes as i64);
    Books { fetches, bytes_downloaded, status_2xx, status_3xx, status_4xx, status_5xx, ..Books::default() }
}
