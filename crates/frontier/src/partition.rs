//! One partition: a small frontier with its own lock, and the seen-test in its steps. How events change it: `apply`.
//!
//! Whatever answers a question about a URL is asked in this order: hot cache, active memory, frozen memory, filter,
//! store. All but the last are under the lock; a store read happens outside it, and what it said holds only as long as
//! [`State::epoch`] is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ahash::AHashMap;
use bloom::AnyScalable;
use parking_lot::{Condvar, Mutex};

use crate::Millis;
use crate::books::Books;
use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::fingerprint::{Fingerprint, Secret};
use crate::host::{Host, HostId, Item};
use crate::hot_cache::HotCache;
use crate::journal::Sequence;
use crate::ledger::Ledger;
use crate::memory::{Entry, Generation, Place};
use crate::queue::Queues;
use crate::revisiting::Revisits;
use crate::store::{Covered, Store, StoredRecord};
use crate::tail::Front;

/// What a host with one URL in its queue takes in memory, its name and its place in the schedule included.
const HOST_BYTES: usize = size_of::<Host>() + 256;

/// A partition; shared by all threads.
pub(crate) struct Partition {
    pub(crate) number: u16,
    pub(crate) state: Mutex<State>,
    pub(crate) store: Store,
    /// The filter files; held while a merge or a rebuild of this partition runs, so that they exclude each other.
    pub(crate) merging: Mutex<Checkpoint>,
    /// Signalled when a merge has made room in memory.
    pub(crate) room: Condvar,
    /// What it holds in memory for the store, published for the choice of what is merged next.
    pub(crate) recent_bytes: AtomicUsize,
    /// When its first host is due, published for the choice between partitions; `Millis::MAX` for "not by time alone".
    pub(crate) next_due: AtomicU64,
    /// The sequence whose commit makes a host of it due; `Sequence::MAX` for none.
    pub(crate) next_commit: AtomicU64,
}

/// What the lock guards.
pub(crate) struct State {
    pub(crate) active: Generation,
    pub(crate) frozen: Option<Frozen>,
    pub(crate) hot: HotCache,
    /// `None` while it is rebuilt from the exact set: then the answer is maybe to everything.
    pub(crate) filter: Option<AnyScalable>,
    /// Forgotten URLs to which the filter still says maybe.
    pub(crate) stale_keys: u64,
    /// Those that there were after the last rebuild.
    pub(crate) stale_at_rebuild: u64,
    /// Somebody wants the filter to be made anew.
    pub(crate) rebuild_asked: bool,
    /// What the filter files on disk cover; a replay adds the rest.
    pub(crate) filter_covered: Sequence,
    pub(crate) queues: Queues,
    /// What hosts have used of their budgets; `None` where there are none.
    pub(crate) ledger: Option<Ledger>,
    /// The pages that are due again; `None` where no page is visited twice.
    pub(crate) revisits: Option<Revisits>,
    pub(crate) books: Books,
    /// What the store covers.
    pub(crate) covered: Covered,
    /// Goes up when the store's answers change: at the end of a merge.
    pub(crate) epoch: u64,
    /// Where the search for due hosts in the store goes on; `None` when there are no more.
    pub(crate) due_cursor: Option<(Millis, String)>,
    /// A merge was asked for that makes room for hosts, and has not begun.
    pub(crate) room_asked: bool,
    /// When the next host in the store is due, as far as known.
    pub(crate) next_disk_due: Option<Millis>,
    pub(crate) secret: Secret,
    /// A filter of one more layer than this grows no further; it is being rebuilt.
    pub(crate) max_filter_layers: usize,
}

/// The generation that a merge writes.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub(crate) generation: Arc<Generation>,
    /// The merge's sequence, and so the number of its blocks.
    pub(crate) sequence: Sequence,
}

/// What memory knows of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recall {
    /// Seen. `open_depth`: its depth if it is known to be unfinished, up to 255; else zero.
    Seen { open_depth: u16 },
    /// Forgotten, so new: what the store says of it does not count any more. `stale`: it may be in the filter still.
    Forgotten { stale: bool },
    /// Nothing: the filter must be asked, and then perhaps the store.
    Unknown,
}

