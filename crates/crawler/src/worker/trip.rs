//! The requests made under one lease: limited, counted, timed.
//!
//! Not what they are for. Invariant: every request that left is in the tally once, and its status, if one came, once.

use std::time::Duration;

use frontier::{Health, HostReport, Tally};
use tokio::time::Instant;
use url::Url;

use super::Crawl;
use crate::addresses::Turn;
use crate::fetch::{Exchange, Fetch, FetchError, Request};
use crate::output::{Capture, Failure};
use crate::politeness;

/// The requests of one lease so far.
pub(super) struct Trip<'a, F> {
    pub crawl: &'a Crawl<F>,
    pub tally: Tally,
    /// The host's delay as far as it is known, in milliseconds; a slow answer makes it longer.
    pub delay_ms: u64,
    /// The turn at the host's address, where addresses count.
    pub turn: Option<Turn<'a>>,
    /// What the outputs are to keep of the requests so far.
    pub captures: Vec<Capture>,
    /// How many captures there were before the page itself.
    captures_before_page: usize,
    /// When the last request began.
    asked_at: Instant,
    /// When the page itself was first asked for.
    page_started: Option<Instant>,
    /// The URL asked for last, where it is not the lease's.
    hop: Option<Url>,
    /// The dispatcher has waited for the whole crawl's limit on behalf of the first request.
    is_first: bool,
}

impl<'a, F: Fetch> Trip<'a, F> {
    pub fn new(crawl: &'a Crawl<F>) -> Self {
        Self {
            crawl,
            tally: Tally::default(),
            delay_ms: crawl.config.politeness.delay_ms,
            turn: None,
            captures: Vec::new(),
            captures_before_page: usize::MAX,
            asked_at: Instant::now(),
            page_started: None,
            hop: None,
            is_first: true,
        }
    }

    /// Makes a request, when the whole crawl's limit lets it.
    pub async fn start(&mut self, request: Request<'_>) -> Result<Exchange<F::Body>, FetchError> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if let Some(limiter) = self.crawl.limiter.as_ref().filter(|_| !is_first) {
            limiter.until_ready().await;
        }
        // Counted before the answer, since giving up drops the future; taken back if the guard kept it from leaving.
        self.tally.fetches += 1;
        self.asked_at = Instant::now();
        let mut started = self.crawl.fetch.start(&request).await;
        self.capture(&request, &mut started);
        match &started {
            Ok(exchange) => self.count_status(exchange.head().status),
            Err(error) if error.excluded() => self.tally.fetches -= 1,
            Err(_) => {}
        }
        started
    }

    /// Begins to record what the outputs want. A request that a rule of ours kept back was none.
    fn capture(&mut self, request: &Request<'_>, started: &mut Result<Exchange<F::Body>, FetchError>) {
        let Some(outputs) = &self.crawl.outputs else { return };
        let at = self.crawl.clock.now();
        match started {
            Ok(exchange) => {
                let recording = outputs.begin(request, exchange.head(), at);
                exchange.record(recording.clone());
                self.captures.push(Capture::Exchange(recording));
            }
            Err(error) if error.excluded() => {}
            Err(error) => {
                self.captures.push(Capture::Failure(Failure { url: request.url.clone(), at, error: *error }));
            }
        }
    }

    /// Whether the last capture is of the page itself.
    pub fn has_asked_for_page(&self) -> bool {
        self.captures.len() > self.captures_before_page
    }

    fn count_status(&mut self, status: u16) {
        if let Some(count) = usize::from(status / 100).checked_sub(2).and_then(|i| self.tally.statuses.get_mut(i)) {
            *count += 1;
        }
    }

    /// Starts the clock of the page itself.
    pub fn begin_page(&mut self) {
        self.page_started = Some(Instant::now());
        self.captures_before_page = self.captures.len();
    }

    /// Goes on to a redirect's target: its host, like any, first rests.
    pub async fn hop_to(&mut self, url: Url) {
        self.hop = Some(url);
        self.rest().await;
    }

    /// The URL of the last hop, after a redirect that was followed.
    pub fn last_hop(&self) -> Option<&str> {
        self.hop.as_ref().map(Url::as_str)
    }

    /// Waits the host's delay between two requests under one lease.
    pub async fn rest(&self) {
        let pause_ms = self.pause_ms();
        if pause_ms > 0 {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
    }

    /// The pause after the last response, which has just ended.
    fn pause_ms(&self) -> u64 {
        politeness::pause_ms(&self.crawl.config.politeness, self.delay_ms, self.asked_at.elapsed())
    }

    /// Whether any request was made.
    pub fn asked(&self) -> bool {
        self.tally.fetches > 0
    }

    /// A report of the host as of now.
    pub fn report(&mut self, health: Health) -> HostReport {
        // The clock cuts off what has begun of a millisecond. Where there is a delay it counts in full, so that no gap is
        // shorter than the delay.
        let delay_ms = self.pause_ms();
        let ended = self.crawl.clock.now() + u64::from(delay_ms > 0);
        if let Some(turn) = &mut self.turn {
            turn.rests_until(ended + delay_ms);
        }
        HostReport { ended, delay_ms, health }
    }

    /// Milliseconds since the page was asked for; 0 when it was not.
    pub fn duration_ms(&self) -> u64 {
        self.page_started.map_or(0, |started| u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}
