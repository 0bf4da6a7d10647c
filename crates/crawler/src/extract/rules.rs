//! Which attributes of an element hold links: the one table of it.
//!
//! Not a parser: a start tag comes from one, HTML's or XML's. Invariant: the answer depends on that tag alone, its
//! values are decoded, and they come in a fixed order.

use super::kinds::{LinkKind, LinkKinds, Source};

/// The attributes of a start tag.
pub(super) trait Attributes {
    /// The value of the first attribute of that name, character references decoded.
    fn value(&self, name: &str) -> Option<String>;
}

/// What the names of elements mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Html,
    Svg,
    /// XHTML or SVG, told apart by name only: in XML the two share no name that is read differently.
    Xml,
}

/// The attribute of `a`, `script`, `image` in old SVG.
const XLINK: &str = "xlink:href";

/// Elements that hold a kind of link.
pub(super) fn elements(kinds: LinkKinds) -> Vec<&'static str> {
    if kinds.has(LinkKind::Css) {
        // Any element may have a style attribute.
        return vec!["*"];
    }
    let mut names: Vec<&str> =
        LinkKind::ALL.into_iter().filter(|kind| kinds.has(*kind)).flat_map(of_kind).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn of_kind(kind: LinkKind) -> &'static [&'static str] {
    match kind {
        LinkKind::A => &["a"],
        LinkKind::Area => &["area"],
        LinkKind::Link | LinkKind::Icon | LinkKind::Preload => &["link"],
        LinkKind::Iframe => &["iframe"],
        LinkKind::Frame => &["frame"],
        // Meta elements are always looked at.
        LinkKind::Refresh | LinkKind::Feed | LinkKind::Css => &[],
        LinkKind::FormGet => &["form"],
        LinkKind::Img => {
            &["img", "image", "input", "use", "feimage", "body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"]
        }
        LinkKind::Srcset => &["img", "image", "source", "link"],
        LinkKind::Script => &["script"],
        LinkKind::Object => &["object", "embed"],
        LinkKind::Media => &["video", "audio", "source", "track"],
    }
}

/// Appends the values of the wanted kinds to `out`. `name` is in lower case.
pub(super) fn read(name: &str, space: Space, take: Take, tag: &impl Attributes, out: &mut Vec<(Source, String)>) {
    let mut reading = Reading { wanted: take.kinds, tag, out };
    let (is_html, is_svg) = (space != Space::Svg, space != Space::Html);
    match name {
        "a" if is_svg => reading.first(LinkKind::A, "a", &["href", XLINK]),
        "a" => reading.one(LinkKind::A, "a", "href"),
        "script" if is_svg && space == Space::Svg => reading.first(LinkKind::Script, "script", &["href", XLINK]),
        "script" if is_svg => reading.first(LinkKind::Script, "script", &["src", "href", XLINK]),
        "image" if is_svg => reading.first(LinkKind::Img, "image", &["href", XLINK]),
        "feimage" if is_svg => reading.first(LinkKind::Img, "feimage", &["href", XLINK]),
        "use" if is_svg => reading.first(LinkKind::Img, "use", &["href", XLINK]),
        _ if is_html => html(name, take, &mut reading),
        _ => {}
    }
    reading.one(LinkKind::Css, "*", "style");
}

