//! Links and title of an HTML page, found while its body streams in.
//!
//! Not a DOM, no JavaScript, no judgement of URLs. Invariant: for a well-formed page the
//! links are those that a browser's DOM would hold; for any bytes whatever the cost is
//! linear in their number and the memory bounded by [`Settings`].
//!
//! What counts as a link: `a[href]`, `area[href]`, `link[href]` whose `rel` says canonical,
//! alternate, next or prev, `iframe[src]`, `frame[src]` and the URL of a meta refresh. Not
//! what stands in comments, scripts, styles, `<noscript>`, `<noframes>`, `<textarea>` (all
//! text to a browser that runs scripts) and `<template>` (inert, unless it declares a shadow
//! root). Tags are taken where they are written: a parser that builds a tree may drop a
//! misplaced one (a link inside `<select>`, a frame outside a frameset); here it is a link.
//!
//! A page repeats most of its links (50–88 % on documentation sites), so repeats end here,
//! before any URL is parsed: [`Page::page_duplicates`]. The base is applied at the end, by
//! [`Page::resolve`], for `<base>` may follow the links.

mod found;
mod inspect;
mod links;
mod page;
mod references;
mod refresh;

pub use inspect::inspect_links;
pub use links::{Link, MAX_REL_BYTES, Tag};
pub use page::Page;

use crate::charset::{self, PRESCAN_BYTES};
use encoding_rs::{Decoder, Encoding, UTF_8};
use found::Found;
use lol_html::html_content::TextChunk;
use lol_html::send::{Element, HtmlRewriter, SendHandlerTypes};
use lol_html::{AsciiCompatibleEncoding, ElementContentHandlers, MemorySettings, Selector};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use url::Url;

/// Bytes of a title that are kept, before white space is collapsed.
pub const MAX_TITLE_BYTES: usize = 4096;

/// Limits of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Different links that are kept; further ones are counted in [`Page::over_cap`].
    pub max_links: usize,
    /// Bytes of a link's text; longer ones are counted in [`Page::too_long`].
    pub max_url_bytes: usize,
    /// Bytes that the parser may hold for open elements and a tag that is not complete yet.
    /// A page that needs more is read up to that place: [`Page::truncated`].
    pub max_parser_bytes: usize,
    /// Keep `#fragment`, so that links which differ only there are different.
    pub keep_fragments: bool,
}

impl Default for Settings {
    /// 100,000 links of 8 KiB, 8 MiB for the parser, fragments cut off.
    fn default() -> Settings {
        Settings { max_links: 100_000, max_url_bytes: 8 << 10, max_parser_bytes: 8 << 20, keep_fragments: false }
    }
}

/// The parser of one page: [`write`](Extractor::write) the body as it comes, then
/// [`finish`](Extractor::finish).
pub struct Extractor {
    document: Url,
    label: Option<String>,
    encoding: &'static Encoding,
    found: Arc<Mutex<Found>>,
    parser: Parser,
}

enum Parser {
    /// The encoding is not known yet: the start of the body is kept.
    Waiting { head: Vec<u8> },
    Running {
        rewriter: Box<Rewriter>,
        /// For encodings that are no superset of ASCII: decoded before they are parsed.
        decoder: Option<Decoder>,
    },
    /// The memory limit was met; the rest of the body is not looked at.
    Stopped,
}

type Rewriter = HtmlRewriter<'static, fn(&[u8])>;

impl Extractor {
    /// A parser for the page at `document`. `label` is the charset of its `Content-Type`
    /// header, if it has one (`charset::label_of`).
    pub fn new(document: &Url, settings: Settings, label: Option<&str>) -> Extractor {
        Extractor {
            document: document.clone(),
            label: label.map(str::to_owned),
            encoding: UTF_8,
            found: Arc::new(Mutex::new(Found::new(settings))),
            parser: Parser::Waiting { head: Vec::new() },
        }
    }

    /// Heeds a `<meta>` with this name, a crawler's, as one to all robots.
    pub fn for_crawler(self, product: &str) -> Extractor {
        lock(&self.found).product = product.to_owned();
        self
    }

    /// Takes the next piece of the body, cut anywhere.
    pub fn write(&mut self, bytes: &[u8]) {
        let Parser::Waiting { head } = &mut self.parser else {
            self.parse(bytes);
            return;
        };
        if head.is_empty() && bytes.len() >= PRESCAN_BYTES {
            self.start(bytes);
        } else {
            head.extend_from_slice(bytes);
            if head.len() >= PRESCAN_BYTES {
                let head = std::mem::take(head);
                self.start(&head);
            }
        }
    }

