//! What the verbs and the background work share, and the background work itself: merges when memory (`room`) or journal ask
//! for one, filters rebuilt, the journal trimmed.

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
use crate::partition::Partition;
use crate::rebuild::{self, Reason};
use crate::recrawl::Recrawl;
use crate::room::Room;
use crate::steps::{Step, step};

/// What verbs and background work share.
pub(crate) struct Shared {
    pub(crate) secret: Secret,
    pub(crate) journal: Journal,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) filtering: Filtering,
    pub(crate) room: Room,
    pub(crate) journal_max_bytes: u64,
    /// When pages are visited again; `None` for never.
    pub(crate) recrawl: Option<Recrawl>,
    pub(crate) wake: Arc<dyn Fn() + Send + Sync>,
    pub(crate) background: Background,
    pub(crate) _lock: Arc<Lock>,
}

/// How a partition's filter is made, when anew, and how much of a core that may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filtering {
    pub(crate) kind: bloom::Kind,
    pub(crate) settings: bloom::Settings,
    /// A filter of more layers is rebuilt; it never has more than one more.
    pub(crate) max_layers: usize,
    /// A filter with a larger share of forgotten URLs is rebuilt.
    pub(crate) max_stale_share: f64,
    /// Share of one core, above 0 and up to 1.
    pub(crate) cpu_share: f64,
}

/// State of the background work.
#[derive(Default)]
pub(crate) struct Background {
    /// Partitions that want a merge.
    pub(crate) requests: Mutex<Vec<u16>>,
    requested: Condvar,
    /// Signalled after each merge.
    pub(crate) merged: Condvar,
    /// A filter is to be made anew, and the background thread has not looked since.
    rebuild_due: AtomicBool,
    /// Memory is so full that a partition is to be merged; the same.
    pub(crate) merge_due: AtomicBool,
    closing: AtomicBool,
    /// A thread merges what asks for it.
    pub(crate) has_thread: AtomicBool,
    failed: Mutex<Option<String>>,
    /// Whether `failed` says why.
    has_failed: AtomicBool,
    merges: AtomicU64,
    rebuilds: AtomicU64,
    pub(crate) offer_waits: AtomicU64,
}

impl Shared {
    /// That journal, stores and background work are well. What was not well once never is again: a sync that came too late
    /// may have been taken for lost. Asked before work is handed out or taken in.
    pub(crate) fn health(&self) -> Result<(), Error> {
        if self.background.has_failed.load(Ordering::Acquire)
            && let Some(why) = &*self.background.failed.lock()
        {
            return Err(Error::Poisoned(why.clone()));
        }
        let well = self.journal.health().and_then(|()| self.partitions.iter().try_for_each(|p| p.store.health()));
        if let Err(Error::Poisoned(why)) = &well {
            self.fail(why.clone());
        }
        well
    }

    /// Ends the merge thread when it has finished what it is doing.
    pub(crate) fn stop_merging(&self) {
        // Under the lock: the thread is either before its look at the flag, or waiting and woken.
        let _requests = self.background.requests.lock();
        self.background.closing.store(true, Ordering::Release);
        self.background.has_thread.store(false, Ordering::Release);
        self.background.requested.notify_one();
    }

