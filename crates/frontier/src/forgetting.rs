//! Un-seeing URLs, so that they can be found and crawled again: from URLs to the events that forget them.
//!
//! What memory knows of a URL is taken as it is; else the filter is asked, and where that says maybe the exact set,
//! outside the lock, as in the seen-test (`offering`). Only a URL that is known is forgotten, so the filter is never told
//! to remove what it does not hold.

use std::collections::BTreeMap;

use crate::books::Books;
use crate::canonical::Canonical;
use crate::completion::state_books;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::fingerprint::Fingerprint;
use crate::offering::Locked;
use crate::partition::{Partition, State};
use crate::record::{Record, State as UrlState};
use crate::shared::Shared;
use crate::steps::{Step, step};

/// URLs forgotten by one event: bounds the time under a lock and the size of a commit.
const CHUNK: usize = 1024;
/// After so many rounds of reading outside the lock the reads are made under it: progress is certain.
const ROUNDS: usize = 4;

/// What a forget came to, or would come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The journal sequence of the last of its events; it has happened once this is durable. Zero when it was only asked.
    pub sequence: u64,
    /// URLs that were known and are not any more.
    pub forgotten: u64,
    /// Of those, URLs in flight: they count as seen until their fetch has ended.
    pub in_flight: u64,
}

impl Forgotten {
    pub(crate) fn add(&mut self, other: Self) {
        self.sequence = self.sequence.max(other.sequence);
        self.forgotten += other.forgotten;
        self.in_flight += other.in_flight;
    }
}

/// What is to be done with URLs that are known.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// Nothing: they are only counted.
    pub(crate) dry_run: bool,
    /// Which of them, by their present records.
    pub(crate) matches: &'a dyn Fn(&Record) -> bool,
}

/// One URL that is to be forgotten.
struct Wanted<'a> {
    key: &'a str,
    fingerprint: Fingerprint,
    /// What the exact set said, and the epoch in which it was asked.
    read: Option<(u64, Option<Record>)>,
}

/// Forgets those of the URLs that are known, or counts them.
pub(crate) fn forget(shared: &Shared, urls: &[Canonical], dry_run: bool) -> Result<Forgotten, Error> {
    let mut by_partition: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for url in urls {
        let number = shared.secret.partition(url.registrable_domain(), shared.partitions.len() as u16);
        by_partition.entry(number).or_default().push(url.key());
    }
    let terms = Terms { dry_run, matches: &|_| true };
    let mut all = Forgotten::default();
    for (number, keys) in by_partition {
        all.add(forget_keys(shared, number, keys.into_iter(), terms)?);
    }
    Ok(all)
}

/// Forgets those of one partition's keys that are known and match. Waits while its memory is full.
pub(crate) fn forget_keys<'a>(
    shared: &Shared,
    number: u16,
    keys: impl Iterator<Item = &'a str>,
    terms: Terms<'_>,
) -> Result<Forgotten, Error> {
    let wanted = |key| Wanted { key, fingerprint: shared.secret.fingerprint(key), read: None };
    let mut wanted: Vec<Wanted<'_>> = keys.map(wanted).collect();
    // Twins must not be forgotten twice.
    wanted.sort_unstable_by_key(|wanted| wanted.fingerprint);
    wanted.dedup_by_key(|wanted| wanted.fingerprint);
    let mut all = Forgotten::default();
    for chunk in wanted.chunks_mut(CHUNK) {
        if !terms.dry_run {
            shared.wait_for_room([number])?;
        }
        all.add(forget_chunk(shared, number, chunk, terms)?);
    }
    Ok(all)
}

fn forget_chunk(shared: &Shared, number: u16, wanted: &mut [Wanted<'_>], terms: Terms<'_>) -> Result<Forgotten, Error> {
    let partition = &shared.partitions[usize::from(number)];
    for _ in 0..ROUNDS {
        let locked = Locked::new(&shared.partitions, &[number]);
        let unread = unread(locked.only(), wanted);
        if unread.is_empty() {
            return record(shared, locked, wanted, terms);
        }
        let epoch = locked.only().epoch;
        drop(locked);
        read(partition, wanted, &unread, epoch)?;
        step(Step::ForgottenRead);
    }
    let locked = Locked::new(&shared.partitions, &[number]);
    let unread = unread(locked.only(), wanted);
    read(partition, wanted, &unread, locked.only().epoch)?;
    record(shared, locked, wanted, terms)
}

/// Those of which neither memory nor filter nor a read of this epoch says whether they are known.
fn unread(state: &State, wanted: &[Wanted<'_>]) -> Vec<usize> {
    let open = |wanted: &Wanted<'_>| {
        state.remembered(wanted.fingerprint).is_none()
            && state.filter.as_ref().is_none_or(|filter| filter.contains(wanted.fingerprint))
            && wanted.read.is_none_or(|(epoch, _)| epoch != state.epoch)
    };
    wanted.iter().enumerate().filter(|(_, wanted)| open(wanted)).map(|(i, _)| i).collect()
}

fn read(partition: &Partition, wanted: &mut [Wanted<'_>], unread: &[usize], epoch: u64) -> Result<(), Error> {
    for i in unread {
        let stored = partition.store.record(wanted[*i].key)?;
        wanted[*i].read = Some((epoch, stored.map(|stored| stored.record)));
    }
    Ok(())
}

/// Makes one event of those that are known and match.
fn record(
    shared: &Shared,
    mut locked: Locked<'_>,
    wanted: &[Wanted<'_>],
    terms: Terms<'_>,
) -> Result<Forgotten, Error> {
    let number = locked.0[0].0;
    let state = locked.only();
    let mut books = Books::default();
    let mut changes = Vec::new();
    let mut in_flight = 0;
    for wanted in wanted {
        let read = wanted.read.filter(|(epoch, _)| *epoch == state.epoch).and_then(|(_, record)| record);
        let known = state.remembered(wanted.fingerprint).map(|remembered| remembered.entry.record).or(read);
        let matches = |record: &Record| record.state != UrlState::Forgotten && (terms.matches)(record);
        let Some(record) = known.filter(matches) else { continue };
        books.add(&state_books(record.state, UrlState::Forgotten));
        in_flight += u64::from(state.queues.held.get(&wanted.fingerprint).is_some_and(|held| held.in_flight));
        books.due_again -= i64::from(record.is_due_again());
        changes.push(Change { key: wanted.key, alternate: None, referrer: None, record, trace: None });
    }
    let forgotten = changes.len() as u64;
    if terms.dry_run || forgotten == 0 {
        return Ok(Forgotten { sequence: 0, forgotten, in_flight });
    }
    let sequence = shared.record(&mut locked, &[(number, Event::Forgotten { changes, books })])?;
    Ok(Forgotten { sequence, forgotten, in_flight })
}
