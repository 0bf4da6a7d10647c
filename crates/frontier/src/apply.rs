//! The fold of events into a partition's state: the same at a replay as when they happened.
//!
//! Every change that a crash must not undo goes through [`State::apply`], in the order of the events' numbers; time is in
//! the event. What concerns this run only (leases, schedule, hot cache) does not.

mod revisits;

use crate::canonical::host_of_key;
use crate::event::{Change, Event};
use crate::fingerprint::Fingerprint;
use crate::found::Priority;
use crate::host::{HostId, Stored};
use crate::journal::Sequence;
use crate::ledger::Accounts;
use crate::memory::{Order, Place};
use crate::partition::{Remembered, State};
use crate::record::{Counts, HostState, Record, State as UrlState};

impl State {
    /// Folds one event into the state.
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
                    if url.parked {
                        self.count(id, Counts::of(UrlState::Parked));
                    } else {
                        self.count(id, Counts::of(UrlState::Queued));
                        self.push_tail(id, fingerprint, url.priority, order);
                    }
                }
                self.books.add(books);
                // Found again, they are what the filter says maybe to.
                self.stale_keys = self.stale_keys.saturating_sub(books.stale_positives.max(0) as u64);
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
            Event::Released { changes, books } => {
                for (place, change) in (0..).zip(changes) {
                    let fingerprint = self.secret.fingerprint(change.key);
                    let order = Order { sequence, place };
                    self.active.put(fingerprint, change, Place::Tail(order));
                    let id = self.enter(host_of_key(change.key));
                    self.count(id, Counts::change(UrlState::Parked, UrlState::Queued));
                    self.push_tail(id, fingerprint, change.record.priority, order);
                }
                self.books.add(books);
            }
            Event::Lowered { changes, books } => {
                changes.iter().for_each(|change| self.lower(change));
                self.books.add(books);
            }
            Event::Forgotten { changes, books } => {
                changes.iter().for_each(|change| self.forget(sequence, change));
                self.books.add(books);
            }
            Event::Imported { hosts, urls, revived, books } => {
                hosts.iter().for_each(|(name, state)| self.set_host(name, *state));
                for (place, change) in (0..).zip(urls) {
                    self.import(Order { sequence, place }, change);
                }
                self.books.add(books);
                self.stale_keys = self.stale_keys.saturating_sub(*revived);
            }
            Event::Robots { origin, memory } => {
                // Its host gets a record, so that an export finds both.
                self.touch(origin);
                self.active.remember_robots(origin, memory.clone());
            }
            Event::Advanced { changes, books } => {
                for (place, (before, change)) in (0..).zip(changes) {
                    self.advance(Order { sequence, place }, *before, change);
                }
                self.books.add(books);
            }
            Event::Revisit { changes, books } => {
                for (place, change) in (0..).zip(changes) {
                    self.queue_again(Order { sequence, place }, change);
                }
                self.books.add(books);
            }
            Event::Hinted { changes, books } => {
                changes.iter().for_each(|change| self.set_interval(change));
                self.books.add(books);
            }
        }
    }

    fn import(&mut self, order: Order, change: &Change<'_>) {
        let fingerprint = self.secret.fingerprint(change.key);
        self.filter_insert(order.sequence, fingerprint);
        let is_queued = change.record.state == UrlState::Queued;
        self.active.put(fingerprint, change, if is_queued { Place::Tail(order) } else { Place::None });
        let id = self.enter(host_of_key(change.key));
        self.count(id, Counts::of(change.record.state));
        if is_queued {
            self.push_tail(id, fingerprint, change.record.priority, order);
        }
        self.note_due(fingerprint, &change.record);
    }

    /// A known URL becomes what the event says, fetch URL and all.
    fn advance(&mut self, order: Order, before: UrlState, change: &Change<'_>) {
        let fingerprint = self.secret.fingerprint(change.key);
        let (_, block) = self.stands(fingerprint, change.record.block);
        let record = Record { block, ..change.record };
        let is_queued = record.state == UrlState::Queued;
        let place = if is_queued { Place::Tail(order) } else { Place::None };
        self.active.replace(fingerprint, &Change { record, ..*change }, place);
        self.hot.remove(fingerprint);
        let id = self.touch(change.key);
        self.count(id, Counts::change(before, record.state));
        if before == UrlState::Queued {
            self.queues.forget(id, fingerprint);
        }
        if is_queued {
            self.push_tail(id, fingerprint, change.record.priority, order);
        }
        self.note_due(fingerprint, &record);
    }

    /// Nothing but the depth changes: what else the event says is for a URL that memory does not know.
    fn lower(&mut self, change: &Change<'_>) {
        let fingerprint = self.secret.fingerprint(change.key);
        let depth = change.record.depth;
        if !self.active.lower(fingerprint, depth) {
            let (place, block) = self.stands(fingerprint, change.record.block);
            let record = Record { block, ..change.record };
            self.active.put(fingerprint, &Change { record, ..*change }, place);
        }
        let id = self.touch(change.key);
        let heads = self.queues.host_mut(id).heads.iter_mut();
        heads.filter(|(head, _)| *head == fingerprint).for_each(|(_, item)| item.record.depth = depth);
    }

    fn forget(&mut self, sequence: Sequence, change: &Change<'_>) {
        let fingerprint = self.secret.fingerprint(change.key);
        let (_, block) = self.stands(fingerprint, change.record.block);
        let stale = self.filter_remove(sequence, fingerprint);
        self.stale_keys += u64::from(stale);
        let record = Record { state: UrlState::Forgotten, block, due_secs: 0, interval_secs: 0, ..change.record };
        self.active.put(fingerprint, &Change { record, ..*change }, Place::Forgotten { stale });
        self.hot.remove(fingerprint);
        let id = self.touch(change.key);
        self.count(id, Counts::change(change.record.state, UrlState::Forgotten));
        if change.record.state == UrlState::Queued {
            self.queues.forget(id, fingerprint);
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
            self.push_tail(id, fingerprint, change.record.priority, order);
        } else {
            self.active.put(fingerprint, &change, Place::None);
            let id = self.touch(change.key);
            self.count(id, Counts::change(UrlState::Queued, change.record.state));
            self.note_due(fingerprint, &change.record);
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

    fn push_tail(&mut self, id: HostId, fingerprint: Fingerprint, priority: Priority, order: Order) {
        let host = self.queues.host_mut(id);
        host.tail.push(priority, fingerprint, order);
        host.dirty = true;
        self.queues.schedule(id);
    }

    /// Counts what has become of a URL of a host, in the ledger too where there is one.
    fn count(&mut self, id: HostId, change: Counts) {
        let host = self.queues.host_mut(id);
        host.delta.add(&change);
        host.dirty = true;
        if let Some(ledger) = &mut self.ledger {
            let accounts = *host.accounts.get_or_insert_with(|| Accounts::of(&self.secret, &host.name));
            ledger.add(accounts, &change);
        }
    }

    fn set_host(&mut self, name: &str, state: HostState) {
        let id = self.enter(name);
        let host = self.queues.host_mut(id);
        host.state = state;
        host.state_set = true;
        host.dirty = true;
        if let Some(ledger) = &mut self.ledger {
            let accounts = *host.accounts.get_or_insert_with(|| Accounts::of(&self.secret, &host.name));
            ledger.grant(accounts, &state);
        }
        self.queues.schedule(id);
    }

    fn touch(&mut self, key: &str) -> HostId {
        let id = self.enter(host_of_key(key));
        self.queues.host_mut(id).dirty = true;
        id
    }

    /// The host in memory. While the store has no hosts at all, one that is new here is new to the crawl.
    pub(crate) fn enter(&mut self, name: &str) -> HostId {
        if let Some(id) = self.queues.id(name) {
            return id;
        }
        let stored = if self.covered.hosts == 0 { Stored::Absent } else { Stored::Unread };
        let id = self.queues.enter(name, stored);
        // One that comes from the store may have work there, and the search for due hosts passes over those in memory.
        self.queues.schedule(id);
        id
    }

    fn filter_insert(&mut self, sequence: Sequence, fingerprint: Fingerprint) {
        if sequence > self.filter_covered
            && let Some(filter) = &mut self.filter
        {
            filter.insert(fingerprint);
            if filter.layer_count() > self.max_filter_layers {
                filter.stop_growth();
            }
        }
    }

    /// Takes a URL out of the filter that the exact set held until now, if the filter can. Returns whether the filter
    /// still says maybe to it.
    fn filter_remove(&mut self, sequence: Sequence, fingerprint: Fingerprint) -> bool {
        let Some(filter) = &mut self.filter else { return false };
        if sequence > self.filter_covered {
            filter.remove(fingerprint);
        }
        filter.contains(fingerprint)
    }
}
