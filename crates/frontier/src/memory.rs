//! A partition's recent URLs and changes: what the journal holds and the store does not yet.
//!
//! Two generations: the *active* one takes every new event; the *frozen* one, while a merge writes it to the store, only
//! answers. What memory says of a URL overrides what the store says.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::event::{Change, NewUrl};
use crate::fingerprint::Fingerprint;
use crate::journal::Sequence;
use crate::record::{Record, State};
use crate::robots::RobotsMemory;

/// Where an unfinished URL stands in its host's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the host's tail in memory, in this place of the order.
    Tail(Order),
    /// In the store's block `record.block`.
    Block,
    /// Finished: nowhere.
    None,
    /// Forgotten: the URL counts as never seen, whatever the store says.
    Forgotten {
        /// Whether the filter may still say maybe to it.
        stale: bool,
    },
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
    trace: Span,
}

impl Entry {
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self.place, Place::Forgotten { .. })
    }
}

/// Of an entry: itself and its key in the map, the map's hash and index of it at a usual load, and its place in the tail of
/// its host's queue, the same.
const ENTRY_BYTES: usize =
    size_of::<(Fingerprint, Entry)>() + 4 * size_of::<usize>() + size_of::<(Fingerprint, Order)>() * 3 / 2;

/// A text in the arena; an empty one stands for "none" (no key, URL or trace is empty). Packed: each entry has four.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(2))]
struct Span {
    start: u32,
    length: u16,
}

/// Texts in pieces that never move: one that grew as a whole would, while it is copied, take three times what is in it.
#[derive(Debug, Default)]
struct Arena {
    pieces: Vec<String>,
    bytes: usize,
}

/// Bytes of a piece: the longest text fits, and 16 bits say where in it a text begins.
const PIECE: usize = 1 << 16;

impl Arena {
    fn text(&self, span: Span) -> &str {
        let (piece, start) = (span.start as usize / PIECE, span.start as usize % PIECE);
        // The empty span is of no piece.
        self.pieces.get(piece).map_or("", |piece| &piece[start..start + usize::from(span.length)])
    }

    fn push(&mut self, text: &str) -> Span {
        let length = u16::try_from(text.len()).expect("keys, URLs and traces are bounded, far below 64 KiB");
        if self.pieces.last().is_none_or(|piece| piece.len() + text.len() > PIECE) {
            self.pieces.push(String::with_capacity(PIECE));
        }
        let last = self.pieces.len() - 1;
        let span = Span { start: (last * PIECE + self.pieces[last].len()) as u32, length };
        self.pieces[last].push_str(text);
        self.bytes += text.len();
        span
    }
}

/// One generation of a partition's memory.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    /// In the order in which they came; dense, where a plain map leaves up to half of its places empty.
    entries: IndexMap<Fingerprint, Entry, ahash::RandomState>,
    arena: Arena,
    /// The last referrer written: a page's new URLs share one copy.
    last_referrer: Span,
    /// What robots.txt of origins says, by their names, and the bytes of it.
    robots: BTreeMap<Box<str>, RobotsMemory>,
    robots_bytes: usize,
}

impl Generation {
    pub(crate) fn get(&self, fingerprint: Fingerprint) -> Option<&Entry> {
        self.entries.get(&fingerprint)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.robots.is_empty()
    }

    /// URLs that were changed.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes in use, as far as they grow with the number of URLs.
    pub(crate) fn bytes(&self) -> usize {
        self.robots_bytes + self.arena.bytes + self.entries.len() * ENTRY_BYTES
    }

    /// What robots.txt of an origin says.
    pub(crate) fn robots(&self, origin: &str) -> Option<&RobotsMemory> {
        self.robots.get(origin)
    }

    /// The same of all origins that are in here.
    pub(crate) fn all_robots(&self) -> impl Iterator<Item = (&str, &RobotsMemory)> {
        self.robots.iter().map(|(origin, memory)| (&**origin, memory))
    }

    /// Takes in what robots.txt of an origin says.
    pub(crate) fn remember_robots(&mut self, origin: &str, memory: RobotsMemory) {
        self.robots_bytes += origin.len() + memory.bytes();
        if let Some(before) = self.robots.insert(origin.into(), memory) {
            self.robots_bytes -= origin.len() + before.bytes();
        }
    }

