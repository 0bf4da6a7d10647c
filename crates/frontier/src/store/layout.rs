//! What stands in a partition's store: keys, values, and the changes that a merge makes of them.
//!
//! One tree with prefixed keys, because a batch is atomic within one tree only:
//!
//! ```text
//! "d" due:u64be host          -> ""                       hosts with work, by when they may be asked
//! "h" host                    -> merge, host state and counts; the same before that merge
//! "m"                         -> covered sequence, counts, books, block files: written alone, after what it covers
//! "q" host 0 class:u8 merge:u64be part:u32be -> where that queue block is: file, chunk, size (`blocks`)
//! "r" due:u32be key           -> ""                       pages that are due again, in seconds (`revisits`)
//! "s" key                     -> record
//! "t" host ) origin           -> what robots.txt of the origin says
//! ```

use super::blocks::Files;
use crate::Millis;
use crate::books::Books;
use crate::found::Priority;
use crate::journal::Sequence;
use crate::record::{BlockNumber, Counts, HostState, Record, State};
use crate::robots::RobotsMemory;
use crate::wire::{Reader, WireError, Writer};

/// Name of a queue block within its host: the class of its URLs, the merge that wrote it, and which part of that merge.
/// In the order in which they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockId {
    pub(crate) priority: Priority,
    pub(crate) number: BlockNumber,
    pub(crate) part: u32,
}

impl BlockId {
    /// Before all blocks of a class; no merge has this number.
    pub(crate) fn before(priority: Priority) -> Self {
        Self { priority, number: 0, part: 0 }
    }
}

/// A queue block: URLs of one host in the order in which they are to be fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Block(pub(crate) Vec<BlockItem>);

/// One URL of a block. Its record says the rest, and whether it still stands here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockItem {
    pub(crate) key: String,
    pub(crate) referrer: Option<String>,
}

/// A URL's record with its alternate fetch URL, and what its last visit left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub(crate) record: Record,
    pub(crate) alternate: Option<String>,
    /// What is remembered of the last visit.
    pub(crate) trace: Option<String>,
}

/// A host as it was at the last merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredHost {
    pub(crate) state: HostState,
    pub(crate) counts: Counts,
}

impl StoredHost {
    /// When it is listed in the due-time index; `None` without work.
    pub(crate) fn due(&self) -> Option<Millis> {
        (self.counts.queued > 0).then(|| self.state.due())
    }
}

/// What the store covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) sequence: Sequence,
    pub(crate) books: Books,
    /// Hosts with a record.
    pub(crate) hosts: u64,
    /// Hosts in the due-time index.
    pub(crate) scheduled: u64,
    /// Forgotten URLs to which the filter of that moment says maybe.
    pub(crate) stale_keys: u64,
}

/// One change to the store; made by the functions below, so that only this file knows the keys.
pub(crate) struct Change {
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
}

/// Sets a URL's record.
pub(crate) fn put_record(key: &str, record: &Record, alternate: Option<&str>, trace: Option<&str>) -> Change {
    let mut out = Writer::default();
    record.encode(&mut out);
    out.optional_text(alternate);
    // Not a byte where there is none.
    if let Some(trace) = trace {
        out.text(trace);
    }
    Change { key: seen_key(key), value: Some(out.into_bytes()) }
}

/// The state and the depth that a record names, without reading the rest of it.
pub(super) fn state_and_depth(value: &[u8]) -> Result<(State, u16), WireError> {
    let mut input = Reader::new(value);
    Ok((State::from_byte(input.byte()?)?, input.narrow()?))
}

/// Sets what robots.txt of an origin says.
pub(crate) fn put_robots(origin: &str, memory: &RobotsMemory) -> Change {
    let mut out = Writer::default();
    memory.encode(&mut out);
    Change { key: robots_key(origin), value: Some(out.into_bytes()) }
}

/// Removes a URL's record.
pub(crate) fn remove_record(key: &str) -> Change {
    Change { key: seen_key(key), value: None }
}

/// Sets a host's record, and keeps beside it what it was `before`: counts are relative, so a merge that never came to
/// its end (one above the covered sequence) must not count.
pub(crate) fn put_host(host: &str, number: BlockNumber, stored: &StoredHost, before: Option<&StoredHost>) -> Change {
    let mut out = Writer::default();
    out.varint(number);
    encode_host(&mut out, stored);
    out.byte(u8::from(before.is_some()));
    if let Some(before) = before {
        encode_host(&mut out, before);
    }
    Change { key: host_key(host), value: Some(out.into_bytes()) }
}

fn encode_host(out: &mut Writer, host: &StoredHost) {
    host.state.encode(out);
    host.counts.encode(out);
}

