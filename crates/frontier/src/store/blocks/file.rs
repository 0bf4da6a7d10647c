//! The format of a block file: the queue blocks that one merge wrote, sorted by host and by their order in its queue.
//!
//! ```text
//! file    "crawldqb" | version u32 = 1 | crc32 u32 of the twelve bytes before | chunks
//! chunk   stored u32 | raw u32 | crc32 u32 | stored bytes
//! raw     blocks: host | class | merge | part | items, each item a key without its host and a referrer
//! ```
//! Numbers of fixed size are little-endian; inside the raw bytes they are varints, and texts and items bear their length
//! (`wire`). The stored bytes are the raw ones compressed by zstd, or as they are where that does not pay (then both
//! lengths are the same). A chunk's checksum goes over the number of its file, its offset in it, both lengths and the
//! stored bytes, so that what was written elsewhere is not taken for it. Chunks hold whole blocks, many small ones of
//! neighbouring hosts or a few of one: small enough to be read for one block, large enough to compress well.
//!
//! Not the disk (`disk`). Invariant: bytes that are not as they were written are an error, never a panic and never a block.

use std::borrow::Cow;
use std::io;

use crate::found::Priority;
use crate::store::layout::BlockId;
use crate::wire::{Reader, WireError, Writer};

const MAGIC: &[u8; 8] = b"crawldqb";
const VERSION: u32 = 1;
const HEADER: usize = 16;
const CHUNK_HEADER: usize = 12;
/// Raw bytes at which a chunk is closed.
const CHUNK_BYTES: usize = 16 << 10;
/// Raw bytes of a chunk that is compressed at most: no damaged length asks for more memory than this.
const MAX_COMPRESSED: usize = 1 << 28;
/// Keys of one host compress tenfold at any level; this is the fastest.
const LEVEL: i32 = 1;

/// A block as its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawBlock<'a> {
    pub(crate) host: Cow<'a, str>,
    pub(crate) id: BlockId,
    pub(crate) items: Cow<'a, [u8]>,
}

/// Where a chunk is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// The bytes of file `number`, and for each block the chunk that holds it.
pub(super) fn encode(number: u64, blocks: &[RawBlock<'_>]) -> io::Result<(Vec<u8>, Vec<Extent>)> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    let mut out = Vec::from(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend(crc32fast::hash(&out).to_le_bytes());
    let (mut extents, mut chunk) = (Vec::with_capacity(blocks.len()), Writer::default());
    for (i, block) in blocks.iter().enumerate() {
        chunk.text(&block.host);
        chunk.byte(block.id.priority.class());
        chunk.varint(block.id.number);
        chunk.varint(u64::from(block.id.part));
        chunk.bytes(&block.items);
        if chunk.len() >= CHUNK_BYTES || i + 1 == blocks.len() {
            let raw = std::mem::take(&mut chunk).into_bytes();
            let extent = push_chunk(number, &raw, &mut compressor, &mut out)?;
            extents.resize(i + 1, extent);
        }
    }
    Ok((out, extents))
}

fn push_chunk(
    number: u64,
    raw: &[u8],
    compressor: &mut zstd::bulk::Compressor<'_>,
    out: &mut Vec<u8>,
) -> io::Result<Extent> {
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a queue block of more than 4 GiB");
    let offset = out.len() as u64;
    let compressed = if raw.len() <= MAX_COMPRESSED { compressor.compress(raw)? } else { raw.to_vec() };
    let stored = if compressed.len() < raw.len() { &compressed } else { raw };
    let lengths = [u32::try_from(stored.len()).map_err(too_long)?, u32::try_from(raw.len()).map_err(too_long)?];
    let length = u32::try_from(CHUNK_HEADER + stored.len()).map_err(too_long)?;
    lengths.iter().for_each(|length| out.extend(length.to_le_bytes()));
    out.extend(checksum(number, offset, lengths, stored).to_le_bytes());
    out.extend(stored);
    Ok(Extent { offset, length })
}

fn checksum(number: u64, offset: u64, lengths: [u32; 2], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&offset.to_le_bytes());
    lengths.iter().for_each(|length| hasher.update(&length.to_le_bytes()));
    hasher.update(stored);
    hasher.finalize()
}

/// The raw bytes of the chunk at the front of `bytes`, and the chunk's length.
pub(super) fn decode_chunk(number: u64, offset: u64, bytes: &[u8]) -> Result<(Vec<u8>, usize), WireError> {
    let (header, rest) = bytes.split_at_checked(CHUNK_HEADER).ok_or(WireError("block chunk ends early"))?;
    let field = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (lengths, crc) = ([field(0), field(4)], field(8));
    let [stored_length, raw_length] = lengths.map(|length| length as usize);
    let stored = rest.get(..stored_length).ok_or(WireError("block chunk ends early"))?;
    if checksum(number, offset, lengths, stored) != crc {
        return Err(WireError("block chunk with a wrong checksum"));
    }
    let raw = match () {
        () if stored_length == raw_length => stored.to_vec(),
        () if raw_length > MAX_COMPRESSED => return Err(WireError("block chunk too long")),
        () => zstd::bulk::decompress(stored, raw_length).map_err(|_| WireError("block chunk does not decompress"))?,
    };
    let is_whole = raw.len() == raw_length;
    if is_whole { Ok((raw, CHUNK_HEADER + stored_length)) } else { Err(WireError("block chunk of another length")) }
}

/// The blocks of a chunk's raw bytes.
pub(super) fn blocks(raw: &[u8]) -> impl Iterator<Item = Result<RawBlock<'_>, WireError>> {
    let mut input = Reader::new(raw);
    std::iter::from_fn(move || {
        if input.is_empty() {
            return None;
        }
        let block = next_block(&mut input);
        if block.is_err() {
            input = Reader::new(&[]);
        }
        Some(block)
    })
}

fn next_block<'a>(input: &mut Reader<'a>) -> Result<RawBlock<'a>, WireError> {
    let host = Cow::Borrowed(input.text()?);
    let priority = Priority::new(input.byte()?.into());
    let id = BlockId { priority, number: input.varint()?, part: input.narrow()? };
    Ok(RawBlock { host, id, items: Cow::Borrowed(input.bytes()?) })
}

/// All blocks of a whole file, each with its chunk.
pub(super) fn decode(number: u64, bytes: &[u8]) -> Result<Vec<(Extent, RawBlock<'static>)>, WireError> {
    let (header, _) = bytes.split_at_checked(HEADER).ok_or(WireError("block file ends early"))?;
    let (known, crc) = header.split_at(HEADER - 4);
    if known[..8] != *MAGIC || crc != crc32fast::hash(known).to_le_bytes() {
        return Err(WireError("not a block file"));
    }
    if known[8..] != VERSION.to_le_bytes() {
        return Err(WireError("block file of another version"));
    }
    let (mut all, mut at) = (Vec::new(), HEADER);
    while at < bytes.len() {
        let (raw, length) = decode_chunk(number, at as u64, &bytes[at..])?;
        let extent = Extent { offset: at as u64, length: length as u32 };
        for block in blocks(&raw) {
            let RawBlock { host, id, items } = block?;
            let (host, items) = (Cow::Owned(host.into_owned()), Cow::Owned(items.into_owned()));
            all.push((extent, RawBlock { host, id, items }));
        }
        at += length;
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
