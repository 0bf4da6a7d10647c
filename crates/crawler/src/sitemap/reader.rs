//! The parser of a sitemap: unpacks, decodes and recognises it as it comes, and hands its text on.
//!
//! Not the formats (`markup`, `lines`). Invariant: what was found does not depend on how the body is cut into pieces.

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, WINDOWS_1252};

use super::lines::Lines;
use super::markup::Markup;
use super::unpacking::Packing;
use super::{End, Settings, Sitemap, is_blank};
use crate::charset::{self, PRESCAN_BYTES};
use crate::extract::Format;

/// Bytes of white space, comments and declarations before the root element or the first line.
const MAX_PROLOG_BYTES: u64 = 256 << 10;

/// The parser of one sitemap: [`write`](Reader::write) the body as it comes, then [`finish`](Reader::finish).
pub struct Reader {
    settings: Settings,
    label: Option<String>,
    packing: Packing,
    text: Text,
    content: Content,
    sitemap: Sitemap,
    end: Option<End>,
}

/// From bytes to text.
enum Text {
    /// The encoding is not known yet: the start of the body is kept.
    Waiting(Vec<u8>),
    Running(Decoder),
}

/// From text to entries.
enum Content {
    /// Nothing but white space so far.
    Unknown,
    Markup(Box<Markup>),
    Lines(Lines),
}

impl Reader {
    /// A parser that knows nothing yet. `label` is the charset of the `Content-Type` header, if it has one
    /// ([`charset::label_of`]).
    pub fn new(settings: Settings, label: Option<&str>) -> Reader {
        Reader {
            settings,
            label: label.map(str::to_owned),
            packing: Packing::default(),
            text: Text::Waiting(Vec::new()),
            content: Content::Unknown,
            sitemap: Sitemap::default(),
            end: None,
        }
    }

    /// Whether it is a sitemap; `None` where that cannot be said yet.
    pub fn is_sitemap(&self) -> Option<bool> {
        match (self.sitemap.format, self.end) {
            (Some(_), _) => Some(true),
            (None, Some(_)) => Some(false),
            (None, None) => None,
        }
    }

    /// How it ended, once nothing more will be looked at.
    pub fn ended(&self) -> Option<End> {
        self.end
    }

