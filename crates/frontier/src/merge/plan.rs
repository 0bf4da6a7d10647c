//! What a merge writes: from the frozen generation to the changes of the store, and to its file of queue blocks.
//!
//! Not when (`super`). Everything comes in key order, so that each leaf of the store is read and written once.

use std::collections::BTreeSet;

use super::Snapshot;
use crate::canonical::host_of_key;
use crate::error::Error;
use crate::found::Priority;
use crate::host::{HostId, Stored};
use crate::memory::{Order, Place};
use crate::partition::{Frozen, Partition};
use crate::record::BlockNumber;
use crate::revisiting;
use crate::store::{self, BlockChanges, BlockId, Change, Covered, Files, RawBlock, StoredHost};

/// URLs in one queue block: read at one go when the host's turn comes, so a bound on what a host costs in memory.
const BLOCK_ITEMS: usize = 64;

/// What a merge writes, and what it comes to.
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) covered: Covered,
    /// The block files from then on.
    pub(super) files: Files,
    pub(super) hosts: Vec<PlannedHost>,
}

/// What a host comes to.
pub(super) struct PlannedHost {
    pub(super) id: HostId,
    pub(super) stored: StoredHost,
    /// The classes of which it got new blocks.
    pub(super) new_blocks: Vec<Priority>,
}

/// A URL that goes into a block.
struct Queued<'a> {
    host: &'a str,
    priority: Priority,
    order: Order,
    key: &'a str,
    referrer: Option<&'a str>,
}

/// Plans a merge, and writes its block file.
pub(super) fn plan(snapshot: &Snapshot, partition: &Partition) -> Result<Plan, Error> {
    let mut changes = Vec::with_capacity(snapshot.frozen.generation.entries().count());
    let mut covered = snapshot.covered;
    let queued = plan_urls(&snapshot.frozen, &mut changes);
    changes.extend(revisiting::index_changes(&snapshot.frozen.generation, &snapshot.obsolete));
    let robots = snapshot.frozen.generation.all_robots();
    changes.extend(robots.map(|(origin, memory)| store::put_robots(origin, memory)));
    let with_blocks: BTreeSet<(&str, Priority)> = queued.iter().map(|queued| (queued.host, queued.priority)).collect();
    let dead = snapshot.dead_blocks.clone();
    let mut blocks = BlockChanges { new: plan_blocks(&queued, snapshot.frozen.sequence), dead, idle: Vec::new() };
    let mut hosts = plan_hosts(snapshot, &mut covered, &mut changes, &mut blocks, partition)?;
    for (name, host) in &mut hosts {
        let of_host = with_blocks.range((*name, Priority::FIRST)..=(*name, Priority::LAST));
        host.new_blocks = of_host.map(|(_, priority)| *priority).collect();
    }
    let files = partition.store.write_blocks(blocks, &mut changes)?;
    Ok(Plan { changes, covered, files, hosts: hosts.into_iter().map(|(_, host)| host).collect() })
}

/// Records of all changed URLs. Returns those queued in memory, by host and in the order of its queue.
fn plan_urls<'a>(frozen: &'a Frozen, changes: &mut Vec<Change>) -> Vec<Queued<'a>> {
    let generation = &*frozen.generation;
    let mut queued = Vec::new();
    for (_, entry) in generation.entries() {
        let key = generation.key(entry);
        let mut record = entry.record;
        match entry.place {
            Place::Block => {}
            Place::None => record.block = 0,
            Place::Forgotten { stale: true } => record.block = 0,
            Place::Forgotten { stale: false } => {
                changes.push(store::remove_record(key));
                continue;
            }
            Place::Tail(order) => {
                record.block = frozen.sequence;
                let (host, priority) = (host_of_key(key), record.priority);
                queued.push(Queued { host, priority, order, key, referrer: generation.referrer(entry) });
            }
        }
        changes.push(store::put_record(key, &record, generation.alternate(entry), generation.trace(entry)));
    }
    queued.sort_unstable_by_key(|queued| (queued.host, queued.priority, queued.order));
    queued
}

fn plan_blocks<'a>(queued: &[Queued<'a>], number: BlockNumber) -> Vec<RawBlock<'a>> {
    let mut blocks = Vec::new();
    for of_class in queued.chunk_by(|one, next| (one.host, one.priority) == (next.host, next.priority)) {
        let Queued { host, priority, .. } = of_class[0];
        for (part, items) in (0..).zip(of_class.chunks(BLOCK_ITEMS)) {
            let items = store::encode_items(host, items.iter().map(|queued| (queued.key, queued.referrer)));
            blocks.push(RawBlock::new(host, BlockId { priority, number, part }, items));
        }
    }
    blocks
}

/// Records of all changed hosts and their places in the due-time index.
fn plan_hosts<'a>(
    snapshot: &'a Snapshot,
    covered: &mut Covered,
    changes: &mut Vec<Change>,
    blocks: &mut BlockChanges<'a>,
    partition: &Partition,
) -> Result<Vec<(&'a str, PlannedHost)>, Error> {
    let mut by_name: Vec<_> = snapshot.hosts.iter().collect();
    by_name.sort_unstable_by_key(|host| &host.name);
    let mut hosts = Vec::with_capacity(by_name.len());
    for host in by_name {
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
        let mut counts = stored.counts();
        counts.add(&host.delta);
        let new = StoredHost { state, counts };
        let before = if let Stored::Present(before) = &stored { Some(before) } else { None };
        changes.push(store::put_host(&host.name, covered.sequence, &new, before));
        if stored.due() != new.due() {
            changes.extend(stored.due().map(|due| store::set_due(&host.name, due, false)));
            changes.extend(new.due().map(|due| store::set_due(&host.name, due, true)));
        }
        if stored.counts().queued > 0 && counts.queued == 0 {
            blocks.idle.push(&host.name);
        }
        covered.hosts += u64::from(stored == Stored::Absent);
        covered.scheduled += u64::from(new.due().is_some());
        covered.scheduled -= u64::from(stored.due().is_some());
        hosts.push((&*host.name, PlannedHost { id: host.id, stored: new, new_blocks: Vec::new() }));
    }
    Ok(hosts)
}
