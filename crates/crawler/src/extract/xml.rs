//! XHTML, SVG, RSS and Atom as they stream in: quick-xml's tokens, told to [`Found`].
//!
//! Not a validating parser: names of end tags are not checked, so that feeds as they are written can be read; a syntax
//! error ends the document, as it does in a browser. Entities of a DTD are not read. Invariants: a token that is not
//! whole is kept and looked at again when it has doubled, so the cost is linear; it never gets longer than
//! `Settings::max_parser_bytes`.

use super::feed;
use super::found::Found;
use super::kinds::{LinkKind, Source};
use super::references::{self, Place};
use super::rules::{Attributes, Space};
use super::text::Decoding;
use encoding_rs::Encoding;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use url::Url;

pub(super) struct Xml {
    decoding: Decoding,
    document: Document,
    /// Text whose last token is not whole.
    pending: String,
    /// Bytes of `pending` at which it is worth another look.
    retry_bytes: usize,
    end: Option<End>,
}

/// Why nothing more is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// Another vocabulary: there are no links.
    Foreign,
    /// The memory limit was met.
    Limit,
    /// A syntax error.
    Malformed,
}

impl Xml {
    pub(super) fn new(found: Found, encoding: &'static Encoding, url: &Url) -> Xml {
        let document = Document::new(found, url);
        Xml { decoding: Decoding::new(encoding), document, pending: String::new(), retry_bytes: 0, end: None }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.decode(bytes, false);
    }

    /// Ends the body. Gives what was found, and why not all of it was read.
    pub(super) fn end(mut self) -> (Found, Option<End>) {
        self.decode(&[], true);
        let cut = self.document.is_cut.then_some(End::Limit);
        (self.document.found, self.end.or(cut))
    }

    fn decode(&mut self, bytes: &[u8], last: bool) {
        let Xml { decoding, document, pending, retry_bytes, end } = self;
        if end.is_some() {
            return;
        }
        let max_bytes = document.found.settings.max_parser_bytes;
        decoding.write(bytes, last, |text| {
            pending.push_str(text);
            if pending.len() >= (*retry_bytes).min(max_bytes) {
                *end = read(document, pending, false);
                *retry_bytes = 2 * pending.len();
                if end.is_none() && pending.len() >= max_bytes {
                    *end = Some(End::Limit);
                }
            }
            end.is_none()
        });
        if last && end.is_none() {
            *end = read(document, pending, true);
        }
    }
}

/// Reads the tokens of `pending` and takes them out. Unless it is the `last` text, an error may be a token that goes on.
fn read(document: &mut Document, pending: &mut String, last: bool) -> Option<End> {
    let mut reader = Reader::from_str(pending);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    let (mut read_bytes, mut end) = (0, None);
    while end.is_none() {
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => end = document.event(&event),
            Err(_) if last => end = Some(End::Malformed),
            Err(_) => break,
        }
        read_bytes = reader.buffer_position() as usize;
    }
    let read_bytes = if end.is_some() { pending.len() } else { read_bytes.min(pending.len()) };
    pending.drain(..read_bytes);
    end
}

/// What the first element says it is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Root {
    Unknown,
    /// XHTML or SVG.
    Page,
    Feed,
}

/// The document as far as it was read.
struct Document {
    found: Found,
    root: Root,
    /// Open elements.
    depth: u32,
    /// The depth of an element whose content is not part of the page.
    inert: Option<u32>,
    text: Option<Text>,
    bases: feed::Bases,
    /// A style sheet inside was too long.
    is_cut: bool,
}

/// The text of an element that is being collected.
struct Text {
    what: feed::TextOf,
    depth: u32,
    /// Character references not yet decoded.
    raw: String,
    max_bytes: usize,
    /// There was more.
    is_cut: bool,
}

impl Document {
    fn new(found: Found, url: &Url) -> Document {
        let bases = feed::Bases::new(url);
        Document { found, root: Root::Unknown, depth: 0, inert: None, text: None, bases, is_cut: false }
    }

