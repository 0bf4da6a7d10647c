//! Which URL next: from the due host to the lease, reading from the store what memory lacks.
//!
//! A host's turn may need its state or its next queue block read. That happens outside the lock; if a merge ended
//! meanwhile, what was read is thrown away and read again.

use crate::Millis;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::fingerprint::{Fingerprint, Secret};
use crate::host::{HostId, Item, Stored};
use crate::journal::{Journal, Sequence};
use crate::memory::Place;
use crate::partition::{Partition, State};
use crate::record::{BlockNumber, State as UrlState};
use crate::store::{Block, BlockId, StoredHost, StoredRecord};

/// Hosts taken from the store's due-time index at once.
const DUE_HOSTS: usize = 64;
/// Reads that one call may make before it answers "nothing now, ask again".
const READS_PER_CALL: usize = 32;

/// A URL on its way out.
pub(crate) struct Leased {
    pub(crate) host: HostId,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) item: Item,
    pub(crate) slots: (Millis, Millis),
}

/// The partition's answer.
pub(crate) enum Turn {
    Out(Leased),
    /// Nothing is due, or nothing yet: ask again.
    Nothing,
    /// Nothing in memory is due, but hosts in the store are, for which a merge must make room.
    Crowded,
}

/// What the lock's holder found.
enum Step {
    End(Turn),
    ReadHost(HostRead),
    ReadDueHosts,
}

/// What to read of a host.
struct HostRead {
    id: HostId,
    name: String,
    /// Whether its state is not known yet.
    state: bool,
    after: BlockId,
    upto: BlockNumber,
    epoch: u64,
}

/// What was read of a host.
struct HostGot {
    stored: Option<Option<StoredHost>>,
    block: Option<(BlockId, Block)>,
    /// Of the block's items, those whose record in the store says that they stand there.
    items: Vec<Option<StoredRecord>>,
}

/// The partition's next URL at `now`.
pub(crate) fn lease(partition: &Partition, journal: &Journal, secret: &Secret, now: Millis) -> Result<Turn, Error> {
    for _ in 0..READS_PER_CALL {
        let step = {
            let mut state = partition.state.lock();
            let step = next_step(&mut state, journal.durable(), now);
            if let Step::End(Turn::Out(leased)) = &step {
                record_start(&mut state, partition.number, journal, leased)?;
            }
            partition.publish(&state);
            step
        };
        match step {
            Step::End(turn) => return Ok(turn),
            Step::ReadHost(read) => {
                let got = read_host(partition, &read)?;
                install(&mut partition.state.lock(), secret, &read, got);
            }
            Step::ReadDueHosts => read_due_hosts(partition, now)?,
        }
    }
    Ok(Turn::Nothing)
}

fn next_step(state: &mut State, durable: Sequence, now: Millis) -> Step {
    state.queues.committed(durable);
    if state.disk_due().is_some_and(|due| due <= now) {
        return Step::ReadDueHosts;
    }
    while let Some(id) = state.queues.pop_due(now) {
        if let Some((fingerprint, item)) = state.queues.host_mut(id).heads.pop_front() {
            return Step::End(Turn::Out(take_out(state, id, fingerprint, item, now)));
        }
        let (epoch, upto) = (state.epoch, state.covered.sequence);
        let host = state.queues.host_mut(id);
        let state_unread = host.stored == Stored::Unread;
        if state_unread || host.unread_blocks {
            host.loading = true;
            let name = host.name.to_string();
            return Step::ReadHost(HostRead { id, name, state: state_unread, after: host.cursor, upto, epoch });
        }
        if let Some((fingerprint, order)) = state.tail_front(id) {
            if order.sequence > durable {
                state.queues.await_commit(order.sequence, id);
                continue;
            }
            state.drop_tail_front(id);
            let item = state.remembered(fingerprint).expect("it stands in the tail").item();
            return Step::End(Turn::Out(take_out(state, id, fingerprint, item, now)));
        }
    }
    let crowded = state.queues.is_crowded() && state.next_disk_due.is_some_and(|due| due <= now);
    Step::End(if crowded { Turn::Crowded } else { Turn::Nothing })
}

fn take_out(state: &mut State, host: HostId, fingerprint: Fingerprint, mut item: Item, now: Millis) -> Leased {
    item.record.starts = item.record.starts.saturating_add(1);
    state.queues.take_out(host, fingerprint, item.record.block);
    let many = state.queues.many_connections();
    let entry = state.queues.host_mut(host);
    let slot_before = entry.state.next_slot;
    if many {
        // Starts are a full delay apart; with one connection the end of the response decides.
        entry.state.next_slot = now + entry.state.delay_ms;
    }
    let slot = entry.state.next_slot;
    state.queues.schedule(host);
    Leased { host, fingerprint, item, slots: (slot_before, slot) }
}

