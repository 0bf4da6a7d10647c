//! A partition's recent URLs and changes: what the journal holds and the store does not yet.
//!
//! Two generations: the *active* one takes every new event; the *frozen* one, while a merge writes it to the store, only
//! answers. What memory says of a URL overrides what the store says.

use ahash::AHashMap;

use crate::event::{Change, NewUrl};
use crate::fingerprint::Fingerprint;
use crate::journal::Sequence;
use crate::record::{Record, State};

/// Where an unfinished URL stands in its host's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the host's tail in memory, in this place of the order.
    Tail(Order),
    /// In the store's block `record.block`.
    Block,
    /// Finished: nowhere.
    None,
}

/// When a URL was queued: the number of the event, and the place within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    pub(crate) sequence: Sequence,
    pub(crate) place: u32,
}

/// One URL of a generation. Its texts lie in the generation's arena.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) record: Record,
    pub(crate) place: Place,
    key: Span,
    alternate: Span,
    referrer: Span,
}

/// A text in the arena; an empty one stands for "none" (no key or URL is empty).
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: u32,
    length: u32,
}

/// One generation of a partition's memory.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    entries: AHashMap<Fingerprint, Entry>,
    arena: String,
    /// The last referrer written: a page's new URLs share one copy.
    last_referrer: Span,
}

impl Generation {
    pub(crate) fn get(&self, fingerprint: Fingerprint) -> Option<&Entry> {
        self.entries.get(&fingerprint)
    }

    /// Bytes in use, as far as they grow with the number of URLs.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len() + self.entries.len() * (size_of::<(Fingerprint, Entry)>() * 8 / 7 + 1)
    }

    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        self.entries.keys().copied()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (Fingerprint, &Entry)> {
        self.entries.iter().map(|(fingerprint, entry)| (*fingerprint, entry))
    }

    pub(crate) fn key(&self, entry: &Entry) -> &str {
        self.text(entry.key)
    }

    pub(crate) fn alternate(&self, entry: &Entry) -> Option<&str> {
        Some(self.text(entry.alternate)).filter(|text| !text.is_empty())
    }

    pub(crate) fn referrer(&self, entry: &Entry) -> Option<&str> {
        Some(self.text(entry.referrer)).filter(|text| !text.is_empty())
    }

    /// Takes in a new URL.
    pub(crate) fn insert_new(
        &mut self,
        fingerprint: Fingerprint,
        url: &NewUrl<'_>,
        referrer: Option<&str>,
        first_seen_secs: u32,
        order: Order,
    ) {
        let record = Record {
            state: State::Queued,
            depth: url.depth,
            attempts: 0,
            starts: 0,
            status: 0,
            first_seen_secs,
            block: 0,
        };
        let change = Change { key: url.key, alternate: url.alternate, referrer, record };
        self.put(fingerprint, &change, Place::Tail(order));
    }

    /// Takes in the new record of a known URL.
    pub(crate) fn put(&mut self, fingerprint: Fingerprint, change: &Change<'_>, place: Place) {
        // Only an entry that will be written to a block needs its referrer; a block's items carry their own.
        let referrer = match (place, change.referrer) {
            (Place::Tail(_), Some(text)) => self.store_referrer(text),
            _ => Span::default(),
        };
        if let Some(entry) = self.entries.get_mut(&fingerprint) {
            *entry = Entry { record: change.record, place, referrer, ..*entry };
            return;
        }
        let key = self.store(change.key);
        let alternate = change.alternate.map_or(Span::default(), |text| self.store(text));
        self.entries.insert(fingerprint, Entry { record: change.record, place, key, alternate, referrer });
    }

    /// Whether another URL of some length still fits: offsets are 32 bits.
    pub(crate) fn is_full(&self) -> bool {
        self.arena.len() > u32::MAX as usize / 2
    }

    fn text(&self, span: Span) -> &str {
        &self.arena[span.start as usize..(span.start + span.length) as usize]
    }

    fn store(&mut self, text: &str) -> Span {
        let span = Span { start: self.arena.len() as u32, length: text.len() as u32 };
        self.arena.push_str(text);
        span
    }

    fn store_referrer(&mut self, text: &str) -> Span {
        if self.text(self.last_referrer) != text {
            self.last_referrer = self.store(text);
        }
        self.last_referrer
    }
}
