//! One layer as bytes, and back. Not a file: who writes, syncs and renames is the caller.
//!
//! # Format, version 2 (all numbers little-endian)
//! ```text
//! offset  bytes  meaning
//!      0      8  magic "BLOOMLYR"
//!      8      4  format version, 2
//!     12      1  kind of filter
//!     13      1  flags: 1 = saturated (cuckoo), the others 0
//!     14      2  width: bits set by a key, or slots of a bucket
//!     16      4  hash: the function that makes fingerprints of keys
//!     20      4  rules: the version of the rules that make keys of items
//!     24      8  key check: tells the secret that fingerprints are made with
//!     32      8  covered: the caller's sequence number
//!     40      8  layer index
//!     48      8  design capacity
//!     56      8  error budget (bits of an IEEE 754 double)
//!     64      8  number of inserts less removals
//!     72      8  size: blocks, bits (classic) or buckets (cuckoo)
//!     80      4  CRC-32 of bytes 0 to 79
//!     84      …  chunks: 16,384 lines of 64 bytes (the last chunk: what is left), then
//!                the CRC-32 of (header CRC, chunk number as 8 bytes, lines)
//! ```
//! The lines are 8 words of 64 bits. Blocked: the blocks. Classic: bit i is bit i mod 64 of word i div 64. Counting: the
//! first planes, then the three higher planes of each block. Cuckoo: a bucket is a word, slot i its bits 16i to 16i+15.
//!
//! The checksum of a chunk covers header and number too, so a chunk of another layer, or in another place, is damage.
//! Version 1, which had no kinds, was never released; it is refused like any unknown one.
//!
//! Invariant: [`decode`] gives the layer that was encoded, or an error; it never panics, and it allocates no more than the
//! bytes it was given. A checksum finds accidents, not forgery: the bytes are trusted as far as the directory is.

use crc32fast::Hasher;
use thiserror::Error;

use crate::blocked::{BLOCK_BYTES, BlockedBloomFilter};
use crate::filter::Growable;
use crate::layer::{Layer, LayerOf};
use crate::lines::Block;
use crate::machine;

mod header;

use header::{HEADER_BYTES, Header, VERSION};

const CRC_BYTES: usize = 4;
/// 1 MiB of lines: damage is located to that, and checked while it is in the cache.
const CHUNK_LINES: usize = 16_384;
const LINE_BYTES: usize = BLOCK_BYTES as usize;

/// Number of SipHash-1-3 with 128 bits of output, the hash that the crate's page asks for.
pub const SIPHASH_1_3_128: u32 = 1;

/// What the fingerprints of a layer were made with. All of it must be the same when the layer is read back, or it would
/// answer about other fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Tells the secret without giving it away (for example the hash of a fixed text).
    pub key_check: u64,
    /// Number of the hash function. [`SIPHASH_1_3_128`], or one of the caller's own.
    pub hash: u32,
    /// Version of the rules by which the caller makes keys of items, before they are hashed.
    pub rules: u32,
}

