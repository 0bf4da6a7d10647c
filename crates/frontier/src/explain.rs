//! All that is known of one URL and of its host, as the seen-test would see it: each layer's answer, the record, the
//! host's turn, the budgets.
//!
//! Not the verdict in words, and neither scope nor robots.txt: those are the crawler's. Invariant: asking changes nothing,
//! neither what is recorded nor what memory holds; the disk is read outside the lock, and what is told is of one moment.

mod facts;

use crate::Millis;
use crate::canonical::{Canonical, host_of_key, url_of_key};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::host::{Host, Stored};
use crate::ledger::Accounts;
use crate::memory::Place;
use crate::options::FilterKind;
use crate::parking::usage_of;
use crate::partition::{Partition, State};
use crate::record::{Counts, HostState, Record, State as UrlState};
use crate::shared::Shared;
use crate::store::{Block, BlockId, StoredHost, StoredRecord};

pub use facts::{BudgetView, Explanation, FilterView, HostView, Known, LayerView, Referrer, Trace};

/// What memory says of a URL.
struct Entry {
    known: Option<Found>,
    is_forgotten: bool,
}

/// A record, wherever it was.
struct Found {
    record: Record,
    alternate: Option<String>,
    /// The outer `None`: it is in the block, if anywhere.
    referrer: Option<Option<String>>,
    is_recent: bool,
}

/// What was read without the lock.
struct Read {
    epoch: u64,
    record: Option<StoredRecord>,
    host: Option<StoredHost>,
}

/// What is known of a URL at one moment.
pub(crate) fn explain(shared: &Shared, url: &Canonical) -> Result<Explanation, Error> {
    let partitions = shared.partitions.len() as u16;
    let number = shared.secret.partition(url.registrable_domain(), partitions);
    let partition = &shared.partitions[usize::from(number)];
    let fingerprint = shared.secret.fingerprint(url.key());
    loop {
        let read = read(partition, url.key())?;
        let state = partition.state.lock();
        if state.epoch != read.epoch {
            continue;
        }
        let host = host_view(&state, host_of_key(url.key()), read.host);
        let entry = entry(&state, fingerprint, read.record);
        let budget = budget_view(&state, host_of_key(url.key()));
        let (is_hot, filter) = (state.hot.holds(fingerprint), filter_view(&state, fingerprint));
        let held = state.queues.held.get(&fingerprint);
        let (in_flight, is_going) = held.map_or((false, false), |held| (held.in_flight, held.forgotten));
        let head = head_referrer(&state, url.key(), fingerprint);
        drop(state);
        let trace = match entry {
            Entry { known: Some(found), .. } => {
                let referrer = referrer(partition, url.key(), &found, head, read.epoch)?;
                Trace::Known(Box::new(known(url.key(), found, referrer, (in_flight, is_going), &host)))
            }
            Entry { is_forgotten: true, .. } => Trace::Forgotten,
            Entry { .. } => Trace::Never,
        };
        return Ok(Explanation { partition: number, partitions, is_hot, filter, trace, host, budget });
    }
}

/// Record and host as the store has them, and the epoch in which that holds.
fn read(partition: &Partition, key: &str) -> Result<Read, Error> {
    let (epoch, covered) = {
        let state = partition.state.lock();
        (state.epoch, state.covered.sequence)
    };
    let host = partition.store.host(host_of_key(key), covered)?;
    Ok(Read { epoch, record: partition.store.record(key)?, host })
}

/// Memory overrides the store.
fn entry(state: &State, fingerprint: Fingerprint, stored: Option<StoredRecord>) -> Entry {
    if let Some(remembered) = state.remembered(fingerprint) {
        let entry = remembered.entry;
        if entry.is_forgotten() {
            // One in flight is known until its lease ends, but its record is no more.
            return Entry { known: None, is_forgotten: true };
        }
        let in_tail = matches!(entry.place, Place::Tail(_));
        let text = |text: Option<&str>| text.map(str::to_owned);
        let found = Found {
            record: entry.record,
            alternate: text(remembered.generation.alternate(entry)),
            referrer: in_tail.then(|| text(remembered.generation.referrer(entry))),
            is_recent: true,
        };
        return Entry { known: Some(found), is_forgotten: false };
    }
    match stored {
        Some(stored) if stored.record.state == UrlState::Forgotten => Entry { known: None, is_forgotten: true },
        Some(StoredRecord { record, alternate, .. }) => {
            let found = Found { record, alternate, referrer: None, is_recent: false };
            Entry { known: Some(found), is_forgotten: false }
        }
        None => Entry { known: None, is_forgotten: false },
    }
}

