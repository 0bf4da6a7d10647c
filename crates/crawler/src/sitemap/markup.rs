//! The XML formats: from text to entries.
//!
//! Not a check of the document: it is read as it comes, by names and nesting as far as they matter. Tokens are
//! `quick_xml`'s, made anew from what is at hand each time, so that the document can be cut anywhere; names, depth and
//! entities are kept here. Invariants: what waits for the rest of a token is at most [`MAX_TOKEN_BYTES`], and is looked at
//! again only when it has doubled, so that the cost is linear however the text is cut; of an element's text no more is
//! kept than the field may have.

mod draft;
mod place;

use quick_xml::Reader as Tokens;
use quick_xml::errors::Error;
use quick_xml::events::{BytesRef, Event};

use super::{End, Settings, Sitemap};
use place::Document;

/// Longest tag, comment, declaration or CDATA section. Feeds have whole articles in one.
const MAX_TOKEN_BYTES: usize = 1 << 20;

/// Longest reference that may be one: `&#x` and eight digits have twelve, names are short.
const MAX_REFERENCE_BYTES: usize = 64;

/// A document that is being read.
#[derive(Default)]
pub(super) struct Markup {
    /// Text that is not read yet: a token that is not complete.
    tail: String,
    /// Its length from which on it is worth a look.
    look_at_bytes: usize,
    document: Document,
}

impl Markup {
    /// Takes the next piece of the text. [`End::Complete`] is the end of the root element.
    pub(super) fn write(&mut self, text: &str, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        self.tail.push_str(text);
        if self.tail.len() < self.look_at_bytes { Ok(()) } else { self.read(false, sitemap, settings) }
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        self.read(true, sitemap, settings)?;
        self.document.finish(sitemap, settings)
    }

    /// Reads all tokens that are there.
    fn read(&mut self, is_last: bool, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        let mut text = std::mem::take(&mut self.tail);
        let read_bytes = tokens(&text, is_last, |event| self.document.token(event, sitemap, settings))?;
        text.drain(..read_bytes);
        self.tail = text;
        self.look_at_bytes = self.tail.len() * 2;
        if self.tail.len() > MAX_TOKEN_BYTES { Err(End::Malformed) } else { Ok(()) }
    }
}

/// Hands on the tokens of a text that begins at one, and gives the length of those that are complete.
fn tokens(text: &str, is_last: bool, mut take: impl FnMut(&Event<'_>) -> Result<(), End>) -> Result<usize, End> {
    // The tokeniser would skip a mark, and not count it.
    let marks_bytes = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut reader = Tokens::from_str(&text[marks_bytes..]);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        let position = |reader: &Tokens<&[u8]>| marks_bytes + reader.buffer_position() as usize;
        let start = position(&reader);
        match reader.read_event() {
            Ok(Event::Eof) => return Ok(text.len()),
            Ok(Event::Text(_))
                if !is_last && may_become_reference(&text[start..position(&reader)], text.len() - start) =>
            {
                return Ok(start);
            }
            Ok(event) => take(&event)?,
            // A declaration that says nothing: it was read over.
            Err(Error::IllFormed(_)) if position(&reader) > start => {}
            Err(_) => return Ok(start),
        }
    }
}

/// Whether a text at the end of what is at hand may be the start of a reference.
fn may_become_reference(text: &str, left_bytes: usize) -> bool {
    text.starts_with('&') && text.len() == left_bytes && text.len() < MAX_REFERENCE_BYTES
}

/// What a reference stands for; `None` where a document type might say, which is not asked.
fn resolve(reference: &BytesRef<'_>) -> Option<String> {
    let name: &str = reference;
    if let Some(c) = reference.resolve_char_ref().ok()? {
        return Some(c.to_string());
    }
    let text = quick_xml::escape::resolve_xml_entity(name);
    // `a=1&b=2;` is a lone ampersand, and not the name of an entity.
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.'));
    text.map(str::to_owned).or_else(|| (!is_name).then(|| format!("&{name};")))
}
