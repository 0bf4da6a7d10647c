//! The fetch of a page: its hops, its body, its links and fields while it arrives.
//!
//! Not robots and not the end of the lease. Invariant: hops under one lease all have the lease's key; every other
//! redirect is a URL found like any link. Each end has a name: an outcome, a status and, where they do not say it, a note.

use frontier::{Found, Health, Lease, Outcome};
use url::Url;

use super::revisit::{self, Brought, Digest};
use super::rules::{health_of, health_of_response};
use super::trip::Trip;
use super::{Crawl, Visit, code, links};
use crate::charset;
use crate::duplicates::{self, Likeness};
use crate::extract::{Extractor, Settings};
use crate::fetch::{DRAIN_BYTES, Exchange, Fetch, FetchError, Head, Request};
use crate::fetch_code;
use crate::robots::Robots;
use crate::scope::Verdict;
use crate::sketch::{SimHash, Sketcher};

/// Where a redirect leads.
enum Target {
    /// Another spelling of the same page: followed under the same lease.
    SamePage(Url),
    /// The very URL that was asked for.
    Loop,
    /// Another page, or nothing that can be crawled: the redirect is the page's final answer.
    Elsewhere(Found),
}

/// Fetches a page that robots rules allow.
pub(super) async fn fetch<F: Fetch>(trip: &mut Trip<'_, F>, lease: &Lease, mut url: Url, robots: &Robots) -> Visit {
    trip.begin_page();
    let mut hops = 0;
    let mut is_conditional;
    let mut visit = loop {
        // Only the page's own URL is asked on a condition: of another one nothing is known.
        let request = if hops == 0 { revisit::request(trip.crawl, lease, &url) } else { Request::new(&url) };
        is_conditional = hops == 0 && request.is_conditional();
        let exchange = match trip.start(request).await {
            Ok(exchange) => exchange,
            Err(error) => break failed(trip, error),
        };
        if !exchange.head().is_redirect() {
            break read(trip, lease, &url, exchange).await;
        }
        let target = target(trip.crawl, lease, &url, exchange.head());
        let mut digest_of_location = Digest::begin(trip.crawl);
        if let Some(digest) = &mut digest_of_location {
            digest.write(exchange.head().location.as_deref().unwrap_or_default().as_bytes());
        }
        let mut visit = drained(trip, exchange).await;
        match target {
            Target::Elsewhere(found) => {
                visit.found = found;
                visit.brought = visit.brought.with_digest(digest_of_location);
                break visit;
            }
            Target::Loop => break excluded(visit, FetchError::RedirectLimit, "redirect_loop"),
            Target::SamePage(_) if hops >= trip.crawl.config.fetch.max_redirects => {
                break excluded(visit, FetchError::RedirectLimit, FetchError::RedirectLimit.reason());
            }
            Target::SamePage(next) if !robots.allows(&next) => {
                let denied = Visit::not_made(Outcome::RobotsDenied, fetch_code::ROBOTS_DENIED, "robots_denied");
                break Visit { host: visit.host, ..denied };
            }
            Target::SamePage(next) => {
                hops += 1;
                url = next;
                trip.hop_to(url.clone()).await;
            }
        }
    };
    visit.is_conditional = is_conditional;
    if hops > 0 {
        visit.brought = visit.brought.without_validators();
        visit.notes.push(format!("redirects_{hops}").into());
    }
    visit
}

/// Judges the target of a redirect.
fn target<F>(crawl: &Crawl<F>, lease: &Lease, from: &Url, head: &Head) -> Target {
    let mut found = Found::default();
    let location = head.location.as_deref().unwrap_or_default();
    let joined = from.join(location).ok().and_then(|mut url| {
        url.set_fragment(None);
        crawl.frontier.rules().canonical(url.clone()).ok().map(|canonical| (url, canonical))
    });
    match joined {
        Some((url, canonical)) if canonical.key() == lease.key() => {
            return if url == *from { Target::Loop } else { Target::SamePage(url) };
        }
        Some((_, canonical)) => match links::judge(&crawl.scope, &canonical) {
            Verdict::In => links::offer(crawl, &mut found, canonical, lease.depth()),
            Verdict::Out(_) => found.out_of_scope = 1,
        },
        None => found.invalid = 1,
    }
    Target::Elsewhere(found)
}