impl Partition {
    pub(crate) fn new(number: u16, store: Store, checkpoint: Checkpoint, state: State) -> Self {
        Self {
            number,
            state: Mutex::new(state),
            store,
            merging: Mutex::new(checkpoint),
            room: Condvar::new(),
            recent_bytes: AtomicUsize::new(0),
            next_due: AtomicU64::new(0),
            next_commit: AtomicU64::new(Sequence::MAX),
        }
    }

    /// The stored records of those of the URLs that memory does not know, and the epoch in which they hold.
    pub(crate) fn read_unremembered<'a>(
        &self,
        urls: impl Iterator<Item = (Fingerprint, &'a str)>,
    ) -> Result<(u64, AHashMap<Fingerprint, StoredRecord>), Error> {
        let (epoch, unread) = {
            let state = self.state.lock();
            let unread = urls.filter(|(fingerprint, _)| state.remembered(*fingerprint).is_none());
            (state.epoch, unread.collect::<Vec<_>>())
        };
        let mut read = AHashMap::new();
        for (fingerprint, key) in unread {
            if let Some(stored) = self.store.record(key)? {
                read.insert(fingerprint, stored);
            }
        }
        Ok((epoch, read))
    }

    /// Publishes when this partition wants to be asked for a lease again, and how full it is.
    pub(crate) fn publish(&self, state: &State) {
        self.recent_bytes.store(state.recent_bytes(), Ordering::Release);
        let memory = state.queues.next_due().unwrap_or(Millis::MAX);
        let others = [state.disk_due(), state.room_wanted(), state.next_revisit()];
        let due = others.into_iter().flatten().fold(memory, Millis::min);
        self.next_due.store(due, Ordering::Release);
        let awaited = state.revisits.as_ref().and_then(Revisits::awaited);
        let commit = state.queues.next_commit().into_iter().chain(awaited).min();
        self.next_commit.store(commit.unwrap_or(Sequence::MAX), Ordering::Release);
    }
}

impl State {
    pub(crate) fn new(
        secret: Secret,
        hot: HotCache,
        queues: Queues,
        covered: Covered,
        max_filter_layers: usize,
    ) -> Self {
        Self {
            active: Generation::default(),
            frozen: None,
            hot,
            filter: None,
            stale_keys: covered.stale_keys,
            stale_at_rebuild: 0,
            rebuild_asked: false,
            filter_covered: 0,
            queues,
            ledger: None,
            revisits: None,
            books: covered.books,
            covered,
            epoch: 0,
            due_cursor: (covered.scheduled > 0).then(Default::default),
            room_asked: false,
            next_disk_due: (covered.scheduled > 0).then_some(0),
            secret,
            max_filter_layers,
        }
    }

    /// Step b of the seen-test. A URL found in memory becomes hot.
    pub(crate) fn recall(&mut self, fingerprint: Fingerprint) -> Recall {
        if let Some(open_depth) = self.hot.find(fingerprint) {
            return Recall::Seen { open_depth };
        }
        if self.queues.is_forgotten(fingerprint) {
            return Recall::Seen { open_depth: 0 };
        }
        match self.remembered(fingerprint).map(|remembered| (remembered.entry.place, remembered.entry.record)) {
            None => Recall::Unknown,
            Some((Place::Forgotten { stale }, _)) => Recall::Forgotten { stale },
            Some((_, record)) => {
                let open_depth = record.open_depth();
                self.hot.insert(fingerprint, open_depth);
                Recall::Seen { open_depth }
            }
        }
    }

    /// Step c of the seen-test: whether the filter says maybe to each; `None` while there is no filter.
    pub(crate) fn ask_filter(&self, fingerprints: &[Fingerprint]) -> Vec<Option<bool>> {
        let Some(filter) = &self.filter else { return vec![None; fingerprints.len()] };
        let mut maybe = vec![false; fingerprints.len()];
        filter.contains_batch(fingerprints, &mut maybe);
        maybe.into_iter().map(Some).collect()
    }

