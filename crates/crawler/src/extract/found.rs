//! What the parser has found so far: one method per kind of element.
//!
//! Not the parser, and no URLs: a `<base>` may still come. Invariant: every link that is
//! counted in `links_found` is counted once more, by what became of it.

use super::links::{Added, Link, Links, Tag};
use super::references::{self, Place};
use super::{MAX_TITLE_BYTES, Settings, refresh};
use crate::robots::directives::Directives;
use lol_html::html_content::TextChunk;
use lol_html::send::Element;

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
    title: Option<String>,
    /// Between the tags of the title that counts.
    in_title: bool,
    /// The title whose start tag is being looked at is a drawing's.
    in_svg: bool,
    /// Open `<template>` elements; what is inside them is not part of the page.
    templates: u32,
    /// Reused for decoded values.
    decoded: String,
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
            title: None,
            in_title: false,
            in_svg: false,
            templates: 0,
            decoded: String::new(),
        }
    }

    pub(super) fn a(&mut self, element: &mut Element<'_, '_>) {
        let namespace = element.namespace_uri();
        if namespace == HTML || namespace == SVG {
            self.attribute(element, Tag::A);
        }
    }

    pub(super) fn area(&mut self, element: &mut Element<'_, '_>) {
        self.html_attribute(element, Tag::Area);
    }

    pub(super) fn iframe(&mut self, element: &mut Element<'_, '_>) {
        self.html_attribute(element, Tag::Iframe);
    }

    pub(super) fn frame(&mut self, element: &mut Element<'_, '_>) {
        self.html_attribute(element, Tag::Frame);
    }

    pub(super) fn link(&mut self, element: &mut Element<'_, '_>) {
        if element.get_attribute("rel").is_some_and(|rel| names_a_page(&rel)) {
            self.html_attribute(element, Tag::Link);
        }
    }

    pub(super) fn meta(&mut self, element: &mut Element<'_, '_>) {
        if self.templates > 0 {
            return;
        }
        let is_refresh = is_value(element, "http-equiv", "refresh");
        let is_robots = is_value(element, "name", "robots")
            || (!self.product.is_empty() && is_value(element, "name", &self.product));
        if !is_refresh && !is_robots {
            return;
        }
        let Some(content) = decoded_attribute(element, "content") else {
            return;
        };
        if is_robots {
            self.directives.add_meta(&content);
        }
        if let Some(target) = refresh::target(&content).filter(|_| is_refresh) {
            self.add(target, Tag::Meta, None);
        }
    }

    /// Only the first `<base>` that has an `href` counts, whatever its value.
    pub(super) fn base(&mut self, element: &mut Element<'_, '_>) {
        if self.base_href.is_none() && self.templates == 0 && element.namespace_uri() == HTML {
            self.base_href = decoded_attribute(element, "href");
        }
    }

    /// Called before [`title`](Found::title) for the same tag: the parser has entered the
    /// title by then, and inside it the namespace is HTML's again.
    pub(super) fn svg_title(&mut self, _element: &mut Element<'_, '_>) {
        self.in_svg = true;
    }

    pub(super) fn title(&mut self, _element: &mut Element<'_, '_>) {
        let in_svg = std::mem::take(&mut self.in_svg);
        self.in_title = self.title.is_none() && self.templates == 0 && !in_svg;
        if self.in_title {
            self.title = Some(String::new());
        }
    }

    pub(super) fn title_text(&mut self, chunk: &TextChunk<'_>) {
        if let Some(title) = self.title.as_mut().filter(|_| self.in_title) {
            let text = chunk.as_str();
            let room = MAX_TITLE_BYTES.saturating_sub(title.len());
            title.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    /// Enters a `<template>`; false if it is one whose content is shown (a shadow root).
    pub(super) fn enter_template(&mut self, element: &Element<'_, '_>) -> bool {
        let is_inert = element.namespace_uri() == HTML && !element.has_attribute("shadowrootmode");
        self.templates += u32::from(is_inert);
        is_inert
    }

    pub(super) fn leave_template(&mut self) {
        self.templates = self.templates.saturating_sub(1);
    }

    /// The title's text, white space collapsed as in `document.title`.
    pub(super) fn take_title(&mut self) -> Option<String> {
        let raw = self.title.take()?;
        let mut text = String::with_capacity(raw.len());
        references::decode(&raw, Place::Text, &mut text);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        Some(words.join(" "))
    }

    fn html_attribute(&mut self, element: &Element<'_, '_>, tag: Tag) {
        if element.namespace_uri() == HTML {
            self.attribute(element, tag);
        }
    }

    fn attribute(&mut self, element: &Element<'_, '_>, tag: Tag) {
        if self.templates > 0 {
            return;
        }
        if let Some(value) = element.get_attribute(tag.attribute()) {
            let rel = element.get_attribute("rel");
            if references::is_encoded(&value) {
                let mut decoded = std::mem::take(&mut self.decoded);
                decoded.clear();
                references::decode(&value, Place::Attribute, &mut decoded);
                self.add(&decoded, tag, rel.as_deref());
                self.decoded = decoded;
            } else {
                self.add(&value, tag, rel.as_deref());
            }
        }
    }

    fn add(&mut self, value: &str, tag: Tag, rel: Option<&str>) {
        self.links_found += 1;
        let raw = if self.settings.keep_fragments { value } else { without_fragment(value) };
        if raw.len() > self.settings.max_url_bytes {
            self.too_long += 1;
            return;
        }
        let nofollow = rel.is_some_and(|rel| has_word(rel, "nofollow"));
        let link = Link { raw, tag, rel, nofollow };
        match self.links.add(link, self.settings.max_links) {
            Added::New => {}
            Added::Duplicate => self.page_duplicates += 1,
            Added::OverCap => self.over_cap += 1,
        }
    }
}

const HTML: &str = "http://www.w3.org/1999/xhtml";
const SVG: &str = "http://www.w3.org/2000/svg";

/// The value without `#` and what follows: the same resource, for in every state of the URL
/// parser the first `#` begins the fragment. Not where white space stands before it: that
/// would come to stand at the end, where the parser strips it.
fn without_fragment(value: &str) -> &str {
    match value.find('#') {
        Some(at) if at == 0 || value.as_bytes()[at - 1] > b' ' => &value[..at],
        _ => value,
    }
}

/// Whether `rel` is of a `<link>` to another page. (An "alternate stylesheet" is none.)
fn names_a_page(rel: &str) -> bool {
    ["canonical", "alternate", "next", "prev"].iter().any(|word| has_word(rel, word)) && !has_word(rel, "stylesheet")
}

/// Words are separated by white space; commas, too, for they are often written in `rel`.
fn has_word(words: &str, word: &str) -> bool {
    words.split(|c: char| c.is_ascii_whitespace() || c == ',').any(|one| one.eq_ignore_ascii_case(word))
}

fn is_value(element: &Element<'_, '_>, name: &str, want: &str) -> bool {
    let value = element.get_attribute(name);
    value.is_some_and(|value| value.eq_ignore_ascii_case(want))
}

fn decoded_attribute(element: &Element<'_, '_>, name: &str) -> Option<String> {
    let value = element.get_attribute(name)?;
    let mut decoded = String::with_capacity(value.len());
    references::decode(&value, Place::Attribute, &mut decoded);
    Some(decoded)
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
