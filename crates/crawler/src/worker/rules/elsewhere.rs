//! The host to which robots.txt of another redirects: asked without a lease of its own, and yet in its turn.
//!
//! Not the asking. Invariant: the frontier knows of each such request before it is made (its booking) and after it (the
//! report), so that it counts for the host's delay like any other; what one redirect has learned serves the next.

use frontier::{Canonical, Health};
use url::{Position, Url};

use crate::fetch::Fetch;
use crate::robots_cache::Answer;
use crate::worker::sitemaps;
use crate::worker::trip::Trip;

/// Longest wait for the turn of a host to which robots.txt redirects: twice what the cap of Crawl-delay is by default.
const MAX_TURN_WAIT_MS: u64 = 60_000;

/// Waits for the turn of a host that is asked without a lease. `false`: it is too far off.
pub(super) async fn comes_to_its_turn<F: Fetch>(trip: &Trip<'_, F>, host: &Canonical) -> bool {
    let (frontier, clock) = (&trip.crawl.frontier, trip.crawl.clock);
    let patience = clock.now().saturating_add(MAX_TURN_WAIT_MS);
    let mut booked = None;
    loop {
        let now = clock.now();
        match frontier.book(host, booked, now) {
            Ok(at) if at <= now => return true,
            Ok(at) if at <= patience => {
                tokio::time::sleep_until(clock.instant(at)).await;
                booked = Some(at);
            }
            // A frontier that has failed tells so again when the lease ends.
            Ok(_) | Err(_) => return false,
        }
    }
}

/// Tells the frontier how a host that was asked without a lease has behaved.
pub(super) fn report<F: Fetch>(trip: &mut Trip<'_, F>, host: Option<&Canonical>, health: Health) {
    if let Some(host) = host {
        let report = trip.report(health);
        // A frontier that has failed tells so again when the lease ends.
        let _ = trip.crawl.frontier.report(host, &report);
    }
}

/// What is known of the rules of the host to which another redirects, if it redirects to its robots.txt.
pub(super) fn shared<F: Fetch>(trip: &Trip<'_, F>, url: &Url) -> Option<Answer> {
    let is_its_own = url.path() == "/robots.txt" && url.query().is_none();
    let cell = is_its_own.then(|| trip.crawl.robots.cell(&url[..Position::BeforePath], trip.crawl.clock.now()))?;
    cell.get().filter(|answer| answer.rules.is_some()).cloned()
}

/// Keeps an answer for the host that gave it, so that the next one redirected to it need not ask. Nor will that host's own
/// pages, so its sitemaps are offered now.
pub(super) async fn share<F: Fetch>(trip: &Trip<'_, F>, url: &Url, depth: u16, answer: &Answer) {
    let Some(rules) = answer.rules.as_ref().filter(|_| url.path() == "/robots.txt" && url.query().is_none()) else {
        return;
    };
    let cell = trip.crawl.robots.cell(&url[..Position::BeforePath], trip.crawl.clock.now());
    // Somebody else may be asking just now; then that answer counts.
    if cell.set(answer.clone()).is_ok() {
        trip.crawl.robots.weigh(&url[..Position::BeforePath], answer);
        sitemaps::offer_of_host(trip, url, depth, rules).await;
    }
}