pub(super) fn decode_record(value: &[u8]) -> Result<StoredRecord, WireError> {
    let mut input = Reader::new(value);
    let record = Record::decode(&mut input)?;
    let alternate = input.optional_text()?.map(str::to_owned);
    let trace = if input.is_empty() { None } else { Some(input.text()?.to_owned()) };
    Ok(StoredRecord { record, alternate, trace })
}

pub(super) fn decode_host(value: &[u8], covered: Sequence) -> Result<Option<StoredHost>, WireError> {
    let mut input = Reader::new(value);
    let number: BlockNumber = input.varint()?;
    let stored = decode_one_host(&mut input)?;
    let before = if input.byte()? == 1 { Some(decode_one_host(&mut input)?) } else { None };
    Ok(if number <= covered { Some(stored) } else { before })
}

fn decode_one_host(input: &mut Reader<'_>) -> Result<StoredHost, WireError> {
    Ok(StoredHost { state: HostState::decode(input)?, counts: Counts::decode(input)? })
}

/// Lists a host in the due-time index, or takes it off.
pub(crate) fn set_due(host: &str, due: Millis, listed: bool) -> Change {
    Change { key: due_key(due, host), value: listed.then(Vec::new) }
}

pub(super) fn encode_covered(covered: &Covered, files: &Files) -> Vec<u8> {
    let mut out = Writer::default();
    out.varint(covered.sequence);
    out.varint(covered.hosts);
    out.varint(covered.scheduled);
    out.varint(covered.stale_keys);
    covered.books.encode(&mut out);
    files.encode(&mut out);
    out.into_bytes()
}

pub(super) fn decode_covered(value: &[u8]) -> Result<(Covered, Files), WireError> {
    let mut input = Reader::new(value);
    let covered = Covered {
        sequence: input.varint()?,
        hosts: input.varint()?,
        scheduled: input.varint()?,
        stale_keys: input.varint()?,
        books: Books::decode(&mut input)?,
    };
    Ok((covered, Files::decode(&mut input)?))
}

pub(super) fn robots_key(origin: &str) -> Vec<u8> {
    prefixed(b't', origin.as_bytes(), 0)
}

pub(super) fn seen_key(key: &str) -> Vec<u8> {
    prefixed(b's', key.as_bytes(), 0)
}

pub(super) fn host_key(host: &str) -> Vec<u8> {
    prefixed(b'h', host.as_bytes(), 0)
}

pub(super) fn due_key(due: Millis, host: &str) -> Vec<u8> {
    let mut key = prefixed(b'd', &due.to_be_bytes(), host.len() + 1);
    key.extend_from_slice(host.as_bytes());
    key
}

pub(super) fn block_key(host: &str, id: BlockId) -> Vec<u8> {
    let mut key = prefixed(b'q', host.as_bytes(), 14);
    key.extend_from_slice(&[0, id.priority.class()]);
    key.extend_from_slice(&id.number.to_be_bytes());
    key.extend_from_slice(&id.part.to_be_bytes());
    key
}

pub(super) fn parse_block_id(key: &[u8]) -> Option<BlockId> {
    let (_, [class, id @ ..]) = key.split_last_chunk::<13>()?;
    let (number, part) = id.split_first_chunk::<8>()?;
    let priority = Priority::new((*class).into());
    Some(BlockId { priority, number: u64::from_be_bytes(*number), part: u32::from_be_bytes(part.try_into().ok()?) })
}

pub(super) fn prefixed(prefix: u8, bytes: &[u8], more: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + bytes.len() + more);
    key.push(prefix);
    key.extend_from_slice(bytes);
    key
}

/// The items of a block, keys and referrers: keys without their host, referrers only where they differ from the one before.
pub(crate) fn encode_items<'a>(host: &str, items: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Vec<u8> {
    let mut out = Writer::default();
    let mut previous = None;
    for (key, referrer) in items {
        out.text(&key[host.len()..]);
        let same = referrer == previous;
        out.byte(u8::from(!same));
        if !same {
            out.optional_text(referrer);
            previous = referrer;
        }
    }
    out.into_bytes()
}

pub(super) fn decode_block(host: &str, value: &[u8]) -> Result<Block, WireError> {
    let mut input = Reader::new(value);
    let mut items: Vec<BlockItem> = Vec::new();
    while !input.is_empty() {
        let key = format!("{host}{}", input.text()?);
        let referrer = match input.byte()? {
            0 => items.last().and_then(|item| item.referrer.clone()),
            _ => input.optional_text()?.map(str::to_owned),
        };
        items.push(BlockItem { key, referrer });
    }
    Ok(Block(items))
}
