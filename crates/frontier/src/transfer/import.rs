//! Reading a whole frontier, or a list of URLs, into this one.
//!
//! Not the meaning of what is read ([the module above](super)). Invariant: a chunk of lines becomes one event, so it is in
//! whole or not at all; when an error names a line, all lines before it are in and none after.

use std::cmp::Ordering;
use std::io::{self, BufRead, Read};

use super::advancing;
use super::batch::{Batch, Said};
use super::line::{self, Head, Line, Totals};
use super::{CHUNK, MAX_LINE_BYTES};
use crate::Millis;
use crate::books::Books;
use crate::canonical::Canonical;
use crate::completion::count_of;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::frontier::Frontier;
use crate::host::Stored;
use crate::lowering;
use crate::offering::{self, Locked, Offer};
use crate::record::{HostState, Record, State};
use crate::robots::{self, RobotsMemory};
use crate::shared::Shared;

/// Why an import did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The frontier does not take it.
    #[error(transparent)]
    Frontier(#[from] Error),
    /// The input cannot be read (any further).
    #[error("line {line}: cannot be read: {source}; {}", before(*taken))]
    Read {
        /// The line, from 1.
        line: u64,
        /// Lines before it that were taken in.
        taken: u64,
        /// Why.
        source: io::Error,
    },
    /// A line is not what the format says.
    #[error("line {line}: {what}; {}", before(*taken))]
    Line {
        /// The line, from 1.
        line: u64,
        /// Lines before it that were taken in.
        taken: u64,
        /// What is wrong with it.
        what: String,
    },
}

fn before(taken: u64) -> &'static str {
    if taken == 0 { "nothing is imported" } else { "the lines before it are imported" }
}

/// What an import came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// URLs that were not known and now are.
    pub imported: u64,
    /// URLs that were known already, here or by the lines before.
    pub known: u64,
    /// Hosts that the file named.
    pub hosts: u64,
}

/// What URLs of a list become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedAs {
    /// Seen, without having been fetched here.
    Seen,
    /// Queued, at depth 0.
    Queued,
}

impl Frontier {
    /// Takes in what [`Frontier::export`] has written. Nobody else may use the frontier meanwhile.
    ///
    /// # Errors
    /// [`ImportError`]; it says which lines are in.
    pub fn import(&self, input: &mut dyn BufRead, now: Millis) -> Result<Imported, ImportError> {
        let mut reading = Reading { frontier: self, now, batch: Batch::default(), line: 0, done: Imported::default() };
        let read = reading.read(input);
        // Also after a bad line: those before it are good.
        let flushed = reading.flush();
        read?;
        flushed?;
        self.commit()?;
        Ok(reading.done)
    }

    /// Takes in URLs as seen or queued, those that are not known yet.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn import_urls(&self, urls: Vec<Canonical>, listed: ListedAs, now: Millis) -> Result<Imported, Error> {
        let state = if listed == ListedAs::Seen { State::ImportedSeen } else { State::Queued };
        let first_seen_secs = u32::try_from(now / 1000).unwrap_or(u32::MAX);
        let record = Record::new(state, 0, first_seen_secs);
        let mut all = Imported::default();
        let mut urls = urls.into_iter().peekable();
        while urls.peek().is_some() {
            let mut batch = Batch::default();
            urls.by_ref()
                .take(CHUNK)
                .for_each(|canonical| batch.push(canonical, Said { record, referrer: None, trace: None }));
            all.add(record_batch(&self.shared, &batch)?.0);
        }
        Ok(all)
    }
}

/// An import under way.
struct Reading<'f> {
    frontier: &'f Frontier,
    now: Millis,
    batch: Batch,
    /// The line that is being read, from 1.
    line: u64,
    done: Imported,
}

