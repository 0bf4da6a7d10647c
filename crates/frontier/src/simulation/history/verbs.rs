//! The verbs of a history: each done to the frontier, told to the model, and judged at once by what it answered.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use super::{DELAY_MS, HOSTS, History, MAX_ATTEMPTS, RETRY_AFTER_MS, URLS, host_of, url};
use crate::journal::Sequence;
use crate::merge::{self, After};
use crate::record::State;
use crate::simulation::model::Said;
use crate::steps::{Step, watched};
use crate::{
    BlockReason, Completion, Found, FoundUrl, Frontier, Health, HostReport, Lease, Millis, Next, Outcome, Tally,
};

fn number_of(lease: &Lease) -> u16 {
    lease.url().rsplit('/').next().and_then(|n| n.parse().ok()).expect("a URL of this web")
}

/// Offers the same page, and merges all, between the read of the store and what follows from it. `twin` is where its
/// events begin and end, if it came to any.
fn twin_offer(
    frontier: Arc<Frontier>,
    found: Rc<Found>,
    now: Millis,
    twin: Rc<Cell<Option<(Sequence, Sequence)>>>,
) -> impl FnMut(Step) {
    let mut once = true;
    move |step| {
        if step != Step::ExactSetRead || !std::mem::take(&mut once) {
            return;
        }
        let before = frontier.shared.journal.last();
        // What these fail by is met by the next verb.
        let _ = frontier.offer(&found, None, now);
        let last = frontier.shared.journal.last();
        twin.set((last > before).then_some((before, last)));
        for partition in &frontier.shared.partitions {
            let _ = merge::merge(&frontier.shared, partition, After::Reopen);
        }
    }
}

impl History {
    /// Does a verb's work; where it has read the store outside the locks, a merge may come between.
    fn disturbed<T>(&mut self, work: impl FnOnce(&Frontier) -> T) -> T {
        let frontier = self.frontier();
        if self.is_visited || !self.random.once_in(3) {
            return work(&frontier);
        }
        let (between, number) = (Arc::clone(&frontier), self.random.below(2) as usize);
        let mut once = true;
        let visit = move |step: Step| {
            let reads = [Step::ExactSetRead, Step::DueHostsRead, Step::HostRead, Step::ForgottenRead];
            if reads.contains(&step) && std::mem::take(&mut once) {
                // What it fails by is met by the next verb.
                let _ = merge::merge(&between.shared, &between.shared.partitions[number], After::Reopen);
            }
        };
        watched::visiting(visit, || work(&frontier))
    }

    /// Any one verb.
    pub(super) fn verb(&mut self) {
        if self.is_broken {
            return;
        }
        match self.random.below(100) {
            0..15 => self.offer(),
            15..45 => _ = self.lease(),
            45..70 => self.complete(),
            70..73 => self.give_back(),
            73..75 => self.drop_lease(),
            75..80 => self.forget(),
            80..88 => self.commit(),
            _ => self.now += self.random.below(150),
        }
    }

    pub(super) fn commit(&mut self) {
        self.tell("commit");
        let committed = self.frontier().commit();
        self.took(committed);
    }

    fn page(&mut self) -> (Found, BTreeSet<u16>) {
        let numbers: Vec<u16> = (0..self.random.below(9)).map(|_| self.random.below(URLS) as u16).collect();
        let depths: Vec<u16> = numbers.iter().map(|_| 1 + self.random.below(4) as u16).collect();
        let urls = numbers.iter().zip(depths).map(|(n, depth)| FoundUrl::new(url(*n), depth)).collect();
        let is_new = |n: &u16| !self.model.known.urls.contains_key(n) && !self.leaving.contains(n);
        (Found { urls, page_duplicates: 1, ..Found::default() }, numbers.into_iter().filter(is_new).collect())
    }

    fn offer(&mut self) {
        let (found, mut new) = self.page();
        let frontier = self.frontier();
        let mut before = frontier.shared.journal.last();
        self.tell(format_args!("offer, new {new:?}"));
        let now = self.now;
        let (found, twin) = (Rc::new(found), Rc::new(Cell::new(None)));
        let offered = if !self.is_visited && self.random.once_in(4) {
            let visit = twin_offer(Arc::clone(&frontier), Rc::clone(&found), now, Rc::clone(&twin));
            watched::visiting(visit, || frontier.offer(&found, None, now))
        } else {
            self.disturbed(|frontier| frontier.offer(&found, None, now))
        };
        if let Some((first, last)) = twin.get() {
            self.tell("  and the same page in between");
            self.model.say(first + 1, Said::New(std::mem::take(&mut new)));
            before = last;
        }
        let count = new.len() as u64;
        self.say(before, Said::New(new));
        if let Ok(offered) = &offered {
            assert_eq!(offered.discovered, count, "new URLs of a page");
        }
        self.took(offered.map(|_| ()));
    }

