//! A page's journey, from its lease to the end of its lease. Read [`journey`] from top to bottom.
//!
//! Not here: which page comes next and when (the frontier decides, the [`daemon`](crate::daemon) asks it). Invariant:
//! each lease ends in exactly one verb, `complete` or `give_back`, whatever the site does; every request that was made
//! is in the tally of that verb. A lease that is dropped instead (a panic) gives its URL back by itself.

mod likeness;
mod links;
mod page;
mod remembered;
mod revisit;
mod rules;
mod says;
mod sitemaps;
#[cfg(test)]
mod tests;
mod trip;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use frontier::{Completion, Found, Frontier, Health, HostReport, Lease, Outcome};
use governor::DefaultDirectRateLimiter;
use tokio::sync::watch;
use url::Url;

use crate::addresses::{Addresses, Place};
use crate::clock::Clock;
use crate::config::Config;
use crate::crawl_log::{Entry, Line, Sender, annotate};
use crate::duplicates::Duplicates;
use crate::fetch::Fetch;
use crate::fetch_code;
use crate::fields::Fields;
use crate::output::{Captured, Closed, Outputs, Page};
use crate::robots_cache::RobotsCache;
use crate::scope::Scope;

use revisit::Brought;
use rules::Rules;
use trip::Trip;

/// Leases in a row without an outcome after which a page counts as one that kills the process.
///
/// Kills from outside (an operator, a machine that goes down) count too, so it is more than a handful.
pub const MAX_UNFINISHED: u16 = 10;

/// What all workers share.
pub struct Crawl<F> {
    /// How to crawl.
    pub config: Config,
    /// Whom the workers tell.
    pub frontier: Arc<Frontier>,
    /// The network.
    pub fetch: F,
    /// Which URLs belong to the crawl.
    pub scope: Scope,
    /// What else to take from pages.
    pub fields: Fields,
    /// Robots rules known.
    pub robots: RobotsCache,
    /// When each address may be asked; `None` where only hosts count (`politeness.per_ip`).
    pub addresses: Option<Addresses>,
    /// The whole crawl's limit; `None` when there is none.
    pub limiter: Option<DefaultDirectRateLimiter>,
    /// The time.
    pub clock: Clock,
    /// Where lines for `crawl.log` go.
    pub log: Sender,
    /// Which pages are copies of others.
    pub duplicates: Arc<Duplicates>,
    /// Where what was fetched is kept; `None` where it is not.
    pub outputs: Option<Outputs>,
    /// URLs with a final response, those of earlier runs included.
    pub fetched: AtomicU64,
    /// Whether requests may be made.
    pub orders: watch::Receiver<Orders>,
}

/// What the workers are told. Only ever goes forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    /// Work.
    Work,
    /// Finish the open request and start no other.
    Finish,
    /// Give up the open request.
    GiveUp,
}

impl<F> Crawl<F> {
    fn is_stopping(&self) -> bool {
        *self.orders.borrow() != Orders::Work
    }
}

/// What came of a page.
#[derive(Debug)]
struct Visit {
    outcome: Outcome,
    /// `None` when no request was made.
    host: Option<HostReport>,
    /// HTTP status or negative code.
    status: i32,
    /// Decoded body bytes.
    bytes: u64,
    content_type: Option<String>,
    found: Found,
    /// Fields as a JSON line.
    fields: Option<String>,
    /// What the outputs want to know of the page.
    page: Page,
    /// For the next visit.
    brought: Brought,
    /// The page's own request was made on a condition, and its answer is this one.
    is_conditional: bool,
    notes: Vec<Cow<'static, str>>,
}

impl Visit {
    /// A page that was not asked for, and why.
    fn not_made(outcome: Outcome, status: i32, why: &'static str) -> Self {
        Self {
            outcome,
            host: None,
            status,
            bytes: 0,
            content_type: None,
            found: Found::default(),
            fields: None,
            page: Page::default(),
            brought: Brought::default(),
            is_conditional: false,
            notes: vec![why.into()],
        }
    }
}

/// Fetches one leased page and tells the frontier what became of it.
///
/// The dispatcher has waited for the whole crawl's limit before it took the lease; further requests wait here.
///
/// # Errors
/// What the frontier's verbs fail with: the crawl cannot go on.
pub async fn journey<F: Fetch>(crawl: &Crawl<F>, lease: Lease) -> Result<(), frontier::Error> {
    let mut orders = crawl.orders.clone();
    let Ok(url) = Url::parse(lease.url()) else {
        let outcome = Outcome::Excluded { code: code(fetch_code::UNFETCHABLE) };
        let visit = Visit::not_made(outcome, fetch_code::UNFETCHABLE, "bad_url");
        return close(crawl, lease, Trip::new(crawl), visit).await;
    };
    let mut trip = Trip::new(crawl);
    let came_to = tokio::select! {
        biased;
        came_to = visit(&mut trip, &lease, url) => Some(came_to),
        _ = orders.wait_for(|orders| *orders == Orders::GiveUp) => None,
    };
    let came_to = came_to.unwrap_or_else(|| Err(trip.asked().then(|| trip.report(Health::Answered))));
    match came_to {
        Ok(visit) => close(crawl, lease, trip, visit).await,
        Err(report) => {
            // The page comes again; what was asked for on its behalf does not. When it cannot be kept, the crawl is ending.
            let _ = keep(crawl, &mut trip, None).await;
            crawl.frontier.give_back(lease, report, trip.tally)
        }
    }
}

