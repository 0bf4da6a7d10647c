//! Sitemaps in the crawl: offered when robots.txt is read, recognised when they come, their entries judged and offered.
//!
//! Not their formats ([`sitemap`](crate::sitemap)). A sitemap is a URL of the frontier, with the best priority its host's
//! queue has and a mark that says that it is one, and goes the way of any page. That is the simplest that can be right: a
//! second way to fetch would need its own politeness, retries, budgets and memory, and would forget where it was when the
//! process is killed. The mark is kept by the frontier, because a URL alone does not say what is expected of it: a text
//! list is no other file than any, and how deep sitemaps nest has to be known after a restart too.
//!
//! When robots.txt of an origin is read for the first time since the start (asked for, or remembered), the sitemaps that
//! it names are offered, else those of `sitemap.well_known`, at the depth of the page for which it was read; the pages
//! that they list are one link deeper, so that `crawl.max_depth` means the same as ever. They have to be in scope, but
//! for the prefixes of mode `prefix`, within which hardly any sitemap lies: on the host they are asked for all the same.
//! robots.txt may forbid them.
//!
//! A response is taken for a sitemap by what it is, not by its headers: where one is expected whatever it is, elsewhere (a
//! seed, a link) only what its type says may be XML or gzip. Anything else goes on as the page it is.
//!
//! An entry is refused if its sitemap may not speak for it (`spoken_for`), and counted as `sitemap_location`.
//!
//! Invariant: each entry is in exactly one field of [`Found`].

mod spoken_for;

use std::sync::Arc;

use frontier::{Canonical, Found, FoundUrl, Hint, Lease, Priority};
use tokio::task::{spawn_blocking, yield_now};
use url::Url;

use super::page::{answered, failed};
use super::revisit::Digest;
use super::trip::Trip;
use super::{Crawl, Visit, links};
use crate::charset;
use crate::fetch::{Exchange, Fetch, FetchError, Head};
use crate::robots::Robots;
use crate::scope::{Rule, Verdict};
use crate::sitemap::{End, Entry, Location, Reader, Settings, Sitemap};

use spoken_for::SpokenFor;

/// Bytes of a body that are kept while it is not known yet whether it is a sitemap.
const MAX_START_BYTES: usize = 512 << 10;

/// Bytes that are parsed before another page may have the thread: some milliseconds, where they unpack to a MiB.
const PART_BYTES: usize = 1024;

/// What a response turned out to be.
pub(super) enum Look {
    /// A sitemap, or nothing because the body broke off.
    Done(Box<Visit>),
    /// Something else, of which this was read.
    Other(Vec<u8>),
}

/// Whether a response is worth a look.
pub(super) fn may_be<F>(crawl: &Crawl<F>, lease: &Lease, head: &Head) -> bool {
    let media_type = head.media_type().to_ascii_lowercase();
    let is_likely = (media_type.ends_with("xml") && !media_type.contains("xhtml")) || media_type.contains("gzip");
    crawl.config.sitemap.enabled && (lease.sitemap_level() > 0 || is_likely)
}

/// Offers the sitemaps of the origin whose robots.txt has just been read, for a page at this depth.
pub(super) async fn offer_of_host<F: Fetch>(trip: &Trip<'_, F>, page: &Url, depth: u16, robots: &Robots) {
    let crawl = trip.crawl;
    // Nobody wants sitemaps whose pages are too deep.
    let Ok(of_robots) = page.join("/robots.txt") else { return };
    if !crawl.config.sitemap.enabled || u32::from(depth) >= crawl.config.crawl.max_depth {
        return;
    }
    let mut found = Found::default();
    let mut add =
        |text: &str| match of_robots.join(text).ok().and_then(|url| crawl.frontier.rules().canonical(url).ok()) {
            None => found.invalid += 1,
            Some(canonical) if !belongs(crawl, &canonical, &of_robots) => found.out_of_scope += 1,
            Some(canonical) => offer(crawl, &mut found, canonical, depth, 1, None),
        };
    let named = robots.sitemaps();
    named.iter().for_each(|url| add(url.as_str()));
    if named.is_empty() {
        crawl.config.sitemap.well_known.iter().for_each(|path| add(path));
        if found.urls.is_empty() {
            return;
        }
    }
    // What is only guessed has no referrer: that it is named is what counts.
    let referrer = (!named.is_empty()).then(|| String::from(of_robots));
    let (frontier, now) = (Arc::clone(&crawl.frontier), crawl.clock.now());
    // It may wait for memory. A frontier that fails here tells so when the lease ends.
    let _ = spawn_blocking(move || frontier.offer(&found, referrer.as_deref(), now)).await;
}

