//! When each address may be asked, where hosts that share one count as one (`politeness.per_ip`).
//!
//! Not the hosts' own turns (the frontier keeps those, also over restarts) and not their back-off: a host that fails is
//! left alone, its neighbours are not. Invariants: at one address no more requests are open than
//! `politeness.connections_per_host`, and each begins a pause after the end of the one before; whoever finds it taken is
//! sent to a place of its own behind the others, so that a thousand hosts of one address do not all come back at once.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ahash::{HashMap, HashMapExt};
use frontier::Millis;
use url::Url;

use crate::clock::Clock;
use crate::fetch::Fetch;

/// How long a host's address is believed: a resolver's usual shortest time.
const TTL_MS: u64 = 60_000;

/// Addresses and hosts kept; beyond, those that nobody waits for are dropped.
const MAX_KNOWN: usize = 100_000;

/// All addresses.
#[derive(Debug)]
pub struct Addresses {
    delay_ms: u64,
    connections: u32,
    /// No address is asked before this: after a restart each first rests its full delay.
    opens: Millis,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    slots: HashMap<IpAddr, Slot>,
    hosts: HashMap<Box<str>, (IpAddr, Millis)>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    open: u32,
    free_at: Millis,
    /// The last place that was given away.
    last_place: Millis,
    /// From one turn to the next, as the last one took.
    gap_ms: u64,
}

/// What a host is told.
#[derive(Debug)]
pub enum Place<'a> {
    /// It may be asked, while this is held.
    Turn(Turn<'a>),
    /// Not before this.
    After(Millis),
    /// It has no address: asking it will say why.
    Unknown,
}

/// A turn at an address; it ends when it is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    addresses: &'a Addresses,
    address: IpAddr,
    began: Millis,
    free_before: Millis,
    rests_until: Option<Millis>,
}

impl Addresses {
    /// Addresses with this pause and so many connections each, none asked before `opens`.
    pub fn new(delay_ms: u64, connections: u32, opens: Millis) -> Self {
        let known = Known { slots: HashMap::new(), hosts: HashMap::new() };
        Self { delay_ms, connections: connections.max(1), opens, known: Mutex::new(known) }
    }

    /// The place of a URL's host at its address.
    pub async fn place<F: Fetch>(&self, fetch: &F, url: &Url, clock: Clock) -> Place<'_> {
        let Some(host) = url.host_str() else { return Place::Unknown };
        let believed = self.known().hosts.get(host).copied().filter(|(_, until)| *until > clock.now());
        let address = match believed {
            Some((address, _)) => address,
            None => {
                let Some(address) = fetch.address(url).await else { return Place::Unknown };
                let mut known = self.known();
                if known.hosts.len() >= MAX_KNOWN {
                    known.hosts.clear();
                }
                known.hosts.insert(host.into(), (address, clock.now().saturating_add(TTL_MS)));
                address
            }
        };
        self.take(address, clock.now())
    }

    fn take(&self, address: IpAddr, now: Millis) -> Place<'_> {
        let mut known = self.known();
        if known.slots.len() >= MAX_KNOWN {
            known.slots.retain(|_, slot| slot.open > 0 || slot.free_at.max(slot.last_place) > now);
        }
        let fresh = Slot { open: 0, free_at: self.opens, last_place: 0, gap_ms: self.delay_ms };
        let slot = known.slots.entry(address).or_insert(fresh);
        if slot.open < self.connections && slot.free_at <= now {
            let free_before = std::mem::replace(&mut slot.free_at, now + self.delay_ms);
            slot.open += 1;
            return Place::Turn(Turn { addresses: self, address, began: now, free_before, rests_until: None });
        }
        // While a response is under way, when it will end is not known: as long as the last one, say.
        let taken = if slot.free_at > now { slot.free_at } else { now + slot.gap_ms };
        slot.last_place = taken.max(slot.last_place + slot.gap_ms).max(now + 1);
        Place::After(slot.last_place)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// A request has ended, and the address rests until then.
    pub fn rests_until(&mut self, until: Millis) {
        self.rests_until = self.rests_until.max(Some(until));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut known = self.addresses.known();
        let Some(slot) = known.slots.get_mut(&self.address) else { return };
        slot.open -= 1;
        match self.rests_until {
            Some(until) => {
                slot.free_at = slot.free_at.max(until);
                slot.gap_ms = until.saturating_sub(self.began).max(self.addresses.delay_ms);
            }
            // No request was made: the turn was not used up, unless another one has been given meanwhile.
            None if slot.free_at == self.began + self.addresses.delay_ms => slot.free_at = self.free_before,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn after(place: &Place<'_>) -> Option<Millis> {
        if let Place::After(at) = place { Some(*at) } else { None }
    }

    fn turn(place: Place<'_>) -> Turn<'_> {
        if let Place::Turn(turn) = place { turn } else { panic!("{place:?}") }
    }

    #[test]
    fn one_at_a_time_and_a_pause_between() {
        let addresses = Addresses::new(100, 1, 0);
        let mut first = turn(addresses.take(ADDRESS, 1_000));
        assert_eq!(after(&addresses.take(ADDRESS, 1_000)), Some(1_100));
        assert_eq!(after(&addresses.take(ADDRESS, 1_200)), Some(1_300), "it is still open");
        first.rests_until(1_350);
        drop(first);
        assert_eq!(
            after(&addresses.take(ADDRESS, 1_349)),
            Some(1_650),
            "behind the others, as far apart as turns take"
        );
        drop(turn(addresses.take(ADDRESS, 1_350)));
        let _unused_turns_are_not_used_up = turn(addresses.take(ADDRESS, 1_350));
    }

    #[test]
    fn a_thousand_hosts_of_one_address_get_a_thousand_places() {
        let addresses = Addresses::new(100, 1, 0);
        let _first = turn(addresses.take(ADDRESS, 1_000));
        let places: Vec<_> = (0..1000).map(|_| after(&addresses.take(ADDRESS, 1_000))).collect();
        let expect: Vec<_> = (1..=1000).map(|n| Some(1_000 + n * 100)).collect();
        assert_eq!(places, expect);
    }

    #[test]
    fn after_a_restart_an_address_first_rests() {
        let addresses = Addresses::new(100, 1, 5_100);
        assert_eq!(after(&addresses.take(ADDRESS, 5_000)), Some(5_100));
        assert!(matches!(addresses.take(ADDRESS, 5_100), Place::Turn(_)));
    }

    #[test]
    fn what_nobody_waits_for_is_dropped() {
        let addresses = Addresses::new(100, 1, 0);
        let held = turn(addresses.take(ADDRESS, 0));
        for n in 0..MAX_KNOWN as u32 {
            drop(addresses.take(IpAddr::V4((0x0b00_0000 + n).into()), 1_000));
        }
        assert!(addresses.known().slots.len() <= MAX_KNOWN);
        assert!(after(&addresses.take(ADDRESS, 1_000)).is_some(), "one in use is kept");
        drop(held);
    }
}
