//! Links and title of a page, found while its body streams in.
//!
//! Not a DOM, no JavaScript, no judgement of URLs. Invariant: for a well-formed page the
//! links are those that a browser's DOM would hold; for any bytes whatever the cost is
//! linear in their number and the memory bounded by [`Settings`].
//!
//! What counts as a link is said by [`LinkKind`], and which attribute of which element holds it by `rules`, `feed` and
//! `headers`. Not what stands in comments, scripts, `<noscript>`, `<noframes>`, `<textarea>` (all
//! text to a browser that runs scripts) and `<template>` (inert, unless it declares a shadow
//! root). Nor the page in an `<iframe srcdoc>`. Tags are taken where they are written: a parser that builds a tree may drop a
//! misplaced one (a link inside `<select>`, a frame outside a frameset); here it is a link.
//! [`Format`] says which parser reads the body: HTML (`html`), XML (`xml`) or style sheets (`css`).
//!
//! A page repeats most of its links (50–88 % on documentation sites), so repeats end here,
//! before any URL is parsed: [`Page::page_duplicates`]. The base is applied at the end, by
//! [`Page::resolve`], for `<base>` may follow the links.

mod css;
mod feed;
mod format;
mod found;
mod headers;
mod html;
mod inspect;
mod kinds;
mod links;
mod page;
mod references;
mod refresh;
mod rules;
mod srcset;
mod text;
mod xml;

pub use format::Format;
pub use inspect::inspect_links;
pub use kinds::{LinkKind, LinkKinds, Source};
pub use links::{Link, MAX_REL_BYTES};
pub use page::Page;

use crate::charset::{self, DETECTION_BYTES, PRESCAN_BYTES};
use css::Sheet;
use encoding_rs::{Encoding, UTF_8};
use found::Found;
use html::Html;
use rules::Take;
use url::Url;
use xml::{End, Xml};

/// Bytes of a title that are kept, before white space is collapsed.
pub const MAX_TITLE_BYTES: usize = 4096;

/// Limits of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Different links that are kept; further ones are counted in [`Page::over_cap`].
    pub max_links: usize,
    /// Bytes of a link's text; longer ones are counted in [`Page::too_long`].
    pub max_url_bytes: usize,
    /// Bytes that the parser may hold for open elements, a tag that is not complete yet, a style sheet.
    /// A page that needs more is read up to that place: [`Page::truncated`].
    pub max_parser_bytes: usize,
    /// The kinds of links that are kept.
    pub links: LinkKinds,
    /// Whether `rel=canonical` makes a link.
    pub canonical: bool,
    /// Keep `#fragment`, so that links which differ only there are different.
    pub keep_fragments: bool,
}

impl Default for Settings {
    /// 100,000 links of 8 KiB, those that lead to pages; 8 MiB for the parser, fragments cut off.
    fn default() -> Settings {
        Settings {
            max_links: 100_000,
            max_url_bytes: 8 << 10,
            max_parser_bytes: 8 << 20,
            links: LinkKinds::from_iter(LinkKind::NAVIGATION),
            canonical: true,
            keep_fragments: false,
        }
    }
}

impl Settings {
    fn take(&self) -> Take {
        Take { kinds: self.links, canonical: self.canonical }
    }
}

/// The parser of one page: [`write`](Extractor::write) the body as it comes, then
/// [`finish`](Extractor::finish).
pub struct Extractor {
    format: Format,
    document: Url,
    label: Option<String>,
    encoding: &'static Encoding,
    parser: Parser,
}

enum Parser {
    /// The encoding is not known yet: the start of the body is kept.
    Waiting {
        head: Vec<u8>,
        found: Found,
    },
    Html(Html),
    Xml(Box<Xml>),
    Css(Sheet),
}

impl Extractor {
    /// A parser for the HTML page at `document`. `label` is the charset of its `Content-Type`
    /// header, if it has one (`charset::label_of`).
    pub fn new(document: &Url, settings: Settings, label: Option<&str>) -> Extractor {
        Extractor::of(Format::Html, document, settings, label)
    }

