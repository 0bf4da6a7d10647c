//! URLs that are known, of which an import knows more: the further of the two words counts.
//!
//! So two crawls can be brought together, and URLs that other rules make one: what the one has fetched the other need not
//! fetch again. Done after the event that brought the new URLs, in one of its own: a crash in between is put right when the
//! file is imported again. Invariant: a URL only ever goes forward ([`State::progress`]); one in flight stays as it is.

use std::collections::BTreeMap;

use ahash::AHashMap;

use super::batch::Said;
use crate::books::Books;
use crate::completion::state_books;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::fingerprint::Fingerprint;
use crate::offering::{Locked, Offer};
use crate::partition;
use crate::record::{Record, State};
use crate::shared::Shared;
use crate::store::StoredRecord;

/// A known URL, and what a file says of it.
struct Wanted<'a> {
    fingerprint: Fingerprint,
    said: Change<'a>,
}

/// Brings those of the offers forward that are known and not as far as their records.
pub(super) fn advance(shared: &Shared, offers: &[Offer<'_>], records: &[Said]) -> Result<(), Error> {
    let mut by_partition: BTreeMap<u16, Vec<Wanted<'_>>> = BTreeMap::new();
    for (offer, said) in offers.iter().zip(records).filter(|(offer, _)| !offer.is_new()) {
        let canonical = &offer.url.canonical;
        let (key, alternate, referrer) = (canonical.key(), canonical.alternate(), said.referrer.as_deref());
        let said = Change { key, alternate, referrer, record: said.record, trace: said.trace.as_deref() };
        by_partition.entry(offer.partition).or_default().push(Wanted { fingerprint: offer.fingerprint, said });
    }
    by_partition.into_iter().try_for_each(|(number, wanted)| advance_in(shared, number, &wanted))
}

fn advance_in(shared: &Shared, number: u16, wanted: &[Wanted<'_>]) -> Result<(), Error> {
    let partition = &shared.partitions[usize::from(number)];
    loop {
        let (epoch, read) =
            partition.read_unremembered(wanted.iter().map(|wanted| (wanted.fingerprint, wanted.said.key)))?;
        let mut locked = Locked::new(&shared.partitions, &[number]);
        let state = locked.only();
        if state.epoch != epoch {
            // A merge has ended meanwhile; nobody else brings in what would make another one begin.
            continue;
        }
        let changes: Vec<_> = wanted.iter().filter_map(|wanted| advanced(state, wanted, &read)).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let mut books = Books::default();
        for (before, change) in &changes {
            // What goes forward was not fetched before, so not due again either.
            books.add(&state_books(*before, change.record.state));
            books.due_again += i64::from(change.record.is_due_again());
        }
        return shared.record(&mut locked, &[(number, Event::Advanced { changes, books })]).map(|_| ());
    }
}

/// The state of a URL and what it becomes, if that is further.
fn advanced<'a>(
    state: &partition::State,
    wanted: &Wanted<'a>,
    read: &AHashMap<Fingerprint, StoredRecord>,
) -> Option<(State, Change<'a>)> {
    let known = match state.remembered(wanted.fingerprint) {
        Some(remembered) => remembered.entry.record,
        None => read.get(&wanted.fingerprint)?.record,
    };
    let in_flight = state.queues.held.get(&wanted.fingerprint).is_some_and(|held| held.in_flight);
    let mut record = Record { block: known.block, ..wanted.said.record };
    if record.state == State::Queued {
        record.depth = record.depth.min(known.depth);
    }
    let is_further = known.state != State::Forgotten && record.progress() > known.progress();
    (is_further && !in_flight).then_some((known.state, Change { record, ..wanted.said }))
}