    /// Takes the next piece of the body, cut anywhere.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.end.is_some() {
            return;
        }
        let mut packing = std::mem::take(&mut self.packing);
        let ended = packing.write(bytes, &mut |unpacked| self.unpacked(unpacked));
        self.packing = packing;
        if let Err(end) = ended {
            // What was held back came before the end.
            let held_back = if end == End::NotASitemap { Ok(()) } else { self.start() };
            self.end = Some(held_back.err().unwrap_or(end));
        }
    }

    /// Ends the body, and says what was found and how it ended.
    pub fn finish(mut self) -> (Sitemap, End) {
        let mut packing = std::mem::take(&mut self.packing);
        self.sitemap.is_gzip = packing.is_gzip();
        let ended = match self.end {
            Some(end) => Err(end),
            None => packing.finish(&mut |unpacked| self.unpacked(unpacked)),
        };
        // What of the text was held back is good, but where the end has cut it off.
        let rest = if ended.is_ok() || ended == Err(End::BadGzip) { self.last_text() } else { Ok(()) };
        let end = match (ended.and(rest), &mut self.content) {
            (Err(end), _) => end,
            (Ok(()), Content::Unknown) => End::NotASitemap,
            (Ok(()), Content::Markup(markup)) => {
                markup.finish(&mut self.sitemap, &self.settings).err().unwrap_or(End::Unfinished)
            }
            (Ok(()), Content::Lines(lines)) => {
                lines.finish(&mut self.sitemap, &self.settings).err().unwrap_or(End::Complete)
            }
        };
        let end = if self.sitemap.format.is_none() && end == End::Unfinished { End::NotASitemap } else { end };
        (self.sitemap, end)
    }

    /// Takes bytes of the document itself.
    fn unpacked(&mut self, bytes: &[u8]) -> Result<(), End> {
        let rest = if self.sitemap.format.is_none() { self.up_to(bytes, MAX_PROLOG_BYTES)? } else { bytes };
        if !rest.is_empty() && self.sitemap.format.is_none() {
            return Err(End::NotASitemap);
        }
        let rest = self.up_to(rest, self.settings.max_bytes)?;
        if rest.is_empty() { Ok(()) } else { Err(End::TooLarge) }
    }

    /// Takes bytes until there have been so many in all; gives the rest.
    fn up_to<'b>(&mut self, bytes: &'b [u8], most: u64) -> Result<&'b [u8], End> {
        let left = most.min(self.settings.max_bytes).saturating_sub(self.sitemap.bytes);
        let (within, rest) = bytes.split_at(usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len())));
        self.sitemap.bytes += within.len() as u64;
        self.decode(within)?;
        Ok(rest)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<(), End> {
        let Text::Waiting(head) = &mut self.text else { return self.parse(bytes, false) };
        head.extend_from_slice(bytes);
        if head.len() < PRESCAN_BYTES { Ok(()) } else { self.start() }
    }

    /// Decides the encoding by the start of the document, and parses that.
    fn start(&mut self) -> Result<(), End> {
        let Text::Waiting(head) = &mut self.text else { return Ok(()) };
        let head = std::mem::take(head);
        let (encoding, bom_bytes) = encoding_of(self.label.as_deref(), &head);
        self.sitemap.encoding = Some(encoding);
        self.text = Text::Running(encoding.new_decoder_without_bom_handling());
        self.parse(&head[bom_bytes..], false)
    }

    /// The end of the text.
    fn last_text(&mut self) -> Result<(), End> {
        self.start()?;
        self.parse(&[], true)
    }

    fn parse(&mut self, mut bytes: &[u8], is_last: bool) -> Result<(), End> {
        let Text::Running(decoder) = &mut self.text else { return Ok(()) };
        let mut text = String::with_capacity(8 << 10);
        loop {
            text.clear();
            let (result, read, _) = decoder.decode_to_string(bytes, &mut text, is_last);
            bytes = &bytes[read..];
            self.content.write(&text, &mut self.sitemap, &self.settings)?;
            if result == CoderResult::InputEmpty {
                return Ok(());
            }
        }
    }
}

impl Content {
    fn write(&mut self, text: &str, sitemap: &mut Sitemap, settings: &Settings) -> Result<(), End> {
        let mut text = text;
        if let Content::Unknown = self {
            text = text.trim_start_matches(is_blank);
            match text.chars().next() {
                None => return Ok(()),
                Some('<') => *self = Content::Markup(Box::default()),
                Some(_) if settings.is_expected => *self = Content::Lines(Lines::default()),
                Some(_) => return Err(End::NotASitemap),
            }
        }
        match self {
            Content::Unknown => Ok(()),
            Content::Markup(markup) => markup.write(text, sitemap, settings),
            Content::Lines(lines) => lines.write(text, sitemap, settings),
        }
    }
}

/// The encoding of a document that starts so, and the length of its byte-order mark. As of any XML; where nothing says it,
/// UTF-8, as the protocol has it, unless it cannot be.
fn encoding_of(label: Option<&str>, head: &[u8]) -> (&'static Encoding, usize) {
    let known = |label: &&str| Encoding::for_label_no_replacement(label.as_bytes()).is_some();
    // An error without a length is a character that is cut off.
    let may_be_utf8 = || std::str::from_utf8(head).err().is_none_or(|error| error.error_len().is_none());
    let guessed = || if may_be_utf8() { UTF_8 } else { WINDOWS_1252 };
    charset::declared(Format::Xml, label.filter(known), head).unwrap_or_else(|| (guessed(), 0))
}