    /// What memory says of a URL, newest first.
    pub(crate) fn remembered(&self, fingerprint: Fingerprint) -> Option<Remembered<'_>> {
        if let Some(entry) = self.active.get(fingerprint) {
            return Some(Remembered { generation: &self.active, entry, frozen_at: 0 });
        }
        let frozen = self.frozen.as_ref()?;
        let entry = frozen.generation.get(fingerprint)?;
        Some(Remembered { generation: &frozen.generation, entry, frozen_at: frozen.sequence })
    }

    /// The first URL of a host's tail that still stands there, without taking it out; what does not is dropped.
    pub(crate) fn tail_front(&mut self, id: HostId) -> Option<Front> {
        loop {
            let (priority, fingerprint, order) = self.queues.host_mut(id).next_tail().front()?;
            let stands = self.remembered(fingerprint).is_some_and(|r| r.entry.place == Place::Tail(order));
            if stands && !self.queues.held.contains_key(&fingerprint) {
                return Some((priority, fingerprint, order));
            }
            self.queues.host_mut(id).next_tail().pop_front();
        }
    }

    /// Whether memory holds what the store does not.
    pub(crate) fn has_changed(&self) -> bool {
        !self.active.is_empty() || self.queues.ids().any(|id| self.queues.host(id).dirty)
    }

    /// Bytes of what the next merge will take out of memory: URLs, and their hosts as far as they are more than memory
    /// keeps anyway.
    pub(crate) fn unmerged_bytes(&self) -> usize {
        // A host that no URL of it keeps in memory is not there for a merge to take out.
        self.active.bytes() + self.queues.excess_hosts().min(self.active.len()) * HOST_BYTES
    }

    /// The same and what a merge is taking out now.
    pub(crate) fn recent_bytes(&self) -> usize {
        self.unmerged_bytes() + self.frozen.as_ref().map_or(0, |frozen| frozen.generation.bytes())
    }

    /// When the next host that is only in the store is due, if memory has room for it.
    pub(crate) fn disk_due(&self) -> Option<Millis> {
        self.next_disk_due.filter(|_| !self.queues.is_crowded()).map(|due| due.max(self.queues.earliest()))
    }

    /// Since when a host that is only in the store would be due, where memory is filling with hosts and a merge is to be
    /// asked for that makes room. Where nothing has changed since the last one it would make none.
    pub(crate) fn room_wanted(&self) -> Option<Millis> {
        let is_wanted =
            self.queues.is_filling() && !self.room_asked && self.frozen.is_none() && !self.active.is_empty();
        self.next_disk_due.filter(|_| is_wanted).map(|due| due.max(self.queues.earliest()))
    }

    /// Hosts of which a URL is known.
    pub(crate) fn hosts(&self) -> u64 {
        self.covered.hosts + self.queues.absent_hosts
    }

    /// Hosts that wait for their turn: in memory, and listed in the store only.
    pub(crate) fn hosts_waiting(&self) -> u64 {
        self.queues.waiting() + self.covered.scheduled.saturating_sub(self.queues.listed_hosts)
    }
}

/// An entry and the generation that holds it.
#[derive(Clone, Copy)]
pub(crate) struct Remembered<'a> {
    pub(crate) generation: &'a Generation,
    pub(crate) entry: &'a Entry,
    /// The sequence of the merge that is writing it; zero in the active generation.
    pub(crate) frozen_at: Sequence,
}

impl<'a> Remembered<'a> {
    pub(crate) fn key(&self) -> &'a str {
        self.generation.key(self.entry)
    }

    /// As the store would say it.
    pub(crate) fn stored(&self) -> StoredRecord {
        StoredRecord {
            record: self.entry.record,
            alternate: self.generation.alternate(self.entry).map(str::to_owned),
            trace: self.generation.trace(self.entry).map(str::to_owned),
        }
    }

    /// The URL as it goes out.
    pub(crate) fn item(&self) -> Item {
        let mut record = self.entry.record;
        record.block = self.frozen_at;
        Item {
            key: self.generation.key(self.entry).into(),
            alternate: self.generation.alternate(self.entry).map(Into::into),
            referrer: self.generation.referrer(self.entry).map(Into::into),
            record,
            trace: self.generation.trace(self.entry).map(Into::into),
        }
    }
}
