//! One host in memory: its queue, its state, and what the store says of it.
//!
//! Its queue has three parts, asked in this order: its *heads* (a cache of a block in the store), its further *blocks*,
//! its *tail* (URLs that are not merged yet, of the frozen generation and then of the active one).

use std::collections::VecDeque;

use crate::Millis;
use crate::fingerprint::Fingerprint;
use crate::found::Priority;
use crate::growth::{self, GrowthGuard};
use crate::ledger::Accounts;
use crate::record::{Counts, HostState};
use crate::store::{BlockId, StoredHost};
use crate::tail::Tail;
use crate::unread::Unread;

/// Index of a host in its partition's memory.
pub(crate) type HostId = u32;

/// A URL out of the queue, or at its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: Box<str>,
    pub(crate) alternate: Option<Box<str>>,
    pub(crate) referrer: Option<Box<str>>,
    pub(crate) record: crate::record::Record,
    /// What is remembered of the last visit.
    pub(crate) trace: Option<Box<str>>,
}

/// What the store says of a host, as far as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Unread,
    Absent,
    Present(StoredHost),
}

impl Stored {
    pub(crate) fn counts(&self) -> Counts {
        if let Self::Present(host) = self { host.counts } else { Counts::default() }
    }

    pub(crate) fn due(&self) -> Option<Millis> {
        if let Self::Present(host) = self { host.due() } else { None }
    }
}

/// One host in memory.
#[derive(Debug)]
pub(crate) struct Host {
    /// The host part of its keys.
    pub(crate) name: Box<str>,
    pub(crate) state: HostState,
    /// Whether an event of this run or a replay has set `state`; else the store's is taken when it is read.
    pub(crate) state_set: bool,
    pub(crate) stored: Stored,
    /// It came from the store's due-time index, and its state was not read yet.
    pub(crate) is_listed: bool,
    pub(crate) in_flight: u32,
    /// A full delay after the last response that ended: no lease that made no request may bring the slot back before it.
    pub(crate) rests_until: Millis,
    pub(crate) heads: VecDeque<(Fingerprint, Item)>,
    pub(crate) frozen_tail: Tail,
    pub(crate) tail: Tail,
    /// Blocks in the store whose URLs did not go to the heads yet.
    pub(crate) unread: Unread,
    /// Change of its counts since the store's record, in the active generation.
    pub(crate) delta: Counts,
    /// The same in the frozen generation.
    pub(crate) frozen_delta: Counts,
    /// Its names in the ledger, once they were needed.
    pub(crate) accounts: Option<Accounts>,
    /// Has changed in the active generation.
    pub(crate) dirty: bool,
    /// Has an entry in the schedule, or is set aside until a commit.
    pub(crate) scheduled: bool,
    pub(crate) awaits_commit: bool,
    /// Somebody is reading its state or next block.
    pub(crate) loading: bool,
    /// Blocks that were read, with the number of their URLs that still stand in the queue; in order.
    pub(crate) read_blocks: VecDeque<(BlockId, u32)>,
}

impl Host {
    pub(crate) fn new(name: &str, state: HostState, stored: Stored) -> Self {
        Self {
            name: name.into(),
            state,
            state_set: false,
            stored,
            is_listed: false,
            in_flight: 0,
            rests_until: 0,
            heads: VecDeque::new(),
            frozen_tail: Tail::default(),
            tail: Tail::default(),
            unread: if stored == Stored::Absent { Unread::default() } else { Unread::any() },
            delta: Counts::default(),
            frozen_delta: Counts::default(),
            accounts: None,
            dirty: false,
            scheduled: false,
            awaits_commit: false,
            loading: false,
            read_blocks: VecDeque::new(),
        }
    }

