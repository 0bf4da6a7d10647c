//! What the verbs and the background work share, and the background work itself: merges when memory or journal ask for
//! one, filters rebuilt, the journal trimmed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::directory::Lock;
use crate::error::Error;
use crate::event::{Event, frame};
use crate::fingerprint::Secret;
use crate::journal::{Journal, Sequence};
use crate::merge::{self, After};
use crate::offering;
use crate::partition::{Partition, State};
use crate::rebuild;

/// A journal sync or store flush that takes longer has failed (a flush on a full disk hangs and returns no error).
const SYNC_LIMIT: Duration = Duration::from_secs(60);

/// What verbs and background work share.
pub(crate) struct Shared {
    pub(crate) secret: Secret,
    pub(crate) journal: Journal,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) filter_settings: bloom::Settings,
    pub(crate) rebuilding: Rebuilding,
    /// What one generation of one partition may use.
    pub(crate) generation_bytes: usize,
    pub(crate) journal_max_bytes: u64,
    pub(crate) wake: Arc<dyn Fn() + Send + Sync>,
    pub(crate) background: Background,
    pub(crate) _lock: Lock,
}

/// When filters are made anew, and how much of a core that may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rebuilding {
    /// A filter of more layers is rebuilt.
    pub(crate) max_layers: usize,
    /// Share of one core, above 0 and up to 1.
    pub(crate) cpu_share: f64,
}

/// State of the background work.
#[derive(Default)]
pub(crate) struct Background {
    /// Partitions that want a merge.
    requests: Mutex<Vec<u16>>,
    requested: Condvar,
    closing: AtomicBool,
    failed: Mutex<Option<String>>,
    merges: AtomicU64,
    rebuilds: AtomicU64,
    offer_waits: AtomicU64,
}