    /// The same for a page of any format.
    pub fn of(format: Format, document: &Url, settings: Settings, label: Option<&str>) -> Extractor {
        let parser = Parser::Waiting { head: Vec::new(), found: Found::new(settings) };
        Extractor { format, document: document.clone(), label: label.map(str::to_owned), encoding: UTF_8, parser }
    }

    /// Takes the links of the headers `Link` and `Refresh`. To be called before the body is written.
    pub fn headers(&mut self, link: Option<&str>, refresh: Option<&str>) {
        if let Parser::Waiting { found, .. } = &mut self.parser {
            headers::read(link, refresh, &self.document, found);
        }
    }

    /// Heeds a `<meta>` with this name, a crawler's, as one to all robots. To be called before the body is written.
    pub fn for_crawler(mut self, product: &str) -> Extractor {
        if let Parser::Waiting { found, .. } = &mut self.parser {
            found.product = product.to_owned();
        }
        self
    }

    /// Takes the next piece of the body, cut anywhere.
    pub fn write(&mut self, bytes: &[u8]) {
        let Parser::Waiting { head, .. } = &mut self.parser else {
            return self.parse(bytes);
        };
        let before = head.len();
        head.extend_from_slice(bytes);
        // Most pages declare their encoding; only the others wait for more than that takes.
        let is_declared = before < PRESCAN_BYTES
            && head.len() >= PRESCAN_BYTES
            && charset::declared(self.format, self.label.as_deref(), head).is_some();
        if is_declared || head.len() >= DETECTION_BYTES {
            self.start();
        }
    }

    /// Ends the body and gives what was found.
    pub fn finish(mut self) -> Page {
        self.start();
        let (mut found, end) = match self.parser {
            Parser::Html(html) => limited(html.end()),
            Parser::Xml(xml) => xml.end(),
            Parser::Css(sheet) => limited(sheet.end()),
            Parser::Waiting { found, .. } => (found, None),
        };
        let query_encoding = found.encoding;
        Page {
            title: found.take_title(),
            base: page::base(&self.document, found.base_href.as_deref(), query_encoding),
            directives: found.directives,
            encoding: self.encoding,
            links_found: found.links_found,
            page_duplicates: found.page_duplicates,
            too_long: found.too_long,
            over_cap: found.over_cap,
            truncated: end == Some(End::Limit),
            malformed: end == Some(End::Malformed),
            links: found.links,
            query_encoding,
        }
    }

    /// Decides the encoding by the start of the body and parses that.
    fn start(&mut self) {
        let Parser::Waiting { head, found } = &mut self.parser else {
            return;
        };
        let head = std::mem::take(head);
        let mut found = std::mem::replace(found, Found::new(Settings::default()));
        let (encoding, bom_bytes) = charset::sniff(self.format, self.label.as_deref(), &self.document, &head);
        self.encoding = encoding;
        self.parser = match self.format {
            Format::Html => {
                found.encoding = encoding;
                Parser::Html(Html::new(found, encoding))
            }
            Format::Xml => {
                found.encoding = encoding;
                Parser::Xml(Box::new(Xml::new(found, encoding, &self.document)))
            }
            // URLs of style sheets are in UTF-8, whatever the sheet is in (CSS Values, section 4.5).
            Format::Css => Parser::Css(Sheet::new(found, encoding)),
        };
        self.parse(&head[bom_bytes..]);
    }

    fn parse(&mut self, bytes: &[u8]) {
        match &mut self.parser {
            Parser::Html(html) => html.write(bytes),
            Parser::Xml(xml) => xml.write(bytes),
            Parser::Css(sheet) => sheet.write(bytes),
            Parser::Waiting { .. } => {}
        }
    }
}

fn limited((found, whole): (Found, bool)) -> (Found, Option<End>) {
    (found, (!whole).then_some(End::Limit))
}

#[cfg(test)]
mod tests;
