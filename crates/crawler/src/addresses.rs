//! When each address may be asked, where hosts that share one count as one (`politeness.per_ip`).
//!
//! Not the hosts' own turns (the frontier keeps those, also over restarts) and not their back-off: a host that fails is
//! left alone, its neighbours are not. Invariants: at one address no more requests are open than
//! `politeness.connections_per_host`, and each begins a pause after the end of the one before; whoever finds it taken is
//! sent to a place of its own behind the others, so that a thousand hosts of one address do not all come back at once.
//!
//! A place is a guess, since nobody knows how long responses take. So a host whose place has come too early is the next
//! one: the address is kept for it from the very moment on at which it is free. Else each change of host would cost a second
//! pause, and a host that has just been asked could be so again and again.

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
    hosts: HashMap<Box<str>, Host>,
}

#[derive(Debug, Clone, Copy)]
struct Host {
    address: IpAddr,
    /// Until when that is believed.
    until: Millis,
    /// The place that it was sent to; 0 for none.
    place: Millis,
}

#[derive(Debug)]
struct Slot {
    open: u32,
    free_at: Millis,
    /// The last place that was given away.
    last_place: Millis,
    /// From one turn to the next, as the last one took.
    gap_ms: u64,
    /// The host for which it is kept, and from when on.
    next: Option<(Box<str>, Millis)>,
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
        let believed = self.known().hosts.get(host).copied().filter(|host| host.until > clock.now());
        let address = match believed {
            Some(host) => host.address,
            None => {
                let Some(address) = fetch.address(url).await else { return Place::Unknown };
                self.known().learn(host, address, clock.now().saturating_add(TTL_MS));
                address
            }
        };
        self.take(host, address, clock.now())
    }

    fn take(&self, host: &str, address: IpAddr, now: Millis) -> Place<'_> {
        let mut known = self.known();
        let Known { slots, hosts } = &mut *known;
        if slots.len() >= MAX_KNOWN {
            slots.retain(|_, slot| slot.open > 0 || slot.free_at.max(slot.last_place) > now);
        }
        let (gap_ms, free_at) = (self.delay_ms, self.opens);
        let slot = slots.entry(address).or_insert(Slot { open: 0, free_at, last_place: 0, gap_ms, next: None });
        // One that does not come within a pause has lost it.
        slot.next.take_if(|(_, from)| *from + self.delay_ms <= now);
        let is_kept = slot.next.as_ref().is_some_and(|(next, _)| **next != *host);
        let mut unknown = 0;
        let place = hosts.get_mut(host).map_or(&mut unknown, |host| &mut host.place);
        if slot.open < self.connections && slot.free_at <= now && !is_kept {
            (slot.next, *place) = (None, 0);
            let free_before = std::mem::replace(&mut slot.free_at, now + self.delay_ms);
            slot.open += 1;
            return Place::Turn(Turn { addresses: self, address, began: now, free_before, rests_until: None });
        }
        // While a response is under way, when it will end is not known; but then a pause is still to come.
        let soonest = if slot.open < self.connections { slot.free_at.max(now + 1) } else { now + self.delay_ms };
        let has_come = (1..=now).contains(place);
        *place = if has_come && !is_kept {
            slot.next = Some((host.into(), soonest));
            soonest
        } else {
            slot.behind(soonest, has_come, now)
        };
        Place::After(*place)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// A place behind the next one, and for who has not waited yet behind all that have been given away.
    fn behind(&mut self, soonest: Millis, has_waited: bool, now: Millis) -> Millis {
        let place = self.next.as_ref().map_or(soonest, |(_, from)| soonest.max(from + self.gap_ms));
        if has_waited {
            return place;
        }
        let last = if self.last_place > now { self.last_place + self.gap_ms } else { 0 };
        self.last_place = place.max(last);
        self.last_place
    }
}