/// The referrer of a URL at the head of its host's queue.
fn head_referrer(state: &State, key: &str, fingerprint: Fingerprint) -> Option<Option<String>> {
    let host = state.queues.host(state.queues.id(host_of_key(key))?);
    let (_, item) = host.heads.iter().find(|(head, _)| *head == fingerprint)?;
    Some(item.referrer.as_deref().map(str::to_owned))
}

/// Where the queue entry of a URL says that it was found.
fn referrer(
    partition: &Partition,
    key: &str,
    found: &Found,
    head: Option<Option<String>>,
    epoch: u64,
) -> Result<Referrer, Error> {
    if found.record.is_revisit() {
        // Its entry in the queue is of the visit, not of the finding.
        return Ok(Referrer::NotKept);
    }
    let kept = match (head, &found.referrer) {
        (Some(kept), _) => Some(kept),
        (None, Some(kept)) => Some(kept.clone()),
        (None, None) if found.record.state == UrlState::Queued => in_block(partition, key, &found.record, epoch)?,
        (None, None) => None,
    };
    Ok(match kept {
        Some(Some(page)) => Referrer::Page(page),
        Some(None) => Referrer::None,
        None => Referrer::NotKept,
    })
}

/// The referrer of a URL that stands in a block of one merge; reads those before it.
fn in_block(partition: &Partition, key: &str, record: &Record, epoch: u64) -> Result<Option<Option<String>>, Error> {
    if record.block == 0 {
        return Ok(None);
    }
    let mut after = BlockId { priority: record.priority, number: record.block - 1, part: u32::MAX - 1 };
    loop {
        let block = match partition.store.next_block(host_of_key(key), &[after], record.block) {
            // A merge has ended meanwhile, and its file may be gone.
            Err(_) if partition.state.lock().epoch != epoch => return Ok(None),
            block => block?,
        };
        let Some((id, Block(items))) = block else { return Ok(None) };
        if let Some(item) = items.into_iter().find(|item| item.key == key) {
            return Ok(Some(item.referrer));
        }
        after = id;
    }
}

fn known(key: &str, found: Found, referrer: Referrer, (in_flight, is_going): (bool, bool), host: &HostView) -> Known {
    let Found { record, alternate, is_recent, .. } = found;
    let is_queued = record.state == UrlState::Queued;
    Known {
        url: alternate.unwrap_or_else(|| url_of_key(key)),
        state: record.state.word().unwrap_or_default(),
        in_flight,
        is_going,
        is_recent,
        depth: record.depth,
        attempts: record.attempts,
        starts: record.starts,
        status: Some(record.status).filter(|status| *status != 0),
        first_seen: Millis::from(record.first_seen_secs) * 1000,
        referrer,
        due: match is_queued {
            true if in_flight => None,
            true => Some(host.next_slot),
            false => record.is_due_again().then_some(Millis::from(record.due_secs) * 1000),
        },
    }
}

fn filter_view(state: &State, fingerprint: Fingerprint) -> Option<FilterView> {
    let filter = state.filter.as_ref()?;
    let answers = filter.layer_facts().into_iter().zip(filter.contains_by_layer(fingerprint));
    let layers =
        answers.map(|(facts, maybe)| LayerView { len: facts.len, capacity: facts.design_capacity, maybe }).collect();
    Some(FilterView { kind: FilterKind::of(filter.kind())?, layers })
}

/// The host as it is in memory, the store filling in what memory has not read.
fn host_view(state: &State, name: &str, stored: Option<StoredHost>) -> HostView {
    let queues = &state.queues;
    let host: Option<&Host> = queues.id(name).map(|id| queues.host(id));
    let of_store = || stored.map_or_else(|| queues.unknown(), |stored| queues.taken_in(&stored.state));
    let host_state: HostState = match host {
        Some(host) if host.state_set || host.stored != Stored::Unread => host.state,
        _ => of_store(),
    };
    let mut counts: Counts = match host {
        Some(host) if host.stored != Stored::Unread => host.stored.counts(),
        _ => stored.map_or_else(Counts::default, |stored| stored.counts),
    };
    if let Some(host) = host {
        counts.add(&host.frozen_delta);
        counts.add(&host.delta);
    }
    let is_known = stored.is_some() || host.is_some_and(|host| host.state_set || counts != Counts::default());
    let rests_until = host.map_or(0, |host| host.rests_until);
    HostView {
        is_known,
        usage: usage_of(name, &host_state, &counts),
        next_slot: host_state.due().max(rests_until),
        in_flight: host.map_or(0, |host| host.in_flight),
    }
}

fn budget_view(state: &State, host: &str) -> Option<BudgetView> {
    let ledger = state.ledger.as_ref()?;
    let (of_host, domain, held_by) = ledger.explain(Accounts::of(&state.secret, host));
    Some(BudgetView { limits: *ledger.budget(), host: of_host, domain, held_by })
}

#[cfg(test)]
mod tests;
