//! HTML as it streams in: lol_html's tokens, told to [`Found`].
//!
//! Not a tree: tags are taken where they are written. Invariant: memory is bounded by `Settings::max_parser_bytes`, of
//! which lol_html takes account, once more for the text of a `<style>`.

use super::found::Found;
use super::kinds::{LinkKind, Source};
use super::references::{self, Place};
use super::rules::{self, Attributes, Space};
use super::text::Decoding;
use encoding_rs::Encoding;
use lol_html::html_content::{TextChunk, TextType};
use lol_html::send::{Element, HtmlRewriter, SendHandlerTypes};
use lol_html::{AsciiCompatibleEncoding, ElementContentHandlers, MemorySettings, Selector};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Rewriter = HtmlRewriter<'static, fn(&[u8])>;

/// What is shared by the handlers of one page.
#[derive(Debug)]
struct Shared {
    found: Found,
    /// Between the tags of the title that counts.
    in_title: bool,
    /// The title whose start tag is being looked at is a drawing's.
    in_svg: bool,
    /// Open `<template>` elements; what is inside them is not part of the page.
    templates: u32,
    /// The text of the `<style>` that is open.
    style: Option<String>,
    /// One was longer than the parser may hold.
    is_cut: bool,
}

pub(super) struct Html {
    rewriter: Box<Rewriter>,
    shared: Arc<Mutex<Shared>>,
    /// For encodings that are no superset of ASCII: decoded before they are parsed.
    decoding: Option<Decoding>,
    /// The memory limit was met; the rest of the body is not looked at.
    failed: bool,
}

impl Html {
    pub(super) fn new(found: Found, encoding: &'static Encoding) -> Html {
        let shared = Shared { found, in_title: false, in_svg: false, templates: 0, style: None, is_cut: false };
        let shared = Arc::new(Mutex::new(shared));
        let (parsed, decoding) = match AsciiCompatibleEncoding::new(encoding) {
            Some(parsed) => (parsed, None),
            None => (AsciiCompatibleEncoding::utf_8(), Some(Decoding::new(encoding))),
        };
        Html { rewriter: Box::new(rewriter(parsed, &shared)), shared, decoding, failed: false }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.parse(bytes, false);
    }

    /// Ends the body. Gives what was found, and whether all of it was read.
    pub(super) fn end(mut self) -> (Found, bool) {
        self.parse(&[], true);
        let Html { rewriter, shared, failed, .. } = self;
        let whole = if failed {
            drop(rewriter);
            false
        } else {
            rewriter.end().is_ok()
        };
        let shared = Arc::into_inner(shared).expect("the parser that shared it is gone");
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        (shared.found, whole && !shared.is_cut)
    }

    /// After an error the rewriter must not be used again.
    fn parse(&mut self, bytes: &[u8], last: bool) {
        let Html { rewriter, decoding, failed, .. } = self;
        if !*failed {
            *failed = !match decoding {
                None => rewriter.write(bytes).is_ok(),
                Some(decoding) => decoding.write(bytes, last, |text| rewriter.write(text.as_bytes()).is_ok()),
            };
        }
    }
}

/// The streaming parser, reporting to `shared`. Its output, the unchanged page, is dropped.
fn rewriter(encoding: AsciiCompatibleEncoding, shared: &Arc<Mutex<Shared>>) -> Rewriter {
    let settings = lock(shared).found.settings;
    let memory = MemorySettings::new()
        .with_preallocated_parsing_buffer_size(settings.max_parser_bytes.min(1024))
        .with_max_allowed_memory_usage(settings.max_parser_bytes);
    let mut rewriting = lol_html::send::Settings::new_for_handler_types()
        .with_encoding(encoding)
        .with_memory_settings(memory)
        .with_strict(false);
    let mut handlers: Vec<(&str, Handlers)> = vec![
        ("meta", on(shared, |shared, element| shared.found.meta(element))),
        ("base", on(shared, Shared::base)),
        ("svg title", on_start(shared, |shared, _| shared.in_svg = true)),
        ("title", on_title(shared)),
        ("template", on_template(shared)),
    ];
    for name in rules::elements(settings.links) {
        handlers.push((name, on(shared, move |shared, element| shared.links(name, element))));
    }
    if settings.links.has(LinkKind::Css) {
        handlers.push(("style", on_style(shared)));
    }
    for (selector, handler) in handlers {
        let selector: Selector = selector.parse().expect("these are selectors");
        rewriting = rewriting.append_element_content_handler((Cow::Owned(selector), handler));
    }
    HtmlRewriter::new(rewriting, |_: &[u8]| ())
}