impl Known {
    /// Takes in a host's address; the place that it was sent to stays its own while it is the same one.
    fn learn(&mut self, host: &str, address: IpAddr, until: Millis) {
        if self.hosts.len() >= MAX_KNOWN {
            self.hosts.clear();
        }
        let before = self.hosts.get(host).filter(|before| before.address == address);
        let place = before.map_or(0, |before| before.place);
        self.hosts.insert(host.into(), Host { address, until, place });
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
        let mut first = turn(addresses.take("a", ADDRESS, 1_000));
        assert_eq!(after(&addresses.take("b", ADDRESS, 1_000)), Some(1_100));
        assert_eq!(after(&addresses.take("c", ADDRESS, 1_050)), Some(1_200), "behind the other");
        assert_eq!(
            after(&addresses.take("d", ADDRESS, 1_250)),
            Some(1_350),
            "it is still open, and a pause is to come"
        );
        first.rests_until(1_350);
        drop(first);
        assert_eq!(
            after(&addresses.take("e", ADDRESS, 1_349)),
            Some(1_700),
            "behind the others, as far apart as turns take"
        );
        drop(turn(addresses.take("f", ADDRESS, 1_350)));
        let _unused_turns_are_not_used_up = turn(addresses.take("f", ADDRESS, 1_350));
    }

    /// Its place was a guess, and a response took longer: it was sent behind all others, and the address stood idle.
    #[test]
    fn a_host_whose_place_came_too_early_is_the_next_one() {
        let addresses = Addresses::new(100, 1, 0);
        for host in ["a", "b", "c"] {
            addresses.known().learn(host, ADDRESS, Millis::MAX);
        }
        let mut first = turn(addresses.take("a", ADDRESS, 1_000));
        assert_eq!(after(&addresses.take("b", ADDRESS, 1_000)), Some(1_100));
        assert_eq!(after(&addresses.take("c", ADDRESS, 1_000)), Some(1_200));
        first.rests_until(1_130);
        drop(first);
        assert_eq!(after(&addresses.take("b", ADDRESS, 1_100)), Some(1_130), "from the moment on at which it is free");
        assert_eq!(after(&addresses.take("a", ADDRESS, 1_130)), Some(1_330), "whoever was just asked waits behind all");
        let mut second = turn(addresses.take("b", ADDRESS, 1_130));
        second.rests_until(1_231);
        drop(second);
        assert_eq!(after(&addresses.take("c", ADDRESS, 1_200)), Some(1_231));
        assert_eq!(after(&addresses.take("b", ADDRESS, 1_330)), Some(1_332), "it is kept for another");
        assert!(matches!(addresses.take("a", ADDRESS, 1_331), Place::Turn(_)), "who does not come loses it");
    }

    #[test]
    fn a_thousand_hosts_of_one_address_get_a_thousand_places() {
        let addresses = Addresses::new(100, 1, 0);
        let _first = turn(addresses.take("a", ADDRESS, 1_000));
        let places: Vec<_> = (0..1000).map(|n| after(&addresses.take(&n.to_string(), ADDRESS, 1_000))).collect();
        let expect: Vec<_> = (1..=1000).map(|n| Some(1_000 + n * 100)).collect();
        assert_eq!(places, expect);
    }

    #[test]
    fn after_a_restart_an_address_first_rests() {
        let addresses = Addresses::new(100, 1, 5_100);
        assert_eq!(after(&addresses.take("a", ADDRESS, 5_000)), Some(5_100));
        assert!(matches!(addresses.take("a", ADDRESS, 5_100), Place::Turn(_)));
    }

    #[test]
    fn what_nobody_waits_for_is_dropped() {
        let addresses = Addresses::new(100, 1, 0);
        let held = turn(addresses.take("a", ADDRESS, 0));
        for n in 0..MAX_KNOWN as u32 {
            drop(addresses.take("b", IpAddr::V4((0x0b00_0000 + n).into()), 1_000));
        }
        assert!(addresses.known().slots.len() <= MAX_KNOWN);
        assert!(after(&addresses.take("a", ADDRESS, 1_000)).is_some(), "one in use is kept");
        drop(held);
    }
}