    /// Ends the body and gives what was found.
    pub fn finish(mut self) -> Page {
        if let Parser::Waiting { head } = &mut self.parser {
            let head = std::mem::take(head);
            self.start(&head);
        }
        let truncated = match std::mem::replace(&mut self.parser, Parser::Stopped) {
            Parser::Running { rewriter, decoder } => !end(*rewriter, decoder),
            _ => true,
        };
        let found = Arc::into_inner(self.found).expect("the parser that shared it is gone");
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Page {
            title: found.take_title(),
            base: page::base(&self.document, found.base_href.as_deref(), self.encoding),
            directives: found.directives,
            encoding: self.encoding,
            links_found: found.links_found,
            page_duplicates: found.page_duplicates,
            too_long: found.too_long,
            over_cap: found.over_cap,
            truncated,
            links: found.links,
        }
    }

    /// Decides the encoding by the start of the body and parses that.
    fn start(&mut self, head: &[u8]) {
        let (encoding, bom_bytes) = charset::sniff(self.label.as_deref(), head);
        self.encoding = encoding;
        let (parsed, decoder) = match AsciiCompatibleEncoding::new(encoding) {
            Some(parsed) => (parsed, None),
            None => (AsciiCompatibleEncoding::utf_8(), Some(encoding.new_decoder_without_bom_handling())),
        };
        let rewriter = Box::new(rewriter(parsed, &self.found));
        self.parser = Parser::Running { rewriter, decoder };
        self.parse(&head[bom_bytes..]);
    }

    fn parse(&mut self, bytes: &[u8]) {
        if let Parser::Running { rewriter, decoder } = &mut self.parser
            && !write(rewriter, decoder.as_mut(), bytes, false)
        {
            self.parser = Parser::Stopped;
        }
    }
}

/// False if the memory limit was met; the rewriter must not be used again then.
fn write(rewriter: &mut Rewriter, decoder: Option<&mut Decoder>, mut bytes: &[u8], last: bool) -> bool {
    let Some(decoder) = decoder else {
        return rewriter.write(bytes).is_ok();
    };
    let mut text = String::with_capacity(8 << 10);
    loop {
        text.clear();
        let (result, read, _) = decoder.decode_to_string(bytes, &mut text, last);
        bytes = &bytes[read..];
        if rewriter.write(text.as_bytes()).is_err() {
            return false;
        }
        if result == encoding_rs::CoderResult::InputEmpty {
            return true;
        }
    }
}

fn end(mut rewriter: Rewriter, decoder: Option<Decoder>) -> bool {
    if let Some(mut decoder) = decoder
        && !write(&mut rewriter, Some(&mut decoder), &[], true)
    {
        return false;
    }
    rewriter.end().is_ok()
}

static SELECTORS: LazyLock<[Selector; 10]> = LazyLock::new(|| {
    ["a", "area", "link", "iframe", "frame", "meta", "base", "svg title", "title", "template"]
        .map(|selector| selector.parse().expect("these are selectors"))
});

/// The streaming parser, reporting to `found`. Its output, the unchanged page, is dropped.
fn rewriter(encoding: AsciiCompatibleEncoding, found: &Arc<Mutex<Found>>) -> Rewriter {
    let max_parser_bytes = lock(found).settings.max_parser_bytes;
    let memory = MemorySettings::new()
        .with_preallocated_parsing_buffer_size(max_parser_bytes.min(1024))
        .with_max_allowed_memory_usage(max_parser_bytes);
    let mut settings = lol_html::send::Settings::new_for_handler_types()
        .with_encoding(encoding)
        .with_memory_settings(memory)
        .with_strict(false);
    let handlers = [
        on(found, Found::a),
        on(found, Found::area),
        on(found, Found::link),
        on(found, Found::iframe),
        on(found, Found::frame),
        on(found, Found::meta),
        on(found, Found::base),
        on(found, Found::svg_title),
        on_title(found),
        on_template(found),
    ];
    for (selector, handler) in SELECTORS.iter().zip(handlers) {
        settings = settings.append_element_content_handler((Cow::Borrowed(selector), handler));
    }
    HtmlRewriter::new(settings, |_: &[u8]| ())
}

type Handlers = ElementContentHandlers<'static, SendHandlerTypes>;

fn on(found: &Arc<Mutex<Found>>, take: fn(&mut Found, &mut Element<'_, '_>)) -> Handlers {
    let found = Arc::clone(found);
    ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
        take(&mut lock(&found), element);
        Ok(())
    })
}

fn on_title(found: &Arc<Mutex<Found>>) -> Handlers {
    let text = Arc::clone(found);
    on(found, Found::title).text(move |chunk: &mut TextChunk<'_>| {
        lock(&text).title_text(chunk);
        Ok(())
    })
}

fn on_template(found: &Arc<Mutex<Found>>) -> Handlers {
    let found = Arc::clone(found);
    ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
        if lock(&found).enter_template(element) {
            let found = Arc::clone(&found);
            element.on_end_tag(Box::new(move |_| {
                lock(&found).leave_template();
                Ok(())
            }))?;
        }
        Ok(())
    })
}

/// Never contended: only the rewriter's handlers lock, inside `write`. The lock is there
/// because a page moves between threads while its body comes in.
fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
