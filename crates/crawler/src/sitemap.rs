//! The entries of a sitemap, found while its body streams in: XML (a list of URLs or an index of sitemaps), text, RSS and
//! Atom, as sitemaps.org has them, gzipped or not.
//!
//! Not the fetching and no judgement of URLs: a sitemap is a URL of the frontier like any other, so delay, retries,
//! budgets and what a `kill -9` leaves are those of any page, and which entries are offered is decided by the worker
//! (`worker::sitemaps`, with [`Location`] for the protocol's rule on hosts). Invariant: for any bytes whatever the cost is
//! linear in the decoded ones, memory is bounded by [`Settings`] and the constants here, and what was found before the end
//! is good, whatever the end is; each [`End`] has a name.
//!
//! 1. **Unpacked** (`unpacking`): gzip is known by its first bytes, whatever name and headers say.
//! 2. **Decoded**, by byte-order mark, header, XML declaration, or what it looks like.
//! 3. **Recognised**, by what it is: the name of the root element, or a first line that is a URL. Text lists and feeds
//!    count only where a sitemap is expected, for elsewhere they are something else.
//! 4. **Read** (`markup` with the tokens of `quick_xml`, `lines`). No DTD is looked at: of entities the five of XML and
//!    character references stand for something, so nothing grows and nothing outside is asked for. An entry whose URL
//!    has any other one in it is invalid.
//!
//! Lenient where nothing is lost by it: any namespace or none (an element counts if it has the prefix of the root, or
//! none), names in any case, a lone `&`, tags that nobody closes, white space of any kind, relative URLs.
//!
//! Where this differs from what other crawlers' tests expect, on purpose:
//!
//! * A DOCTYPE and a wrong namespace are no reason to drop the file (crawler-commons' strict mode drops both): nothing in
//!   them does harm here, and such files are common.
//! * An entry of another scheme than its sitemap is on the same host: sites move to https and leave `http:` in a line of
//!   robots.txt. (The protocol asks for the same scheme.)
//! * URLs of other hosts and directories are entries here; it is [`Location`] that tells them apart, and the worker that
//!   refuses them.
//! * URLs that are none of http are entries too (`mailto:`), which the worker counts as invalid.

mod hints;
mod inspect;
mod lines;
mod location;
mod markup;
mod reader;
mod unpacking;

pub use inspect::inspect_sitemap;
pub use location::Location;
pub use reader::Reader;

use encoding_rs::Encoding;

/// Bytes of a `<lastmod>`, `<changefreq>` or `<priority>`; a longer one counts as none. A date with all its parts has 35.
pub const MAX_HINT_BYTES: usize = 64;

/// Bytes of URLs and hints that are kept of one sitemap; it ends there ([`End::TooMuchText`]). 50,000 URLs of 335 bytes:
/// real ones have about 100.
pub const MAX_KEPT_BYTES: usize = 16 << 20;

/// Limits of one sitemap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Entries that are taken; at one more it ends.
    pub max_entries: usize,
    /// Bytes that are read, after decompression.
    pub max_bytes: u64,
    /// Bytes of an entry's URL; an entry with a longer one is invalid.
    pub max_url_bytes: usize,
    /// Take text lists and feeds too. (Else only what says by its root element that it is a sitemap.)
    pub is_expected: bool,
}

impl Default for Settings {
    /// The protocol's 50,000 entries and 50 MiB, URLs of 8 KiB, a sitemap expected.
    fn default() -> Settings {
        Settings { max_entries: 50_000, max_bytes: 50 << 20, max_url_bytes: 8 << 10, is_expected: true }
    }
}

/// What a sitemap is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `<urlset>`
    UrlSet,
    /// `<sitemapindex>`: its entries are sitemaps.
    Index,
    /// `<rss>` (2.0) or `<rdf:RDF>` (1.0)
    Rss,
    /// `<feed>`
    Atom,
    /// A URL a line.
    Text,
}

impl Format {
    /// Its name in what `inspect` prints.
    pub fn name(self) -> &'static str {
        match self {
            Format::UrlSet => "urlset",
            Format::Index => "sitemapindex",
            Format::Rss => "rss",
            Format::Atom => "atom",
            Format::Text => "text",
        }
    }
}

/// How the reading of a sitemap ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was read to the end of its root element, or its last line.
    Complete,
    /// It is something else.
    NotASitemap,
    /// The body ended before the root element did.
    Unfinished,
    /// It has more than [`Settings::max_entries`].
    TooManyEntries,
    /// It is longer than [`Settings::max_bytes`].
    TooLarge,
    /// Its entries are longer than [`MAX_KEPT_BYTES`].
    TooMuchText,
    /// Its gzip is broken, or ends too soon.
    BadGzip,
    /// It is no XML from some place on, or has a tag, comment or CDATA section of more than a MiB.
    Malformed,
}

impl End {
    /// Its name: in what `inspect` prints, and in the annotation of `crawl.log`.
    pub fn name(self) -> &'static str {
        match self {
            End::Complete => "complete",
            End::NotASitemap => "not_a_sitemap",
            End::Unfinished => "unfinished",
            End::TooManyEntries => "too_many_entries",
            End::TooLarge => "too_large",
            End::TooMuchText => "too_much_text",
            End::BadGzip => "bad_gzip",
            End::Malformed => "malformed",
        }
    }
}

/// One entry, as it is written, without white space around. Nothing is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The URL; it may be relative, or none.
    pub url: String,
    /// When it was changed. In a feed: the date of the item.
    pub lastmod: Option<String>,
    /// How often it changes.
    pub changefreq: Option<String>,
    /// How much it matters among the site's pages.
    pub priority: Option<String>,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Sitemap {
    /// What it is written in; `None` where it is none.
    pub format: Option<Format>,
    /// Its entries, in their order.
    pub entries: Vec<Entry>,
    /// Entries whose URL is missing, too long, or not to be read.
    pub invalid: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Whether it was compressed.
    pub is_gzip: bool,
    /// Its encoding; `None` where it ended before that was known.
    pub encoding: Option<&'static Encoding>,
    kept_bytes: usize,
}

impl Sitemap {
    /// Whether its entries are sitemaps.
    pub fn is_index(&self) -> bool {
        self.format == Some(Format::Index)
    }

    /// Takes in an entry, if there is room.
    fn add(&mut self, entry: Entry, settings: &Settings) -> Result<(), End> {
        if self.entries.len() >= settings.max_entries {
            return Err(End::TooManyEntries);
        }
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.kept_bytes +=
            entry.url.len() + length(&entry.lastmod) + length(&entry.changefreq) + length(&entry.priority);
        if self.kept_bytes > MAX_KEPT_BYTES {
            return Err(End::TooMuchText);
        }
        self.entries.push(entry);
        Ok(())
    }
}

/// White space, and the mark that is no character within a text.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

#[cfg(test)]
mod tests;