/// Reads a response that may be a sitemap.
pub(super) async fn read<F: Fetch>(
    trip: &mut Trip<'_, F>,
    lease: &Lease,
    url: &Url,
    exchange: &mut Exchange<F::Body>,
) -> Look {
    let crawl = trip.crawl;
    let label = exchange.head().content_type.as_deref().and_then(charset::label_of).map(str::to_owned);
    let settings = Settings {
        max_entries: crawl.config.sitemap.max_entries as usize,
        max_bytes: crawl.config.sitemap.max_bytes,
        max_url_bytes: crawl.config.extract.max_url_bytes as usize,
        is_expected: lease.sitemap_level() > 0,
    };
    let mut reader = Reader::new(settings, label.as_deref());
    let mut digest = Digest::begin(crawl);
    let mut start = Vec::new();
    let ended: Result<(), FetchError> = loop {
        let piece = match exchange.chunk().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        if reader.is_sitemap().is_none() {
            start.extend_from_slice(piece.as_ref());
        }
        for part in piece.as_ref().chunks(PART_BYTES) {
            reader.write(part);
            yield_now().await;
        }
        if let Some(digest) = &mut digest {
            digest.write(piece.as_ref());
        }
        match reader.is_sitemap() {
            Some(true) => start = Vec::new(),
            None if start.len() <= MAX_START_BYTES => {}
            Some(false) | None => return Look::Other(start),
        }
        // Nobody wants the rest; but that of a whole one is short, and part of what may change.
        if reader.ended().is_some_and(|end| end != End::Complete) {
            digest = None;
            break Ok(());
        }
    };
    let (sitemap, end) = reader.finish();
    if let Err(error) = ended {
        let answered = answered(trip, exchange);
        let mut visit = Visit { bytes: answered.bytes, content_type: answered.content_type, ..failed(trip, error) };
        visit.found = found(trip, lease, url, &sitemap).await;
        return Look::Done(Box::new(visit));
    }
    if sitemap.format.is_none() {
        return Look::Other(start);
    }
    let mut visit = answered(trip, exchange);
    visit.brought = visit.brought.with_digest(digest);
    visit.notes.push(format!("sitemap_{}", sitemap.entries.len()).into());
    if end != End::Complete {
        visit.notes.push(end.name().into());
    }
    visit.found = found(trip, lease, url, &sitemap).await;
    Look::Done(Box::new(visit))
}

/// Sorts the entries of a sitemap.
async fn found<F: Fetch>(trip: &Trip<'_, F>, lease: &Lease, url: &Url, sitemap: &Sitemap) -> Found {
    let crawl = trip.crawl;
    let config = &crawl.config;
    let mut found = Found { invalid: sitemap.invalid, ..Found::default() };
    let mut spoken_for = SpokenFor::new(trip, lease, url);
    // One that was found like a page is the first of its tree.
    let level = lease.sitemap_level().max(1).saturating_add(1);
    let page_depth = lease.depth().saturating_add(1);
    let is_too_deep = match sitemap.is_index() {
        true => level > config.sitemap.max_nesting + 1,
        false => u32::from(page_depth) > config.crawl.max_depth,
    };
    for entry in &sitemap.entries {
        let target = url.join(&entry.url).ok();
        let Some((target, canonical)) =
            target.and_then(|target| Some((target.clone(), crawl.frontier.rules().canonical(target).ok()?)))
        else {
            found.invalid += 1;
            continue;
        };
        let is_in = match sitemap.is_index() {
            true => belongs(crawl, &canonical, url),
            false => links::judge(&crawl.scope, &canonical) == Verdict::In,
        };
        if !is_in {
            found.out_of_scope += 1;
        } else if is_too_deep {
            found.refused.depth += 1;
        } else if !spoken_for.has(&target).await {
            found.refused.sitemap_location += 1;
        } else if sitemap.is_index() {
            offer(crawl, &mut found, canonical, lease.depth(), level, hint(entry));
        } else {
            offer_page(crawl, &mut found, canonical, page_depth, entry);
        }
    }
    found
}

/// Whether a sitemap that `by` names belongs to the crawl.
fn belongs<F>(crawl: &Crawl<F>, canonical: &Canonical, by: &Url) -> bool {
    match links::judge(&crawl.scope, canonical) {
        Verdict::In => true,
        Verdict::Out(Rule::Prefix) => {
            Url::parse(canonical.url()).is_ok_and(|url| Location::of(by, &url) != Location::OtherHost)
        }
        Verdict::Out(_) => false,
    }
}

/// Offers a sitemap, unless it looks like a trap.
fn offer<F>(crawl: &Crawl<F>, found: &mut Found, canonical: Canonical, depth: u16, level: u8, hint: Option<Hint>) {
    let before = found.urls.len();
    links::offer(crawl, found, canonical, depth);
    if let Some(url) = found.urls.get_mut(before) {
        mark(url, level);
        url.hint = hint;
    }
}

/// Marks a URL as a sitemap of this level, if it is one at all.
pub(super) fn mark(url: &mut FoundUrl, level: u8) {
    if level > 0 {
        (url.sitemap_level, url.priority) = (level, Priority::FIRST);
    }
}

/// Offers a page, unless it looks like a trap.
fn offer_page<F>(crawl: &Crawl<F>, found: &mut Found, canonical: Canonical, depth: u16, entry: &Entry) {
    let before = found.urls.len();
    links::offer(crawl, found, canonical, depth);
    if let Some(url) = found.urls.get_mut(before) {
        let class = i32::from(url.priority.class()) + entry.class_shift(crawl.config.sitemap.priority_classes);
        // Class 0 is for seeds and sitemaps, unless the config has put all links there.
        let first = i32::from(url.priority.class().min(1));
        url.priority = Priority::new(class.max(first).unsigned_abs().into());
        url.hint = hint(entry);
    }
}

fn hint(entry: &Entry) -> Option<Hint> {
    let hint = Hint { changed_at_secs: entry.changed_at_secs(), interval_secs: entry.interval_secs() };
    (hint != Hint::default()).then_some(hint)
}
