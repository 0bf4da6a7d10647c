//! Where the links of RSS and Atom stand, and what they are relative to.
//!
//! Not the markup inside of entries: what an entry quotes is on the page that it names. Invariant: at most
//! [`MAX_BASES`] bases are kept.

use super::kinds::{LinkKind, Source};
use super::rules::Attributes;
use url::Url;

/// Elements with `xml:base` inside one another that count; real feeds have two (RFC 4287 section 2: feed and entry).
const MAX_BASES: usize = 16;

/// What the text of an element is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TextOf {
    Title,
    Link(Source),
    /// A link only if it looks like one.
    Guid(Source),
}

/// Where an element holds its link.
pub(super) enum Place {
    Attribute(Source, String),
    Text(TextOf),
}

/// The link of an element of a feed, by its name without prefix.
pub(super) fn read(name: &str, tag: &impl Attributes) -> Option<Place> {
    let media =
        |attribute| Some(Place::Attribute(Source::new(LinkKind::Media, "enclosure", attribute), tag.value(attribute)?));
    let text = |element| Source::new(LinkKind::Feed, element, "");
    match name {
        "link" => match tag.value("href") {
            // RSS writes the URL between the tags, Atom into an attribute.
            None => Some(Place::Text(TextOf::Link(text("link")))),
            Some(href) => {
                let rel = tag.value("rel").unwrap_or_default();
                let kind = match rel.trim().to_ascii_lowercase().as_str() {
                    "" | "alternate" | "related" | "via" | "replies" => LinkKind::Feed,
                    "next" | "prev" | "previous" | "first" | "last" | "current" => LinkKind::Feed,
                    "prev-archive" | "next-archive" => LinkKind::Feed,
                    "enclosure" => LinkKind::Media,
                    // The feed itself, hubs, editing.
                    _ => return None,
                };
                Some(Place::Attribute(Source::new(kind, "link", "href"), href))
            }
        },
        "comments" => Some(Place::Text(TextOf::Link(text("comments")))),
        "guid" if tag.value("isPermaLink").is_none_or(|is| is != "false") => {
            Some(Place::Text(TextOf::Guid(text("guid"))))
        }
        "source" => Some(Place::Attribute(Source::new(LinkKind::Feed, "source", "url"), tag.value("url")?)),
        // In Atom the entry itself, elsewhere; in Media RSS a file.
        "content" => match tag.value("src") {
            Some(src) => Some(Place::Attribute(Source::new(LinkKind::Feed, "content", "src"), src)),
            None => media("url"),
        },
        "enclosure" | "thumbnail" => media("url"),
        _ => None,
    }
}

/// Whether the text is a URL of the web, not another sort of name.
pub(super) fn is_absolute(text: &str) -> bool {
    let starts_with = |start: &str| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    starts_with("http://") || starts_with("https://")
}

/// `xml:base` of the elements that are open.
#[derive(Debug)]
pub(super) struct Bases {
    document: Url,
    /// Depth of the element, and its base.
    open: Vec<(u32, Url)>,
}

impl Bases {
    pub(super) fn new(document: &Url) -> Bases {
        Bases { document: document.clone(), open: Vec::new() }
    }

    pub(super) fn current(&self) -> &Url {
        self.open.last().map_or(&self.document, |(_, base)| base)
    }

    pub(super) fn enter(&mut self, depth: u32, tag: &impl Attributes) {
        if self.open.len() >= MAX_BASES {
            return;
        }
        let base = tag.value("xml:base").and_then(|base| self.current().join(&base).ok());
        self.open.extend(base.map(|base| (depth, base)));
    }

    pub(super) fn leave(&mut self, depth: u32) {
        self.open.pop_if(|(of, _)| *of == depth);
    }
}