/// The start of a lease is journaled without waiting, so that a page that kills the process is known by its count.
fn record_start(state: &mut State, number: u16, journal: &Journal, leased: &Leased) -> Result<(), Error> {
    let event = Event::Leased(change_of(&leased.item));
    let sequence = journal.append(&crate::event::frame(&[(number, &event)]))?;
    state.apply(sequence, &event);
    Ok(())
}

/// The present record of an item, as an event says it.
pub(crate) fn change_of(item: &Item) -> Change<'_> {
    Change {
        key: &item.key,
        alternate: item.alternate.as_deref(),
        referrer: item.referrer.as_deref(),
        record: item.record,
    }
}

fn read_host(partition: &Partition, read: &HostRead) -> Result<HostGot, Error> {
    let store = &partition.store;
    let stored = if read.state { Some(store.host(&read.name, read.upto)?) } else { None };
    let block = store.next_block(&read.name, read.after, read.upto)?;
    let mut items = Vec::new();
    if let Some((id, block)) = &block {
        for item in &block.0 {
            let record = store.record(&item.key)?;
            items.push(record.filter(|r| r.record.state == UrlState::Queued && r.record.block == id.number));
        }
    }
    Ok(HostGot { stored, block, items })
}

/// Takes in what was read, unless a merge has ended since.
fn install(state: &mut State, secret: &Secret, read: &HostRead, got: HostGot) {
    let host = state.queues.host_mut(read.id);
    host.loading = false;
    if state.epoch == read.epoch {
        if let Some(stored) = got.stored {
            state.queues.set_stored(read.id, stored.map_or(Stored::Absent, Stored::Present));
        }
        match got.block {
            None => state.queues.host_mut(read.id).unread_blocks = false,
            Some((id, block)) => {
                let items = block.0.into_iter().zip(got.items);
                let heads: Vec<_> = items
                    .filter_map(|(item, record)| {
                        let fingerprint = secret.fingerprint(&item.key);
                        stands_in_block(state, fingerprint, id.number, record).map(|r| {
                            (
                                fingerprint,
                                Item {
                                    key: item.key.into(),
                                    alternate: r.alternate.map(Into::into),
                                    referrer: item.referrer.map(Into::into),
                                    record: r.record,
                                },
                            )
                        })
                    })
                    .collect();
                let host = state.queues.host_mut(read.id);
                host.cursor = id;
                for (fingerprint, item) in heads {
                    state.queues.hold(fingerprint, id.number);
                    state.queues.host_mut(read.id).heads.push_back((fingerprint, item));
                }
            }
        }
    }
    state.queues.schedule(read.id);
}

/// The record of a block's item if it stands there and nowhere else. Memory overrides the store.
fn stands_in_block(
    state: &State,
    fingerprint: Fingerprint,
    block: BlockNumber,
    stored: Option<StoredRecord>,
) -> Option<StoredRecord> {
    if state.queues.held.contains_key(&fingerprint) {
        return None;
    }
    match state.remembered(fingerprint) {
        None => stored,
        Some(r) => {
            let stands = r.entry.place == Place::Block && r.entry.record.block == block;
            let alternate = r.generation.alternate(r.entry).map(str::to_owned);
            stands.then_some(StoredRecord { record: r.entry.record, alternate })
        }
    }
}

/// Takes the next hosts of the due-time index into memory.
fn read_due_hosts(partition: &Partition, now: Millis) -> Result<(), Error> {
    let (cursor, epoch) = {
        let state = partition.state.lock();
        (state.due_cursor.clone(), state.epoch)
    };
    let Some(cursor) = cursor else {
        partition.state.lock().next_disk_due = None;
        return Ok(());
    };
    let hosts = partition.store.due_hosts(&cursor, DUE_HOSTS)?;
    let mut state = partition.state.lock();
    if state.epoch != epoch || state.due_cursor.as_ref() != Some(&cursor) {
        return Ok(());
    }
    let full = hosts.len() == DUE_HOSTS;
    for (due, name) in hosts {
        if due > now {
            state.next_disk_due = Some(due);
            return Ok(());
        }
        if state.queues.id(&name).is_none() {
            let id = state.queues.enter(&name, Stored::Unread);
            state.queues.schedule(id);
        }
        state.due_cursor = Some((due, name));
    }
    if !full {
        (state.due_cursor, state.next_disk_due) = (None, None);
    }
    Ok(())
}
