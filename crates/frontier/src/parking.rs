//! What an operator asks and says of budgets: what a host has used, more for a host, parked URLs back into the queue.
//!
//! Not the budgets themselves (`ledger`) and not the parking (`offering`). Invariant: a parked URL is released once: it is
//! read outside the lock, and goes back only if nothing has changed it since.

use std::collections::BTreeMap;

use crate::Millis;
use crate::block_reason::BlockReason;
use crate::booking::{Needed, lock_host, set};
use crate::books::Books;
use crate::canonical::{Canonical, host_name, host_of_key};
use crate::completion::state_books;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::growth::{Growth, Slowed};
use crate::host::Host;
use crate::ledger::Accounts;
use crate::merge::{self, After};
use crate::offering::Locked;
use crate::partition::{Partition, State};
use crate::record::{Counts, HostState, Record, State as UrlState};
use crate::shared::Shared;
use crate::store::StoredRecord;

/// Hosts by the host part of their keys.
type Hosts = BTreeMap<Box<str>, (HostState, Counts)>;

/// URLs released by one event: bounds the time under a lock and the size of a commit.
const CHUNK: usize = 1024;

/// What is known of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostUsage {
    /// Its name, without port.
    pub host: String,
    /// URLs known, parked ones not counted.
    pub urls: u64,
    /// Of these, not finished.
    pub queued: u64,
    /// Of these, fetched.
    pub pages: u64,
    /// URLs held back by a budget.
    pub parked: u64,
    /// What it was granted.
    pub granted: Grant,
    /// Its delay, in milliseconds.
    pub delay_ms: u64,
    /// Failures not yet made good.
    pub failures: u16,
    /// Until when it is left alone, and why, if it is.
    pub blocked: Option<(Millis, BlockReason)>,
    /// Why the growth guard slows it, if it does.
    pub slowed: Option<Slowed>,
    /// Whether the growth guard leaves it alone for good.
    pub trusted: bool,
}

/// What an operator grants a host beyond its budgets. Where the host's name is a registrable domain, the domain's budgets
/// grow with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// So many URLs and pages beyond the budget; 0 is the budget itself.
    More(u32),
    /// No budget.
    Lifted,
}

impl Grant {
    /// As it stands in a host's state.
    pub(crate) fn of(granted: u32) -> Self {
        if granted == HostState::LIFTED { Self::Lifted } else { Self::More(granted) }
    }
}

/// What a release came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Released {
    /// The journal sequence of the last of its events.
    pub sequence: u64,
    /// URLs that went back into the queue.
    pub released: u64,
    /// URLs that stay parked, because the budget has no room for them.
    pub parked: u64,
}

/// What the URL's host has used.
pub(crate) fn usage(shared: &Shared, url: &Canonical) -> Result<HostUsage, Error> {
    let (number, mut locked, id) = lock_host(shared, url, Needed::StateAndCounts)?;
    let host = locked.state(number).queues.host(id);
    Ok(usage_of(&host.name, &host.state, &host.counts()))
}

pub(crate) fn usage_of(name: &str, state: &HostState, counts: &Counts) -> HostUsage {
    let count = |n: i64| n.max(0) as u64;
    HostUsage {
        host: host_name(name),
        urls: count(counts.urls),
        queued: count(counts.queued),
        pages: count(counts.pages),
        parked: count(counts.parked),
        granted: Grant::of(state.granted),
        delay_ms: state.delay_ms,
        failures: state.failures,
        blocked: state.blocked_by.map(|reason| (state.blocked_until, reason)),
        slowed: state.growth.slowed(),
        trusted: state.growth.is_trusted(),
    }
}

fn is_of_note(state: &HostState, counts: &Counts) -> bool {
    counts.parked > 0 || state.granted > 0 || state.growth.slowed().is_some() || state.growth.is_trusted()
}

/// All hosts with parked URLs, a grant or a word on their growth, those with most parked first.
pub(crate) fn held_back(shared: &Shared) -> Result<Vec<HostUsage>, Error> {
    let mut all = Vec::new();
    for partition in &shared.partitions {
        let hosts = loop {
            if let Some(hosts) = hosts_of(partition)? {
                break hosts;
            }
        };
        let of_note = hosts.iter().filter(|(_, (state, counts))| is_of_note(state, counts));
        all.extend(of_note.map(|(name, (state, counts))| usage_of(name, state, counts)));
    }
    all.sort_by(|one, other| (other.parked, &one.host).cmp(&(one.parked, &other.host)));
    Ok(all)
}

