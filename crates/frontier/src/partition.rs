//! One partition: a small frontier with its own lock. The seen-test in its steps, and `apply`, the fold of events.
//!
//! Whatever answers a question about a URL is asked in this order: hot cache, active memory, frozen memory, filter,
//! store. All but the last are under the lock; a store read happens outside it, and what it said holds only as long as
//! [`State::epoch`] is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bloom::ScalableFilter;
use parking_lot::{Condvar, Mutex};

use crate::Millis;
use crate::books::Books;
use crate::canonical::host_of_key;
use crate::checkpoint::Checkpoint;
use crate::event::{Change, Event};
use crate::fingerprint::{Fingerprint, Secret};
use crate::host::{HostId, Item, Stored};
use crate::hot_cache::HotCache;
use crate::journal::Sequence;
use crate::memory::{Entry, Generation, Order, Place};
use crate::queue::Queues;
use crate::record::{HostState, State as UrlState};
use crate::store::{Covered, Store};

/// A partition; shared by all threads.
pub(crate) struct Partition {
    pub(crate) number: u16,
    pub(crate) state: Mutex<State>,
    pub(crate) store: Store,
    /// The filter files; held while a merge or a rebuild of this partition runs, so that they exclude each other.
    pub(crate) merging: Mutex<Checkpoint>,
    /// Signalled when a merge has made room in memory.
    pub(crate) room: Condvar,
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
    pub(crate) filter: Option<ScalableFilter>,
    /// Somebody wants the filter to be made anew.
    pub(crate) rebuild_asked: bool,
    /// What the filter files on disk cover; a replay adds the rest.
    pub(crate) filter_covered: Sequence,
    pub(crate) queues: Queues,
    pub(crate) books: Books,
    /// What the store covers.
    pub(crate) covered: Covered,
    /// Goes up when the store's answers change: at the end of a merge.
    pub(crate) epoch: u64,
    /// Where the search for due hosts in the store goes on; `None` when there are no more.
    pub(crate) due_cursor: Option<(Millis, String)>,
    /// When the next host in the store is due, as far as known.
    pub(crate) next_disk_due: Option<Millis>,
    secret: Secret,
}

/// The generation that a merge writes.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub(crate) generation: Arc<Generation>,
    /// The merge's sequence, and so the number of its blocks.
    pub(crate) sequence: Sequence,
}

/// The seen-test's answer without the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// In memory: seen.
    Seen,
    /// The filter says absent: new.
    Absent,
    /// The filter says maybe: the store must be asked.
    Maybe,
    /// There is no filter now: the store must be asked.
    Bypassed,
}

impl Partition {
    pub(crate) fn new(number: u16, store: Store, checkpoint: Checkpoint, state: State) -> Self {
        Self {
            number,
            state: Mutex::new(state),
            store,
            merging: Mutex::new(checkpoint),
            room: Condvar::new(),
            next_due: AtomicU64::new(0),
            next_commit: AtomicU64::new(Sequence::MAX),
        }
    }

    /// Publishes when this partition wants to be asked for a lease again.
    pub(crate) fn publish(&self, state: &State) {
        let memory = state.queues.next_due().unwrap_or(Millis::MAX);
        let due = memory.min(state.disk_due().unwrap_or(Millis::MAX));
        self.next_due.store(due, Ordering::Release);
        self.next_commit.store(state.queues.next_commit().unwrap_or(Sequence::MAX), Ordering::Release);
    }
}

impl State {
    pub(crate) fn new(secret: Secret, hot_cache_entries: usize, queues: Queues, covered: Covered) -> Self {
        Self {
            active: Generation::default(),
            frozen: None,
            hot: HotCache::new(hot_cache_entries),
            filter: None,
            rebuild_asked: false,
            filter_covered: 0,
            queues,
            books: covered.books,
            covered,
            epoch: 0,
            due_cursor: (covered.scheduled > 0).then(Default::default),
            next_disk_due: (covered.scheduled > 0).then_some(0),
            secret,
        }
    }

