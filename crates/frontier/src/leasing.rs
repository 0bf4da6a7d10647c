//! Which URL next: from the due host to the lease, reading from the store what memory lacks.
//!
//! A host's turn may need its state or its next queue block read. That happens outside the lock; if a merge ended
//! meanwhile, what was read is thrown away and read again.

use crate::Millis;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::fingerprint::{Fingerprint, Secret};
use crate::found::Priority;
use crate::host::{HostId, Item, Stored};
use crate::journal::{Journal, Sequence};
use crate::memory::Place;
use crate::partition::{Partition, State};
use crate::record::{BlockNumber, State as UrlState};
use crate::shared::Shared;
use crate::steps;
use crate::store::{Block, BlockId, BlockItem, StoredHost, StoredRecord};

/// Hosts taken from the store's due-time index at once.
const DUE_HOSTS: usize = 64;
/// Reads that one call may make before it answers "ask again".
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
    /// Nothing is due.
    Nothing,
    /// So much had to be read that the rest is for another call.
    Later,
    /// Its store is being opened again.
    Busy,
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
    after: Vec<BlockId>,
    /// The block of which that many URLs, the first ones, were read.
    begun: Option<(BlockId, usize)>,
    /// URLs of a block that may be taken.
    at_once: usize,
    upto: BlockNumber,
    epoch: u64,
}

/// What was read of a host.
struct HostGot {
    stored: Option<Option<StoredHost>>,
    block: Option<BlockGot>,
}

/// A block of a host, or a part of one.
struct BlockGot {
    id: BlockId,
    /// URLs of it that were read before.
    earlier: Vec<Fingerprint>,
    /// Each with its record in the store, if that says that it stands there.
    items: Vec<(Fingerprint, BlockItem, Option<StoredRecord>)>,
    /// Whether these are its last ones.
    is_end: bool,
}

/// The partition's next URL at `now`.
pub(crate) fn lease(shared: &Shared, partition: &Partition, now: Millis) -> Result<Turn, Error> {
    let Shared { journal, secret, .. } = shared;
    for _ in 0..READS_PER_CALL {
        let step = {
            let mut state = partition.state.lock();
            if state.room_wanted().is_some_and(|since| since <= now) {
                // Early, so that leases go on while the merge makes it.
                state.room_asked = true;
                shared.request_merge(partition.number);
            }
            let mut step = next_step(&mut state, journal.durable(), now);
            if partition.store.is_reopening() {
                step = instead_of_waiting(&mut state, step);
            }
            if let Step::End(Turn::Out(leased)) = &step {
                record_start(&mut state, partition.number, journal, leased)?;
            }
            partition.publish(&state);
            step
        };
        match step {
            Step::End(turn) => return Ok(turn),
            Step::ReadHost(read) => {
                let got = read_host(partition, secret, &read);
                steps::step(steps::Step::HostRead);
                install(&mut partition.state.lock(), &read, got)?;
            }
            Step::ReadDueHosts => read_due_hosts(partition, now)?,
        }
    }
    Ok(Turn::Later)
}

/// What is done instead of a read for which the store would be waited for.
fn instead_of_waiting(state: &mut State, step: Step) -> Step {
    match step {
        Step::End(turn) => return Step::End(turn),
        Step::ReadHost(read) => not_read(state, read.id),
        Step::ReadDueHosts => {}
    }
    Step::End(Turn::Busy)
}

fn next_step(state: &mut State, durable: Sequence, now: Millis) -> Step {
    state.queues.committed(durable);
    // Those in memory first, while none on disk has waited longer.
    let memory_due = state.queues.next_due().unwrap_or(Millis::MAX);
    if state.disk_due().is_some_and(|due| due <= now && due < memory_due) {
        return Step::ReadDueHosts;
    }
    while let Some(id) = state.queues.pop_due(now) {
        // The first class goes first; of one class, what came first: heads, blocks, tail.
        let tail = state.tail_front(id);
        let (epoch, upto) = (state.epoch, state.covered.sequence);
        let host = state.queues.host_mut(id);
        let state_unread = host.stored == Stored::Unread;
        let unread = if state_unread { Some(Priority::FIRST) } else { host.next_unread() };
        let head = host.heads.front().map(|(_, item)| item.record.priority);
        let before_tail =
            |class: &Priority| tail.is_none_or(|(of_tail, _, order)| *class <= of_tail || order.sequence > durable);
        if unread.filter(before_tail).is_some_and(|unread| head.is_none_or(|head| unread < head)) {
            host.loading = true;
            let (name, after, begun) = (host.name.to_string(), host.unread.cursors(), host.unread.begun());
            let at_once = state.queues.heads_at_once();
            return Step::ReadHost(HostRead { id, name, state: state_unread, after, begun, at_once, upto, epoch });
        }
        if head.filter(before_tail).is_some()
            && let Some((fingerprint, item)) = host.heads.pop_front()
        {
            return Step::End(Turn::Out(take_out(state, id, fingerprint, item, now)));
        }
        if let Some((_, fingerprint, order)) = tail {
            if order.sequence > durable {
                state.queues.await_commit(order.sequence, id);
                continue;
            }
            host.next_tail().pop_front();
            let item = state.remembered(fingerprint).expect("it stands in the tail").item();
            return Step::End(Turn::Out(take_out(state, id, fingerprint, item, now)));
        }
    }
    Step::End(Turn::Nothing)
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
        trace: item.trace.as_deref(),
    }
}