impl Reading<'_> {
    fn read(&mut self, input: &mut dyn BufRead) -> Result<(), ImportError> {
        let mut bytes = Vec::new();
        if !self.next_line(input, &mut bytes)? {
            return Err(self.bad("the file is empty".to_owned()));
        }
        Head::check(&bytes).map_err(|what| self.bad(what))?;
        let mut totals = Totals::default();
        loop {
            if !self.next_line(input, &mut bytes)? {
                return Err(self.bad("the file is cut off here: its last line, with the counts, is missing".to_owned()));
            }
            match line::parse(&bytes, self.frontier.rules()).map_err(|what| self.bad(what))? {
                Line::Host { name, registrable_domain, state } => {
                    totals.hosts += 1;
                    self.host(name, &registrable_domain, state)?;
                }
                Line::Robots { name, registrable_domain, memory } => {
                    totals.robots += 1;
                    self.robots(name, &registrable_domain, memory)?;
                }
                Line::Url { canonical, said } => {
                    *totals.count(said.record.state) += 1;
                    self.batch.push(canonical, said);
                }
                Line::End(said) if said == totals => break,
                Line::End(said) => return Err(self.bad(add_up(&said, &totals))),
            }
            self.batch.bytes += bytes.len();
            if self.batch.is_full() {
                self.flush()?;
            }
        }
        match self.next_line(input, &mut bytes)? {
            true => Err(self.bad("there is something after the last line".to_owned())),
            false => Ok(()),
        }
    }

    /// Reads a line of bounded length; false at the end of the input.
    fn next_line(&mut self, input: &mut dyn BufRead, bytes: &mut Vec<u8>) -> Result<bool, ImportError> {
        self.line += 1;
        bytes.clear();
        let mut bounded = input.take(MAX_LINE_BYTES as u64 + 1);
        let (line, taken) = (self.line, self.taken());
        let read = bounded.read_until(b'\n', bytes).map_err(|source| ImportError::Read { line, taken, source })?;
        if read > MAX_LINE_BYTES {
            return Err(self.bad(format!("longer than {MAX_LINE_BYTES} bytes")));
        }
        Ok(read > 0)
    }

    fn bad(&self, what: String) -> ImportError {
        ImportError::Line { line: self.line, taken: self.taken(), what }
    }

    /// Lines before this one, but for the first, which holds nothing.
    fn taken(&self) -> u64 {
        self.line.saturating_sub(2)
    }

    /// What becomes of a host: as in the file if it is not known, else the more patient of both.
    fn host(&mut self, name: String, registrable_domain: &str, state: HostState) -> Result<(), Error> {
        let shared = &*self.frontier.shared;
        let number = shared.secret.partition(registrable_domain, shared.partitions.len() as u16);
        let mut state = self.bounded(state);
        if let Some(known) = known_host(shared, number, &name)? {
            if known.growth.slowed().is_some() {
                self.batch.slowed_before.insert((number, name.clone()));
            }
            state = more_patient(&state, &known);
        }
        // The rules may have made one host of two.
        let join = |named: &mut HostState| *named = more_patient(named, &state);
        self.batch.hosts.entry((number, name)).and_modify(join).or_insert(state);
        self.done.hosts += 1;
        Ok(())
    }

    /// What robots.txt of an origin says, if it is later than what is known here.
    fn robots(&mut self, name: String, registrable_domain: &str, mut memory: RobotsMemory) -> Result<(), Error> {
        let shared = &*self.frontier.shared;
        let number = shared.secret.partition(registrable_domain, shared.partitions.len() as u16);
        // One from the future would hold for ever.
        memory.fetched = memory.fetched.min(self.now);
        memory.unreachable_since = memory.unreachable_since.map(|since| since.min(self.now));
        let known = robots::known(&shared.partitions[usize::from(number)], &name)?;
        let key = (number, name);
        // A line before this one counts like what is known.
        let is_later = |other: &RobotsMemory| other.fetched < memory.fetched;
        if known.as_ref().is_none_or(is_later) && self.batch.robots.get(&key).is_none_or(is_later) {
            self.batch.robots.insert(key, memory);
        }
        Ok(())
    }

    /// No further ahead than a host of this crawl would ever wait.
    fn bounded(&self, mut state: HostState) -> HostState {
        let longest = self.frontier.politeness.max_retry_delay_ms.max(state.delay_ms);
        state.next_slot = state.next_slot.min(self.now + longest);
        state.blocked_until = state.blocked_until.min(self.now + longest);
        state
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut batch = std::mem::take(&mut self.batch);
        let shared = &*self.frontier.shared;
        self.done.known += batch.join_twins();
        let (imported, offers) = record_batch(shared, &batch)?;
        self.done.add(imported);
        lowering::lower(shared, &offers)?;
        advancing::advance(shared, &offers, &batch.records)
    }
}