    /// Steps b and c of the seen-test. A URL found in memory becomes hot.
    pub(crate) fn probe(&mut self, fingerprint: Fingerprint) -> Answer {
        if self.hot.contains(fingerprint) {
            return Answer::Seen;
        }
        if self.remembered(fingerprint).is_some() {
            self.hot.insert(fingerprint);
            return Answer::Seen;
        }
        match &self.filter {
            None => Answer::Bypassed,
            Some(filter) if filter.contains(fingerprint) => Answer::Maybe,
            Some(_) => Answer::Absent,
        }
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

    /// Folds one event into the state. The same at a replay as when it happened.
    pub(crate) fn apply(&mut self, sequence: Sequence, event: &Event<'_>) {
        match event {
            Event::Found { at, referrer, urls, books } => {
                let mut host = None;
                for (place, url) in (0..).zip(urls) {
                    let fingerprint = self.secret.fingerprint(url.key);
                    let order = Order { sequence, place };
                    self.filter_insert(sequence, fingerprint);
                    self.active.insert_new(fingerprint, url, *referrer, (at / 1000) as u32, order);
                    let name = host_of_key(url.key);
                    let id = match host {
                        Some((known, id)) if known == name => id,
                        _ => self.enter(name),
                    };
                    host = Some((name, id));
                    self.push_tail(id, fingerprint, order, 1);
                }
                self.books.add(books);
            }
            Event::Leased(change) => {
                let fingerprint = self.secret.fingerprint(change.key);
                let (place, block) = self.stands(fingerprint, change.record.block);
                let mut change = *change;
                change.record.block = block;
                self.active.put(fingerprint, &change, place);
                self.touch(change.key);
            }
            Event::Completed { change, host, books } => {
                self.complete(sequence, change);
                if let Some(state) = host {
                    self.set_host(host_of_key(change.key), *state);
                }
                self.books.add(books);
            }
            Event::Host { host, state, books } => {
                self.set_host(host, *state);
                self.books.add(books);
            }
        }
    }

    fn complete(&mut self, sequence: Sequence, change: &Change<'_>) {
        let fingerprint = self.secret.fingerprint(change.key);
        let (_, block) = self.stands(fingerprint, change.record.block);
        let mut change = *change;
        change.record.block = block;
        if change.record.state == UrlState::Queued {
            // After the URLs found by the same event.
            let order = Order { sequence, place: u32::MAX };
            self.active.put(fingerprint, &change, Place::Tail(order));
            let id = self.enter(host_of_key(change.key));
            self.push_tail(id, fingerprint, order, 0);
        } else {
            self.active.put(fingerprint, &change, Place::None);
            let id = self.touch(change.key);
            self.queues.host_mut(id).delta -= 1;
        }
    }

    /// Where an unfinished URL stands in the queue, and the block in the store that holds it. An event says only what
    /// was so when it happened, and a merge that never came to its end must not count: memory knows better.
    fn stands(&self, fingerprint: Fingerprint, otherwise: Sequence) -> (Place, Sequence) {
        match self.remembered(fingerprint) {
            None => (Place::Block, otherwise),
            Some(Remembered { entry, frozen_at: 0, .. }) => (entry.place, entry.record.block),
            Some(Remembered { entry, frozen_at, .. }) => match entry.place {
                Place::Tail(_) => (Place::Block, frozen_at),
                place => (place, entry.record.block),
            },
        }
    }

    fn push_tail(&mut self, id: HostId, fingerprint: Fingerprint, order: Order, more: i64) {
        let host = self.queues.host_mut(id);
        host.tail.push_back((fingerprint, order));
        host.delta += more;
        host.dirty = true;
        self.queues.schedule(id);
    }

    fn set_host(&mut self, name: &str, state: HostState) {
        let id = self.enter(name);
        let host = self.queues.host_mut(id);
        host.state = state;
        host.state_set = true;
        host.dirty = true;
        self.queues.schedule(id);
    }

    fn touch(&mut self, key: &str) -> HostId {
        let id = self.enter(host_of_key(key));
        self.queues.host_mut(id).dirty = true;
        id
    }

    /// The host in memory. While the store has no hosts at all, one that is new here is new to the crawl.
    fn enter(&mut self, name: &str) -> HostId {
        let stored = if self.covered.hosts == 0 { Stored::Absent } else { Stored::Unread };
        self.queues.enter(name, stored)
    }

    fn filter_insert(&mut self, sequence: Sequence, fingerprint: Fingerprint) {
        if sequence > self.filter_covered
            && let Some(filter) = &mut self.filter
        {
            filter.insert(fingerprint);
        }
    }

    /// The first URL of a host's tail that still stands there, without taking it out; what does not is dropped.
    pub(crate) fn tail_front(&mut self, id: HostId) -> Option<(Fingerprint, Order)> {
        loop {
            let host = self.queues.host(id);
            let (fingerprint, order) = *host.frozen_tail.front().or(host.tail.front())?;
            let stands = self.remembered(fingerprint).is_some_and(|r| r.entry.place == Place::Tail(order));
            if stands && !self.queues.held.contains_key(&fingerprint) {
                return Some((fingerprint, order));
            }
            self.drop_tail_front(id);
        }
    }

    /// Takes the front of a host's tail out.
    pub(crate) fn drop_tail_front(&mut self, id: HostId) {
        let host = self.queues.host_mut(id);
        if host.frozen_tail.pop_front().is_none() {
            host.tail.pop_front();
        }
    }

    /// When the next host that is only in the store is due, if memory has room for it.
    pub(crate) fn disk_due(&self) -> Option<Millis> {
        self.next_disk_due.filter(|_| !self.queues.is_crowded())
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

impl Remembered<'_> {
    /// The URL as it goes out.
    pub(crate) fn item(&self) -> Item {
        let mut record = self.entry.record;
        record.block = self.frozen_at;
        Item {
            key: self.generation.key(self.entry).into(),
            alternate: self.generation.alternate(self.entry).map(Into::into),
            referrer: self.generation.referrer(self.entry).map(Into::into),
            record,
        }
    }
}
