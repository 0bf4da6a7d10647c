//! Merging a partition's memory into its store: background work, one partition at a time.
//!
//! ```text
//! freeze   under the lock: memory becomes the frozen generation of sequence S, a new one takes what comes
//! wait     until S is durable: a merge takes only durable events
//! write    records, queue blocks, hosts, in key order; filter files; then alone: "S is covered"
//! reopen   the store, so that written leaves leave memory
//! finish   under the lock: the frozen generation goes; the store's answers count from here
//! ```
//!
//! A crash in between leaves a store that covers what it covered before, with some records and blocks of a merge that
//! never was. They do no harm: all that changed after the covered sequence is replayed into memory, which overrides the
//! store, and a block's item counts only if its record names that very block.

use std::collections::BTreeMap;
use std::sync::Arc;

use ahash::AHashSet;
use bloom::ScalableFilter;

use crate::canonical::host_of_key;
use crate::error::Error;
use crate::host::{HostId, Stored};
use crate::journal::Sequence;
use crate::memory::{Order, Place};
use crate::partition::{Frozen, Partition, State};
use crate::record::{BlockNumber, HostState};
use crate::shared::Shared;
use crate::store::{self, Block, BlockId, BlockItem, Change, Covered, StoredHost};

/// URLs in one queue block: read at one go when the host's turn comes, so a bound on what a host costs in memory.
const BLOCK_ITEMS: usize = 64;

/// Whether the store is opened again after the merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Reopen,
    Close,
}

/// A partition as it was at the freeze.
struct Snapshot {
    frozen: Frozen,
    hosts: Vec<HostSnapshot>,
    covered: Covered,
    /// What the store covered before.
    before: Sequence,
    filter: Option<ScalableFilter>,
}

struct HostSnapshot {
    id: HostId,
    name: Box<str>,
    /// `None` where no event has said anything: then the store's counts.
    state: Option<HostState>,
    default: HostState,
    stored: Stored,
    delta: i64,
}

/// What a merge writes, and what it comes to.
struct Plan {
    changes: Vec<Change>,
    covered: Covered,
    hosts: Vec<(HostId, StoredHost)>,
    /// Hosts that got new blocks.
    new_blocks: AHashSet<String>,
}

/// Merges one partition.
pub(crate) fn merge(shared: &Shared, partition: &Partition, after: After) -> Result<(), Error> {
    let mut checkpoint = partition.merging.lock();
    let snapshot = freeze(shared, partition);
    shared.journal.wait_durable(snapshot.frozen.sequence)?;
    let mut plan = plan(&snapshot, partition)?;
    partition.store.write(std::mem::take(&mut plan.changes))?;
    if let Some(filter) = &snapshot.filter {
        checkpoint.write(filter, plan.covered.sequence)?;
    }
    partition.store.cover(&plan.covered)?;
    match after {
        After::Reopen => partition.store.reopen()?,
        After::Close => partition.store.close(),
    }
    finish(partition, &plan);
    shared.trim_journal()
}

fn freeze(shared: &Shared, partition: &Partition) -> Snapshot {
    let mut state = partition.state.lock();
    let sequence = shared.journal.last();
    let generation = Arc::new(std::mem::take(&mut state.active));
    let frozen = Frozen { generation, sequence };
    state.frozen = Some(frozen.clone());
    for held in state.queues.held.values_mut().filter(|held| held.block == 0) {
        held.block = sequence;
    }
    let mut hosts = Vec::new();
    let ids: Vec<HostId> = state.queues.ids().collect();
    for id in ids {
        let host = state.queues.host_mut(id);
        host.frozen_tail = std::mem::take(&mut host.tail);
        // Heads that were given back before they ever were in a block: the merge writes them to one.
        host.heads
            .iter_mut()
            .filter(|(_, item)| item.record.block == 0)
            .for_each(|(_, item)| item.record.block = sequence);
        if std::mem::take(&mut host.dirty) {
            hosts.push(HostSnapshot {
                id,
                name: host.name.clone(),
                state: host.state_set.then_some(host.state),
                default: host.state,
                stored: host.stored,
                delta: std::mem::take(&mut host.delta),
            });
        }
    }
    let covered = Covered { sequence, books: state.books, ..state.covered };
    let before = state.covered.sequence;
    Snapshot { frozen, hosts, covered, before, filter: state.filter.clone() }
}

fn plan(snapshot: &Snapshot, partition: &Partition) -> Result<Plan, Error> {
    let mut changes = Vec::new();
    let mut covered = snapshot.covered;
    let new_blocks = plan_urls(&snapshot.frozen, &mut changes, partition)?;
    let hosts = plan_hosts(snapshot, &mut covered, &mut changes, partition)?;
    Ok(Plan { changes, covered, hosts, new_blocks })
}

