//! Merging a partition's memory into its store: background work, one partition at a time.
//!
//! ```text
//! freeze   under the lock: memory becomes the frozen generation of sequence S, a new one takes what comes
//! wait     until S is durable: a merge takes only durable events
//! plan     what it comes to (`plan`); its queue blocks are written to a file of their own, whole and durable
//! write    records, index of the queue blocks, hosts, in key order; filter files; then alone: "S is covered"
//! reopen   the store, so that written leaves leave memory
//! finish   under the lock: the frozen generation goes; the store's answers count from here
//! delete   block files that nothing names any more
//! ```
//!
//! A crash in between leaves a store that covers what it covered before, with some records and index entries of a merge
//! that never was, and its block file. They do no harm: all that changed after the covered sequence is replayed into
//! memory, which overrides the store; a block counts only if the covered record names its file, and an item of it only if
//! its record names that very block; and what the merge took out of the index had left the queue by events that are
//! replayed.

mod plan;

use std::sync::Arc;

use bloom::AnyScalable;

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::host::{HostId, Stored};
use crate::journal::Sequence;
use crate::partition::{Frozen, Partition, State};
use crate::record::{Counts, HostState};
use crate::revisiting::Revisits;
use crate::shared::Shared;
use crate::steps::{Step, step};
use crate::store::{BlockId, Covered};
use plan::{Plan, plan};

/// Whether the store is opened again after the merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Reopen,
    Close,
}

/// A partition as it was at the freeze.
pub(crate) struct Snapshot {
    frozen: Frozen,
    hosts: Vec<HostSnapshot>,
    /// Blocks of which no URL stood in the queue any more.
    dead_blocks: Vec<(Box<str>, BlockId)>,
    covered: Covered,
    /// What the store covered before.
    before: Sequence,
    filter: Option<AnyScalable>,
    /// Entries of the index of due pages that go.
    obsolete: Vec<(u32, String)>,
}

struct HostSnapshot {
    id: HostId,
    name: Box<str>,
    /// `None` where no event has said anything: then the store's counts.
    state: Option<HostState>,
    default: HostState,
    stored: Stored,
    delta: Counts,
}

/// Merges one partition.
pub(crate) fn merge(shared: &Shared, partition: &Partition, after: After) -> Result<(), Error> {
    let mut checkpoint = partition.merging.lock();
    // Of one that failed something may be frozen still; another one must not take its place.
    shared.health()?;
    let snapshot = freeze(shared, partition);
    step(Step::MergeFrozen);
    write(shared, partition, &mut checkpoint, &snapshot, after)
}

/// Brings a frozen partition into its store. `checkpoint` is the guard that says that no other merge of it runs. If it
/// fails nothing more is handed out or taken in: what is frozen is in the journal, and in memory nobody brings it on.
pub(crate) fn write(
    shared: &Shared,
    partition: &Partition,
    checkpoint: &mut Checkpoint,
    snapshot: &Snapshot,
    after: After,
) -> Result<(), Error> {
    let written = write_frozen(shared, partition, checkpoint, snapshot, after);
    written.inspect_err(|error| shared.fail(error.to_string()))
}

fn write_frozen(
    shared: &Shared,
    partition: &Partition,
    checkpoint: &mut Checkpoint,
    snapshot: &Snapshot,
    after: After,
) -> Result<(), Error> {
    shared.journal.wait_durable(snapshot.frozen.sequence)?;
    step(Step::MergeDurable);
    let mut plan = plan(snapshot, partition)?;
    step(Step::MergePlanned);
    partition.store.write(std::mem::take(&mut plan.changes))?;
    if let Some(filter) = &snapshot.filter {
        checkpoint.write(filter, plan.covered.sequence)?;
    }
    step(Step::FilterWritten);
    partition.store.cover(&plan.covered, &plan.files)?;
    step(Step::MergeCovered);
    match after {
        After::Reopen => partition.store.reopen()?,
        After::Close => partition.store.close(),
    }
    finish(partition, &plan);
    step(Step::MergeFinished);
    // A lease that still reads by what was so before finds that it is not so any more.
    partition.store.remove_old_blocks()?;
    shared.trim_journal()
}

fn freeze(shared: &Shared, partition: &Partition) -> Snapshot {
    let mut state = partition.state.lock();
    freeze_at(shared, partition, &mut state, shared.journal.last())
}

/// Freezes a partition at the journal's last sequence, which was read under its lock.
pub(crate) fn freeze_at(shared: &Shared, partition: &Partition, state: &mut State, sequence: Sequence) -> Snapshot {
    shared.merge_begun(partition.number);
    let generation = Arc::new(std::mem::take(&mut state.active));
    let frozen = Frozen { generation, sequence };
    state.frozen = Some(frozen.clone());
    state.room_asked = false;
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
            host.frozen_delta = std::mem::take(&mut host.delta);
            hosts.push(HostSnapshot {
                id,
                name: host.name.clone(),
                state: host.state_set.then_some(host.state),
                default: host.state,
                stored: host.stored,
                delta: host.frozen_delta,
            });
        }
    }
    let covered = Covered { sequence, books: state.books, stale_keys: state.stale_keys, ..state.covered };
    let before = state.covered.sequence;
    let dead_blocks = std::mem::take(&mut state.queues.dead_blocks);
    let obsolete = state.revisits.as_mut().map(Revisits::take_obsolete).unwrap_or_default();
    Snapshot { frozen, hosts, dead_blocks, covered, before, filter: state.filter.clone(), obsolete }
}

fn finish(partition: &Partition, plan: &Plan) {
    let mut state = partition.state.lock();
    let state = &mut *state;
    let frozen = state.frozen.take();
    if let Some(revisits) = &mut state.revisits {
        revisits.merged(&state.active);
    }
    state.covered = plan.covered;
    state.epoch += 1;
    for planned in &plan.hosts {
        state.queues.set_stored(planned.id, Stored::Present(planned.stored));
        let host = state.queues.host_mut(planned.id);
        host.frozen_tail.clear();
        host.frozen_delta = Counts::default();
        planned.new_blocks.iter().for_each(|class| host.unread.add(*class));
        state.queues.schedule(planned.id);
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
