//! How the crawler ends a lease: what became of the URL, how its host behaved, and what follows from both: a retry or an
//! end, the host's next slot and back-off, the differences of the books.

use std::collections::BTreeMap;

use crate::Millis;
use crate::block_reason::BlockReason;
use crate::books::Books;
use crate::growth;
use crate::host::Politeness;
use crate::record::{HostState, State};
use crate::recrawl::Visit;

/// What became of a leased URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A response of this status that is final.
    Fetched {
        /// HTTP status.
        status: u16,
    },
    /// A response that asks to come again (429, 503). Retried up to the limit, after that final with this status.
    TryAgain {
        /// HTTP status.
        status: u16,
    },
    /// No response. Retried up to the limit if `transient`, else failed.
    Failed {
        /// Negative code of the failure.
        code: i16,
        /// Whether another attempt may succeed.
        transient: bool,
    },
    /// A robots rule that matched denies it.
    RobotsDenied,
    /// Refused at fetch time by a rule: private address, redirect limit, …
    Excluded {
        /// Negative code of the rule.
        code: i16,
    },
}

/// How a host behaved; decides when it may be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostReport {
    /// When the last response ended (or failed); for [`Health::NotAsked`], before when it is not to be asked.
    pub ended: Millis,
    /// The host's full delay between the end of a response and the next request, in milliseconds.
    pub delay_ms: u64,
    /// What it says about the host's health.
    pub health: Health,
}

/// What a request told about the health of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answered: the back-off goes one step down.
    Answered,
    /// It did not answer, or with an error that asks for rest: back off exponentially.
    Failing(BlockReason),
    /// It named a time (Retry-After), in milliseconds from `ended`. Capped like the back-off.
    RetryAfter(BlockReason, u64),
    /// It was not asked, and says nothing of itself.
    NotAsked,
}

impl Health {
    /// Why the host is to be left alone, if it is.
    pub fn reason(&self) -> Option<BlockReason> {
        match self {
            Self::Failing(reason) | Self::RetryAfter(reason, _) => Some(*reason),
            Self::Answered | Self::NotAsked => None,
        }
    }
}

/// Requests made under a lease, for the books.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests, robots.txt and redirect hops included.
    pub fetches: u64,
    /// Body bytes received, after decoding.
    pub bytes: u64,
    /// Responses by hundreds of their status: `[2xx, 3xx, 4xx, 5xx]`.
    pub statuses: [u64; 4],
}

/// Everything that ends a lease.
#[derive(Debug)]
pub struct Completion<'a> {
    /// What became of the URL.
    pub outcome: Outcome,
    /// How the host behaved; `None` when no request was made, so that its slot is not used up.
    pub host: Option<HostReport>,
    /// Requests made.
    pub tally: Tally,
    /// What it brought for the next visit; the default is nothing.
    pub visit: Visit<'a>,
    /// URLs found, whatever their partitions; their referrer is the leased URL.
    pub found: &'a crate::Found,
}

/// What a completed lease came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// The journal sequence of the completion; the page is done once this is durable.
    pub sequence: u64,
    /// URLs new to the crawl.
    pub discovered: u64,
    /// Whether the URL went back into the queue for another attempt.
    pub requeued: bool,
}

/// How often a URL is tried: in all, and where the last attempt failed for a reason that has a limit of its own.
#[derive(Debug)]
pub(crate) struct Attempts {
    any: u8,
    by_reason: BTreeMap<BlockReason, u8>,
}

impl Attempts {
    /// At least one each.
    pub(crate) fn new(any: u8, by_reason: &BTreeMap<BlockReason, u8>) -> Self {
        Self { any: any.max(1), by_reason: by_reason.iter().map(|(reason, most)| (*reason, (*most).max(1))).collect() }
    }

    fn limit(&self, host: Option<&HostReport>) -> u8 {
        let reason = host.and_then(|report| report.health.reason());
        reason.and_then(|reason| self.by_reason.get(&reason)).copied().unwrap_or(self.any)
    }
}

