//! The hosts of one partition in memory, and the schedule that says which of them is next.
//!
//! Only hosts that have changed since the last merge, or are due, cost memory. No I/O here: what must be read is asked
//! for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ahash::AHashMap;

use crate::Millis;
use crate::fingerprint::Fingerprint;
use crate::host::{Host, HostId, Item, Politeness, Stored, wait_full_delay};
use crate::journal::Sequence;
use crate::record::{BlockNumber, HostState};
use crate::store::BlockId;

/// URLs taken of a queue block where many hosts have heads already: with so many in turn, a whole block would lie in memory
/// for hours.
const FEW_HEADS: usize = if cfg!(test) { 2 } else { 4 };

/// A URL that is at a head or in flight; its block must not bring it a second time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) block: BlockNumber,
    /// The one of its blocks that holds it, once that was read: then it counts among the URLs of it that are left.
    met_in: Option<BlockId>,
    pub(crate) in_flight: bool,
    /// It was forgotten while in flight: until its lease ends it counts as seen, and then it is gone.
    pub(crate) forgotten: bool,
}

impl Held {
    fn new(block: BlockNumber) -> Self {
        Self { block, met_in: None, in_flight: false, forgotten: false }
    }

    /// Whether it stands in this block and was not met in it yet.
    pub(crate) fn is_unmet_in(&self, block: BlockId) -> bool {
        self.block == block.number && self.met_in.is_none()
    }
}

/// All hosts of a partition in memory, and when each may be asked.
pub(crate) struct Queues {
    ids: AHashMap<Box<str>, HostId>,
    hosts: Vec<Option<Host>>,
    free: Vec<HostId>,
    schedule: BinaryHeap<Reverse<(Millis, HostId)>>,
    /// Hosts whose next URL is not durable yet, by the sequence that they wait for.
    uncommitted: VecDeque<(Sequence, HostId)>,
    pub(crate) held: AHashMap<Fingerprint, Held>,
    /// Blocks that were read and of which no URL stands in the queue any more, by host, since the last freeze.
    pub(crate) dead_blocks: Vec<(Box<str>, BlockId)>,
    /// URLs in flight that are known.
    pub(crate) in_flight: u64,
    /// URLs in flight that were forgotten.
    pub(crate) in_flight_forgotten: u64,
    /// Hosts in memory that the store has no record of.
    pub(crate) absent_hosts: u64,
    /// Hosts in memory that are listed in the store's due-time index.
    pub(crate) listed_hosts: u64,
    /// Hosts in memory at which a merge is asked for that makes room: half of what the last one left is used.
    make_room_at: usize,
    politeness: Politeness,
    /// When this run began: a host with a past first waits its own full delay from then.
    opened: Millis,
}

impl Queues {
    pub(crate) fn new(politeness: Politeness, opened: Millis) -> Self {
        Self {
            ids: AHashMap::new(),
            hosts: Vec::new(),
            free: Vec::new(),
            schedule: BinaryHeap::new(),
            uncommitted: VecDeque::new(),
            held: AHashMap::new(),
            dead_blocks: Vec::new(),
            in_flight: 0,
            in_flight_forgotten: 0,
            absent_hosts: 0,
            listed_hosts: 0,
            make_room_at: politeness.hosts_in_memory / 2,
            politeness,
            opened,
        }
    }

    pub(crate) fn host(&self, id: HostId) -> &Host {
        self.hosts[id as usize].as_ref().expect("ids in the schedule and in leases are of hosts in memory")
    }

    pub(crate) fn host_mut(&mut self, id: HostId) -> &mut Host {
        self.hosts[id as usize].as_mut().expect("ids in the schedule and in leases are of hosts in memory")
    }

    pub(crate) fn id(&self, name: &str) -> Option<HostId> {
        self.ids.get(name).copied()
    }

    /// Whether memory holds as many hosts as it may without need.
    pub(crate) fn is_crowded(&self) -> bool {
        self.ids.len() >= self.politeness.hosts_in_memory
    }

    /// Whether it soon will.
    pub(crate) fn is_filling(&self) -> bool {
        self.ids.len() >= self.make_room_at
    }

    /// By how many hosts that is too many.
    pub(crate) fn excess_hosts(&self) -> usize {
        self.ids.len().saturating_sub(self.politeness.hosts_in_memory)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = HostId> + '_ {
        self.ids.values().copied()
    }