    /// Everything that was changed, what was forgotten too.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Fingerprint, &Entry)> {
        self.entries.iter().map(|(fingerprint, entry)| (*fingerprint, entry))
    }

    /// The URLs that are known.
    pub(crate) fn known(&self) -> impl Iterator<Item = (Fingerprint, &Entry)> {
        self.entries().filter(|(_, entry)| !entry.is_forgotten())
    }

    /// Says anew of each forgotten URL whether the filter may say maybe to it. Returns how many that are.
    pub(crate) fn set_stale(&mut self, maybe: impl Fn(Fingerprint) -> bool) -> u64 {
        let mut count = 0;
        for (fingerprint, entry) in &mut self.entries {
            if let Place::Forgotten { stale } = &mut entry.place {
                *stale = maybe(*fingerprint);
                count += u64::from(*stale);
            }
        }
        count
    }

    pub(crate) fn key(&self, entry: &Entry) -> &str {
        self.arena.text(entry.key)
    }

    pub(crate) fn alternate(&self, entry: &Entry) -> Option<&str> {
        Some(self.arena.text(entry.alternate)).filter(|text| !text.is_empty())
    }

    pub(crate) fn referrer(&self, entry: &Entry) -> Option<&str> {
        Some(self.arena.text(entry.referrer)).filter(|text| !text.is_empty())
    }

    pub(crate) fn trace(&self, entry: &Entry) -> Option<&str> {
        Some(self.arena.text(entry.trace)).filter(|text| !text.is_empty())
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
        let state = if url.parked { State::Parked } else { State::Queued };
        let NewUrl { priority, sitemap_level, .. } = *url;
        let record = Record { priority, sitemap_level, ..Record::new(state, url.depth, first_seen_secs) };
        let change = Change { key: url.key, alternate: url.alternate, referrer, record, trace: None };
        self.put(fingerprint, &change, if url.parked { Place::None } else { Place::Tail(order) });
    }

    /// Takes in the new record of a known URL.
    pub(crate) fn put(&mut self, fingerprint: Fingerprint, change: &Change<'_>, place: Place) {
        // Only an entry that will be written to a block needs its referrer; a block's items carry their own.
        let referrer = match (place, change.referrer) {
            (Place::Tail(_), Some(text)) => self.store_referrer(text),
            _ => Span::default(),
        };
        let before = self.entries.get(&fingerprint).copied();
        let key = before.map_or_else(|| self.arena.push(change.key), |entry| entry.key);
        // One that was forgotten and is found again is fetched as it was found.
        let alternate = before.filter(|entry| !entry.is_forgotten()).map(|entry| entry.alternate);
        let alternate =
            alternate.unwrap_or_else(|| change.alternate.map_or(Span::default(), |text| self.arena.push(text)));
        let trace = self.store_trace(before.as_ref(), change.trace);
        self.entries.insert(fingerprint, Entry { record: change.record, place, key, alternate, referrer, trace });
    }

    /// Takes in a URL anew: also what is fetched is as the change says.
    pub(crate) fn replace(&mut self, fingerprint: Fingerprint, change: &Change<'_>, place: Place) {
        let alternate = change.alternate.map_or(Span::default(), |text| self.arena.push(text));
        if let Some(entry) = self.entries.get_mut(&fingerprint) {
            entry.alternate = alternate;
        }
        self.put(fingerprint, change, place);
    }

    /// Sets the depth of a URL; false when it is not in here.
    pub(crate) fn lower(&mut self, fingerprint: Fingerprint, depth: u16) -> bool {
        let entry = self.entries.get_mut(&fingerprint);
        entry.map(|entry| entry.record.depth = entry.record.depth.min(depth)).is_some()
    }

    /// Sets the interval of a URL that nobody has visited yet; false when it is not in here.
    pub(crate) fn set_interval(&mut self, fingerprint: Fingerprint, interval_secs: u32) -> bool {
        let entry = self.entries.get_mut(&fingerprint);
        entry.map(|entry| entry.record.interval_secs = interval_secs).is_some()
    }

    /// Whether another URL of some length still fits: offsets are 32 bits.
    pub(crate) fn is_full(&self) -> bool {
        self.arena.pieces.len() * PIECE > u32::MAX as usize / 2
    }

    /// The present one is kept where it says the same: a lease repeats it.
    fn store_trace(&mut self, before: Option<&Entry>, text: Option<&str>) -> Span {
        let Some(text) = text else { return Span::default() };
        match before.map(|entry| entry.trace) {
            Some(span) if self.arena.text(span) == text => span,
            _ => self.arena.push(text),
        }
    }

    fn store_referrer(&mut self, text: &str) -> Span {
        if self.arena.text(self.last_referrer) != text {
            self.last_referrer = self.arena.push(text);
        }
        self.last_referrer
    }
}