/// The hosts of one partition that may be of note; `None` when a merge ended meanwhile.
fn hosts_of(partition: &Partition) -> Result<Option<Hosts>, Error> {
    let (epoch, covered) = {
        let state = partition.state.lock();
        (state.epoch, state.covered.sequence)
    };
    let mut hosts = Hosts::new();
    let state = partition.state.lock();
    let changed = |host: &Host| host.state_set || host.delta != Counts::default();
    let ids: Vec<_> = state.queues.ids().filter(|id| changed(state.queues.host(*id))).collect();
    let mut deltas: BTreeMap<Box<str>, (bool, HostState, Counts)> = BTreeMap::new();
    for host in ids.into_iter().map(|id| state.queues.host(id)) {
        let mut delta = host.frozen_delta;
        delta.add(&host.delta);
        deltas.insert(host.name.clone(), (host.state_set, host.state, delta));
    }
    drop(state);
    partition.store.hosts(covered, |name, host| {
        if is_of_note(&host.state, &host.counts) || deltas.contains_key(name) {
            hosts.insert(name.into(), (host.state, host.counts));
        }
    })?;
    for (name, (is_set, state, delta)) in deltas {
        let (known, counts) = hosts.entry(name).or_insert((state, Counts::default()));
        if is_set {
            *known = state;
        }
        counts.add(&delta);
    }
    let same = partition.state.lock().epoch == epoch;
    Ok(same.then_some(hosts))
}

/// Sets what the URL's host is granted.
pub(crate) fn grant(shared: &Shared, url: &Canonical, grant: Grant) -> Result<HostUsage, Error> {
    let (number, mut locked, id) = lock_host(shared, url, Needed::StateAndCounts)?;
    let host = locked.state(number).queues.host(id);
    let granted = match grant {
        Grant::More(more) => more.min(HostState::LIFTED - 1),
        Grant::Lifted => HostState::LIFTED,
    };
    let (state, counts) = (HostState { granted, ..host.state }, host.counts());
    set(shared, locked, number, url, state)?;
    Ok(usage_of(host_of_key(url.key()), &state, &counts))
}

/// Has the growth guard leave the URL's host alone for good.
pub(crate) fn unslow(shared: &Shared, url: &Canonical) -> Result<HostUsage, Error> {
    let (number, mut locked, id) = lock_host(shared, url, Needed::StateAndCounts)?;
    let host = locked.state(number).queues.host(id);
    let (state, counts) = (HostState { growth: Growth::trusted(), ..host.state }, host.counts());
    let books = Books { hosts_slowed: -i64::from(host.state.growth.slowed().is_some()), ..Books::default() };
    let event = Event::Host { host: host_of_key(url.key()), state, books };
    shared.record(&mut locked, &[(number, event)])?;
    Ok(usage_of(host_of_key(url.key()), &state, &counts))
}

/// Puts parked URLs of the URL's host back into its queue, as far as the budgets have room.
pub(crate) fn release(shared: &Shared, url: &Canonical) -> Result<Released, Error> {
    let number = shared.secret.partition(url.registrable_domain(), shared.partitions.len() as u16);
    let (partition, host) = (&shared.partitions[usize::from(number)], host_of_key(url.key()));
    // What was parked until now is in the store then.
    merge::merge(shared, partition, After::Reopen)?;
    let mut all = Released::default();
    let mut after = String::new();
    loop {
        let epoch = partition.state.lock().epoch;
        let parked = partition.store.parked(host, &after, CHUNK)?;
        let locked = Locked::new(&shared.partitions, &[number]);
        if locked.only().epoch != epoch {
            continue;
        }
        let Some((last, _)) = parked.last() else { return Ok(all) };
        after.clone_from(last);
        release_chunk(shared, locked, host, &parked, &mut all)?;
    }
}

fn release_chunk(
    shared: &Shared,
    mut locked: Locked<'_>,
    host: &str,
    parked: &[(String, StoredRecord)],
    all: &mut Released,
) -> Result<(), Error> {
    let (number, state) = (locked.0[0].0, locked.only());
    let accounts = Accounts::of(&state.secret, host);
    let mut changes = Vec::new();
    for (key, stored) in parked.iter().filter(|(key, _)| is_still_parked(state, key)) {
        let more = changes.len() as i64;
        if state.ledger.as_ref().is_some_and(|ledger| !ledger.admits(accounts, more, more)) {
            all.parked += 1;
            continue;
        }
        let record = Record { state: UrlState::Queued, block: 0, ..stored.record };
        changes.push(Change { key, alternate: stored.alternate.as_deref(), referrer: None, record, trace: None });
    }
    if changes.is_empty() {
        return Ok(());
    }
    all.released += changes.len() as u64;
    let mut books = crate::Books::default();
    changes.iter().for_each(|_| books.add(&state_books(UrlState::Parked, UrlState::Queued)));
    all.sequence = shared.record(&mut locked, &[(number, Event::Released { changes, books })])?;
    Ok(())
}

/// Memory overrides the store.
fn is_still_parked(state: &State, key: &str) -> bool {
    let remembered = state.remembered(state.secret.fingerprint(key));
    remembered.is_none_or(|remembered| remembered.entry.record.state == UrlState::Parked)
}
