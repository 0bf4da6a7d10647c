//! What robots.txt allows on a host: from memory (also that of an earlier run), or asked for under the lease at hand (RFC 9309).
//!
//! Not the parsing ([`robots`](crate::robots)) and not the memory ([`robots_cache`](crate::robots_cache)). Invariant: a
//! page is fetched only after the rules of its origin were asked for and an answer came; of a host
//! that cannot be reached a page fails after its attempts, while one that answers with errors keeps its URLs in the queue.

mod elsewhere;

use std::sync::Arc;

use frontier::{BlockReason, Health, HostReport, RobotsMemory};
use tracing::info;
use url::{Position, Url};

use super::trip::Trip;
use super::{remembered, sitemaps};
use crate::fetch::{DRAIN_BYTES, Exchange, Fetch, FetchError, Head, Request};
use crate::fetch_code;
use crate::politeness;
use crate::robots::{self, Availability, Robots};
use crate::robots_cache::{self, Answer, TTL};

/// Redirects of robots.txt that are followed, also to other hosts (RFC 9309, section 2.3.1.2: at least five).
const MAX_REDIRECTS: u32 = 5;

/// What is known of an origin's rules.
pub(super) enum Rules {
    /// The page may be judged by them, and asked for now.
    Known(Arc<Robots>),
    /// The page has to wait: its host was just asked, with this report, or cannot be asked.
    Later(Option<HostReport>),
    /// The host gave no answer at all: an attempt of the page, like one at the page itself. (An error of the server's is
    /// none: RFC 9309 then has the site left alone, however long.)
    NoAnswer {
        report: HostReport,
        /// Negative code of the failure.
        code: i32,
    },
}

/// The rules for a page that is `depth` links from a seed. When they are read, the host's sitemaps are offered.
pub(super) async fn of_host<F: Fetch>(trip: &mut Trip<'_, F>, url: &Url, depth: u16) -> Rules {
    let crawl = trip.crawl;
    if !crawl.config.politeness.obey_robots {
        return Rules::Known(Arc::default());
    }
    let origin = &url[..Position::BeforePath];
    let cell = crawl.robots.cell(origin, crawl.clock.now());
    let mut health = None;
    let mut is_read = false;
    let ask = async || {
        is_read = true;
        let memory = remembered::recall(trip, url).await;
        let holds = |memory| Answer::of_memory(memory, &crawl.config.crawl.user_agent, crawl.clock.now());
        if let Some(answer) = memory.as_ref().and_then(holds) {
            return answer;
        }
        let mut learned = None;
        let (mut answer, says) = ask(trip, url, depth, memory.as_ref(), &mut learned).await;
        if answer.rules.is_none() && no_answer(says).is_none() {
            answer = out_of_patience(trip, url, memory, &mut learned).unwrap_or(answer);
        } else if learned.is_none() && answer.rules.is_some() {
            // It was too long, but it was an answer.
            let failing = memory.filter(|memory| memory.unreachable_since.is_some());
            learned = failing.map(|memory| RobotsMemory { unreachable_since: None, ..memory });
        }
        remembered::remember(trip, url, learned).await;
        health = Some(says);
        answer
    };
    let was_known = cell.initialized();
    let answer = cell.get_or_init(ask).await;
    if !was_known {
        crawl.robots.weigh(origin, answer);
    }
    let Answer { rules, expires } = answer.clone();
    if let Some(rules) = &rules {
        // Rules that do not hold stand for those of a host that our own rule forbids.
        if is_read && expires > crawl.clock.now() {
            sitemaps::offer_of_host(trip, url, depth, rules).await;
        }
        trip.delay_ms = politeness::delay_ms(&crawl.config.politeness, rules.crawl_delay());
    }
    let report = health.filter(|_| trip.asked()).map(|health| trip.report(health));
    match rules {
        None => match report.and_then(|report| Some((report, no_answer(report.health)?))) {
            Some((report, code)) => Rules::NoAnswer { report, code },
            None => Rules::Later(report),
        },
        // Just asked: the page waits like any next request of this host. Without a delay it need not, unless the crawl is
        // being stopped.
        Some(_) if report.is_some_and(|report| has_to_rest(&report)) || (report.is_some() && crawl.is_stopping()) => {
            Rules::Later(report)
        }
        Some(rules) => Rules::Known(rules),
    }
}

