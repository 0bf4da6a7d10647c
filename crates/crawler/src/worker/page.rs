//! The fetch of a page: its hops, its body, its links and fields while it arrives.
//!
//! Not robots and not the end of the lease. Invariant: hops under one lease all have the lease's key; every other
//! redirect is a URL found like any link. Each end has a name: an outcome, a status and, where they do not say it, a note.

use frontier::{Found, Health, Lease, Outcome};
use url::Url;

use super::revisit::{self, Brought, Digest};
use super::rules::{health_of, health_of_response};
use super::sitemaps::{self, Look};
use super::trip::Trip;
use super::{Crawl, Visit, code, likeness, links, says};
use crate::charset;
use crate::extract::{Extractor, Format, LinkKind};
use crate::fetch::{DRAIN_BYTES, Exchange, Fetch, FetchError, Head, Request};
use crate::fetch_code;
use crate::robots::Robots;
use crate::scope::Verdict;
use crate::sitemap::End;
use crate::sketch::Sketcher;

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
        let of_sitemap = (lease.sitemap_level() > 0).then_some(trip.crawl.config.sitemap.max_bytes);
        let request = Request { max_body_bytes: of_sitemap, ..request };
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
    if visit.status == 304 && !is_conditional {
        visit.notes.push("unasked_304".into());
    }
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
            Verdict::In => {
                links::offer(crawl, &mut found, canonical, lease.depth());
                found.urls.iter_mut().for_each(|url| sitemaps::mark(url, lease.sitemap_level()));
            }
            Verdict::Out(_) => found.out_of_scope = 1,
        },
        None => found.invalid = 1,
    }
    Target::Elsewhere(found)
}

/// Reads the final response.
async fn read<F: Fetch>(trip: &mut Trip<'_, F>, lease: &Lease, url: &Url, mut exchange: Exchange<F::Body>) -> Visit {
    if !exchange.head().is_success() {
        return drained_page(trip, exchange).await;
    }
    let mut start = Vec::new();
    if sitemaps::may_be(trip.crawl, lease, exchange.head()) {
        match sitemaps::read(trip, lease, url, &mut exchange).await {
            Look::Done(visit) => return *visit,
            Look::Other(read) => start = read,
        }
    }
    let mut visit = read_page(trip, lease, url, exchange, &start).await;
    if lease.sitemap_level() > 0 {
        visit.notes.push(End::NotASitemap.name().into());
    }
    visit
}

/// Reads a response of which nothing but what its header says to robots is of interest.
async fn drained_page<F: Fetch>(trip: &mut Trip<'_, F>, exchange: Exchange<F::Body>) -> Visit {
    let says = says::of_header(trip.crawl, exchange.head());
    let mut visit = drained(trip, exchange).await;
    says::note(&mut visit, says);
    visit
}

/// Reads what may have links, of which the start may have been read already.
async fn read_page<F: Fetch>(
    trip: &mut Trip<'_, F>,
    lease: &Lease,
    url: &Url,
    mut exchange: Exchange<F::Body>,
    start: &[u8],
) -> Visit {
    let crawl = trip.crawl;
    let head = exchange.head();
    let is_page = is_html(head);
    let by_header = says::of_header(crawl, head);
    let content_type = head.content_type.as_deref().unwrap_or_default();
    let label = charset::label_of(content_type).map(str::to_owned);
    let settings = crawl.config.extract.settings();
    let format = Format::of(content_type).filter(|format| *format != Format::Css || settings.links.has(LinkKind::Css));
    let mut extractor = Extractor::of(format.unwrap_or(Format::Html), url, settings, label.as_deref())
        .for_crawler(crawl.config.crawl.robots_product());
    extractor.headers(head.link.as_deref(), head.refresh.as_deref());
    if format.is_none() {
        // A picture has links in its head at most.
        let mut visit = drained(trip, exchange).await;
        visit.found = links::found(crawl, lease.depth(), &extractor.finish(), by_header.nofollow);
        says::note(&mut visit, by_header);
        return visit;
    }
    let keeps = is_page && !crawl.fields.is_empty() && !by_header.noindex;
    let mut kept = Vec::new();
    let mut digest = Digest::begin(crawl);
    let mut sketcher = likeness::sketcher(crawl).filter(|_| is_page);
    let mut content = crawl.duplicates.digest().filter(|_| is_page && !lease.is_revisit());
    let mut take = |piece: &[u8]| {
        extractor.write(piece);
        if let Some(sketcher) = &mut sketcher {
            sketcher.write(piece);
        }
        if let Some(digest) = &mut digest {
            digest.write(piece);
        }
        if let Some(content) = &mut content {
            content.write(piece);
        }
        if keeps {
            kept.extend_from_slice(piece);
        }
    };
    take(start);
    // Where a sitemap was expected, more was asked for than a page may have.
    exchange.lower_cap(crawl.config.fetch.max_body_bytes);
    let ended = loop {
        match exchange.chunk().await {
            Ok(Some(piece)) => take(piece.as_ref()),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let mut visit = answered(trip, &exchange);
    visit.brought = visit.brought.with_digest(digest);
    let page = extractor.finish();
    let obeys = crawl.config.extract.obey_meta_robots;
    let says = if obeys { by_header.and(page.directives) } else { by_header };
    if let Err(error) = ended {
        // Half a page is like no other.
        sketcher = None;
        visit = Visit { bytes: visit.bytes, content_type: visit.content_type, ..failed(trip, error) };
    } else if keeps && !says.noindex {
        match links::fields(&crawl.fields, url, label.as_deref(), &kept) {
            Some(fields) => {
                visit.page.fields = crawl.outputs.is_some().then(|| fields.clone());
                visit.fields = Some(links::fields_line(fields, url));
            }
            None => visit.notes.push("fields_too_slow".into()),
        }
    }
    visit.found = links::found(crawl, lease.depth(), &page, says.nofollow);
    let (sketch, simhash) = sketcher.map_or((None, None), Sketcher::finish);
    visit.found.sketch = sketch.filter(|_| crawl.config.growth_guard.enabled);
    let is_whole = ended.is_ok() && !exchange.truncated();
    if is_whole && exchange.body_bytes() > 0 && !lease.is_revisit() {
        likeness::compare(crawl, lease, &mut visit, content.as_ref(), simhash);
    }
    if page.truncated {
        visit.notes.push("parser_limit".into());
    }
    if page.malformed {
        visit.notes.push("xml_error".into());
    }
    says::note(&mut visit, says);
    if crawl.outputs.is_some() {
        visit.page.outlinks = crawl.config.output.outlinks.then(|| links::outlinks(&page));
        visit.page.title = page.title;
    }
    visit
}

/// Whether fields and a sketch are taken: they are of what people read.
fn is_html(head: &Head) -> bool {
    ["text/html", "application/xhtml+xml"].iter().any(|html| head.media_type().eq_ignore_ascii_case(html))
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

/// A response that counts, its body read as far as it will be.
pub(super) fn answered<F: Fetch>(trip: &mut Trip<'_, F>, exchange: &Exchange<F::Body>) -> Visit {
    exchange.leave();
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
pub(super) fn failed<F: Fetch>(trip: &mut Trip<'_, F>, error: FetchError) -> Visit {
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
