//! What was found on one page, and the step from the text of a link to a URL.
//!
//! Not canonical keys and no judgement of URLs. Invariant:
//! `links_found = page_duplicates + too_long + over_cap + links().count()`.

use super::links::{Link, Links};
use crate::robots::directives::Directives;
use encoding_rs::Encoding;
use std::borrow::Cow;
use url::{ParseError, Url};

/// The outcome of an `Extractor`.
#[derive(Debug, Clone)]
pub struct Page {
    /// The text of the first `<title>`, white space collapsed, cut at
    /// [`MAX_TITLE_BYTES`](super::MAX_TITLE_BYTES); none if there is no title.
    pub title: Option<String>,
    /// What links are relative to: the first `<base href>`, wherever on the page it stands,
    /// else the page's own URL.
    pub base: Url,
    /// What the page's `<meta name=robots>` and those with the crawler's name say.
    pub directives: Directives,
    /// The encoding that the page was read in.
    pub encoding: &'static Encoding,
    /// Links met on the page, repeats included.
    pub links_found: u64,
    /// Of these, repeats of an earlier one.
    pub page_duplicates: u64,
    /// Of these, dropped because the text was over `Settings::max_url_bytes`.
    pub too_long: u64,
    /// Of these, dropped because the page already had `Settings::max_links`.
    pub over_cap: u64,
    /// The parser met its memory limit: only the links before that place are known.
    pub truncated: bool,
    /// XML with a syntax error: only the links before that place are known.
    pub malformed: bool,
    pub(super) links: Links,
    /// The encoding that queries of links are written in.
    pub(super) query_encoding: &'static Encoding,
}

impl Page {
    /// The different links of the page, in order of first appearance.
    pub fn links(&self) -> impl Iterator<Item = Link<'_>> {
        self.links.iter()
    }

    /// The number of [`links`](Page::links).
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// The links with their URLs. Different texts may give the same URL.
    ///
    /// # Errors
    /// Of a link: it is not a valid URL, even as a reference relative to the base.
    pub fn resolve(&self) -> impl Iterator<Item = (Link<'_>, Result<Url, ParseError>)> {
        self.links().map(|link| (link, parse(link.raw, &self.base, self.query_encoding)))
    }
}

/// The base URL by the HTML standard, section 4.2.3: `href` relative to the page, unless it
/// is no URL or of a scheme that cannot be a base.
pub(super) fn base(document: &Url, href: Option<&str>, encoding: &'static Encoding) -> Url {
    let mut base = href
        .and_then(|href| parse(href, document, encoding).ok())
        .filter(|base| !matches!(base.scheme(), "data" | "javascript"))
        .unwrap_or_else(|| document.clone());
    base.set_fragment(None);
    base
}

/// Parses as browsers do: in a page of another encoding than UTF-8 the query is written in
/// that encoding.
pub(super) fn parse(raw: &str, base: &Url, encoding: &'static Encoding) -> Result<Url, ParseError> {
    let options = Url::options().base_url(Some(base));
    if encoding.output_encoding() == encoding_rs::UTF_8 || raw.is_ascii() {
        return options.parse(raw);
    }
    options.encoding_override(Some(&|query: &str| query_bytes(query, encoding))).parse(raw)
}

/// The query in `encoding`; a character that has no place there becomes an escaped decimal
/// reference (URL standard, "percent-encode after encoding").
fn query_bytes<'a>(query: &'a str, encoding: &'static Encoding) -> Cow<'a, [u8]> {
    let (bytes, _, unmappable) = encoding.encode(query);
    if !unmappable {
        return bytes;
    }
    let mut bytes = Vec::with_capacity(query.len() * 2);
    for c in query.chars() {
        let mut buffer = [0; 4];
        let (encoded, _, unmappable) = encoding.encode(c.encode_utf8(&mut buffer));
        if unmappable {
            bytes.extend_from_slice(format!("%26%23{}%3B", u32::from(c)).as_bytes());
        } else {
            bytes.extend_from_slice(&encoded);
        }
    }
    Cow::Owned(bytes)
}