    /// Makes the parts of one verb one event: journaled, then folded into each partition, all under their locks. Refused
    /// when not all is well.
    pub(crate) fn record(
        &self,
        locked: &mut offering::Locked<'_>,
        parts: &[(u16, Event<'_>)],
    ) -> Result<Sequence, Error> {
        self.health()?;
        let numbered: Vec<(u16, &Event<'_>)> = parts.iter().map(|(number, event)| (*number, event)).collect();
        let sequence = self.journal.append(&frame(&numbered))?;
        step(Step::EventAppended);
        for (number, event) in parts {
            locked.state(*number).apply(sequence, event);
        }
        step(Step::EventApplied);
        for (number, state) in &locked.0 {
            self.partitions[usize::from(*number)].publish(state);
            if rebuild::reason(state, &self.filtering).is_some() {
                self.announce(&self.background.rebuild_due);
            }
            if state.frozen.is_none() && (state.unmerged_bytes() > self.room.generation || state.active.is_full()) {
                self.request_merge(*number);
            }
        }
        if self.recent_bytes() > self.room.merged_at {
            self.announce(&self.background.merge_due);
        }
        Ok(sequence)
    }

    /// Wakes the background thread for work that it finds by looking.
    pub(crate) fn announce(&self, due: &AtomicBool) {
        if !due.swap(true, Ordering::AcqRel) {
            // Under the lock: the thread is either before its look at the flag, or waiting and woken.
            let _requests = self.background.requests.lock();
            self.background.requested.notify_one();
        }
    }

    pub(crate) fn request_merge(&self, number: u16) {
        let mut requests = self.background.requests.lock();
        if !requests.contains(&number) {
            requests.push(number);
            self.background.requested.notify_one();
        }
    }

    /// A merge has frozen the partition's memory: it does what was asked so far. What is asked from here on, also while it
    /// runs, is another one.
    pub(crate) fn merge_begun(&self, number: u16) {
        self.background.requests.lock().retain(|n| *n != number);
    }

    /// Deletes journal segments that no store or filter needs any more.
    pub(crate) fn trim_journal(&self) -> Result<(), Error> {
        let covered = self.partitions.iter().map(|p| p.state.lock().covered.sequence).min();
        self.journal.trim(covered.unwrap_or(0))
    }

    /// Says that a merge thread is about to run.
    pub(crate) fn will_merge(&self) {
        self.background.has_thread.store(true, Ordering::Release);
    }

    /// The merge thread.
    pub(crate) fn merge_until_closed(&self) {
        if let Err(error) = self.merge_loop() {
            self.fail(error.to_string());
        }
    }

    fn merge_loop(&self) -> Result<(), Error> {
        let mut rebuilt = false;
        while !self.is_closing() {
            // In turn: many rebuilds in a row must not keep a merge waiting for which offers wait.
            let next = if rebuilt && self.is_merge_due() { None } else { self.next_rebuild() };
            rebuilt = next.is_some();
            if let Some((partition, reason)) = next {
                self.rebuild(partition, reason)?;
                continue;
            }
            let Some(number) = self.next_merge() else { continue };
            let partition = &self.partitions[usize::from(number)];
            merge::merge(self, partition, After::Reopen)?;
            self.background.merges.fetch_add(1, Ordering::Relaxed);
            {
                // Under the lock: who waits has either not looked yet, or is woken.
                let _requests = self.background.requests.lock();
                self.background.merged.notify_all();
            }
            (self.wake)();
        }
        Ok(())
    }

    /// Whether the background work is to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.background.closing.load(Ordering::Acquire)
    }

    /// Whether somebody waits for a merge, or soon will.
    pub(crate) fn is_merge_due(&self) -> bool {
        !self.background.requests.lock().is_empty()
            || self.recent_bytes() > self.room.merged_at
            || self.journal.bytes() > self.journal_max_bytes
    }

    fn next_rebuild(&self) -> Option<(&Partition, Reason)> {
        let reason = |p: &Partition| rebuild::reason(&p.state.lock(), &self.filtering);
        self.partitions.iter().find_map(|p| Some((p, reason(p)?)))
    }

    fn rebuild(&self, partition: &Partition, reason: Reason) -> Result<(), Error> {
        let began = Instant::now();
        let Some(keys) = rebuild::rebuild(self, partition)? else { return Ok(()) };
        self.background.rebuilds.fetch_add(1, Ordering::Relaxed);
        let (partition, took) = (partition.number, began.elapsed());
        tracing::info!(partition, %reason, keys, ?took, "filter rebuilt from the exact set");
        Ok(())
    }

    /// The partition to merge next: one that asked; the fullest, when memory is; the one that keeps the journal's oldest
    /// segment, when the journal is too large. Waits a second for one.
    fn next_merge(&self) -> Option<u16> {
        let Background { requests, requested, rebuild_due, merge_due, closing, .. } = &self.background;
        let mut requests = requests.lock();
        let [rebuild_due, merge_due] = [rebuild_due, merge_due].map(|due| due.swap(false, Ordering::AcqRel));
        if requests.is_empty() && !rebuild_due && !merge_due && !closing.load(Ordering::Acquire) {
            requested.wait_for(&mut requests, Duration::from_secs(1));
        }
        if let Some(number) = requests.first() {
            return Some(*number);
        }
        drop(requests);
        if self.recent_bytes() > self.room.merged_at {
            return self.fullest().map(|partition| partition.number);
        }
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
        self.announce(&self.background.rebuild_due);
    }

    pub(crate) fn fail(&self, why: String) {
        self.background.failed.lock().get_or_insert(why);
        self.background.has_failed.store(true, Ordering::Release);
        (self.wake)();
    }

    /// Merges done, rebuilds done and offers that had to wait, since the start.
    pub(crate) fn work_done(&self) -> [u64; 3] {
        let Background { merges, rebuilds, offer_waits, .. } = &self.background;
        [merges, rebuilds, offer_waits].map(|count| count.load(Ordering::Relaxed))
    }
}
