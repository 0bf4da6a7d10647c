//! Memory for what is not in the stores yet: how much there is, and who waits when there is no more.
//!
//! Not what lies in it (`memory`), nor the merges that empty it (`merge`; `shared` says when). It is for all partitions
//! together: the fullest one is merged first, which in turns comes to twice an equal share for each merge, and a merge costs
//! about as much as the partition's store has leaves, whatever it brings.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::error::Error;
use crate::merge::{self, After};
use crate::partition::{Partition, State};
use crate::shared::Shared;

/// Bytes of memory for what is not in the stores yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// What all partitions together may use before offers wait.
    pub(crate) all: usize,
    /// At so much the fullest one is merged.
    pub(crate) merged_at: usize,
    /// At so much a partition is merged whatever the others use; a bound on what one merge takes.
    pub(crate) generation: usize,
}

impl Shared {
    /// Offers and forgets wait, leases and completions do not: what a page brought is taken in whatever it costs.
    pub(crate) fn wait_for_room(&self, numbers: impl IntoIterator<Item = u16>) -> Result<(), Error> {
        let mut waited = self.journal.wait_room()?;
        waited |= self.make_room_for_all()?;
        let mut last = None;
        for number in numbers {
            // Most links of a page are of one partition.
            if last.replace(number) != Some(number) {
                waited |= self.make_room(number)?;
            }
        }
        self.background.offer_waits.fetch_add(u64::from(waited), Ordering::Relaxed);
        Ok(())
    }

    /// Waits until memory has room. True if it had to wait. Without a merge thread the merges are done here.
    fn make_room_for_all(&self) -> Result<bool, Error> {
        let mut waited = false;
        while self.recent_bytes() > self.room.all {
            let Some(fullest) = self.fullest() else { break };
            waited = true;
            if !self.background.has_thread.load(Ordering::Acquire) {
                merge::merge(self, fullest, After::Reopen)?;
                continue;
            }
            self.health()?;
            self.announce(&self.background.merge_due);
            let mut requests = self.background.requests.lock();
            if self.recent_bytes() > self.room.all {
                self.background.merged.wait_for(&mut requests, Duration::from_secs(1));
            }
        }
        Ok(waited)
    }

    /// Waits until a partition's memory has room. True if it had to wait. Without a merge thread the merge is done here.
    fn make_room(&self, number: u16) -> Result<bool, Error> {
        let partition = &self.partitions[usize::from(number)];
        if partition.recent_bytes.load(Ordering::Acquire) <= self.room.generation {
            return Ok(false);
        }
        let mut state = partition.state.lock();
        let mut waited = false;
        while self.is_full(&state) {
            waited = true;
            if !self.background.has_thread.load(Ordering::Acquire) {
                drop(state);
                merge::merge(self, partition, After::Reopen)?;
                return Ok(true);
            }
            // A page completed during the last merge may have filled it: then nobody has asked for the next one.
            if state.frozen.is_none() {
                self.request_merge(number);
            }
            self.health()?;
            partition.room.wait_for(&mut state, Duration::from_secs(1));
        }
        Ok(waited)
    }

    /// Whether offers wait, for all or for one partition.
    pub(crate) fn is_any_full(&self) -> bool {
        self.recent_bytes() > self.room.all || self.partitions.iter().any(|p| self.is_full(&p.state.lock()))
    }

    /// Whether a partition has a merge running and one due, or waits for its turn with twice its share.
    fn is_full(&self, state: &State) -> bool {
        let (bytes, share) = (state.unmerged_bytes(), self.room.generation);
        bytes > 2 * share || (state.frozen.is_some() && bytes > share)
    }

    /// Bytes of memory for what is not in the stores yet.
    pub(crate) fn recent_bytes(&self) -> usize {
        self.partitions.iter().map(|partition| partition.recent_bytes.load(Ordering::Acquire)).sum()
    }

    /// The partition with the most of it; `None` if none has any.
    pub(crate) fn fullest(&self) -> Option<&Partition> {
        let bytes = |partition: &&Partition| partition.recent_bytes.load(Ordering::Acquire);
        self.partitions.iter().max_by_key(bytes).filter(|fullest| bytes(fullest) > 0)
    }
}