/// The code of a failure to get any answer.
fn no_answer(health: Health) -> Option<i32> {
    match health {
        Health::Failing(BlockReason::DnsFailed) => Some(fetch_code::DNS_FAILED),
        Health::Failing(BlockReason::ConnectFailed) => Some(fetch_code::CONNECT_FAILED),
        Health::Failing(BlockReason::ConnectionLost) => Some(fetch_code::CONNECTION_LOST),
        Health::Failing(BlockReason::Timeout) => Some(fetch_code::TIMEOUT),
        _ => None,
    }
}

/// What holds of a server that has answered with errors for a long time; until then, that it does.
fn out_of_patience<F: Fetch>(
    trip: &Trip<'_, F>,
    url: &Url,
    memory: Option<RobotsMemory>,
    learned: &mut Option<RobotsMemory>,
) -> Option<Answer> {
    let now = trip.crawl.clock.now();
    let is_first = memory.as_ref().is_none_or(|memory| memory.unreachable_since.is_none());
    let memory = remembered::failing(memory, now);
    let answer = Answer::of_unreachable(&memory, &trip.crawl.config.crawl.user_agent, now);
    if answer.is_some() {
        info!(%url, "robots.txt has not been had for 30 days: its last rules hold, or none");
    }
    *learned = is_first.then_some(memory);
    answer
}

fn has_to_rest(report: &HostReport) -> bool {
    report.delay_ms > 0 || report.health != Health::Answered
}

/// Asks for robots.txt, and says what the answer tells of the host's health. `memory` is what the server may say is still
/// so; `learned` becomes what is to be remembered.
async fn ask<F: Fetch>(
    trip: &mut Trip<'_, F>,
    page: &Url,
    depth: u16,
    memory: Option<&RobotsMemory>,
    learned: &mut Option<RobotsMemory>,
) -> (Answer, Health) {
    let mut url = page.clone();
    url.set_path("/robots.txt");
    url.set_query(None);
    url.set_fragment(None);
    for hop in 0..=MAX_REDIRECTS {
        // Another host is asked without a lease of its own.
        let is_elsewhere = url.host_str() != page.host_str();
        let other = trip.crawl.frontier.rules().canonical(url.clone()).ok().filter(|_| is_elsewhere);
        let _one_at_a_time = match &other {
            Some(_) => Some(trip.crawl.robots.turn(url.host_str().unwrap_or_default()).lock().await),
            None => None,
        };
        if let Some(host) = &other {
            if let Some(known) = elsewhere::shared(trip, &url) {
                return (known, Health::Answered);
            }
            if !elsewhere::comes_to_its_turn(trip, host).await {
                return (unreachable(trip, &url, "host_rests"), UNREACHABLE);
            }
        } else if hop > 0 {
            trip.rest().await;
        }
        // Whoever is redirected to has given no validators.
        let memory = memory.filter(|_| hop == 0);
        let request = Request {
            max_body_bytes: Some(robots::MAX_BYTES as u64),
            if_none_match: memory.and_then(|memory| memory.etag.as_deref()),
            if_modified_since: memory.and_then(|memory| memory.last_modified.as_deref()),
            ..Request::new(&url)
        };
        let mut exchange = match trip.start(request).await {
            Ok(exchange) => exchange,
            // Not asked for, by our own rule: the page itself will meet the same rule and be excluded by it.
            Err(error) if error.excluded() && hop == 0 => return (allow_all(trip, 0), Health::Answered),
            // A redirect to where we do not go leads to no rules.
            Err(error) if error.excluded() => return (allow_all(trip, TTL_MS), Health::Answered),
            Err(error) => {
                let health = robots_failing(error);
                elsewhere::report(trip, other.as_ref(), health);
                return (unreachable(trip, &url, error.reason()), health);
            }
        };
        let Some(target) = redirect_target(exchange.head(), &url) else {
            let (answer, health) = read(trip, &url, exchange, memory, learned).await;
            if hop > 0 {
                learned.iter_mut().for_each(remembered::without_validators);
            }
            if other.is_none() {
                return (answer, health);
            }
            elsewhere::report(trip, other.as_ref(), health);
            elsewhere::share(trip, &url, depth, &answer).await;
            // What asks for rest is the other host.
            let health = if answer.rules.is_some() { Health::Answered } else { UNREACHABLE };
            return (answer, health);
        };
        exchange.drain(DRAIN_BYTES).await;
        trip.tally.bytes += exchange.body_bytes();
        elsewhere::report(trip, other.as_ref(), Health::Answered);
        url = target;
    }
    *learned = Some(remembered::no_rules(trip.crawl.clock.now()));
    (allow_all(trip, TTL_MS), Health::Answered)
}