fn add_up(said: &Totals, read: &Totals) -> String {
    format!("does not add up: it counts {}, read were {}", line::json(said).trim_end(), line::json(read).trim_end())
}

impl Imported {
    /// Adds the URLs of a batch.
    fn add(&mut self, other: Self) {
        self.imported += other.imported;
        self.known += other.known;
    }
}

/// A host as it is known here. Memory first: what leaves it meanwhile is in the store.
fn known_host(shared: &Shared, number: u16, name: &str) -> Result<Option<HostState>, Error> {
    let partition = &shared.partitions[usize::from(number)];
    let covered = {
        let state = partition.state.lock();
        if let Some(id) = state.queues.id(name) {
            let host = state.queues.host(id);
            if host.state_set || host.stored != Stored::Unread {
                return Ok(Some(host.state));
            }
        }
        state.covered.sequence
    };
    Ok(partition.store.host(name, covered)?.map(|stored| stored.state))
}

fn more_patient(one: &HostState, other: &HostState) -> HostState {
    let HostState { next_slot, delay_ms, failures, blocked_until, blocked_by, granted, growth } = *one;
    HostState {
        next_slot: next_slot.max(other.next_slot),
        delay_ms: delay_ms.max(other.delay_ms),
        failures: failures.max(other.failures),
        blocked_until: blocked_until.max(other.blocked_until),
        blocked_by: match blocked_until.cmp(&other.blocked_until) {
            Ordering::Less => other.blocked_by,
            Ordering::Equal => blocked_by.or(other.blocked_by),
            Ordering::Greater => blocked_by,
        },
        // What an operator has granted anywhere stays so.
        granted: granted.max(other.granted),
        growth: growth.further(other.growth),
    }
}

/// Makes one event of a batch: its hosts, and those of its URLs that are not known. Returns the others, too, as tested.
fn record_batch<'b>(shared: &Shared, batch: &'b Batch) -> Result<(Imported, Vec<Offer<'b>>), Error> {
    let mut offers = offering::assign(&batch.urls, &shared.secret, shared.partitions.len() as u16);
    shared.wait_for_room(offers.iter().map(|offer| offer.partition))?;
    let of_hosts = batch.hosts.keys().chain(batch.robots.keys()).map(|(number, _)| *number);
    let mut locked = offering::decide(&shared.partitions, &mut offers, of_hosts)?;
    let parts = parts(&locked, batch, &offers);
    if !parts.is_empty() {
        shared.record(&mut locked, &parts)?;
    }
    drop(locked);
    let imported = offers.iter().filter(|offer| offer.is_new()).count();
    let known = (offers.len() - imported) as u64;
    Ok((Imported { imported: imported as u64, known, hosts: 0 }, offers))
}

/// What is new in each of the locked partitions.
fn parts<'a>(locked: &Locked<'_>, batch: &'a Batch, offers: &[Offer<'a>]) -> Vec<(u16, Event<'a>)> {
    let mut parts = Vec::new();
    for (number, _) in &locked.0 {
        let of_here = batch.hosts.iter().filter(|((partition, _), _)| partition == number);
        let hosts: Vec<_> = of_here.map(|((_, name), state)| (&**name, *state)).collect();
        let (mut urls, mut revived, mut books) = (Vec::new(), 0, Books::default());
        books.hosts_slowed = batch.hosts_slowed(*number);
        let of_here = offers.iter().zip(&batch.records).filter(|(offer, _)| offer.partition == *number);
        for (offer, said) in of_here.filter(|(offer, _)| offer.is_new()) {
            let Said { record, referrer, trace } = said;
            books.imported += 1;
            *count_of(&mut books, record.state) += 1;
            books.due_again += i64::from(record.is_due_again());
            revived += u64::from(offer.is_stale());
            let canonical = &offer.url.canonical;
            let (key, alternate, referrer) = (canonical.key(), canonical.alternate(), referrer.as_deref());
            urls.push(Change { key, alternate, referrer, record: *record, trace: trace.as_deref() });
        }
        if !(hosts.is_empty() && urls.is_empty()) {
            parts.push((*number, Event::Imported { hosts, urls, revived, books }));
        }
        for ((_, origin), memory) in batch.robots.iter().filter(|((partition, _), _)| partition == number) {
            parts.push((*number, Event::Robots { origin, memory: memory.clone() }));
        }
    }
    parts
}