fn html<A: Attributes>(name: &str, take: Take, reading: &mut Reading<'_, A>) {
    match name {
        "area" => reading.one(LinkKind::Area, "area", "href"),
        "link" => link(take, reading),
        "iframe" => reading.one(LinkKind::Iframe, "iframe", "src"),
        "frame" => reading.one(LinkKind::Frame, "frame", "src"),
        "form" if take.kinds.has(LinkKind::FormGet) && is_sent_by_get(reading.tag) => {
            reading.one(LinkKind::FormGet, "form", "action");
        }
        // HTML's parser takes `<image>` for `<img>`.
        "img" | "image" => {
            reading.one(LinkKind::Img, "img", "src");
            reading.one(LinkKind::Srcset, "img", "srcset");
        }
        "input" if take.kinds.has(LinkKind::Img) && is_word(reading.tag, "type", "image") => {
            reading.one(LinkKind::Img, "input", "src");
        }
        "source" => {
            reading.one(LinkKind::Media, "source", "src");
            reading.one(LinkKind::Srcset, "source", "srcset");
        }
        "script" => reading.one(LinkKind::Script, "script", "src"),
        "object" => reading.one(LinkKind::Object, "object", "data"),
        "embed" => reading.one(LinkKind::Object, "embed", "src"),
        "video" => {
            reading.one(LinkKind::Media, "video", "src");
            reading.one(LinkKind::Media, "video", "poster");
        }
        "audio" => reading.one(LinkKind::Media, "audio", "src"),
        "track" => reading.one(LinkKind::Media, "track", "src"),
        "body" | "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th" => {
            reading.one(LinkKind::Img, "*", "background");
        }
        _ => {}
    }
}

fn link<A: Attributes>(take: Take, reading: &mut Reading<'_, A>) {
    if let Some(kind) = reading.tag.value("rel").and_then(|rel| link_kind(&rel, take)) {
        // A browser does not load a style sheet that is switched off.
        if kind != LinkKind::Css || reading.tag.value("disabled").is_none() {
            reading.one(kind, "link", "href");
        }
    }
    reading.one(LinkKind::Srcset, "link", "imagesrcset");
}

/// What is to be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Take {
    pub(super) kinds: LinkKinds,
    /// Whether `rel=canonical` alone makes a link.
    pub(super) canonical: bool,
}

/// What a `<link>` or a `Link` header of that `rel` leads to. An "alternate stylesheet" is a style sheet.
pub(super) fn link_kind(rel: &str, take: Take) -> Option<LinkKind> {
    let is = |words: &[&str]| words.iter().any(|word| has_word(rel, word));
    let kind = if is(&["stylesheet"]) {
        LinkKind::Css
    } else if is(&["alternate", "next", "prev"]) || (take.canonical && is(&["canonical"])) {
        LinkKind::Link
    } else if is(&["icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"]) {
        LinkKind::Icon
    } else if is(&["preload", "modulepreload", "prefetch", "prerender", "manifest"]) {
        LinkKind::Preload
    } else {
        return None;
    };
    take.kinds.has(kind).then_some(kind)
}

/// Words are separated by white space; commas, too, for they are often written in `rel`.
pub(super) fn has_word(words: &str, word: &str) -> bool {
    words.split(|c: char| c.is_ascii_whitespace() || c == ',').any(|one| one.eq_ignore_ascii_case(word))
}

pub(super) fn is_word(tag: &impl Attributes, name: &str, want: &str) -> bool {
    tag.value(name).is_some_and(|value| value.eq_ignore_ascii_case(want))
}

/// GET is what anything but the two other words means (HTML standard, section 4.10.18.6).
fn is_sent_by_get(tag: &impl Attributes) -> bool {
    !is_word(tag, "method", "post") && !is_word(tag, "method", "dialog")
}

struct Reading<'a, A> {
    wanted: LinkKinds,
    tag: &'a A,
    out: &'a mut Vec<(Source, String)>,
}

impl<A: Attributes> Reading<'_, A> {
    fn one(&mut self, kind: LinkKind, element: &'static str, attribute: &'static str) {
        self.first(kind, element, &[attribute]);
    }

    /// The first of the attributes that is there.
    fn first(&mut self, kind: LinkKind, element: &'static str, attributes: &[&'static str]) {
        if !self.wanted.has(kind) {
            return;
        }
        let found = attributes.iter().find_map(|name| Some((*name, self.tag.value(name)?)));
        if let Some((attribute, value)) = found {
            self.out.push((Source::new(kind, element, attribute), value));
        }
    }
}
