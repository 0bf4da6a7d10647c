//! What the parsers have found so far: one method per kind of element.
//!
//! Not a parser, and no URLs: a `<base>` may still come. Invariant: every link that is
//! counted in `links_found` is counted once more, by what became of it.

use super::kinds::{Form, LinkKind, Source};
use super::links::{Added, Link, Links};
use super::references::{self, Place};
use super::rules::{self, Attributes, Space, has_word, is_word};
use super::{MAX_TITLE_BYTES, Settings, css, page, refresh, srcset};
use crate::robots::directives::Directives;
use encoding_rs::{Encoding, UTF_8};
use url::Url;

#[derive(Debug)]
pub(super) struct Found {
    pub(super) settings: Settings,
    pub(super) links: Links,
    pub(super) links_found: u64,
    pub(super) page_duplicates: u64,
    pub(super) too_long: u64,
    pub(super) over_cap: u64,
    pub(super) base_href: Option<String>,
    /// The name of the crawler, to which a page may speak as to all robots.
    pub(super) product: String,
    pub(super) directives: Directives,
    /// The encoding that queries are written in.
    pub(super) encoding: &'static Encoding,
    /// The first title, its character references not yet decoded.
    title: Option<String>,
    /// Reused for the links of one element.
    scratch: Vec<(Source, String)>,
}

impl Found {
    pub(super) fn new(settings: Settings) -> Found {
        Found {
            settings,
            links: Links::new(),
            links_found: 0,
            page_duplicates: 0,
            too_long: 0,
            over_cap: 0,
            base_href: None,
            product: String::new(),
            directives: Directives::default(),
            encoding: UTF_8,
            title: None,
            scratch: Vec::new(),
        }
    }

    /// Takes the links of a start tag.
    pub(super) fn element(&mut self, name: &str, space: Space, tag: &impl Attributes) {
        let mut found = std::mem::take(&mut self.scratch);
        rules::read(name, space, self.settings.take(), tag, &mut found);
        if !found.is_empty() {
            let rel = matches!(name, "a" | "area" | "link" | "form").then(|| tag.value("rel")).flatten();
            for (source, value) in found.drain(..) {
                self.value(&value, source, rel.as_deref());
            }
        }
        self.scratch = found;
    }

    /// Takes what an attribute, or the text of an element, holds.
    pub(super) fn value(&mut self, value: &str, source: Source, rel: Option<&str>) {
        match source.form() {
            Form::Url => self.add(value, source, rel),
            Form::Srcset => srcset::urls(value, |url| self.add(url, source, rel)),
            Form::Css => css::urls(value, |url| self.add(url, source, rel)),
        }
    }

    pub(super) fn meta(&mut self, tag: &impl Attributes) {
        let is_refresh = is_word(tag, "http-equiv", "refresh");
        let is_robots =
            is_word(tag, "name", "robots") || (!self.product.is_empty() && is_word(tag, "name", &self.product));
        if !is_refresh && !is_robots {
            return;
        }
        let Some(content) = tag.value("content") else {
            return;
        };
        if is_robots {
            self.directives.add_meta(&content);
        }
        let is_wanted = is_refresh && self.settings.links.has(LinkKind::Refresh);
        if let Some(target) = refresh::target(&content).filter(|_| is_wanted) {
            self.add(target, Source::new(LinkKind::Refresh, "meta", "content"), None);
        }
    }

    /// Only the first `<base>` that has an `href` counts, whatever its value.
    pub(super) fn base(&mut self, tag: &impl Attributes) {
        if self.base_href.is_none() {
            self.base_href = tag.value("href");
        }
    }

    /// Begins the title; false if the page has one.
    pub(super) fn begin_title(&mut self) -> bool {
        let is_first = self.title.is_none();
        self.title.get_or_insert_default();
        is_first
    }

    /// Appends to the title, as it is written.
    pub(super) fn title_text(&mut self, text: &str) {
        if let Some(title) = &mut self.title {
            let room = MAX_TITLE_BYTES.saturating_sub(title.len());
            title.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    /// The title's text, white space collapsed as in `document.title`.
    pub(super) fn take_title(&mut self) -> Option<String> {
        let raw = self.title.take()?;
        let mut text = String::with_capacity(raw.len());
        references::decode(&raw, Place::Text, &mut text);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        Some(words.join(" "))
    }

    /// Adds a link that does not care for the page's base: as an absolute URL, or as it is where it is none.
    pub(super) fn add_relative_to(&mut self, base: &Url, value: &str, source: Source, rel: Option<&str>) {
        if value.len() > self.settings.max_url_bytes {
            return self.add(value, source, rel);
        }
        let url = page::parse(value, base, self.encoding);
        self.add(url.as_ref().map_or(value, Url::as_str), source, rel);
    }

    /// Counts a link of which only the beginning is known.
    pub(super) fn add_too_long(&mut self) {
        self.links_found += 1;
        self.too_long += 1;
    }

    pub(super) fn add(&mut self, value: &str, source: Source, rel: Option<&str>) {
        let raw = if self.settings.keep_fragments { value } else { without_fragment(value) };
        if raw.len() > self.settings.max_url_bytes {
            return self.add_too_long();
        }
        self.links_found += 1;
        let nofollow = rel.is_some_and(|rel| has_word(rel, "nofollow"));
        let link = Link { raw, source, rel, nofollow };
        match self.links.add(link, self.settings.max_links) {
            Added::New => {}
            Added::Duplicate => self.page_duplicates += 1,
            Added::OverCap => self.over_cap += 1,
        }
    }
}

/// The value without `#` and what follows: the same resource, for in every state of the URL
/// parser the first `#` begins the fragment. Not where white space stands before it: that
/// would come to stand at the end, where the parser strips it.
fn without_fragment(value: &str) -> &str {
    match value.find('#') {
        Some(at) if at == 0 || value.as_bytes()[at - 1] > b' ' => &value[..at],
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_is_cut_only_where_that_changes_nothing() {
        let check = |value, want| assert_eq!(without_fragment(value), want, "{value:?}");
        check("a", "a");
        check("a#b#c", "a");
        check("#a", "");
        check("#", "");
        check(" #a", " #a");
        check("a \n#b", "a \n#b");
        check("javascript:x('#')", "javascript:x('");
        check("data:,a#b", "data:,a");
        check("//host#f", "//host");
    }

    proptest::proptest! {
        #[test]
        fn what_is_left_is_the_same_resource(value in "[ #a/:?@.\t\\\\\u{e9}]{0,8}|(data|http|javascript|mailto):[#/ a?@]{0,5}") {
            let base = url::Url::parse("http://site.test/dir/page?query").expect("valid");
            // What cannot be crawled is invalid either way (the parser takes `javascript://@#`, but not `javascript://@`).
            let crawlable = |text: &str| {
                let mut url = base.join(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
                url.set_fragment(None);
                Some(url)
            };
            proptest::prop_assert_eq!(crawlable(&value), crawlable(without_fragment(&value)));
        }
    }
}