/// Records of all changed URLs; blocks that lose some; blocks of those queued in memory. Returns the hosts with new ones.
fn plan_urls(frozen: &Frozen, changes: &mut Vec<Change>, partition: &Partition) -> Result<AHashSet<String>, Error> {
    let generation = &*frozen.generation;
    let mut queued: BTreeMap<(&str, Order), BlockItem> = BTreeMap::new();
    let mut gone: BTreeMap<(&str, BlockNumber), AHashSet<&str>> = BTreeMap::new();
    for (_, entry) in generation.entries() {
        let key = generation.key(entry);
        let host = host_of_key(key);
        let mut record = entry.record;
        if entry.place != Place::Block && record.block != 0 {
            gone.entry((host, record.block)).or_default().insert(key);
        }
        match entry.place {
            Place::Block => {}
            Place::None => record.block = 0,
            Place::Tail(order) => {
                record.block = frozen.sequence;
                let referrer = generation.referrer(entry).map(str::to_owned);
                queued.insert((host, order), BlockItem { key: key.to_owned(), referrer });
            }
        }
        changes.push(store::put_record(key, &record, generation.alternate(entry)));
    }
    for ((host, number), keys) in gone {
        for (id, mut block) in partition.store.blocks(host, number)? {
            let before = block.0.len();
            block.0.retain(|item| !keys.contains(&*item.key));
            if block.0.len() < before {
                changes.push(store::put_block(host, id, &block));
            }
        }
    }
    Ok(plan_blocks(queued, frozen.sequence, changes))
}

fn plan_blocks(
    queued: BTreeMap<(&str, Order), BlockItem>,
    number: BlockNumber,
    changes: &mut Vec<Change>,
) -> AHashSet<String> {
    let mut hosts = AHashSet::new();
    let mut open: Option<(&str, u32, Block)> = None;
    for ((host, _), item) in queued {
        let part = match &mut open {
            Some((name, _, block)) if *name == host && block.0.len() < BLOCK_ITEMS => {
                block.0.push(item);
                continue;
            }
            Some((name, part, _)) if *name == host => *part + 1,
            _ => 0,
        };
        let full = open.replace((host, part, Block(vec![item])));
        changes.extend(full.map(|(host, part, block)| store::put_block(host, BlockId { number, part }, &block)));
        if part == 0 {
            hosts.insert(host.to_owned());
        }
    }
    changes.extend(open.map(|(host, part, block)| store::put_block(host, BlockId { number, part }, &block)));
    hosts
}

/// Records of all changed hosts and their places in the due-time index.
fn plan_hosts(
    snapshot: &Snapshot,
    covered: &mut Covered,
    changes: &mut Vec<Change>,
    partition: &Partition,
) -> Result<Vec<(HostId, StoredHost)>, Error> {
    let mut hosts = Vec::with_capacity(snapshot.hosts.len());
    for host in &snapshot.hosts {
        let stored = match host.stored {
            Stored::Unread => {
                partition.store.host(&host.name, snapshot.before)?.map_or(Stored::Absent, Stored::Present)
            }
            known => known,
        };
        let state = host.state.unwrap_or(match stored {
            Stored::Present(stored) => stored.state,
            _ => host.default,
        });
        let queued = stored.queued().saturating_add_signed(host.delta);
        let new = StoredHost { state, queued };
        let before = if let Stored::Present(before) = &stored { Some(before) } else { None };
        changes.push(store::put_host(&host.name, covered.sequence, &new, before));
        if stored.due() != new.due() {
            changes.extend(stored.due().map(|due| store::set_due(&host.name, due, false)));
            changes.extend(new.due().map(|due| store::set_due(&host.name, due, true)));
        }
        covered.hosts += u64::from(stored == Stored::Absent);
        covered.scheduled += u64::from(new.due().is_some());
        covered.scheduled -= u64::from(stored.due().is_some());
        hosts.push((host.id, new));
    }
    Ok(hosts)
}

fn finish(partition: &Partition, plan: &Plan) {
    let mut state = partition.state.lock();
    let state = &mut *state;
    let frozen = state.frozen.take();
    state.covered = plan.covered;
    state.epoch += 1;
    for (id, stored) in &plan.hosts {
        state.queues.set_stored(*id, Stored::Present(*stored));
        let host = state.queues.host_mut(*id);
        host.frozen_tail.clear();
        host.unread_blocks |= plan.new_blocks.contains(&*host.name);
        state.queues.schedule(*id);
    }
    state.queues.evict();
    rewind_due_hosts(state);
    partition.publish(state);
    partition.room.notify_all();
    drop(frozen);
}

/// Hosts in the store that are not in memory are looked for from the start again.
fn rewind_due_hosts(state: &mut State) {
    let on_disk_only = state.covered.scheduled > state.queues.listed_hosts;
    state.due_cursor = on_disk_only.then(Default::default);
    state.next_disk_due = on_disk_only.then_some(0);
}

#[cfg(test)]
mod tests;
