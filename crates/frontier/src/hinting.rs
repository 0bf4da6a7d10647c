//! What somebody else (a sitemap) says of how often a page changes: a page that has changed since its last visit is visited
//! now, and one whose interval has not been learnt yet gets the one that was said.
//!
//! Done after the verb that brought the hints, in an event of its own: a crash in between loses a hint, which comes again.
//! Not on the way of URLs without a hint. Invariants: what a page's own visits have taught counts more than what is said of
//! it; no hint brings a visit sooner than the shortest interval after the last one, so that a sitemap that calls everything
//! new each time it is read is not believed for long.

use std::collections::BTreeMap;

use crate::Millis;
use crate::books::Books;
use crate::error::Error;
use crate::event::{Change, Event};
use crate::fingerprint::Fingerprint;
use crate::found::Hint;
use crate::offering::{Locked, Offer};
use crate::partition::State;
use crate::record::{Record, State as UrlState};
use crate::recrawl::Recrawl;
use crate::revisiting::{self, secs};
use crate::shared::Shared;
use crate::store::StoredRecord;
use crate::trace::Trace;

/// A URL of which something is said.
struct Said<'a> {
    key: &'a str,
    fingerprint: Fingerprint,
    hint: Hint,
}

/// What follows from a hint.
enum Follows {
    /// The page is visited now.
    Visit,
    /// Its interval, and with it its due time, is another one.
    Interval,
}

/// Takes in the hints of the offers, where pages are visited again.
pub(crate) fn hint(shared: &Shared, offers: &[Offer<'_>], now: Millis) -> Result<(), Error> {
    let Some(recrawl) = &shared.recrawl else { return Ok(()) };
    let mut by_partition: BTreeMap<u16, BTreeMap<Fingerprint, Said<'_>>> = BTreeMap::new();
    for offer in offers {
        let Some(hint) = offer.url.hint else { continue };
        let (key, fingerprint) = (offer.url.canonical.key(), offer.fingerprint);
        by_partition.entry(offer.partition).or_default().insert(fingerprint, Said { key, fingerprint, hint });
    }
    by_partition.into_iter().try_for_each(|(number, said)| hint_in(shared, recrawl, number, &said, secs(now)))
}

fn hint_in(
    shared: &Shared,
    recrawl: &Recrawl,
    number: u16,
    said: &BTreeMap<Fingerprint, Said<'_>>,
    now_secs: u32,
) -> Result<(), Error> {
    let partition = &shared.partitions[usize::from(number)];
    let (epoch, mut read) = partition.read_unremembered(said.values().map(|said| (said.fingerprint, said.key)))?;
    let mut locked = Locked::new(&shared.partitions, &[number]);
    let state = locked.state(number);
    if state.epoch != epoch {
        // What was read does not count any more; what memory knows still does.
        read.clear();
    }
    let (mut visits, mut intervals) = (Vec::new(), Vec::new());
    for said in said.values() {
        let known = state.remembered(said.fingerprint).map(|remembered| remembered.stored());
        let Some(known) = known.or_else(|| read.remove(&said.fingerprint)) else { continue };
        let before = known.record;
        match follows(state, recrawl, said, known, now_secs) {
            Some((Follows::Visit, known)) => visits.push((said.key, before, known)),
            Some((Follows::Interval, known)) => intervals.push((said.key, before, known)),
            None => {}
        }
    }
    let listed = visits.iter().filter(|(_, before, _)| before.is_due_again()).count();
    let books = revisiting::books(visits.len() as i64, listed as i64);
    let changes: Vec<Change<'_>> = visits.iter().map(|(key, _, known)| revisiting::queued(key, known)).collect();
    let mut parts = Vec::new();
    if !changes.is_empty() {
        parts.push((number, Event::Revisit { changes, books }));
    }
    if !intervals.is_empty() {
        parts.push((number, hinted(&intervals)));
    }
    if !parts.is_empty() {
        shared.record(&mut locked, &parts)?;
    }
    Ok(())
}

fn hinted<'a>(intervals: &'a [(&'a str, Record, StoredRecord)]) -> Event<'a> {
    let count = |record: &Record| i64::from(record.is_due_again());
    let due_again = intervals.iter().map(|(_, before, after)| count(&after.record) - count(before)).sum();
    let changes = intervals.iter().map(|(key, _, after)| Change::of(key, after)).collect();
    Event::Hinted { changes, books: Books { due_again, ..Books::default() } }
}

/// What follows from a hint for a known URL, and its record then.
fn follows(
    state: &State,
    recrawl: &Recrawl,
    said: &Said<'_>,
    mut known: StoredRecord,
    now_secs: u32,
) -> Option<(Follows, StoredRecord)> {
    let interval_secs = said.hint.interval_secs.map(|secs| recrawl.bounded(secs));
    let record = &mut known.record;
    match record.state {
        // Nobody has asked for it yet: it has an interval when somebody does. Where memory has it no more, the next
        // hint will find it fetched.
        UrlState::Queued => {
            let in_flight = state.queues.held.get(&said.fingerprint).is_some_and(|held| held.in_flight);
            let is_new = record.due_secs == 0 && record.interval_secs == 0 && !in_flight;
            let interval_secs = interval_secs.filter(|_| is_new && state.active.get(said.fingerprint).is_some())?;
            record.interval_secs = interval_secs;
            Some((Follows::Interval, known))
        }
        UrlState::Fetched => {
            let visited_secs = if record.due_secs > 0 {
                record.due_secs.saturating_sub(record.interval_secs)
            } else {
                record.first_seen_secs
            };
            let may_again = visited_secs.saturating_add(recrawl.min_secs) <= now_secs;
            let has_changed = said.hint.changed_at_secs.is_some_and(|at| at > visited_secs && at <= now_secs);
            if has_changed && may_again {
                if record.due_secs == 0 {
                    record.due_secs = now_secs.max(1);
                    record.interval_secs = interval_secs.unwrap_or(recrawl.bounded(recrawl.initial_secs));
                }
                return Some((Follows::Visit, known));
            }
            let is_learnt = Trace::parse(known.trace.as_deref()).learnt;
            let interval_secs = interval_secs.filter(|secs| !is_learnt && *secs != record.interval_secs)?;
            record.interval_secs = interval_secs;
            record.due_secs = visited_secs.saturating_add(interval_secs);
            Some((Follows::Interval, known))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
