//! How a lease ends: completed, given back, or dropped.
//!
//! Invariant: whatever ends a lease frees its host's connection, and says when the host may be asked again.

use super::{Frontier, discovered, found_parts};
use crate::Millis;
use crate::books::Books;
use crate::canonical::host_of_key;
use crate::completion::{Completed, Completion, HostReport, Tally, after, end_of, state_books, tally_books};
use crate::error::Error;
use crate::event::{Event, frame};
use crate::growth::{self, Slowed};
use crate::hinting;
use crate::lease::Lease;
use crate::leasing::change_of;
use crate::lowering;
use crate::offering::{self, Offer};
use crate::record::{HostState, State};
use crate::recrawl;
use crate::revisiting::secs;
use crate::steps::{Step, step};

impl Frontier {
    /// Ends a lease: the outcome and all URLs found on the page become one event. The host's slot is free at once; the
    /// page is done when the event is durable.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`]. The URL is then fetched again after a restart.
    pub fn complete(&self, mut lease: Lease, completion: &Completion<'_>, now: Millis) -> Result<Completed, Error> {
        let shared = &*self.shared;
        let mut offers = offering::assign(completion.found, &shared.secret, shared.partitions.len() as u16);
        let home = lease.partition;
        let mut locked = offering::decide(&shared.partitions, &mut offers, Some(home))?;
        step(Step::LinksJudged);
        offering::hold_back(&mut locked, &mut offers);
        let mut item = lease.item.take().expect("a lease that can be passed has its item");
        let state = locked.state(home);
        let ended = end_of(completion, item.record.attempts, &self.attempts);
        let past = (&item.record, item.trace.as_deref());
        let next = recrawl::plan(shared.recrawl.as_ref(), past, ended, &completion.visit, secs(now));
        let end = next.state;
        item.record.block = state.queues.block_of(lease.fingerprint, &item);
        item.record.attempts += u8::from(end == State::Queued);
        (item.record.state, item.record.status, item.record.starts) = (end, ended.1, 0);
        (item.record.due_secs, item.record.interval_secs, item.trace) = (next.due_secs, next.interval_secs, next.trace);
        let before = state.queues.host(lease.host).state;
        let mut host = completion.host.map(|report| after(&before, &report, &self.politeness));
        let own =
            |offer: &&Offer<'_>| offer.is_new() && host_of_key(offer.url.canonical.key()) == host_of_key(&item.key);
        let new_urls = offers.iter().filter(own).map(|offer| offer.url.canonical.url());
        let slowed = self.watch_growth(host.as_mut(), completion, new_urls);

        let mut books = tally_books(&completion.tally);
        books.hosts_slowed += i64::from(slowed.is_some());
        books.add(&offering::page_books(completion.found));
        let (new, known) = offering::outcome(&offers);
        books.add(&known);
        books.not_modified = i64::from(completion.visit.not_modified);
        let forgotten = state.queues.is_forgotten(lease.fingerprint);
        let event = if forgotten {
            Event::Host { host: host_of_key(&item.key), state: host.unwrap_or(before), books }
        } else {
            books.add(&state_books(State::Queued, end));
            books.due_again = i64::from(item.record.is_due_again());
            Event::Completed { change: change_of(&item), host, books }
        };
        let mut parts = vec![(home, event)];
        parts.extend(found_parts(new, Some(&lease.url), now));
        let state = locked.state(home);
        state.queues.ended(lease.host, lease.fingerprint);
        match &completion.host {
            Some(report) => state.queues.response_ended(lease.host, report.ended, report.delay_ms),
            None => state.queues.restore_slot(lease.host, lease.slots),
        }
        let sequence = shared.record(&mut locked, &parts)?;
        let state = locked.state(home);
        state.queues.schedule(lease.host);
        shared.partitions[usize::from(home)].publish(state);
        let discovered = discovered(&parts);
        drop((locked, parts));
        if let Some(reason) = slowed {
            let (host, reason) = (&lease.host_name, reason.name());
            tracing::warn!(
                host,
                reason,
                example = lease.url,
                "host grows without end, so it is slowed; see crawld budget"
            );
        }
        lowering::lower(shared, &offers)?;
        hinting::hint(shared, &offers, now)?;
        Ok(Completed { sequence, discovered, requeued: end == State::Queued && !forgotten })
    }

    /// Takes the page into what is known of its host's growth; gives why the host is slowed, if it is from now on.
    fn watch_growth<'a>(
        &self,
        host: Option<&mut HostState>,
        completion: &Completion<'_>,
        new_urls: impl Iterator<Item = &'a str>,
    ) -> Option<Slowed> {
        let (host, report, guard) = (host?, completion.host?, &self.politeness.guard);
        let slowed = host.growth.page(completion.found.sketch, new_urls, guard);
        growth::slow(host, report.ended, report.delay_ms, guard);
        slowed
    }

    /// Gives a URL back unfetched: its host's robots.txt had to be fetched first, or the crawl stops. Not an attempt.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn give_back(&self, mut lease: Lease, host: Option<HostReport>, tally: Tally) -> Result<(), Error> {
        let mut item = lease.item.take().expect("a lease that can be passed has its item");
        item.record.starts = item.record.starts.saturating_sub(1);
        let shared = &*self.shared;
        let partition = &shared.partitions[usize::from(lease.partition)];
        let mut state = partition.state.lock();
        item.record.block = state.queues.block_of(lease.fingerprint, &item);
        let mut parts = Vec::new();
        if !state.queues.is_forgotten(lease.fingerprint) {
            parts.push(Event::Leased(change_of(&item)));
        }
        let before = state.queues.host(lease.host).state;
        let name = host_of_key(&item.key).to_owned();
        match host {
            Some(report) => {
                let host = after(&before, &report, &self.politeness);
                state.queues.response_ended(lease.host, report.ended, report.delay_ms);
                parts.push(Event::Host { host: &name, state: host, books: tally_books(&tally) });
            }
            None => state.queues.restore_slot(lease.host, lease.slots),
        }
        let numbered: Vec<(u16, &Event<'_>)> = parts.iter().map(|event| (lease.partition, event)).collect();
        if !numbered.is_empty() {
            let sequence = shared.journal.append(&frame(&numbered))?;
            parts.iter().for_each(|event| state.apply(sequence, event));
        }
        drop(parts);
        state.queues.put_back(lease.host, lease.fingerprint, item);
        partition.publish(&state);
        Ok(())
    }

    /// Leases that were dropped: their URLs go back, and their hosts wait a full delay from now.
    pub(super) fn take_returns(&self, now: Millis) -> Result<(), Error> {
        for returned in self.returns.take() {
            let partition = &self.shared.partitions[usize::from(returned.partition)];
            let mut state = partition.state.lock();
            let name = host_of_key(&returned.item.key).to_owned();
            let mut host = state.queues.host(returned.host).state;
            host.next_slot = host.next_slot.max(now + host.delay_ms);
            state.queues.response_ended(returned.host, now, host.delay_ms);
            let event = Event::Host { host: &name, state: host, books: Books::default() };
            let sequence = self.shared.journal.append(&frame(&[(returned.partition, &event)]))?;
            state.apply(sequence, &event);
            let mut item = returned.item;
            item.record.block = state.queues.block_of(returned.fingerprint, &item);
            state.queues.put_back(returned.host, returned.fingerprint, item);
            partition.publish(&state);
        }
        Ok(())
    }
}
