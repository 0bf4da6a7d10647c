//! Fetched pages that are due again: found in memory and in the store's index, and back into their queues.
//!
//! Not when they are due (`recrawl`). A page that is not merged yet has its due time in a heap in memory; of the others the
//! store keeps an index by due time. Both are hints: an entry counts only if the page's record says the same, so that
//! nothing has to be taken out of them when a page changes. What was looked at in the index is removed by the next merge.
//!
//! Invariants: a page goes back by one event, fetched before and queued after; no page is read under the lock; the next
//! ones follow only when that event is durable and memory has room, so that a great many that come due at once keep no
//! lease waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ahash::{AHashMap, AHashSet};

use crate::Millis;
use crate::books::Books;
use crate::completion::state_books;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::fingerprint::Fingerprint;
use crate::journal::Sequence;
use crate::memory::Generation;
use crate::offering::Locked;
use crate::partition::{Partition, State};
use crate::record::{Record, State as UrlState};
use crate::shared::Shared;
use crate::store::{self, StoredRecord};

/// Pages taken at once from each of the two places: bounds the reads of one lease and the size of a commit.
const BATCH: usize = 64;

/// The pages of a partition that are due again; only where pages are visited again.
#[derive(Debug)]
pub(crate) struct Revisits {
    /// Of the pages that are in memory: when each is due.
    recent: BinaryHeap<Reverse<(u32, Fingerprint)>>,
    /// When the next page in the store's index is due, in seconds, as far as known; `None` when there is none.
    listed_due: Option<u32>,
    /// The last entry of the index that was looked at.
    cursor: (u32, String),
    /// Entries of the index that were looked at, and count no more.
    obsolete: Vec<(u32, String)>,
    /// The last event that put pages back, until it is durable; else zero.
    awaited: Sequence,
    /// What a generation of memory may use while another one is being merged.
    share_bytes: usize,
}

/// A page that is due.
struct Page {
    fingerprint: Fingerprint,
    key: String,
    stored: StoredRecord,
}

impl Revisits {
    pub(crate) fn new(share_bytes: usize) -> Self {
        Self {
            recent: BinaryHeap::new(),
            listed_due: Some(0),
            cursor: Default::default(),
            obsolete: Vec::new(),
            awaited: 0,
            share_bytes,
        }
    }

    /// Takes in that a page in memory is due.
    pub(crate) fn push(&mut self, fingerprint: Fingerprint, record: &Record) {
        if record.is_due_again() {
            self.recent.push(Reverse((record.due_secs, fingerprint)));
        }
    }

    /// The entries of the index that a merge is to remove.
    pub(crate) fn take_obsolete(&mut self) -> Vec<(u32, String)> {
        std::mem::take(&mut self.obsolete)
    }

    /// After a merge: what it wrote is in the index, which is looked through from its start.
    pub(crate) fn merged(&mut self, active: &Generation) {
        self.recent.retain(|Reverse((_, fingerprint))| active.get(*fingerprint).is_some());
        (self.listed_due, self.cursor) = (Some(0), Default::default());
    }

    /// The event that is waited for.
    pub(crate) fn awaited(&self) -> Option<Sequence> {
        (self.awaited > 0).then_some(self.awaited)
    }

    fn next_due(&self) -> Option<u32> {
        let recent = self.recent.peek().map(|Reverse((due, _))| *due);
        recent.into_iter().chain(self.listed_due).min()
    }
}

impl State {
    /// When the next page is to be looked at for being due; `None` for never by time alone.
    pub(crate) fn next_revisit(&self) -> Option<Millis> {
        let revisits = self.revisits.as_ref()?;
        let has_room = self.frozen.is_none() || self.active.bytes() <= revisits.share_bytes;
        let next = revisits.next_due().filter(|_| has_room && revisits.awaited == 0);
        next.map(|secs| u64::from(secs) * 1000)
    }

    /// Pages in memory that are due, off the heap.
    fn take_recent(&mut self, now_secs: u32) -> Vec<Page> {
        let mut pages = Vec::new();
        while pages.len() < BATCH
            && let Some(revisits) = &mut self.revisits
            && let Some(Reverse((due, fingerprint))) = revisits.recent.peek().copied()
            && due <= now_secs
        {
            revisits.recent.pop();
            pages.extend(self.remembered_page(fingerprint, due));
        }
        pages
    }

    /// The page, if memory says that it is due then.
    fn remembered_page(&self, fingerprint: Fingerprint, due_secs: u32) -> Option<Page> {
        let remembered = self.remembered(fingerprint)?;
        let is_due = is_due_then(&remembered.entry.record, due_secs);
        is_due.then(|| Page { fingerprint, key: remembered.key().to_owned(), stored: remembered.stored() })
    }