fn read_host(partition: &Partition, secret: &Secret, read: &HostRead) -> Result<HostGot, Error> {
    let store = &partition.store;
    let stored = if read.state { Some(store.host(&read.name, read.upto)?) } else { None };
    let Some((id, Block(items))) = store.next_block(&read.name, &read.after, read.upto)? else {
        return Ok(HostGot { stored, block: None });
    };
    let from = read.begun.filter(|(begun, _)| *begun == id).map_or(0, |(_, urls)| urls).min(items.len());
    let upto = from.saturating_add(read.at_once).min(items.len());
    let is_end = upto == items.len();
    let fingerprint = |item: &BlockItem| secret.fingerprint(&item.key);
    let earlier = items[..from].iter().map(fingerprint).collect();
    let records = store.records_of(items[from..upto].iter().map(|item| &*item.key))?;
    let stands = |stored: &StoredRecord| stored.record.state == UrlState::Queued && stored.record.block == id.number;
    let items = items.into_iter().skip(from).zip(records);
    let items = items.map(|(item, record)| (fingerprint(&item), item, record.filter(stands))).collect();
    Ok(HostGot { stored, block: Some(BlockGot { id, earlier, items, is_end }) })
}

/// Lets a host have its turn again that was to be read.
fn not_read(state: &mut State, host: HostId) {
    state.queues.host_mut(host).loading = false;
    state.queues.schedule(host);
}

/// Takes in what was read, unless a merge has ended since: then it may be of a file that is gone, or not be so any more.
fn install(state: &mut State, read: &HostRead, got: Result<HostGot, Error>) -> Result<(), Error> {
    state.queues.host_mut(read.id).loading = false;
    if state.epoch == read.epoch {
        let got = got?;
        if let Some(stored) = got.stored {
            state.queues.set_stored(read.id, stored.map_or(Stored::Absent, Stored::Present));
        }
        match got.block {
            None => state.queues.host_mut(read.id).unread.clear(),
            Some(block) => install_block(state, read.id, block),
        }
    }
    state.queues.schedule(read.id);
    Ok(())
}

fn install_block(state: &mut State, host: HostId, block: BlockGot) {
    let urls = block.earlier.len() + block.items.len();
    let (mut heads, mut others) = (Vec::new(), block.earlier);
    others.retain(|url| state.queues.held.get(url).is_some_and(|held| held.is_unmet_in(block.id)));
    for (fingerprint, item, stored) in block.items {
        if let Some(held) = state.queues.held.get(&fingerprint) {
            if held.is_unmet_in(block.id) {
                others.push(fingerprint);
            }
        } else if let Some(r) = stands_in_block(state, fingerprint, block.id.number, stored) {
            let (alternate, referrer) = (r.alternate.map(Into::into), item.referrer.map(Into::into));
            let trace = r.trace.map(Into::into);
            heads.push((fingerprint, Item { key: item.key.into(), alternate, referrer, record: r.record, trace }));
        }
    }
    if block.is_end {
        state.queues.take_block(host, block.id, heads, &others);
    } else {
        // Those that are out by then are met when its end is read.
        state.queues.take_part(host, block.id, urls, heads);
    }
}

/// The record of a block's item if it stands there. Memory overrides the store.
fn stands_in_block(
    state: &State,
    fingerprint: Fingerprint,
    block: BlockNumber,
    stored: Option<StoredRecord>,
) -> Option<StoredRecord> {
    match state.remembered(fingerprint) {
        None => stored,
        Some(r) => {
            let stands = r.entry.place == Place::Block && r.entry.record.block == block;
            stands.then(|| r.stored())
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
    steps::step(steps::Step::DueHostsRead);
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
            state.queues.enter_listed(&name, due);
        }
        state.due_cursor = Some((due, name));
    }
    if !full {
        (state.due_cursor, state.next_disk_due) = (None, None);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
