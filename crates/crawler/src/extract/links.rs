//! The links of one page, each different text once: one text buffer, one record per link.
//!
//! Not a set of URLs: texts are compared byte by byte, unresolved. Invariant: a text that is
//! already there costs a hash and a comparison, and no allocation.

use super::kinds::{LinkKind, Source};
use super::rules::has_word;
use ahash::RandomState;

/// One link of a page, as it was written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    /// The attribute's value with character references decoded, and without its fragment
    /// unless `Settings::keep_fragments`. Empty for a link to the page itself.
    pub raw: &'a str,
    /// Where it was found.
    pub source: Source,
    /// That element's `rel` attribute, cut at [`MAX_REL_BYTES`].
    pub rel: Option<&'a str>,
    /// `rel` contains `nofollow`.
    pub nofollow: bool,
}

impl Link<'_> {
    /// Whether the page says that this is the URL it wants to be known by.
    pub fn is_canonical(&self) -> bool {
        self.source.kind == LinkKind::Link && self.rel.is_some_and(|rel| has_word(rel, "canonical"))
    }
}

/// Bytes of a `rel` attribute that are kept.
pub const MAX_REL_BYTES: usize = 256;

/// What became of a link that was offered to [`Links::add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    New,
    Duplicate,
    /// New, but the page has as many as it may have.
    OverCap,
}

#[derive(Debug, Clone)]
pub(super) struct Links {
    text: String,
    records: Vec<Record>,
    /// Open addressing over `records`: 0 is free, else the index plus one. The length is a
    /// power of two and at least twice the number of records.
    slots: Vec<u32>,
    hashes: RandomState,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    hash: u64,
    raw: Span,
    rel: Option<Span>,
    source: Source,
    nofollow: bool,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
}

impl Links {
    pub(super) fn new() -> Links {
        Links { text: String::new(), records: Vec::new(), slots: vec![0; 128], hashes: RandomState::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Link<'_>> {
        self.records.iter().map(|record| Link {
            raw: self.span(record.raw),
            source: record.source,
            rel: record.rel.map(|rel| self.span(rel)),
            nofollow: record.nofollow,
        })
    }

    /// Adds `link` unless its text is there. The first occurrence is the one that is kept,
    /// in its place, except that a followable one takes over from a `nofollow` one: a URL is
    /// followable if any of its links is.
    pub(super) fn add(&mut self, link: Link<'_>, cap: usize) -> Added {
        let hash = self.hashes.hash_one(link.raw);
        let mut at = self.home(hash);
        while let Some(index) = self.slots[at].checked_sub(1) {
            let record = self.records[index as usize];
            if record.hash == hash && self.span(record.raw) == link.raw {
                if record.nofollow && !link.nofollow {
                    self.take_over(index as usize, link);
                }
                return Added::Duplicate;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        let text_bytes = self.text.len() + link.raw.len() + MAX_REL_BYTES;
        if self.records.len() >= cap || u32::try_from(text_bytes).is_err() {
            return Added::OverCap;
        }
        let raw = self.store(link.raw);
        let rel = self.store_rel(link.rel);
        self.records.push(Record { hash, raw, rel, source: link.source, nofollow: link.nofollow });
        self.slots[at] = self.records.len() as u32;
        if self.records.len() * 2 > self.slots.len() {
            self.grow();
        }
        Added::New
    }

    fn take_over(&mut self, index: usize, link: Link<'_>) {
        let rel = self.store_rel(link.rel);
        let record = &mut self.records[index];
        record.source = link.source;
        record.rel = rel;
        record.nofollow = false;
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for index in 0..self.records.len() {
            let mut at = self.home(self.records[index].hash);
            while self.slots[at] != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = index as u32 + 1;
        }
    }

    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn store(&mut self, text: &str) -> Span {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        Span { start, len: text.len() as u32 }
    }

    fn store_rel(&mut self, rel: Option<&str>) -> Option<Span> {
        rel.map(|rel| self.store(&rel[..rel.floor_char_boundary(MAX_REL_BYTES)]))
    }

    fn span(&self, span: Span) -> &str {
        &self.text[span.start as usize..][..span.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link<'a>(raw: &'a str, rel: Option<&'static str>) -> Link<'a> {
        Link { raw, source: Source::new(LinkKind::A, "a", "href"), rel, nofollow: rel == Some("nofollow") }
    }

    #[test]
    fn each_text_is_kept_once_in_order_of_appearance() {
        let mut links = Links::new();
        for round in 0..2 {
            for number in 0..1_000 {
                let added = links.add(link(&number.to_string(), None), 1_000);
                let want = if round == 0 { Added::New } else { Added::Duplicate };
                assert_eq!(added, want, "{number}");
            }
        }
        assert_eq!(links.add(link("one more", None), 1_000), Added::OverCap);
        let raws: Vec<String> = links.iter().map(|link| link.raw.to_owned()).collect();
        let want: Vec<String> = (0..1_000).map(|number: u32| number.to_string()).collect();
        assert_eq!(raws, want);
    }

    #[test]
    fn a_followable_link_takes_over_from_a_nofollow_one() {
        let mut links = Links::new();
        links.add(link("a", Some("nofollow")), 9);
        links.add(link("b", Some("next")), 9);
        links.add(link("b", Some("nofollow")), 9);
        links.add(link("a", Some("prev")), 9);
        let got: Vec<Link<'_>> = links.iter().collect();
        assert_eq!(got, [link("a", Some("prev")), link("b", Some("next"))]);
    }

    #[test]
    fn a_long_rel_is_cut_at_a_character() {
        let mut links = Links::new();
        let rel = "\u{20ac}".repeat(200);
        links.add(Link { rel: Some(&rel), ..link("a", None) }, 9);
        let kept = links.iter().next().and_then(|link| link.rel).map(str::len);
        assert_eq!(kept, Some(255));
    }
}