    /// Puts URLs of one class among the heads: before or after those of the same class.
    pub(crate) fn add_heads(&mut self, items: Vec<(Fingerprint, Item)>, before_their_like: bool) {
        let Some(class) = items.first().map(|(_, item)| item.record.priority) else { return };
        let goes_first = |(_, head): &(Fingerprint, Item)| {
            head.record.priority < class || (head.record.priority == class && !before_their_like)
        };
        let after = self.heads.split_off(self.heads.partition_point(goes_first));
        self.heads.extend(items);
        self.heads.extend(after);
    }

    /// A block was read of which so many URLs stand in the queue.
    pub(crate) fn read_block(&mut self, id: BlockId, left: u32) {
        let at = self.read_blocks.partition_point(|(read, _)| *read < id);
        self.read_blocks.insert(at, (id, left));
    }

    /// A URL of a block that was read has left the queue. Whether it was the block's last.
    pub(crate) fn left_block(&mut self, id: BlockId) -> bool {
        let Ok(at) = self.read_blocks.binary_search_by_key(&id, |(read, _)| *read) else { return false };
        let left = &mut self.read_blocks[at].1;
        *left -= 1;
        let is_dead = *left == 0;
        if is_dead {
            self.read_blocks.remove(at);
        }
        is_dead
    }

    /// What is known of its URLs, where the store's record was read.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.stored.counts();
        counts.add(&self.frozen_delta);
        counts.add(&self.delta);
        counts
    }

    /// The one of its two tails whose front is next: what is being merged, unless what came after it goes before it.
    pub(crate) fn next_tail(&mut self) -> &mut Tail {
        let class = |tail: &Tail| tail.front().map(|(priority, ..)| priority);
        let (frozen, active) = (class(&self.frozen_tail), class(&self.tail));
        if frozen.is_some_and(|frozen| active.is_none_or(|active| frozen <= active)) {
            &mut self.frozen_tail
        } else {
            &mut self.tail
        }
    }

    /// The first class of which the store may hold URLs that were not read yet. None where all that are queued are known
    /// to be elsewhere: to read that there is no further block costs as much as to read one.
    pub(crate) fn next_unread(&self) -> Option<Priority> {
        let elsewhere = self.heads.len() as i64 + i64::from(self.in_flight);
        let is_known = self.stored != Stored::Unread;
        self.unread.first().filter(|_| !is_known || self.counts().queued > elsewhere)
    }

    /// Whether something may be in its queue.
    pub(crate) fn has_work(&self) -> bool {
        let has_tail = !self.frozen_tail.is_empty() || !self.tail.is_empty();
        !self.heads.is_empty() || has_tail || self.next_unread().is_some()
    }

    /// Whether the store holds all that is known of it, so that it may leave memory.
    pub(crate) fn is_evictable(&self) -> bool {
        !self.dirty
            && !self.loading
            && !self.awaits_commit
            && self.in_flight == 0
            && self.tail.is_empty()
            && self.frozen_tail.is_empty()
    }
}

/// What holds for every host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Politeness {
    pub(crate) connections_per_host: u32,
    /// Delay of a host that was never asked, in milliseconds.
    pub(crate) delay_ms: u64,
    /// First back-off of a failing host, doubled with each further failure, in milliseconds.
    pub(crate) retry_delay_ms: u64,
    /// Longest back-off and longest Retry-After that is honoured, in milliseconds.
    pub(crate) max_retry_delay_ms: u64,
    /// Hosts of one partition that stay in memory though they have nothing to do now.
    pub(crate) hosts_in_memory: usize,
    /// URLs at the heads of one partition's hosts beyond which few are taken of each queue block.
    pub(crate) heads_in_memory: usize,
    pub(crate) guard: GrowthGuard,
}

/// For a state from before this run: a crash loop must not hammer a site, and a clock that stepped back must not silence
/// one for ever.
pub(crate) fn wait_full_delay(state: &mut HostState, opened: Millis, politeness: &Politeness) {
    let delay_ms = state.delay_ms.max(politeness.delay_ms);
    state.next_slot = opened + delay_ms;
    growth::slow(state, opened, delay_ms, &politeness.guard);
    state.blocked_until = state.blocked_until.min(opened + politeness.max_retry_delay_ms);
}
