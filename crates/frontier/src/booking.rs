//! Requests to a host that no lease of it stands for: another host's robots.txt redirects to it.
//!
//! Such a request takes a turn of the host like any other: it is *booked* before it is made, so that no lease comes in
//! between, and *reported* when it has ended. Invariant: a host whose state is only in the store is read, outside the
//! lock, before it is changed; nothing that it remembers is lost.

use crate::Millis;
use crate::books::Books;
use crate::canonical::{Canonical, host_of_key};
use crate::completion::{HostReport, after};
use crate::error::Error;
use crate::event::Event;
use crate::host::{HostId, Politeness, Stored};
use crate::offering::Locked;
use crate::record::HostState;
use crate::shared::Shared;

/// Books a request to the URL's host. Returns when it may be made: not after `now` means now.
pub(crate) fn book(
    shared: &Shared,
    politeness: &Politeness,
    url: &Canonical,
    booked: Option<Millis>,
    now: Millis,
) -> Result<Millis, Error> {
    let (number, mut locked, id) = lock_host(shared, url, Needed::State)?;
    let host = locked.state(number).queues.host(id);
    let mut state = host.state;
    let delay_ms = state.delay_ms.max(politeness.delay_ms);
    let is_free = host.in_flight < politeness.connections_per_host;
    // A turn is not in its own way.
    let own = booked.filter(|booked| state.next_slot == booked + delay_ms);
    // While a response is under way, when it will end is not known: asked again then.
    let earliest = if is_free { own.unwrap_or(now) } else { now + delay_ms.max(1) };
    let at = own.unwrap_or(state.next_slot).max(state.blocked_until).max(host.rests_until).max(earliest);
    if own == Some(at) {
        return Ok(at);
    }
    state.next_slot = at + delay_ms;
    set(shared, locked, number, url, state)?;
    Ok(at)
}

/// Takes in how a booked request ended.
pub(crate) fn report(
    shared: &Shared,
    politeness: &Politeness,
    url: &Canonical,
    report: &HostReport,
) -> Result<(), Error> {
    let (number, mut locked, id) = lock_host(shared, url, Needed::State)?;
    let queues = &mut locked.state(number).queues;
    let before = queues.host(id).state;
    // Whoever asked need not know the Crawl-delay of this host.
    let report = HostReport { delay_ms: report.delay_ms.max(before.delay_ms), ..*report };
    let state = after(&before, &report, politeness);
    queues.response_ended(id, report.ended, report.delay_ms);
    set(shared, locked, number, url, state)
}

pub(crate) fn set(
    shared: &Shared,
    mut locked: Locked<'_>,
    number: u16,
    url: &Canonical,
    state: HostState,
) -> Result<(), Error> {
    let event = Event::Host { host: host_of_key(url.key()), state, books: Books::default() };
    shared.record(&mut locked, &[(number, event)]).map(|_| ())
}

/// What must be known of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needed {
    State,
    StateAndCounts,
}

/// Locks the partition of a URL's host, with the host in memory and what is needed of it known.
pub(crate) fn lock_host<'s>(
    shared: &'s Shared,
    url: &Canonical,
    needed: Needed,
) -> Result<(u16, Locked<'s>, HostId), Error> {
    let number = shared.secret.partition(url.registrable_domain(), shared.partitions.len() as u16);
    let name = host_of_key(url.key());
    let mut read = None;
    loop {
        let mut locked = Locked::new(&shared.partitions, &[number]);
        let state = locked.state(number);
        let id = state.enter(name);
        let host = state.queues.host(id);
        if host.stored != Stored::Unread || (host.state_set && needed == Needed::State) {
            return Ok((number, locked, id));
        }
        if let Some((_, stored)) = read.take().filter(|(epoch, _)| *epoch == state.epoch) {
            state.queues.set_stored(id, stored);
            return Ok((number, locked, id));
        }
        let (epoch, covered) = (state.epoch, state.covered.sequence);
        drop(locked);
        let stored = shared.partitions[usize::from(number)].store.host(name, covered)?;
        read = Some((epoch, stored.map_or(Stored::Absent, Stored::Present)));
    }
}