    /// The host of this name, taken into memory if it is not. `stored` is what is known of it when it is new here.
    pub(crate) fn enter(&mut self, name: &str, stored: Stored) -> HostId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let host = Host::new(name, self.unknown(), stored);
        self.absent_hosts += u64::from(stored == Stored::Absent);
        let id = match self.free.pop() {
            Some(id) => {
                self.hosts[id as usize] = Some(host);
                id
            }
            None => {
                self.hosts.push(Some(host));
                (self.hosts.len() - 1) as HostId
            }
        };
        self.ids.insert(name.into(), id);
        id
    }

    /// The host of this name, which the store's due-time index lists as due then. Until its state is read it is taken for
    /// what it will be at the earliest: else hosts that are not read yet would come before all that have been, and no
    /// lease before all were read.
    pub(crate) fn enter_listed(&mut self, name: &str, due: Millis) {
        let id = self.enter(name, Stored::Unread);
        let earliest = self.earliest();
        let host = self.host_mut(id);
        if !host.state_set {
            host.state.next_slot = due.max(earliest);
        }
        host.is_listed = true;
        self.listed_hosts += 1;
        self.schedule(id);
    }

    /// Before this no host from before this run is asked: each first waits its full delay.
    pub(crate) fn earliest(&self) -> Millis {
        self.opened + self.politeness.delay_ms
    }

    /// What the state of a host that is only in the store will be when it is read.
    pub(crate) fn taken_in(&self, stored: &HostState) -> HostState {
        // Written before this run or in it, as of a host that had left memory: the later time counts.
        let full = self.opened + stored.delay_ms.max(self.politeness.delay_ms);
        HostState { next_slot: stored.next_slot.max(full), ..*stored }
    }

    /// The state of a host that nobody has heard of.
    pub(crate) fn unknown(&self) -> HostState {
        HostState { delay_ms: self.politeness.delay_ms, ..HostState::default() }
    }

    /// Takes in what the store says of a host.
    pub(crate) fn set_stored(&mut self, id: HostId, stored: Stored) {
        let taken_in = if let Stored::Present(host) = stored { Some(self.taken_in(&host.state)) } else { None };
        let host = self.host_mut(id);
        let before = std::mem::replace(&mut host.stored, stored);
        if let (false, Some(state)) = (host.state_set, taken_in) {
            host.state = state;
            host.state_set = true;
        }
        if stored == Stored::Absent {
            host.unread.clear();
        }
        self.absent_hosts += u64::from(stored == Stored::Absent);
        self.absent_hosts -= u64::from(before == Stored::Absent);
        let was_listed = std::mem::take(&mut self.host_mut(id).is_listed);
        self.listed_hosts += u64::from(stored.due().is_some());
        self.listed_hosts -= u64::from(was_listed || before.due().is_some());
    }

    /// After a replay: every host in memory may have been asked just before this run began.
    pub(crate) fn wait_full_delays(&mut self) {
        let (opened, politeness) = (self.opened, self.politeness);
        self.schedule.clear();
        for id in self.ids.values().copied().collect::<Vec<_>>() {
            let host = self.host_mut(id);
            host.scheduled = false;
            wait_full_delay(&mut host.state, opened, &politeness);
            self.schedule(id);
        }
    }

    /// Puts a host with work and a free connection into the schedule.
    pub(crate) fn schedule(&mut self, id: HostId) {
        let connections = self.politeness.connections_per_host;
        let host = self.host_mut(id);
        if !host.scheduled && !host.loading && host.in_flight < connections && host.has_work() {
            host.scheduled = true;
            let due = host.state.due();
            self.schedule.push(Reverse((due, id)));
        }
    }

    /// Takes the host that is due first off the schedule; it has a free connection.
    pub(crate) fn pop_due(&mut self, now: Millis) -> Option<HostId> {
        while let Some(Reverse((listed, id))) = self.schedule.peek().copied() {
            if listed > now {
                return None;
            }
            self.schedule.pop();
            let connections = self.politeness.connections_per_host;
            let host = self.host_mut(id);
            host.scheduled = false;
            let due = host.state.due();
            if host.in_flight >= connections || host.loading {
                continue;
            }
            if due > now {
                // It was blocked after it was listed.
                self.schedule(id);
                continue;
            }
            return Some(id);
        }
        None
    }

    /// Hosts in the schedule or set aside until a commit.
    pub(crate) fn waiting(&self) -> u64 {
        (self.schedule.len() + self.uncommitted.len()) as u64
    }

    /// When the first host in memory is due.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.schedule.peek().map(|Reverse((due, _))| *due)
    }

    /// Sets a host aside until `sequence` is durable.
    pub(crate) fn await_commit(&mut self, sequence: Sequence, id: HostId) {
        let host = self.host_mut(id);
        (host.scheduled, host.awaits_commit) = (true, true);
        self.uncommitted.push_back((sequence, id));
    }

    /// Puts hosts whose next URL has become durable back into the schedule.
    pub(crate) fn committed(&mut self, durable: Sequence) {
        while let Some((_, id)) = self.uncommitted.pop_front_if(|(sequence, _)| *sequence <= durable) {
            let host = self.host_mut(id);
            (host.scheduled, host.awaits_commit) = (false, false);
            self.schedule(id);
        }
    }

    /// The sequence that the first host set aside waits for.
    pub(crate) fn next_commit(&self) -> Option<Sequence> {
        self.uncommitted.front().map(|(sequence, _)| *sequence)
    }

    /// A URL of this host goes out.
    pub(crate) fn take_out(&mut self, id: HostId, fingerprint: Fingerprint, block: BlockNumber) {
        self.held.entry(fingerprint).or_insert(Held::new(block)).in_flight = true;
        self.in_flight += 1;
        self.host_mut(id).in_flight += 1;
    }

    /// How many URLs of a block may go to the heads.
    pub(crate) fn heads_at_once(&self) -> usize {
        if self.held.len() < self.politeness.heads_in_memory { usize::MAX } else { FEW_HEADS }
    }

    /// Of a host's block the first `urls` were read, and these of them go to the heads. It is read again for the others.
    pub(crate) fn take_part(&mut self, id: HostId, block: BlockId, urls: usize, heads: Vec<(Fingerprint, Item)>) {
        self.held.extend(heads.iter().map(|(head, _)| (*head, Held::new(block.number))));
        let host = self.host_mut(id);
        host.unread.begin(block, urls);
        host.add_heads(heads, false);
    }

    /// A host's block was read: these of its URLs go to the heads; `others` stand in it and are out already.
    pub(crate) fn take_block(
        &mut self,
        id: HostId,
        block: BlockId,
        heads: Vec<(Fingerprint, Item)>,
        others: &[Fingerprint],
    ) {
        let met_in = Some(block);
        for fingerprint in others {
            if let Some(held) = self.held.get_mut(fingerprint) {
                held.met_in = met_in;
            }
        }
        self.held.extend(heads.iter().map(|(head, _)| (*head, Held { met_in, ..Held::new(block.number) })));
        let host = self.hosts[id as usize].as_mut().expect("ids in leases are of hosts in memory");
        host.unread.read(block);
        match (heads.len() + others.len()) as u32 {
            0 => self.dead_blocks.push((host.name.clone(), block)),
            left => host.read_block(block, left),
        }
        host.add_heads(heads, false);
    }

    /// A URL is not held any more, and stands in no block that was read.
    fn let_go(&mut self, id: HostId, fingerprint: Fingerprint) -> Option<Held> {
        let held = self.held.remove(&fingerprint)?;
        if let Some(block) = held.met_in {
            let host = self.host_mut(id);
            if host.left_block(block) {
                let name = host.name.clone();
                self.dead_blocks.push((name, block));
            }
        }
        Some(held)
    }

    /// The block that holds a URL that is out: a merge may have written it since it went out.
    pub(crate) fn block_of(&self, fingerprint: Fingerprint, item: &Item) -> BlockNumber {
        self.held.get(&fingerprint).map_or(item.record.block, |held| held.block)
    }

    /// A response of the host ended.
    pub(crate) fn response_ended(&mut self, id: HostId, ended: Millis, delay_ms: u64) {
        let host = self.host_mut(id);
        host.rests_until = host.rests_until.max(ended + delay_ms);
    }

    /// A lease made no request: the host's slot is as before, unless another request has moved it meanwhile.
    pub(crate) fn restore_slot(&mut self, id: HostId, (before, with_lease): (Millis, Millis)) {
        let host = self.host_mut(id);
        if host.state.next_slot == with_lease && before < with_lease {
            host.state.next_slot = before.max(host.rests_until);
            // Its entry in the schedule may be for the later time: a second, earlier one does no harm.
            host.scheduled = false;
            self.schedule(id);
        }
    }

    /// A URL of this host came to an end.
    pub(crate) fn ended(&mut self, id: HostId, fingerprint: Fingerprint) {
        if self.let_go(id, fingerprint).is_some_and(|held| held.forgotten) {
            self.in_flight_forgotten -= 1;
        } else {
            self.in_flight -= 1;
        }
        self.host_mut(id).in_flight -= 1;
    }

    /// A URL of this host is not known any more: it leaves the heads, or, in flight, is marked.
    pub(crate) fn forget(&mut self, id: HostId, fingerprint: Fingerprint) {
        match self.held.get_mut(&fingerprint) {
            Some(held) if held.in_flight => {
                held.forgotten = true;
                self.in_flight -= 1;
                self.in_flight_forgotten += 1;
            }
            Some(_) => {
                self.let_go(id, fingerprint);
                self.host_mut(id).heads.retain(|(head, _)| *head != fingerprint);
            }
            None => {}
        }
    }

    /// Whether a URL is in flight that was forgotten meanwhile.
    pub(crate) fn is_forgotten(&self, fingerprint: Fingerprint) -> bool {
        self.in_flight_forgotten > 0 && self.held.get(&fingerprint).is_some_and(|held| held.forgotten)
    }

    /// A URL of this host goes back to the head of its queue, unless it was forgotten.
    pub(crate) fn put_back(&mut self, id: HostId, fingerprint: Fingerprint, item: Item) {
        if self.is_forgotten(fingerprint) {
            self.ended(id, fingerprint);
            return self.schedule(id);
        }
        self.in_flight -= 1;
        if let Some(held) = self.held.get_mut(&fingerprint) {
            held.in_flight = false;
        }
        let host = self.host_mut(id);
        host.in_flight -= 1;
        host.add_heads(vec![(fingerprint, item)], true);
        self.schedule(id);
    }

    /// Whether one more URL of this host may be out beside the present one.
    pub(crate) fn many_connections(&self) -> bool {
        self.politeness.connections_per_host > 1
    }

    /// Drops hosts from memory of which the store holds everything: those without work, and of the others the ones due
    /// last, down to half of what memory may hold.
    pub(crate) fn evict(&mut self) {
        let mut candidates: Vec<(Millis, HostId)> = Vec::new();
        for id in self.ids.values() {
            let host = self.host(*id);
            let heads_stored = host.heads.iter().all(|(_, item)| item.record.block != 0);
            if host.is_evictable() && heads_stored && host.stored != Stored::Unread {
                // Nothing queued sorts last, so goes first.
                candidates.push((host.stored.due().unwrap_or(Millis::MAX), *id));
            }
        }
        candidates.sort_unstable();
        let mut excess = self.ids.len().saturating_sub(self.politeness.hosts_in_memory / 2);
        let mut any = false;
        for (due, id) in candidates.into_iter().rev() {
            if due != Millis::MAX && excess == 0 {
                break;
            }
            excess = excess.saturating_sub(1);
            any = true;
            self.remove(id);
        }
        if any {
            let hosts = &self.hosts;
            self.schedule.retain(|Reverse((_, id))| hosts[*id as usize].is_some());
            self.free = (0..self.hosts.len() as HostId).filter(|id| self.hosts[*id as usize].is_none()).collect();
        }
        self.make_room_at = self.ids.len() + self.politeness.hosts_in_memory.saturating_sub(self.ids.len()) / 2;
    }

    /// Changes how many hosts memory holds.
    #[cfg(test)]
    pub(crate) fn hold_hosts(&mut self, hosts: usize) {
        self.politeness.hosts_in_memory = hosts;
        self.make_room_at = hosts / 2;
    }

    /// Changes how many heads memory holds before few are taken at once.
    #[cfg(test)]
    pub(crate) fn hold_heads(&mut self, heads: usize) {
        self.politeness.heads_in_memory = heads;
    }

    fn remove(&mut self, id: HostId) {
        if let Some(host) = self.hosts[id as usize].take() {
            self.absent_hosts -= u64::from(host.stored == Stored::Absent);
            self.listed_hosts -= u64::from(host.is_listed || host.stored.due().is_some());
            for (fingerprint, _) in &host.heads {
                self.held.remove(fingerprint);
            }
            self.ids.remove(&host.name);
        }
    }
}