/// Reads the final response.
async fn read<F: Fetch>(trip: &mut Trip<'_, F>, lease: &Lease, url: &Url, mut exchange: Exchange<F::Body>) -> Visit {
    if !exchange.head().is_success() || !is_html(exchange.head()) {
        return drained(trip, exchange).await;
    }
    let crawl = trip.crawl;
    let label = exchange.head().content_type.as_deref().and_then(charset::label_of).map(str::to_owned);
    let limits = Settings {
        max_links: crawl.config.extract.max_links_per_page as usize,
        max_url_bytes: crawl.config.extract.max_url_bytes as usize,
        ..Settings::default()
    };
    let mut extractor = Extractor::new(url, limits, label.as_deref());
    let mut kept = Vec::new();
    let mut digest = Digest::begin(crawl);
    let mut sketcher = sketcher(crawl);
    let mut content = crawl.duplicates.digest().filter(|_| !lease.is_revisit());
    let ended = loop {
        match exchange.chunk().await {
            Ok(Some(piece)) => {
                extractor.write(piece.as_ref());
                if let Some(sketcher) = &mut sketcher {
                    sketcher.write(piece.as_ref());
                }
                if let Some(digest) = &mut digest {
                    digest.write(piece.as_ref());
                }
                if let Some(content) = &mut content {
                    content.write(piece.as_ref());
                }
                if !crawl.fields.is_empty() {
                    kept.extend_from_slice(piece.as_ref());
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let mut visit = answered(trip, &exchange);
    visit.brought = visit.brought.with_digest(digest);
    if let Err(error) = ended {
        // Half a page is like no other.
        sketcher = None;
        visit = Visit { bytes: visit.bytes, content_type: visit.content_type, ..failed(trip, error) };
    } else if !crawl.fields.is_empty() {
        match links::fields(&crawl.fields, label.as_deref(), &kept) {
            Some(fields) => {
                visit.page.fields = crawl.outputs.is_some().then(|| fields.clone());
                visit.fields = Some(links::fields_line(fields, url));
            }
            None => visit.notes.push("fields_too_slow".into()),
        }
    }
    let page = extractor.finish();
    visit.found = links::found(crawl, lease.depth(), &page);
    let (sketch, simhash) = sketcher.map_or((None, None), Sketcher::finish);
    visit.found.sketch = sketch.filter(|_| crawl.config.growth_guard.enabled);
    if ended.is_ok() && exchange.body_bytes() > 0 && !exchange.truncated() && !lease.is_revisit() {
        compare(crawl, lease, &mut visit, content.as_ref(), simhash);
    }
    if page.truncated {
        visit.notes.push("parser_limit".into());
    }
    if crawl.outputs.is_some() {
        visit.page.outlinks = crawl.config.output.outlinks.then(|| links::outlinks(&page));
        visit.page.title = page.title;
    }
    visit
}

/// What makes the sketches that are wanted.
fn sketcher<F>(crawl: &Crawl<F>) -> Option<Sketcher> {
    let wants_simhash = crawl.duplicates.wants_simhash();
    let sketcher = (crawl.config.growth_guard.enabled || wants_simhash).then(Sketcher::default);
    if wants_simhash { sketcher.map(Sketcher::with_simhash) } else { sketcher }
}

/// Notes whether the page is a copy of another.
fn compare<F>(
    crawl: &Crawl<F>,
    lease: &Lease,
    visit: &mut Visit,
    content: Option<&duplicates::Digest>,
    simhash: Option<SimHash>,
) {
    match crawl.duplicates.judge(lease.url(), content, simhash) {
        Some(Likeness::Same) => {
            visit.notes.push("duplicate".into());
            if !crawl.config.duplicates.take_links {
                visit.found = Found { sketch: visit.found.sketch, ..Found::default() };
            }
        }
        Some(Likeness::Near) => visit.notes.push("near_duplicate".into()),
        None => {}
    }
}

fn is_html(head: &Head) -> bool {
    let essence = head.content_type.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"].iter().any(|html| essence.eq_ignore_ascii_case(html))
}

/// A response whose body is of no interest.
async fn drained<F: Fetch>(trip: &mut Trip<'_, F>, mut exchange: Exchange<F::Body>) -> Visit {
    if !exchange.drain(DRAIN_BYTES).await && !exchange.truncated() {
        let mut visit = answered(trip, &exchange);
        visit.notes.push("body_dropped".into());
        return visit;
    }
    answered(trip, &exchange)
}

/// A response, its body read as far as it will be.
fn answered<F: Fetch>(trip: &mut Trip<'_, F>, exchange: &Exchange<F::Body>) -> Visit {
    let head = exchange.head();
    trip.tally.bytes += exchange.body_bytes();
    let health = health_of_response(head, trip.crawl.clock.now());
    let outcome = match health {
        Health::Answered => Outcome::Fetched { status: head.status },
        _ => Outcome::TryAgain { status: head.status },
    };
    Visit {
        outcome,
        host: Some(trip.report(health)),
        status: i32::from(head.status),
        bytes: exchange.body_bytes(),
        content_type: head.content_type.clone(),
        found: Found::default(),
        fields: None,
        page: Default::default(),
        brought: Brought::of(trip.crawl, head),
        is_conditional: false,
        notes: exchange.truncated().then(|| "truncated".into()).into_iter().collect(),
    }
}

/// No whole response.
fn failed<F: Fetch>(trip: &mut Trip<'_, F>, error: FetchError) -> Visit {
    let outcome = match error {
        _ if error.excluded() => Outcome::Excluded { code: code(error.code()) },
        _ => Outcome::Failed { code: code(error.code()), transient: error.transient() },
    };
    let host = trip.asked().then(|| trip.report(health_of(error)));
    Visit { host, ..Visit::not_made(outcome, error.code(), error.reason()) }
}

/// A response that a rule of ours does not take for an answer.
fn excluded(visit: Visit, error: FetchError, note: &'static str) -> Visit {
    let outcome = Outcome::Excluded { code: code(error.code()) };
    Visit { outcome, status: error.code(), notes: vec![note.into()], ..visit }
}