    fn event(&mut self, event: &Event<'_>) -> Option<End> {
        match event {
            Event::Start(tag) => return self.start(tag),
            Event::Empty(tag) => {
                let end = self.start(tag);
                self.finish();
                return end;
            }
            Event::End(_) => self.finish(),
            Event::Text(text) => self.push(text),
            Event::GeneralRef(name) => {
                for part in ["&", name, ";"] {
                    self.push(part);
                }
            }
            // Not decoded, and everything collected will be.
            Event::CData(text) if self.text.is_some() => self.push(&text.replace('&', "&amp;")),
            _ => {}
        }
        None
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Option<End> {
        self.depth = self.depth.saturating_add(1);
        let name = tag.local_name().into_inner();
        if self.root == Root::Unknown {
            self.root = match name {
                "html" | "svg" => Root::Page,
                "rss" | "feed" | "RDF" => Root::Feed,
                _ => return Some(End::Foreign),
            };
        }
        if self.inert.is_some() {
            return None;
        }
        match self.root {
            Root::Feed => self.feed(name, tag),
            _ => self.page(name, tag),
        }
        None
    }

    fn page(&mut self, name: &str, tag: &BytesStart<'_>) {
        match name {
            "template" if tag.value("shadowrootmode").is_some() => {}
            "template" | "noscript" | "script" | "style" => self.inert = Some(self.depth),
            "meta" => self.found.meta(tag),
            "base" => self.found.base(tag),
            "title" if self.found.begin_title() => self.collect(feed::TextOf::Title, super::MAX_TITLE_BYTES),
            _ => {}
        }
        if name == "style" && self.found.settings.links.has(LinkKind::Css) {
            let source = Source::new(LinkKind::Css, "style", "");
            self.collect(feed::TextOf::Link(source), self.found.settings.max_parser_bytes);
        }
        let name = if name == "feImage" { "feimage" } else { name };
        self.found.element(name, Space::Xml, tag);
    }

    fn feed(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.bases.enter(self.depth, tag);
        if name == "title" && self.found.begin_title() {
            return self.collect(feed::TextOf::Title, super::MAX_TITLE_BYTES);
        }
        match feed::read(name, tag) {
            Some(feed::Place::Attribute(source, url)) => self.add(source, &url),
            Some(feed::Place::Text(what)) => self.collect(what, self.found.settings.max_url_bytes),
            None => {}
        }
    }

    fn collect(&mut self, what: feed::TextOf, max_bytes: usize) {
        self.text = Some(Text { what, depth: self.depth, raw: String::new(), max_bytes, is_cut: false });
    }

    fn push(&mut self, part: &str) {
        if let Some(Text { raw, max_bytes, is_cut, .. }) = &mut self.text {
            let part = if raw.is_empty() { part.trim_ascii_start() } else { part };
            let room = max_bytes.saturating_sub(raw.len());
            raw.push_str(&part[..part.floor_char_boundary(room)]);
            // White space at the end of a link is no part of it.
            *is_cut |= part.trim_ascii_end().len() > room;
        }
    }

    /// Ends the innermost element.
    fn finish(&mut self) {
        if let Some(text) = self.text.take_if(|text| text.depth == self.depth) {
            self.take(&text);
        }
        self.inert.take_if(|depth| *depth == self.depth);
        self.bases.leave(self.depth);
        self.depth = self.depth.saturating_sub(1);
    }

    fn take(&mut self, text: &Text) {
        if text.what == feed::TextOf::Title {
            return self.found.title_text(&text.raw);
        }
        let mut decoded = String::with_capacity(text.raw.len());
        references::decode(&text.raw, Place::Text, &mut decoded);
        let value = decoded.trim_ascii();
        match text.what {
            feed::TextOf::Link(source) if source.kind == LinkKind::Css => {
                self.is_cut |= text.is_cut;
                self.found.value(value, source, None);
            }
            feed::TextOf::Guid(_) if !feed::is_absolute(value) => {}
            feed::TextOf::Link(source) | feed::TextOf::Guid(source) if !value.is_empty() => {
                if text.is_cut && self.found.settings.links.has(source.kind) {
                    self.found.add_too_long();
                } else {
                    self.add(source, value);
                }
            }
            _ => {}
        }
    }

    /// Adds a link of a feed.
    fn add(&mut self, source: Source, value: &str) {
        if self.found.settings.links.has(source.kind) {
            self.found.add_relative_to(self.bases.current(), value, source, None);
        }
    }
}

impl Attributes for BytesStart<'_> {
    fn value(&self, name: &str) -> Option<String> {
        // As in HTML: values without quotes are taken, and of a name given twice the first one.
        let mut attributes = self.html_attributes();
        let found = attributes.with_checks(false).flatten().find(|attribute| attribute.key.into_inner() == name)?;
        let mut decoded = String::with_capacity(found.value.len());
        references::decode(&found.value, Place::Attribute, &mut decoded);
        Some(decoded)
    }
}
