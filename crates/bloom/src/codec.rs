//! One layer as bytes, and back. Not a file: who writes, syncs and renames is the caller.
//!
//! # Format, version 1 (all numbers little-endian)
//! ```text
//! offset  bytes  meaning
//!      0      8  magic "BLOOMLYR"
//!      8      4  format version, 1: cache-line blocks of 8 words of 64 bits
//!     12      4  layer index
//!     16      8  key check: tells the secret that fingerprints are made with
//!     24      8  covered: the caller's sequence number
//!     32      8  design capacity
//!     40      8  error budget (bits of an IEEE 754 double)
//!     48      8  number of inserts
//!     56      8  number of blocks
//!     64      4  CRC-32 of bytes 0 to 63
//!     68      …  chunks: 16,384 blocks of 64 bytes (the last chunk: what is left), then
//!                the CRC-32 of (header CRC, chunk number as 8 bytes, blocks)
//! ```
//! The checksum of a chunk covers header and number too, so a chunk of another layer, or in another place, is damage.
//!
//! Invariant: [`decode`] gives the layer that was encoded, or an error; it never panics, and it allocates no more than the
//! bytes it was given. A checksum finds accidents, not forgery: the bytes are trusted as far as the directory is.

use crc32fast::Hasher;
use thiserror::Error;

use crate::blocked::{BLOCK_BYTES, Block, BlockedFilter};
use crate::layer::Layer;
use crate::sizing::{self, MAX_BLOCKS};

const MAGIC: [u8; 8] = *b"BLOOMLYR";
const VERSION: u32 = 1;
/// Header with its checksum.
const HEADER_BYTES: usize = 68;
const CRC_BYTES: usize = 4;
/// 1 MiB of blocks: damage is located to that, and checked while it is in the cache.
const CHUNK_BLOCKS: usize = 16_384;
const BLOCK_SIZE: usize = BLOCK_BYTES as usize;

/// Why bytes are not a layer of this crawl. In every case the keys in them are lost: answer "maybe" to everything and
/// rebuild from the exact set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes are something else.
    #[error("not a filter layer")]
    NotAFilter,
    /// Written by a later version (or the version number is damaged).
    #[error("filter format version {version} is not known, only {VERSION}")]
    UnknownVersion {
        /// Version found.
        version: u32,
    },
    /// The fingerprints in it were made with another secret, so it knows nothing about ours.
    #[error("filter layer of another secret")]
    ForeignKey,
    /// The end is missing.
    #[error("filter layer cut off at {bytes} of {expected} bytes")]
    Truncated {
        /// Bytes there.
        bytes: u64,
        /// Bytes needed, as far as is known.
        expected: u64,
    },
    /// A part is not what was written.
    #[error("filter layer damaged at byte {offset}: {what}")]
    Damaged {
        /// Start of the damaged part.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// A layer read back, and how far it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The layer.
    pub layer: Layer,
    /// The sequence number given to [`encode`]: all events up to it are in the layer or in an older one.
    pub covered: u64,
}

/// The bytes of a layer. `key_check` tells the secret that the fingerprints were made with without giving it away (for
/// example the hash of a fixed text), `covered` is the caller's sequence number.
#[must_use]
pub fn encode(layer: &Layer, key_check: u64, covered: u64) -> Vec<u8> {
    let blocks = layer.filter().blocks();
    let capacity = encoded_bytes(blocks.len() as u64) as usize; // the blocks are in memory, so it fits
    let mut bytes = Vec::with_capacity(capacity);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&layer.index().to_le_bytes());
    let numbers =
        [key_check, covered, layer.design_capacity(), layer.budget().to_bits(), layer.len(), blocks.len() as u64];
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    let header_crc = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&header_crc.to_le_bytes());
    for (number, chunk) in (0..).zip(blocks.chunks(CHUNK_BLOCKS)) {
        let start = bytes.len();
        for word in chunk.iter().flat_map(|block| block.0) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let crc = chunk_crc(header_crc, number, &bytes[start..]);
        bytes.extend_from_slice(&crc.to_le_bytes());
    }
    bytes
}

