//! How the crawler ends a lease: what became of the URL, how its host behaved, and what follows from both: a retry or an
//! end, the host's next slot and back-off, the differences of the books.

use crate::Millis;
use crate::books::Books;
use crate::host::Politeness;
use crate::record::{HostState, State};

/// What became of a leased URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A response of this status that is final.
    Fetched {
        /// HTTP status.
        status: u16,
    },
    /// A response that asks to come again (429, 503). Retried up to `max_attempts`, after that final with this status.
    TryAgain {
        /// HTTP status.
        status: u16,
    },
    /// No response. Retried up to `max_attempts` if `transient`, else failed.
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
    /// When the last response ended (or failed).
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
    Failing,
    /// It named a time (Retry-After), in milliseconds from `ended`. Capped like the back-off.
    RetryAfter(u64),
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

/// State and status after an outcome: the one place that decides to retry.
pub(crate) fn end_of(outcome: &Outcome, attempts: u8, max_attempts: u8) -> (State, i16) {
    let again = attempts + 1 < max_attempts;
    match *outcome {
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
pub(crate) fn after(before: &HostState, report: &HostReport, politeness: &Politeness) -> HostState {
    let mut host = *before;
    host.delay_ms = report.delay_ms;
    host.next_slot = host.next_slot.max(report.ended + report.delay_ms);
    let wait = match report.health {
        Health::Answered => {
            host.failures = host.failures.saturating_sub(1);
            return host;
        }
        Health::Failing => {
            let doublings = u32::from(host.failures).min(20);
            politeness.retry_delay_ms.saturating_mul(1 << doublings)
        }
        Health::RetryAfter(ms) => ms,
    };
    host.failures = host.failures.saturating_add(1);
    host.blocked_until = host.blocked_until.max(report.ended + wait.min(politeness.max_retry_delay_ms));
    host
}

pub(crate) fn outcome_books(end: State) -> Books {
    let mut books = Books::default();
    let state = match end {
        State::Queued => return books,
        State::Fetched => &mut books.fetched,
        State::Failed => &mut books.failed,
        State::RobotsDenied => &mut books.robots_denied,
        State::Excluded => &mut books.excluded,
    };
    *state = 1;
    books.queued = -1;
    books
}

pub(crate) fn tally_books(tally: &Tally) -> Books {
    let [status_2xx, status_3xx, status_4xx, status_5xx] = tally.statuses.map(|n| n as i64);
    let (fetches, bytes_downloaded) = (tally.fetches as i64, tally.bytes as i64);
    Books { fetches, bytes_downloaded, status_2xx, status_3xx, status_4xx, status_5xx, ..Books::default() }
}