/// The steps of a page that is not given up. `Err`: the URL goes back into its queue, with this report of its host.
async fn visit<F: Fetch>(trip: &mut Trip<'_, F>, lease: &Lease, url: Url) -> Result<Visit, Option<HostReport>> {
    // 1. Has it killed the process again and again?
    if lease.unfinished() >= MAX_UNFINISHED {
        let outcome = Outcome::Failed { code: code(fetch_code::TOO_MANY_RETRIES), transient: false };
        return Ok(Visit::not_made(outcome, fetch_code::TOO_MANY_RETRIES, "never_finished"));
    }
    // 2. Is it its address's turn? Other hosts may share it; then the page waits for its place behind them.
    if let Some(addresses) = &trip.crawl.addresses {
        match addresses.place(&trip.crawl.fetch, &url, trip.crawl.clock).await {
            Place::Turn(turn) => trip.turn = Some(turn),
            Place::After(at) => return Err(Some(HostReport { ended: at, delay_ms: 0, health: Health::NotAsked })),
            Place::Unknown => {}
        }
    }
    // 3. What does the host's robots.txt say? Asked for under this lease when it is not known; the page then waits the
    //    host's delay like any next request.
    let robots = match rules::of_host(trip, &url, lease.depth()).await {
        Rules::Known(robots) => robots,
        Rules::Later(report) => return Err(report),
        Rules::NoAnswer { report, code: status } => {
            let outcome = Outcome::Failed { code: code(status), transient: true };
            let failed = Visit::not_made(outcome, status, "robots_unreachable");
            return Ok(Visit { host: Some(report), ..failed });
        }
    };
    if !robots.allows(&url) {
        let host = trip.asked().then(|| trip.report(Health::Answered));
        let denied = Visit::not_made(Outcome::RobotsDenied, fetch_code::ROBOTS_DENIED, "robots_denied");
        return Ok(Visit { host, ..denied });
    }
    // 4. The page itself, its links and fields, while it arrives.
    Ok(page::fetch(trip, lease, url, &robots).await)
}

/// Waits until what was captured is on the disk, where it is wanted there. Of a page that was not asked for there is none.
async fn keep<F: Fetch>(crawl: &Crawl<F>, trip: &mut Trip<'_, F>, page: Option<Page>) -> Result<(), Closed> {
    let Some(outputs) = &crawl.outputs else { return Ok(()) };
    let page = page.filter(|_| trip.has_asked_for_page());
    let captures = std::mem::take(&mut trip.captures);
    if captures.is_empty() { Ok(()) } else { outputs.store(Captured::new(captures, page)).await }
}

/// Ends the lease: what was fetched is kept, then outcome, host and all URLs found in one verb, then the line for the log.
async fn close<F: Fetch>(
    crawl: &Crawl<F>,
    lease: Lease,
    mut trip: Trip<'_, F>,
    mut visit: Visit,
) -> Result<(), frontier::Error> {
    let page = Page {
        url: lease.url().to_owned(),
        depth: lease.depth(),
        referrer: lease.referrer().map(str::to_owned),
        duration_ms: trip.duration_ms(),
        notes: visit.notes.iter().map(|note| note.clone().into_owned()).collect(),
        ..std::mem::take(&mut visit.page)
    };
    if keep(crawl, &mut trip, Some(page)).await.is_err() {
        return crawl.frontier.give_back(lease, visit.host, trip.tally);
    }
    let line = Line {
        at: crawl.clock.now(),
        status: visit.status,
        bytes: visit.bytes,
        url: trip.last_hop().unwrap_or(lease.url()),
        depth: lease.depth(),
        referrer: lease.referrer(),
        content_type: visit.content_type.as_deref(),
        duration_ms: trip.duration_ms(),
    };
    let (mut line, mut notes, attempt) = (line.text(), visit.notes, lease.attempt());
    let is_revisit = lease.is_revisit();
    let completion = Completion {
        outcome: visit.outcome,
        host: visit.host,
        tally: trip.tally,
        visit: visit.brought.visit(visit.is_conditional),
        found: &visit.found,
    };
    let completed = crawl.frontier.complete(lease, &completion, crawl.clock.now())?;
    let is_response = matches!(visit.outcome, Outcome::Fetched { .. } | Outcome::TryAgain { .. });
    // A page counts once, however often it is visited.
    if is_response && !completed.requeued && !is_revisit {
        crawl.fetched.fetch_add(1, Ordering::Relaxed);
    }
    if is_revisit {
        notes.push("revisit".into());
    }
    if attempt > 1 {
        notes.push(format!("retry_{}", attempt - 1).into());
    }
    if completed.requeued {
        notes.push("requeued".into());
    }
    if completed.discovered > 0 {
        notes.push(format!("new_{}", completed.discovered).into());
    }
    annotate(&mut line, &notes);
    // Without a writer the daemon is already ending, for the writer's error.
    let _ = crawl.log.send(Entry { sequence: completed.sequence, line, fields: visit.fields }).await;
    Ok(())
}

/// A code as the frontier keeps it.
fn code(code: i32) -> i16 {
    i16::try_from(code).expect("all codes are above -32768")
}