    /// Those of the entries of the index that are due, the cursor behind them.
    fn take_listed(
        &mut self,
        listed: Vec<(u32, String)>,
        now_secs: u32,
        read: &AHashMap<Fingerprint, StoredRecord>,
    ) -> Vec<Page> {
        let full = listed.len() == BATCH;
        let mut pages = Vec::new();
        let mut next = None;
        for (due, key) in listed {
            if due > now_secs {
                next = Some(due);
                break;
            }
            let fingerprint = self.secret.fingerprint(&key);
            pages.extend(match self.remembered(fingerprint) {
                Some(_) => self.remembered_page(fingerprint, due),
                None => {
                    // Not taken out: an entry that counts no more may stand before the page's own.
                    let stored = read.get(&fingerprint).filter(|stored| is_due_then(&stored.record, due));
                    stored.map(|stored| Page { fingerprint, key: key.clone(), stored: stored.clone() })
                }
            });
            if let Some(revisits) = &mut self.revisits {
                revisits.cursor = (due, key.clone());
                revisits.obsolete.push((due, key));
            }
        }
        if let Some(revisits) = &mut self.revisits {
            // A full piece that is due to its end: more may follow.
            revisits.listed_due = next.or(full.then_some(revisits.cursor.0));
        }
        pages
    }
}

/// An entry of heap or index counts only if the record says the same.
fn is_due_then(record: &Record, due_secs: u32) -> bool {
    record.is_due_again() && record.due_secs == due_secs
}

/// A time in seconds since the Unix epoch.
pub(crate) fn secs(at: Millis) -> u32 {
    u32::try_from(at / 1000).unwrap_or(u32::MAX)
}

/// Puts pages of a partition that are due back into their queues, up to a bounded number.
pub(crate) fn queue_due(shared: &Shared, partition: &Partition, now: Millis) -> Result<(), Error> {
    if shared.recrawl.is_none() {
        return Ok(());
    }
    let Some((epoch, cursor)) = look_after(&mut partition.state.lock(), shared.journal.durable(), now) else {
        return Ok(());
    };
    let now_secs = secs(now);
    let listed = match &cursor {
        Some(after) => partition.store.due_pages(after, BATCH)?,
        None => Vec::new(),
    };
    let due = listed.iter().take_while(|(due, _)| *due <= now_secs).map(|(_, key)| &**key);
    let (read_epoch, read) = partition.read_unremembered(due.map(|key| (shared.secret.fingerprint(key), key)))?;
    let mut locked = Locked::new(&shared.partitions, &[partition.number]);
    let state = locked.state(partition.number);
    let mut pages = state.take_recent(now_secs);
    let is_cursor = state.revisits.as_ref().is_some_and(|revisits| cursor.as_ref() == Some(&revisits.cursor));
    // Else a merge has ended meanwhile, or somebody else was here: looked at again.
    if is_cursor && [state.epoch, read_epoch] == [epoch, epoch] {
        pages.extend(state.take_listed(listed, now_secs, &read));
    }
    // A crash in mid-merge leaves a page in both places.
    let mut taken = AHashSet::new();
    pages.retain(|page| taken.insert(page.fingerprint));
    record(shared, partition, locked, &pages)
}

/// Where to look in the index, and the epoch; `None` when nothing is due.
fn look_after(state: &mut State, durable: Sequence, now: Millis) -> Option<(u64, Option<(u32, String)>)> {
    let revisits = state.revisits.as_mut()?;
    if revisits.awaited <= durable {
        revisits.awaited = 0;
    }
    state.next_revisit().filter(|due| *due <= now)?;
    let revisits = state.revisits.as_ref()?;
    let is_listed = revisits.listed_due.is_some_and(|due| due <= secs(now));
    Some((state.epoch, is_listed.then(|| revisits.cursor.clone())))
}

fn record(shared: &Shared, partition: &Partition, mut locked: Locked<'_>, pages: &[Page]) -> Result<(), Error> {
    let number = partition.number;
    if !pages.is_empty() {
        let changes: Vec<Change<'_>> = pages.iter().map(|page| queued(&page.key, &page.stored)).collect();
        let books = books(changes.len() as i64, changes.len() as i64);
        let sequence = shared.record(&mut locked, &[(number, Event::Revisit { changes, books })])?;
        if let Some(revisits) = &mut locked.state(number).revisits {
            revisits.awaited = sequence;
        }
    }
    partition.publish(locked.state(number));
    Ok(())
}

/// What a merge changes in the index: each page of memory that is due is listed, and what was looked at goes.
pub(crate) fn index_changes(generation: &Generation, obsolete: &[(u32, String)]) -> Vec<store::Change> {
    let due = generation.known().filter(|(_, entry)| entry.record.is_due_again());
    let listed: AHashSet<(u32, &str)> = due.map(|(_, entry)| (entry.record.due_secs, generation.key(entry))).collect();
    // After a step back of the clock a page may be due once more at the very time at which it was.
    let gone = obsolete.iter().filter(|(due, key)| !listed.contains(&(*due, &**key)));
    let removed = gone.map(|(due, key)| store::set_due_page(key, *due, false));
    removed.chain(listed.iter().map(|(due, key)| store::set_due_page(key, *due, true))).collect()
}

/// The page as it goes back into its queue.
pub(crate) fn queued<'a>(key: &'a str, stored: &'a StoredRecord) -> Change<'a> {
    let record = Record { state: UrlState::Queued, attempts: 0, starts: 0, ..stored.record };
    Change { record, ..Change::of(key, stored) }
}

/// What so many pages that go back change in the books, `listed` of them with a due time until now.
pub(crate) fn books(pages: i64, listed: i64) -> Books {
    let mut books = Books { revisits: pages, due_again: -listed, ..Books::default() };
    let of_one = state_books(UrlState::Fetched, UrlState::Queued);
    (books.fetched, books.queued) = (of_one.fetched * pages, of_one.queued * pages);
    books
}

#[cfg(test)]
mod tests;