/// State and status after an outcome: the one place that decides to retry.
pub(crate) fn end_of(completion: &Completion<'_>, attempts: u8, most: &Attempts) -> (State, i16) {
    let again = attempts.saturating_add(1) < most.limit(completion.host.as_ref());
    match completion.outcome {
        Outcome::Fetched { status } => (State::Fetched, status as i16),
        Outcome::TryAgain { status } if again => (State::Queued, status as i16),
        Outcome::TryAgain { status } => (State::Fetched, status as i16),
        Outcome::Failed { code, transient: true } if again => (State::Queued, code),
        Outcome::Failed { code, .. } => (State::Failed, code),
        Outcome::RobotsDenied => (State::RobotsDenied, 0),
        Outcome::Excluded { code } => (State::Excluded, code),
    }
}

/// The host after a request: its next slot, its back-off up after a failure, one step down after an answer.
///
/// While failures are not made good, the delay between answers is doubled for each, so that a host that has just come to
/// itself is not met with full speed. An answer, however fast, never makes a delay shorter than the report's.
pub(crate) fn after(before: &HostState, report: &HostReport, politeness: &Politeness) -> HostState {
    let mut host = *before;
    if report.health == Health::NotAsked {
        host.next_slot = host.next_slot.max(report.ended);
        return host;
    }
    host.delay_ms = report.delay_ms;
    let (reason, wait) = match report.health {
        Health::Failing(reason) => (reason, doubled(politeness.retry_delay_ms, host.failures)),
        Health::RetryAfter(reason, ms) => (reason, ms),
        Health::Answered | Health::NotAsked => {
            host.failures = host.failures.saturating_sub(1);
            let slowed = doubled(report.delay_ms, host.failures).min(politeness.retry_delay_ms);
            host.next_slot = host.next_slot.max(report.ended + report.delay_ms.max(slowed));
            host.blocked_by = host.blocked_by.filter(|_| host.blocked_until > report.ended);
            growth::slow(&mut host, report.ended, report.delay_ms, &politeness.guard);
            return host;
        }
    };
    host.next_slot = host.next_slot.max(report.ended + report.delay_ms);
    growth::slow(&mut host, report.ended, report.delay_ms, &politeness.guard);
    // Beyond the cap a further failure changes nothing but the way back.
    if doubled(politeness.retry_delay_ms, host.failures) <= politeness.max_retry_delay_ms {
        host.failures = host.failures.saturating_add(1);
    }
    host.blocked_until = host.blocked_until.max(report.ended + wait.min(politeness.max_retry_delay_ms));
    host.blocked_by = Some(reason);
    host
}

fn doubled(ms: u64, times: u16) -> u64 {
    ms.saturating_mul(1 << times.min(20))
}

/// What a URL that goes from one state to another changes in the books.
pub(crate) fn state_books(before: State, after: State) -> Books {
    let mut books = Books::default();
    *count_of(&mut books, before) -= 1;
    *count_of(&mut books, after) += 1;
    books
}

/// The counter of the URLs in this state.
pub(crate) fn count_of(books: &mut Books, state: State) -> &mut i64 {
    match state {
        State::Queued => &mut books.queued,
        State::Fetched => &mut books.fetched,
        State::Failed => &mut books.failed,
        State::RobotsDenied => &mut books.robots_denied,
        State::Excluded => &mut books.excluded,
        State::Forgotten => &mut books.forgotten,
        State::ImportedSeen => &mut books.imported_seen,
        State::Parked => &mut books.parked,
    }
}

pub(crate) fn tally_books(tally: &Tally) -> Books {
    let [status_2xx, status_3xx, status_4xx, status_5xx] = tally.statuses.map(|n| n as i64);
    let (fetches, bytes_downloaded) = (tally.fetches as i64, tally.bytes as i64);
    Books { fetches, bytes_downloaded, status_2xx, status_3xx, status_4xx, status_5xx, ..Books::default() }
}
