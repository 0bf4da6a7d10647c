//! One host in memory: its queue, its state, and what the store says of it.
//!
//! Its queue has three parts, asked in this order: its *heads* (a cache of a block in the store), its further *blocks*,
//! its *tail* (URLs that are not merged yet, of the frozen generation and then of the active one).

use std::collections::VecDeque;

use crate::Millis;
use crate::fingerprint::Fingerprint;
use crate::memory::Order;
use crate::record::HostState;
use crate::store::{BlockId, StoredHost};

/// Index of a host in its partition's memory.
pub(crate) type HostId = u32;

/// A URL out of the queue, or at its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: Box<str>,
    pub(crate) alternate: Option<Box<str>>,
    pub(crate) referrer: Option<Box<str>>,
    pub(crate) record: crate::record::Record,
}

/// What the store says of a host, as far as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Unread,
    Absent,
    Present(StoredHost),
}

impl Stored {
    pub(crate) fn queued(&self) -> u64 {
        if let Self::Present(host) = self { host.queued } else { 0 }
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
    pub(crate) in_flight: u32,
    /// A full delay after the last response that ended: no lease that made no request may bring the slot back before it.
    pub(crate) rests_until: Millis,
    pub(crate) heads: VecDeque<(Fingerprint, Item)>,
    pub(crate) frozen_tail: VecDeque<(Fingerprint, Order)>,
    pub(crate) tail: VecDeque<(Fingerprint, Order)>,
    /// The last block whose URLs went to the heads.
    pub(crate) cursor: BlockId,
    /// Whether the store may hold blocks after `cursor`.
    pub(crate) unread_blocks: bool,
    /// Change of the number of unfinished URLs since the store's record, in the active generation.
    pub(crate) delta: i64,
    /// Has changed in the active generation.
    pub(crate) dirty: bool,
    /// Has an entry in the schedule, or is set aside until a commit.
    pub(crate) scheduled: bool,
    pub(crate) awaits_commit: bool,
    /// Somebody is reading its state or next block.
    pub(crate) loading: bool,
}

impl Host {
    pub(crate) fn new(name: &str, state: HostState, stored: Stored) -> Self {
        Self {
            name: name.into(),
            state,
            state_set: false,
            stored,
            in_flight: 0,
            rests_until: 0,
            heads: VecDeque::new(),
            frozen_tail: VecDeque::new(),
            tail: VecDeque::new(),
            cursor: BlockId::default(),
            unread_blocks: !matches!(stored, Stored::Absent),
            delta: 0,
            dirty: false,
            scheduled: false,
            awaits_commit: false,
            loading: false,
        }
    }

    /// Whether something may be in its queue.
    pub(crate) fn has_work(&self) -> bool {
        !self.heads.is_empty() || self.unread_blocks || !self.frozen_tail.is_empty() || !self.tail.is_empty()
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
    /// Hosts of one partition that stay in memory though they have nothing to do now. About 400 bytes each.
    pub(crate) hosts_in_memory: usize,
}

/// For a state from before this run: a crash loop must not hammer a site, and a clock that stepped back must not silence
/// one for ever.
pub(crate) fn wait_full_delay(state: &mut HostState, opened: Millis, politeness: &Politeness) {
    state.next_slot = opened + state.delay_ms.max(politeness.delay_ms);
    state.blocked_until = state.blocked_until.min(opened + politeness.max_retry_delay_ms);
}