    pub(super) fn lease(&mut self) -> bool {
        let frontier = self.frontier();
        let now = self.now;
        let lease = self.disturbed(|frontier| frontier.lease(now));
        // A merge in between commits.
        let durable = frontier.durable();
        for n in std::mem::take(&mut self.dropped) {
            self.leaving.remove(&n);
        }
        let lease = match lease {
            Ok(Next::Lease(lease)) => lease,
            other => {
                self.took(other.map(|_| ()));
                return false;
            }
        };
        self.took(Ok(()));
        let (n, host) = (number_of(&lease), host_of(number_of(&lease)));
        let known = self.model.known.urls.get(&n).unwrap_or_else(|| panic!("{n} is not known"));
        assert_eq!(known.state, State::Queued, "{n} is finished");
        assert!(known.queued_at <= durable, "{n} is leased before it is durable");
        assert_eq!(lease.attempt(), u16::from(known.attempts) + 1, "attempts of {n}");
        assert!(self.leases.iter().all(|(_, out)| *out != n), "{n} is out already");
        let open = self.leases.iter().filter(|(_, out)| host_of(*out) == host).count();
        assert!(open < self.connections as usize, "more connections to {} than allowed", HOSTS[host]);
        assert!(self.now >= self.ended[host] + DELAY_MS, "{} is hurried", HOSTS[host]);
        let blocked_until = self.model.known.blocked_until.get(&host).copied().unwrap_or(0);
        assert!(self.now >= blocked_until, "{} is blocked until {blocked_until}, not {}", HOSTS[host], self.now);
        self.tell(format_args!("lease {n}"));
        self.leases.push((lease, n));
        true
    }

    pub(super) fn take_lease(&mut self) -> Option<(Lease, u16)> {
        let count = self.leases.len() as u64;
        (count > 0).then(|| self.leases.swap_remove(self.random.below(count) as usize))
    }

    fn complete(&mut self) {
        let Some((lease, n)) = self.take_lease() else { return };
        let (found, new) = self.page();
        let kind = self.random.below(6);
        self.complete_with(lease, n, &found, new, kind);
    }

    pub(super) fn complete_with(&mut self, lease: Lease, n: u16, found: &Found, new: BTreeSet<u16>, kind: u64) {
        let attempts = lease.attempt() as u8 - 1;
        let again = attempts + 1 < MAX_ATTEMPTS;
        let requeued = if again { State::Queued } else { State::Failed };
        let (outcome, health, state) = match kind {
            0 => (
                Outcome::Failed { code: -2, transient: true },
                Health::RetryAfter(BlockReason::Unavailable, RETRY_AFTER_MS),
                requeued,
            ),
            1 => (Outcome::Failed { code: -3, transient: true }, Health::Failing(BlockReason::ConnectFailed), requeued),
            _ => (Outcome::Fetched { status: 200 }, Health::Answered, State::Fetched),
        };
        let blocked_until = if kind == 0 { self.now + RETRY_AFTER_MS } else { 0 };
        let report = HostReport { ended: self.now, delay_ms: DELAY_MS, health };
        let completion =
            Completion { outcome, host: Some(report), tally: Tally::default(), visit: crate::Visit::default(), found };
        let frontier = self.frontier();
        let (before, count) = (frontier.shared.journal.last(), new.len() as u64);
        self.tell(format_args!("complete {n} as {kind}, new {new:?}"));
        let now = self.now;
        let completed = self.disturbed(|frontier| frontier.complete(lease, &completion, now));
        let url = (!self.leaving.remove(&n)).then_some((n, state, attempts + u8::from(state == State::Queued)));
        self.say(before, Said::Ended { url, host: host_of(n), blocked_until, new });
        self.ended[host_of(n)] = self.now;
        if let Ok(completed) = &completed {
            assert_eq!(completed.discovered, count, "new URLs of a page");
        }
        self.took(completed.map(|_| ()));
    }

    fn give_back(&mut self) {
        let Some((lease, n)) = self.take_lease() else { return };
        let report = HostReport { ended: self.now, delay_ms: DELAY_MS, health: Health::Answered };
        self.tell(format_args!("give back {n}"));
        let given = self.frontier().give_back(lease, Some(report), Tally::default());
        self.ended[host_of(n)] = self.now;
        self.leaving.remove(&n);
        self.took(given);
    }

    fn drop_lease(&mut self) {
        let Some((lease, n)) = self.take_lease() else { return };
        self.tell(format_args!("drop {n}"));
        self.dropped.insert(n);
        self.ended[host_of(n)] = self.now;
        drop(lease);
    }

    fn forget(&mut self) {
        let n = self.random.below(URLS) as u16;
        let frontier = self.frontier();
        let before = frontier.shared.journal.last();
        self.tell(format_args!("forget {n}"));
        let forgotten = self.disturbed(|frontier| frontier.forget(&[url(n)]));
        let was_known = self.model.known.urls.contains_key(&n);
        if frontier.shared.journal.last() > before {
            assert!(was_known, "{n} was not known");
            if self.dropped.contains(&n) || self.leases.iter().any(|(_, out)| *out == n) {
                self.leaving.insert(n);
            }
            self.model.say(before + 1, Said::Forgotten(n));
        } else if forgotten.is_ok() {
            assert!(!was_known, "{n} was known");
        }
        self.took(forgotten.map(|_| ()));
    }
}