const TTL_MS: u64 = TTL.as_millis() as u64;

const UNREACHABLE: Health = Health::Failing(BlockReason::RobotsUnreachable);

/// Without robots.txt nothing is asked for, whatever the failure.
fn robots_failing(error: FetchError) -> Health {
    error.block_reason().map_or(UNREACHABLE, Health::Failing)
}

/// Takes a final answer by its status.
async fn read<F: Fetch>(
    trip: &mut Trip<'_, F>,
    url: &Url,
    mut exchange: Exchange<F::Body>,
    memory: Option<&RobotsMemory>,
    learned: &mut Option<RobotsMemory>,
) -> (Answer, Health) {
    let now = trip.crawl.clock.now();
    let health = health_of_response(exchange.head(), now);
    if let Some(renewed) = remembered::renewed(memory, exchange.head(), now) {
        exchange.drain(DRAIN_BYTES).await;
        trip.tally.bytes += exchange.body_bytes();
        let answer = Answer::of_memory(&renewed, &trip.crawl.config.crawl.user_agent, now);
        *learned = Some(renewed);
        return (answer.unwrap_or_else(|| allow_all(trip, 0)), health);
    }
    match robots::from_status(exchange.head().status) {
        Availability::Parse => {
            let mut body = Vec::new();
            let ended = loop {
                match exchange.chunk().await {
                    Ok(Some(piece)) => body.extend_from_slice(piece.as_ref()),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            trip.tally.bytes += exchange.body_bytes();
            match ended {
                Ok(()) => {
                    *learned = remembered::of(exchange.head(), &body, now);
                    let product = robots::product_token(&trip.crawl.config.crawl.user_agent);
                    let ttl_ms = robots_cache::ttl_ms(remembered::max_age_secs(exchange.head()));
                    (answer(trip, Robots::parse(product, &body), ttl_ms), health)
                }
                Err(error) => (unreachable(trip, url, error.reason()), robots_failing(error)),
            }
        }
        availability => {
            exchange.drain(DRAIN_BYTES).await;
            trip.tally.bytes += exchange.body_bytes();
            match availability {
                Availability::Unreachable => {
                    let health = if health == Health::Answered { UNREACHABLE } else { health };
                    (unreachable(trip, url, "server_error"), health)
                }
                _ => {
                    *learned = Some(remembered::no_rules(now));
                    (allow_all(trip, TTL_MS), health)
                }
            }
        }
    }
}

fn answer<F: Fetch>(trip: &Trip<'_, F>, rules: Robots, ttl_ms: u64) -> Answer {
    Answer { rules: Some(Arc::new(rules)), expires: trip.crawl.clock.now().saturating_add(ttl_ms) }
}

fn allow_all<F: Fetch>(trip: &Trip<'_, F>, ttl_ms: u64) -> Answer {
    answer(trip, Robots::allow_all(), ttl_ms)
}

/// Holds for those who wait for it now; the next lease of the host, after its rest, asks again.
fn unreachable<F: Fetch>(trip: &Trip<'_, F>, url: &Url, reason: &str) -> Answer {
    info!(%url, reason, "robots.txt cannot be had: the host rests");
    Answer { rules: None, expires: trip.crawl.clock.now() + 1 }
}

/// Where a redirect with a usable target leads.
pub(super) fn redirect_target(head: &Head, from: &Url) -> Option<Url> {
    let location = head.location.as_deref().filter(|_| head.is_redirect())?;
    from.join(location).ok()
}

/// What a response says of its host: 429 and 503 ask for rest, for as long as they say.
pub(super) fn health_of_response(head: &Head, now: frontier::Millis) -> Health {
    let reason = match head.status {
        429 => BlockReason::TooManyRequests,
        503 => BlockReason::Unavailable,
        _ => return Health::Answered,
    };
    let named = head.retry_after.as_deref().and_then(|value| politeness::retry_after_ms(value, now));
    // Zero, or a time gone by, names no rest: who asks for one and names none gets ours, which grows.
    let named = named.filter(|ms| *ms > 0);
    named.map_or(Health::Failing(reason), |ms| Health::RetryAfter(reason, ms))
}

/// What a failure says of its host: no answer asks for rest, a bad answer is one.
pub(super) fn health_of(error: FetchError) -> Health {
    error.block_reason().map_or(Health::Answered, Health::Failing)
}
