//! When a page is visited again: after an interval that shrinks when the page had changed and grows when it had not.
//!
//! Not how a page that is due gets back into its queue (`revisiting`). The rule is a pure function of what was known before
//! and of what the visit brought; time is an argument. What each end of a visit means:
//!
//! | end of the visit | the page's next visit |
//! |---|---|
//! | first answer | after `initial_secs`, or after what a sitemap said |
//! | 304, or the same digest, or (without digests) the same validator | interval × `growth` |
//! | another digest or validator | interval × `shrink` |
//! | nothing to compare; 429 and 5xx, and a 304 that nobody asked for, which say nothing of the page | interval as it was |
//! | other 4xx: it is not there | interval × `growth` |
//! | retries exhausted without an answer | interval as it was: a page that was fetched once stays fetched |
//! | denied by robots.txt, excluded by a rule | none: it ends in that state |

use crate::record::{Record, State};
use crate::trace::{Trace, kept};

/// When pages are visited again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recrawl {
    /// From the first visit to the second, in seconds.
    pub initial_secs: u32,
    /// Shortest interval, in seconds.
    pub min_secs: u32,
    /// Longest interval, in seconds.
    pub max_secs: u32,
    /// What the interval of a page that had not changed is multiplied by; 1 or more.
    pub growth: f64,
    /// What the interval of a page that had changed is multiplied by; above 0, up to 1.
    pub shrink: f64,
}

/// What a visit brought, for the next one. Only looked at where pages are visited again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Visit<'a> {
    /// The answer to a conditional request was 304.
    pub not_modified: bool,
    /// Of the body, by a hash that is the same in every build.
    pub digest: Option<u64>,
    /// `ETag`, as sent. Kept up to 256 bytes of printable ASCII.
    pub etag: Option<&'a str>,
    /// `Last-Modified`, as sent. Kept like the `ETag`.
    pub last_modified: Option<&'a str>,
}

/// What becomes of a page after a visit, as far as its next one goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) state: State,
    pub(crate) due_secs: u32,
    pub(crate) interval_secs: u32,
    pub(crate) trace: Option<Box<str>>,
}

/// Whether a page had changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Changed,
    Same,
    Unknown,
}

impl Recrawl {
    /// Within the bounds.
    pub(crate) fn bounded(&self, secs: u32) -> u32 {
        secs.min(self.max_secs).max(self.min_secs).max(1)
    }

    fn after(&self, before_secs: u32, change: Change) -> u32 {
        let factor = match change {
            Change::Changed => self.shrink,
            Change::Same => self.growth,
            Change::Unknown => 1.0,
        };
        // Up, or a second would never grow.
        self.bounded((f64::from(before_secs) * factor).ceil() as u32)
    }
}

/// What becomes of a page. `before` is its record as it was leased, `trace` what was remembered; `end` and `status` are what
/// the attempt came to. Without `recrawl` no new page gets an interval; one that has one keeps it.
pub(crate) fn plan(
    recrawl: Option<&Recrawl>,
    (before, trace): (&Record, Option<&str>),
    (end, status): (State, i16),
    visit: &Visit<'_>,
    now_secs: u32,
) -> Plan {
    let was_visited = before.due_secs > 0;
    let due = |state, interval_secs: u32, trace| {
        let due_secs = if interval_secs > 0 { now_secs.saturating_add(interval_secs) } else { 0 };
        Plan { state, due_secs, interval_secs, trace }
    };
    let as_it_was = || trace.map(Box::from);
    match end {
        State::Queued => {
            let Record { due_secs, interval_secs, .. } = *before;
            Plan { state: end, due_secs, interval_secs, trace: as_it_was() }
        }
        State::Failed if was_visited => due(State::Fetched, before.interval_secs, as_it_was()),
        State::Fetched => {
            let past = Trace::parse(trace);
            let change = change(&past, status, visit);
            let interval_secs = match recrawl {
                None => before.interval_secs,
                Some(recrawl) if was_visited => recrawl.after(before.interval_secs, change),
                Some(recrawl) if before.interval_secs > 0 => recrawl.bounded(before.interval_secs),
                Some(recrawl) => recrawl.bounded(recrawl.initial_secs),
            };
            let remembered = if says_nothing(status, visit) { past } else { remembered(&past, status, visit) };
            let remembered = Trace { learnt: was_visited, ..remembered };
            due(end, interval_secs, if interval_secs > 0 { remembered.text() } else { None })
        }
        _ => due(end, 0, None),
    }
}

/// A status that says something of the server, nothing of the page. One of them is a 304 to a request without a condition
/// (RFC 9110, section 15.4.5, has it for conditional ones only): not modified since when?
fn says_nothing(status: i16, visit: &Visit<'_>) -> bool {
    status == 429 || status >= 500 || (status == 304 && !visit.not_modified)
}

fn is_missing(status: i16) -> bool {
    (400..500).contains(&status)
}

fn change(past: &Trace<'_>, status: i16, visit: &Visit<'_>) -> Change {
    let compared = |same| if same { Change::Same } else { Change::Changed };
    if says_nothing(status, visit) {
        return Change::Unknown;
    }
    if visit.not_modified || is_missing(status) {
        return Change::Same;
    }
    if past.digest.is_some() || visit.digest.is_some() {
        return compared(past.digest == visit.digest);
    }
    let validators = [(past.etag, visit.etag), (past.last_modified, visit.last_modified)];
    let both = validators.into_iter().find_map(|(before, now)| before.zip(now));
    both.map_or(Change::Unknown, |(before, now)| compared(before == now))
}

/// What the next visit is to know.
fn remembered<'a>(past: &Trace<'a>, status: i16, visit: &Visit<'a>) -> Trace<'a> {
    let Visit { digest, .. } = *visit;
    let (etag, last_modified) = (kept(visit.etag), kept(visit.last_modified));
    if visit.not_modified {
        // A 304 may renew the validators (RFC 9111, section 4.3.4); one that names none leaves them.
        return Trace { etag: etag.or(past.etag), last_modified: last_modified.or(past.last_modified), ..*past };
    }
    if is_missing(status) { Trace::default() } else { Trace { learnt: false, digest, etag, last_modified } }
}

#[cfg(test)]
mod tests;