impl Shared {
    /// Offers wait, leases and completions do not: what a page brought is taken in whatever it costs.
    pub(crate) fn wait_for_room(&self, offers: &[offering::Offer<'_>]) -> Result<(), Error> {
        let mut waited = self.journal.wait_room()?;
        for offer in offers {
            let partition = &self.partitions[usize::from(offer.partition)];
            let mut state = partition.state.lock();
            while self.is_full(&state) {
                waited = true;
                // A page completed during the last merge may have filled it: then nobody has asked for the next one.
                if state.frozen.is_none() {
                    self.request_merge(offer.partition);
                }
                self.health()?;
                partition.room.wait_for(&mut state, Duration::from_secs(1));
            }
        }
        self.background.offer_waits.fetch_add(u64::from(waited), Ordering::Relaxed);
        Ok(())
    }

    /// Whether a partition has a merge running and one due, or waits for its turn with twice its share.
    fn is_full(&self, state: &State) -> bool {
        let bytes = state.active.bytes();
        bytes > 2 * self.generation_bytes || (state.frozen.is_some() && bytes > self.generation_bytes)
    }

    /// That journal, stores and background work are well.
    pub(crate) fn health(&self) -> Result<(), Error> {
        if let Some(why) = &*self.background.failed.lock() {
            return Err(Error::Poisoned(why.clone()));
        }
        self.journal.health(SYNC_LIMIT)?;
        self.partitions.iter().try_for_each(|p| p.store.health(SYNC_LIMIT))
    }

    /// Ends the merge thread when it has finished what it is doing.
    pub(crate) fn stop_merging(&self) {
        // Under the lock: the thread is either before its look at the flag, or waiting and woken.
        let _requests = self.background.requests.lock();
        self.background.closing.store(true, Ordering::Release);
        self.background.requested.notify_one();
    }

    /// Makes the parts of one verb one event: journaled, then folded into each partition, all under their locks.
    pub(crate) fn record(
        &self,
        locked: &mut offering::Locked<'_>,
        parts: &[(u16, Event<'_>)],
    ) -> Result<Sequence, Error> {
        let numbered: Vec<(u16, &Event<'_>)> = parts.iter().map(|(number, event)| (*number, event)).collect();
        let sequence = self.journal.append(&frame(&numbered))?;
        for (number, event) in parts {
            locked.state(*number).apply(sequence, event);
        }
        for (number, state) in &locked.0 {
            self.partitions[usize::from(*number)].publish(state);
            if state.frozen.is_none() && (state.active.bytes() > self.generation_bytes || state.active.is_full()) {
                self.request_merge(*number);
            }
        }
        Ok(sequence)
    }

    pub(crate) fn request_merge(&self, number: u16) {
        let mut requests = self.background.requests.lock();
        if !requests.contains(&number) {
            requests.push(number);
            self.background.requested.notify_one();
        }
    }

    /// Deletes journal segments that no store or filter needs any more.
    pub(crate) fn trim_journal(&self) -> Result<(), Error> {
        let covered = self.partitions.iter().map(|p| p.state.lock().covered.sequence).min();
        self.journal.trim(covered.unwrap_or(0))
    }

    /// The merge thread.
    pub(crate) fn merge_until_closed(&self) {
        if let Err(error) = self.merge_loop() {
            self.fail(error.to_string());
        }
    }

    fn merge_loop(&self) -> Result<(), Error> {
        while !self.background.closing.load(Ordering::Acquire) {
            if let Some(partition) = self.partitions.iter().find(|p| self.wants_rebuild(p)) {
                self.rebuild(partition)?;
                continue;
            }
            let Some(number) = self.next_merge() else { continue };
            let partition = &self.partitions[usize::from(number)];
            merge::merge(self, partition, After::Reopen)?;
            self.background.requests.lock().retain(|n| *n != number);
            self.background.merges.fetch_add(1, Ordering::Relaxed);
            (self.wake)();
        }
        Ok(())
    }

    /// Whether a partition has no filter, one of too many layers, or was asked to make it anew.
    fn wants_rebuild(&self, partition: &Partition) -> bool {
        let state = partition.state.lock();
        state.rebuild_asked || state.filter.as_ref().is_none_or(|f| f.layer_count() > self.rebuilding.max_layers)
    }

    fn rebuild(&self, partition: &Partition) -> Result<(), Error> {
        let began = Instant::now();
        let keys = rebuild::rebuild(self, partition)?;
        self.background.rebuilds.fetch_add(1, Ordering::Relaxed);
        let (partition, took) = (partition.number, began.elapsed());
        tracing::info!(partition, keys, ?took, "filter rebuilt from the exact set");
        Ok(())
    }

    /// The partition to merge next: one that asked, or, when the journal is too large, the one that keeps its oldest
    /// segment. Waits a second for one.
    fn next_merge(&self) -> Option<u16> {
        let mut requests = self.background.requests.lock();
        if requests.is_empty() && !self.background.closing.load(Ordering::Acquire) {
            self.background.requested.wait_for(&mut requests, Duration::from_secs(1));
        }
        if let Some(number) = requests.first() {
            return Some(*number);
        }
        drop(requests);
        let oldest_end = self.journal.oldest_segment_end()?;
        if self.journal.bytes() <= self.journal_max_bytes {
            return None;
        }
        let covered = |p: &&Partition| p.state.lock().covered.sequence;
        self.partitions.iter().min_by_key(covered).filter(|p| covered(p) < oldest_end).map(|p| p.number)
    }

    /// Asks for every filter to be made anew.
    pub(crate) fn request_rebuild(&self) {
        self.partitions.iter().for_each(|p| p.state.lock().rebuild_asked = true);
        self.background.requested.notify_one();
    }

    pub(crate) fn fail(&self, why: String) {
        self.background.failed.lock().get_or_insert(why);
        (self.wake)();
    }

    /// Merges done, rebuilds done and offers that had to wait, since the start.
    pub(crate) fn work_done(&self) -> [u64; 3] {
        let Background { merges, rebuilds, offer_waits, .. } = &self.background;
        [merges, rebuilds, offer_waits].map(|count| count.load(Ordering::Relaxed))
    }
}
