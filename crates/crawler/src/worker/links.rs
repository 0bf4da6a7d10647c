//! From the links of a page to candidates for the frontier: made one, judged, counted.
//!
//! Not the seen-test. Invariant: each link of the page is in exactly one field of [`Found`], so that the books balance.

use std::time::Duration;

use encoding_rs::Encoding;
use frontier::{Canonical, Found, FoundUrl, Refused};
use serde_json::{Map, Value};
use url::Url;

use super::Crawl;
use crate::charset;
use crate::config::CanonicalLinks;
use crate::extract::{Format, Page};
use crate::fields::Fields;
use crate::scope::{Scope, Verdict};
use crate::traps::{self, Trap};

/// How long the tree of one page may take: three times what 10 MiB of well-meant HTML take at 30 MB/s. A worker thread is
/// busy with it all the while.
const MAX_FIELDS_TIME: Duration = Duration::from_secs(1);

/// Sorts the links of a page that is `page_depth` links from a seed; with `nofollow` none of them is to be followed.
pub(super) fn found<F>(crawl: &Crawl<F>, page_depth: u16, page: &Page, nofollow: bool) -> Found {
    let depth = page_depth.saturating_add(1);
    let too_deep = u32::from(depth) > crawl.config.crawl.max_depth;
    let prefers_canonical = crawl.config.extract.canonical == CanonicalLinks::Prefer;
    let mut found = Found {
        urls: Vec::with_capacity(if too_deep { 0 } else { page.link_count() }),
        page_duplicates: page.page_duplicates,
        invalid: page.too_long,
        refused: Refused { page_links: page.over_cap, ..Refused::default() },
        out_of_scope: 0,
        sketch: None,
    };
    let rules = crawl.frontier.rules();
    let obeys_links = crawl.config.extract.obey_rel_nofollow;
    for (link, url) in page.resolve() {
        let canonical = url.ok().and_then(|url| rules.canonical(url).ok());
        match canonical {
            None => found.invalid += 1,
            Some(canonical) => match judge(&crawl.scope, &canonical) {
                Verdict::Out(_) => found.out_of_scope += 1,
                // That is no page to go on to, but this page's own name.
                Verdict::In if prefers_canonical && link.is_canonical() => {
                    offer(crawl, &mut found, canonical, page_depth)
                }
                Verdict::In if too_deep => found.refused.depth += 1,
                Verdict::In if nofollow || (obeys_links && link.nofollow) => found.refused.nofollow += 1,
                Verdict::In => offer(crawl, &mut found, canonical, depth),
            },
        }
    }
    found
}

/// Puts a URL in scope among those to offer, unless it looks like a trap.
pub(super) fn offer<F>(crawl: &Crawl<F>, found: &mut Found, canonical: Canonical, depth: u16) {
    let Refused { path_segments, repeated_segments, query_bytes, query_parameters, .. } = &mut found.refused;
    match traps::judge(&crawl.config.traps, canonical.url()) {
        None => {
            let priority = crawl.config.priority.of(depth);
            found.urls.push(FoundUrl { priority, ..FoundUrl::new(canonical, depth) });
        }
        Some(Trap::PathSegments) => *path_segments += 1,
        Some(Trap::RepeatedSegments) => *repeated_segments += 1,
        Some(Trap::QueryBytes) => *query_bytes += 1,
        Some(Trap::QueryParameters) => *query_parameters += 1,
    }
}

/// Whether a URL belongs to the crawl.
pub(super) fn judge(scope: &Scope, canonical: &Canonical) -> Verdict {
    scope.judge(canonical.url(), canonical.host(), canonical.registrable_domain())
}

/// The URLs of a page's links, once each text, as far as they are URLs.
pub(super) fn outlinks(page: &Page) -> Vec<String> {
    page.resolve().filter_map(|(_, url)| Some(url.ok()?.into())).collect()
}

/// The fields of a page. `None` when the page is not worth the time.
pub(super) fn fields(fields: &Fields, url: &Url, label: Option<&str>, body: &[u8]) -> Option<Map<String, Value>> {
    let (encoding, bom_bytes): (&'static Encoding, usize) = charset::sniff(Format::Html, label, url, body);
    let (html, _) = encoding.decode_without_bom_handling(&body[bom_bytes..]);
    fields.extract(&html, MAX_FIELDS_TIME).ok()
}

/// Fields as one JSON line: `url`, then the configured names.
pub(super) fn fields_line(mut fields: Map<String, Value>, url: &Url) -> String {
    fields.insert("url".to_owned(), Value::from(url.as_str()));
    let mut line = Value::Object(fields).to_string();
    line.push('\n');
    line
}