/// The layer that these bytes were encoded from, if they were encoded under `key_check` and nothing happened to them.
///
/// # Errors
/// A [`DecodeError`] for anything else. Time and memory are bounded by the number of bytes given.
pub fn decode(bytes: &[u8], key_check: u64) -> Result<Decoded, DecodeError> {
    let header = Header::read(bytes)?;
    if header.key_check != key_check {
        return Err(DecodeError::ForeignKey);
    }
    let expected = encoded_bytes(header.blocks);
    let found = bytes.len() as u64;
    if found < expected {
        return Err(truncated(bytes, expected));
    }
    if found > expected {
        return Err(damaged(expected, "bytes after the end"));
    }
    let blocks = read_blocks(&bytes[HEADER_BYTES..], header.crc)?;
    let filter = BlockedFilter::from_parts(blocks, header.len);
    let Header { index, design_capacity, budget, covered, .. } = header;
    Ok(Decoded { layer: Layer::from_parts(index, design_capacity, budget, filter), covered })
}

/// The header with its numbers checked against each other; the body may still be anything.
struct Header {
    index: u32,
    key_check: u64,
    covered: u64,
    design_capacity: u64,
    budget: f64,
    len: u64,
    blocks: u64,
    crc: u32,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(magic) {
            return Err(DecodeError::NotAFilter);
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(truncated(bytes, HEADER_BYTES as u64));
        };
        let version = u32_at(header, 8);
        if version != VERSION {
            return Err(DecodeError::UnknownVersion { version });
        }
        let crc = u32_at(header, 64);
        if crc != crc32fast::hash(&header[..64]) {
            return Err(damaged(0, "header checksum"));
        }
        let header = Self {
            index: u32_at(header, 12),
            key_check: u64_at(header, 16),
            covered: u64_at(header, 24),
            design_capacity: u64_at(header, 32),
            budget: f64::from_bits(u64_at(header, 40)),
            len: u64_at(header, 48),
            blocks: u64_at(header, 56),
            crc,
        };
        header.check()?;
        Ok(header)
    }

    /// Whether such a layer can have been made: a budget that the size does not keep would break the bound over all.
    fn check(&self) -> Result<(), DecodeError> {
        if self.blocks == 0 || self.blocks > MAX_BLOCKS {
            return Err(damaged(56, "impossible number of blocks"));
        }
        if self.design_capacity == 0 {
            return Err(damaged(32, "design capacity 0"));
        }
        if !(self.budget > 0.0 && self.budget < 1.0) {
            return Err(damaged(40, "error budget not between 0 and 1"));
        }
        // another machine's exponentials may differ in the last digits
        let design_rate = sizing::predicted_rate(self.design_capacity, self.blocks);
        if design_rate > self.budget * (1.0 + 1e-9) {
            return Err(damaged(56, "too few blocks for the error budget"));
        }
        Ok(())
    }
}

/// The blocks of a body whose length fits their number.
fn read_blocks(body: &[u8], header_crc: u32) -> Result<Vec<Block>, DecodeError> {
    let mut blocks = Vec::with_capacity(body.len() / BLOCK_SIZE);
    let chunk_bytes = CHUNK_BLOCKS * BLOCK_SIZE + CRC_BYTES;
    for (number, chunk) in body.chunks(chunk_bytes).enumerate() {
        let damage = damaged((HEADER_BYTES + number * chunk_bytes) as u64, "chunk checksum");
        let (words, crc) = chunk.split_last_chunk::<CRC_BYTES>().ok_or(damage)?;
        if u32::from_le_bytes(*crc) != chunk_crc(header_crc, number as u64, words) {
            return Err(damage);
        }
        blocks.extend(words.as_chunks::<BLOCK_SIZE>().0.iter().map(read_block));
    }
    Ok(blocks)
}

fn read_block(bytes: &[u8; BLOCK_SIZE]) -> Block {
    Block(std::array::from_fn(|word| u64_at(bytes, 8 * word)))
}

/// Bytes that a layer of so many blocks takes. Cannot overflow up to [`MAX_BLOCKS`].
fn encoded_bytes(blocks: u64) -> u64 {
    let chunks = blocks.div_ceil(CHUNK_BLOCKS as u64);
    HEADER_BYTES as u64 + blocks * BLOCK_BYTES + chunks * CRC_BYTES as u64
}

fn chunk_crc(header_crc: u32, number: u64, words: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&header_crc.to_le_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(words);
    hasher.finalize()
}

fn truncated(bytes: &[u8], expected: u64) -> DecodeError {
    DecodeError::Truncated { bytes: bytes.len() as u64, expected }
}

fn damaged(offset: u64, what: &'static str) -> DecodeError {
    DecodeError::Damaged { offset, what }
}

/// The number at `offset`, which is a constant of the format and inside the array.
fn u64_at<const N: usize>(bytes: &[u8; N], offset: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[offset + i]))
}

/// As [`u64_at`].
fn u32_at<const N: usize>(bytes: &[u8; N], offset: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[offset + i]))
}

#[cfg(test)]
mod tests;
