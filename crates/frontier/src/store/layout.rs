//! What stands in a partition's store: keys, values, and the changes that a merge makes of them.
//!
//! One tree with prefixed keys, because a batch is atomic within one tree only:
//!
//! ```text
//! "d" due:u64be host          -> ""                       hosts with work, by when they may be asked
//! "h" host                    -> merge, host state and queue length; the same before that merge
//! "m"                         -> covered sequence, books, counts: written alone, after everything that it covers
//! "q" host 0 merge:u64be part:u32be -> queue block: keys and referrers
//! "s" key                     -> record
//! ```

use crate::Millis;
use crate::books::Books;
use crate::journal::Sequence;
use crate::record::{BlockNumber, HostState, Record};
use crate::wire::{Reader, WireError, Writer};

/// Name of a queue block within its host: the merge that wrote it, and which part of that merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockId {
    pub(crate) number: BlockNumber,
    pub(crate) part: u32,
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

/// A URL's record with its alternate fetch URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub(crate) record: Record,
    pub(crate) alternate: Option<String>,
}

/// A host as it was at the last merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredHost {
    pub(crate) state: HostState,
    /// Unfinished URLs.
    pub(crate) queued: u64,
}

impl StoredHost {
    /// When it is listed in the due-time index; `None` without work.
    pub(crate) fn due(&self) -> Option<Millis> {
        (self.queued > 0).then(|| self.state.due())
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
}

/// One change to the store; made by the functions below, so that only this file knows the keys.
pub(crate) struct Change {
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
}

/// Sets a URL's record.
pub(crate) fn put_record(key: &str, record: &Record, alternate: Option<&str>) -> Change {
    let mut out = Writer::default();
    record.encode(&mut out);
    out.optional_text(alternate);
    Change { key: seen_key(key), value: Some(out.into_bytes()) }
}

/// Sets a host's record, and keeps beside it what it was `before`: a length is relative, so a merge that never came to
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
    out.varint(host.queued);
}

pub(super) fn decode_host(value: &[u8], covered: Sequence) -> Result<Option<StoredHost>, WireError> {
    let mut input = Reader::new(value);
    let number: BlockNumber = input.varint()?;
    let stored = decode_one_host(&mut input)?;
    let before = if input.byte()? == 1 { Some(decode_one_host(&mut input)?) } else { None };
    Ok(if number <= covered { Some(stored) } else { before })
}

fn decode_one_host(input: &mut Reader<'_>) -> Result<StoredHost, WireError> {
    Ok(StoredHost { state: HostState::decode(input)?, queued: input.varint()? })
}

/// Lists a host in the due-time index, or takes it off.
pub(crate) fn set_due(host: &str, due: Millis, listed: bool) -> Change {
    Change { key: due_key(due, host), value: listed.then(Vec::new) }
}

/// Writes a block, or removes it when it is empty.
pub(crate) fn put_block(host: &str, id: BlockId, block: &Block) -> Change {
    let value = (!block.0.is_empty()).then(|| encode_block(host, block));
    Change { key: block_key(host, id), value }
}

pub(super) fn decode_covered(value: &[u8]) -> Result<Covered, WireError> {
    let mut input = Reader::new(value);
    Ok(Covered {
        sequence: input.varint()?,
        hosts: input.varint()?,
        scheduled: input.varint()?,
        books: Books::decode(&mut input)?,
    })
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
    let mut key = prefixed(b'q', host.as_bytes(), 13);
    key.push(0);
    key.extend_from_slice(&id.number.to_be_bytes());
    key.extend_from_slice(&id.part.to_be_bytes());
    key
}

pub(super) fn parse_block_id(key: &[u8]) -> Option<BlockId> {
    let (_, id) = key.split_last_chunk::<12>()?;
    let (number, part) = id.split_first_chunk::<8>()?;
    Some(BlockId { number: u64::from_be_bytes(*number), part: u32::from_be_bytes(part.try_into().ok()?) })
}

pub(super) fn prefixed(prefix: u8, bytes: &[u8], more: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + bytes.len() + more);
    key.push(prefix);
    key.extend_from_slice(bytes);
    key
}

/// Keys without their host, referrers only where they differ from the one before: sled compresses the rest.
pub(super) fn encode_block(host: &str, block: &Block) -> Vec<u8> {
    let mut out = Writer::default();
    let mut previous = None;
    for item in &block.0 {
        out.text(&item.key[host.len()..]);
        let same = item.referrer.as_deref() == previous;
        out.byte(u8::from(!same));
        if !same {
            out.optional_text(item.referrer.as_deref());
            previous = item.referrer.as_deref();
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
