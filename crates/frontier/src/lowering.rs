//! A URL that is found again nearer to a seed than it was known: its depth is lowered while it is not finished.
//!
//! Else a URL first found at the depth limit by a detour would keep its links out, however near it is. Done after the
//! verb that found it, in an event of its own: a crash in between leaves the depth as it was. Invariant: only a depth
//! changes, and only ever downwards; what is in flight, or on its way into a block just now, keeps the one that it has.

use std::collections::BTreeMap;

use crate::books::Books;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::fingerprint::Fingerprint;
use crate::memory::{Entry, Place};
use crate::offering::{Locked, Offer};
use crate::partition::{Remembered, State};
use crate::record::{Record, State as UrlState};
use crate::shared::Shared;
use crate::store::StoredRecord;

/// A URL that may lie deeper than where it was found now.
struct Wanted<'a> {
    key: &'a str,
    fingerprint: Fingerprint,
    depth: u16,
}

/// Lowers the depth of those of the offers that are known, unfinished and deeper.
pub(crate) fn lower(shared: &Shared, offers: &[Offer<'_>]) -> Result<(), Error> {
    let mut by_partition: BTreeMap<u16, Vec<Wanted<'_>>> = BTreeMap::new();
    for offer in offers.iter().filter(|offer| offer.is_shallower()) {
        let (key, depth) = (offer.url.canonical.key(), offer.url.depth);
        by_partition.entry(offer.partition).or_default().push(Wanted { key, fingerprint: offer.fingerprint, depth });
    }
    by_partition.into_iter().try_for_each(|(number, wanted)| lower_in(shared, number, &wanted))
}

fn lower_in(shared: &Shared, number: u16, wanted: &[Wanted<'_>]) -> Result<(), Error> {
    let partition = &shared.partitions[usize::from(number)];
    let (epoch, mut read) =
        partition.read_unremembered(wanted.iter().map(|wanted| (wanted.fingerprint, wanted.key)))?;
    let mut locked = Locked::new(&shared.partitions, &[number]);
    let state = locked.state(number);
    if state.epoch != epoch {
        // What was read does not count any more; what memory knows still does.
        read.clear();
    }
    let lowered: Vec<_> = wanted
        .iter()
        .filter_map(|wanted| Some((wanted.key, lowered(state, wanted, read.remove(&wanted.fingerprint))?)))
        .collect();
    if lowered.is_empty() {
        return Ok(());
    }
    let changes = lowered.iter().map(|(key, stored)| Change::of(key, stored));
    let event = Event::Lowered { changes: changes.collect(), books: Books::default() };
    shared.record(&mut locked, &[(number, event)]).map(|_| ())
}

/// The record with its lower depth, if that is one. The hot cache learns what is so.
fn lowered(state: &mut State, wanted: &Wanted<'_>, read: Option<StoredRecord>) -> Option<StoredRecord> {
    let known = match state.remembered(wanted.fingerprint) {
        // Changed now, it could not be leased before the merge that writes it to a block has ended.
        Some(Remembered { entry: Entry { place: Place::Tail(_), .. }, frozen_at: 1.., .. }) => return None,
        Some(remembered) => Some(remembered.stored()),
        None => read,
    }?;
    let in_flight = state.queues.held.get(&wanted.fingerprint).is_some_and(|held| held.in_flight);
    let is_open = known.record.state == UrlState::Queued && !in_flight;
    state.hot.set_depth(wanted.fingerprint, if is_open { known.record.depth.min(wanted.depth) } else { 0 });
    let record = Record { depth: wanted.depth, ..known.record };
    (is_open && wanted.depth < known.record.depth).then_some(StoredRecord { record, ..known })
}