impl Origin {
    /// [`SIPHASH_1_3_128`] under this secret, and version 0 of the rules.
    #[must_use]
    pub const fn new(key_check: u64) -> Self {
        Self { key_check, hash: SIPHASH_1_3_128, rules: 0 }
    }
}

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
    /// It is a layer of another kind of filter.
    #[error("filter layer of kind {found}, not {expected}")]
    OtherKind {
        /// Number of the kind found.
        found: u8,
        /// Number of the kind asked for.
        expected: u8,
    },
    /// The fingerprints in it were made with another hash function.
    #[error("filter layer made with hash {found}")]
    ForeignHash {
        /// Number of the hash found.
        found: u32,
    },
    /// The keys in it were made by another version of the rules.
    #[error("filter layer made by rules of version {found}")]
    ForeignRules {
        /// Version found.
        found: u32,
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
pub struct Decoded<F = BlockedBloomFilter> {
    /// The layer.
    pub layer: LayerOf<F>,
    /// The sequence number given to [`encode`]: all events up to it are in the layer or in an older one.
    pub covered: u64,
}

/// The bytes of a plain layer, of [`Origin::new`]. `key_check` tells the secret that the fingerprints were made with,
/// `covered` is the caller's sequence number.
#[must_use]
pub fn encode(layer: &Layer, key_check: u64, covered: u64) -> Vec<u8> {
    encode_layer(layer, &Origin::new(key_check), covered)
}

/// The plain layer that these bytes were encoded from, if they were encoded under `key_check` and nothing happened to
/// them.
///
/// # Errors
/// A [`DecodeError`] for anything else. Time and memory are bounded by the number of bytes given.
pub fn decode(bytes: &[u8], key_check: u64) -> Result<Decoded, DecodeError> {
    decode_layer(bytes, &Origin::new(key_check))
}

/// The bytes of a layer of any kind.
#[must_use]
pub fn encode_layer<F: Growable>(layer: &LayerOf<F>, origin: &Origin, covered: u64) -> Vec<u8> {
    let lines = layer.filter().lines();
    let header = Header::of(layer, origin, covered).to_bytes();
    let header_crc = crc32fast::hash(&header);
    let mut bytes = Vec::with_capacity(encoded_bytes(lines.len() as u64) as usize); // the lines are in memory: it fits
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(&header_crc.to_le_bytes());
    for (number, chunk) in (0..).zip(lines.chunks(CHUNK_LINES)) {
        let start = bytes.len();
        for line in chunk {
            let words: [[u8; 8]; 8] = line.0.map(u64::to_le_bytes);
            bytes.extend_from_slice(words.as_flattened());
        }
        let crc = chunk_crc(header_crc, number, &bytes[start..]);
        bytes.extend_from_slice(&crc.to_le_bytes());
    }
    bytes
}

/// The layer of this kind that these bytes were encoded from, if its fingerprints are of this origin and nothing happened
/// to the bytes.
///
/// # Errors
/// A [`DecodeError`] for anything else. Time and memory are bounded by the number of bytes given.
pub fn decode_layer<F: Growable>(bytes: &[u8], origin: &Origin) -> Result<Decoded<F>, DecodeError> {
    let (header, crc) = Header::read(bytes)?;
    header.check_origin(origin)?;
    let lines = header.check_shape::<F>()?;
    let expected = encoded_bytes(lines);
    let found = bytes.len() as u64;
    if found < expected {
        return Err(truncated(bytes, expected));
    }
    if found > expected {
        return Err(damaged(expected, "bytes after the end"));
    }
    let filter = F::from_lines(&header.shape, read_lines(&bytes[HEADER_BYTES..], crc)?);
    let Header { index, design_capacity, budget, covered, .. } = header;
    let layer = LayerOf::from_parts(index, design_capacity, budget, filter);
    // another machine's exponentials may differ in the last digits
    if layer.design_rate() > budget * (1.0 + 1e-9) {
        return Err(damaged(72, "too small for the error budget"));
    }
    Ok(Decoded { layer, covered })
}

/// The lines of a body whose length fits their number.
fn read_lines(body: &[u8], header_crc: u32) -> Result<Vec<Block>, DecodeError> {
    let mut lines = machine::reserved(body.len() / LINE_BYTES);
    let chunk_bytes = CHUNK_LINES * LINE_BYTES + CRC_BYTES;
    for (number, chunk) in body.chunks(chunk_bytes).enumerate() {
        let damage = damaged((HEADER_BYTES + number * chunk_bytes) as u64, "chunk checksum");
        let (words, crc) = chunk.split_last_chunk::<CRC_BYTES>().ok_or(damage)?;
        if u32::from_le_bytes(*crc) != chunk_crc(header_crc, number as u64, words) {
            return Err(damage);
        }
        lines.extend(words.as_chunks::<LINE_BYTES>().0.iter().map(read_line));
    }
    Ok(lines)
}

fn read_line(bytes: &[u8; LINE_BYTES]) -> Block {
    Block(std::array::from_fn(|word| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * word + byte]))))
}

/// Bytes that a layer of so many lines takes. Cannot overflow up to [`MAX_BLOCKS`](crate::sizing::MAX_BLOCKS).
fn encoded_bytes(lines: u64) -> u64 {
    let chunks = lines.div_ceil(CHUNK_LINES as u64);
    HEADER_BYTES as u64 + lines * BLOCK_BYTES + chunks * CRC_BYTES as u64
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

#[cfg(test)]
mod tests;
