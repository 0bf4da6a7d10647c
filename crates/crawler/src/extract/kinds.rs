//! The kinds of links, by the words of `extract.links`, and the places where each stands.
//!
//! Not the rules that read an element (`rules`). Invariant: each kind has one word and one bit, and each link one
//! [`Source`], which is of one kind.

use serde::Serialize;

/// What a link is for; one word of `extract.links` each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// `<a href>`, in SVG also `xlink:href`.
    A,
    /// `<area href>`.
    Area,
    /// `<link href>` or a `Link` header whose `rel` says canonical, alternate, next or prev.
    Link,
    /// `<iframe src>`.
    Iframe,
    /// `<frame src>`.
    Frame,
    /// The URL of a meta refresh or a `Refresh` header.
    Refresh,
    /// The links of RSS and Atom.
    Feed,
    /// `<form action>` of a form that is sent by GET, without what a person would fill in.
    FormGet,
    /// Pictures: `<img src>`, `<input type=image src>`, SVG's `image`, `feImage` and `use`, `background` attributes.
    Img,
    /// The candidates of `<img srcset>`, `<source srcset>` and `<link imagesrcset>`.
    Srcset,
    /// `<script src>`, in SVG `href`.
    Script,
    /// Style sheets, and what they name: `<link rel=stylesheet>`, `url()` and `@import`.
    Css,
    /// `<link rel=icon>` and its variants.
    Icon,
    /// `<link>` to what will be needed: preload, modulepreload, prefetch, prerender, manifest.
    Preload,
    /// `<object data>` and `<embed src>`.
    Object,
    /// `<video>`, `<audio>`, `<source src>`, `<track>`, a video's `poster`, enclosures of feeds.
    Media,
}

impl LinkKind {
    /// Every kind.
    pub const ALL: [LinkKind; 16] = [
        LinkKind::A,
        LinkKind::Area,
        LinkKind::Link,
        LinkKind::Iframe,
        LinkKind::Frame,
        LinkKind::Refresh,
        LinkKind::Feed,
        LinkKind::FormGet,
        LinkKind::Img,
        LinkKind::Srcset,
        LinkKind::Script,
        LinkKind::Css,
        LinkKind::Icon,
        LinkKind::Preload,
        LinkKind::Object,
        LinkKind::Media,
    ];

    /// Those that lead from page to page: the default of `extract.links`.
    pub const NAVIGATION: [LinkKind; 7] = [
        LinkKind::A,
        LinkKind::Area,
        LinkKind::Link,
        LinkKind::Iframe,
        LinkKind::Frame,
        LinkKind::Refresh,
        LinkKind::Feed,
    ];

    /// The word in the config file.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::A => "a",
            LinkKind::Area => "area",
            LinkKind::Link => "link",
            LinkKind::Iframe => "iframe",
            LinkKind::Frame => "frame",
            LinkKind::Refresh => "refresh",
            LinkKind::Feed => "feed",
            LinkKind::FormGet => "form-get",
            LinkKind::Img => "img",
            LinkKind::Srcset => "srcset",
            LinkKind::Script => "script",
            LinkKind::Css => "css",
            LinkKind::Icon => "icon",
            LinkKind::Preload => "preload",
            LinkKind::Object => "object",
            LinkKind::Media => "media",
        }
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkKinds(u32);

impl LinkKinds {
    /// Whether a kind is in the set.
    pub fn has(self, kind: LinkKind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }
}

impl FromIterator<LinkKind> for LinkKinds {
    fn from_iter<I: IntoIterator<Item = LinkKind>>(kinds: I) -> LinkKinds {
        LinkKinds(kinds.into_iter().fold(0, |bits, kind| bits | 1 << kind as u32))
    }
}

/// Where a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// What it is for.
    pub kind: LinkKind,
    /// The element's name; `*` for any, `header` for one of the response.
    pub element: &'static str,
    /// The attribute that holds it; for a header, its name; empty for the text of the element.
    pub attribute: &'static str,
}

/// How the value of a place is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Url,
    Srcset,
    Css,
}

impl Source {
    pub(super) const fn new(kind: LinkKind, element: &'static str, attribute: &'static str) -> Source {
        Source { kind, element, attribute }
    }

    pub(super) fn form(self) -> Form {
        match (self.kind, self.element, self.attribute) {
            (LinkKind::Srcset, _, _) => Form::Srcset,
            (LinkKind::Css, "style", _) | (LinkKind::Css, _, "style") => Form::Css,
            _ => Form::Url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_word_and_a_bit_of_its_own() {
        for kind in LinkKind::ALL {
            let only = LinkKinds::from_iter([kind]);
            let in_it: Vec<LinkKind> = LinkKind::ALL.into_iter().filter(|kind| only.has(*kind)).collect();
            assert_eq!(in_it, [kind]);
            assert_eq!(serde_json::to_string(&kind).expect("a word"), format!("{:?}", kind.name()));
        }
    }
}