impl Shared {
    fn links(&mut self, name: &str, element: &Element<'_, '_>) {
        let Some(space) = space_of(element) else {
            return;
        };
        if name == "*" {
            self.found.element(&element.tag_name(), space, element);
        } else {
            self.found.element(name, space, element);
        }
    }

    fn base(&mut self, element: &Element<'_, '_>) {
        if element.namespace_uri() == HTML {
            self.found.base(element);
        }
    }

    /// Called after the handler of `svg title` for the same tag: the parser has entered the title by then, and inside
    /// it the namespace is HTML's again.
    fn title(&mut self, _element: &Element<'_, '_>) {
        let in_svg = std::mem::take(&mut self.in_svg);
        self.in_title = self.templates == 0 && !in_svg && self.found.begin_title();
    }

    fn title_text(&mut self, chunk: &TextChunk<'_>) {
        if self.in_title {
            self.found.title_text(chunk.as_str());
        }
    }

    fn style_text(&mut self, chunk: &TextChunk<'_>) {
        let Some(style) = &mut self.style else {
            return;
        };
        let text = chunk.as_str();
        let room = self.found.settings.max_parser_bytes.saturating_sub(style.len());
        style.push_str(&text[..text.floor_char_boundary(room)]);
        self.is_cut |= text.len() > room;
        if !chunk.last_in_text_node() {
            return;
        }
        if chunk.text_type() == TextType::Data {
            // In a drawing, where references mean what they mean in any text.
            let mut decoded = String::with_capacity(style.len());
            references::decode(style, Place::Text, &mut decoded);
            *style = decoded;
        }
        let style = std::mem::take(style);
        self.found.value(&style, Source::new(LinkKind::Css, "style", ""), None);
    }

    /// Enters a `<template>`; false if it is one whose content is shown (a shadow root).
    fn enter_template(&mut self, element: &Element<'_, '_>) -> bool {
        let is_inert = element.namespace_uri() == HTML && !element.has_attribute("shadowrootmode");
        self.templates += u32::from(is_inert);
        is_inert
    }

    fn leave_template(&mut self) {
        self.templates = self.templates.saturating_sub(1);
    }
}

type Handlers = ElementContentHandlers<'static, SendHandlerTypes>;

/// A handler of start tags that are not in a template.
fn on(shared: &Arc<Mutex<Shared>>, take: impl Fn(&mut Shared, &Element<'_, '_>) + Send + 'static) -> Handlers {
    on_start(shared, move |shared, element| {
        if shared.templates == 0 {
            take(shared, element);
        }
    })
}

fn on_start(shared: &Arc<Mutex<Shared>>, take: impl Fn(&mut Shared, &Element<'_, '_>) + Send + 'static) -> Handlers {
    let shared = Arc::clone(shared);
    ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
        take(&mut lock(&shared), element);
        Ok(())
    })
}

fn on_title(shared: &Arc<Mutex<Shared>>) -> Handlers {
    let text = Arc::clone(shared);
    on_start(shared, Shared::title).text(move |chunk: &mut TextChunk<'_>| {
        lock(&text).title_text(chunk);
        Ok(())
    })
}

fn on_style(shared: &Arc<Mutex<Shared>>) -> Handlers {
    let text = Arc::clone(shared);
    on_start(shared, |shared, _| shared.style = (shared.templates == 0).then(String::new)).text(
        move |chunk: &mut TextChunk<'_>| {
            lock(&text).style_text(chunk);
            Ok(())
        },
    )
}

fn on_template(shared: &Arc<Mutex<Shared>>) -> Handlers {
    let shared = Arc::clone(shared);
    ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
        if lock(&shared).enter_template(element) {
            let shared = Arc::clone(&shared);
            element.on_end_tag(Box::new(move |_| {
                lock(&shared).leave_template();
                Ok(())
            }))?;
        }
        Ok(())
    })
}

/// Never contended: only the rewriter's handlers lock, inside `write`. The lock is there
/// because a page moves between threads while its body comes in.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

const HTML: &str = "http://www.w3.org/1999/xhtml";
const SVG: &str = "http://www.w3.org/2000/svg";

/// None for MathML, which has no links.
fn space_of(element: &Element<'_, '_>) -> Option<Space> {
    match element.namespace_uri() {
        HTML => Some(Space::Html),
        SVG => Some(Space::Svg),
        _ => None,
    }
}

impl Attributes for Element<'_, '_> {
    fn value(&self, name: &str) -> Option<String> {
        let value = self.get_attribute(name)?;
        if !references::is_encoded(&value) {
            return Some(value);
        }
        let mut decoded = String::with_capacity(value.len());
        references::decode(&value, Place::Attribute, &mut decoded);
        Some(decoded)
    }
}
