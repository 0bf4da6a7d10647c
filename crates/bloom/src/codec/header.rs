//! The first 84 bytes of a layer: what it is, what it was made with, how large it is. Not its content.
//!
//! Invariant: a header that was read has the right checksum, and one whose shape was checked asks for no more lines than
//! [`MAX_BLOCKS`].

use super::{CRC_BYTES, DecodeError, Growable, LayerOf, Origin, damaged, truncated};
use crate::filter::Shape;
use crate::sizing::MAX_BLOCKS;

const MAGIC: [u8; 8] = *b"BLOOMLYR";
pub(super) const VERSION: u32 = 2;
/// Header without its checksum.
const NUMBERS_BYTES: usize = 80;
/// Header with its checksum.
pub(super) const HEADER_BYTES: usize = NUMBERS_BYTES + CRC_BYTES;
const SATURATED: u8 = 1;

pub(super) struct Header {
    kind: u8,
    origin: Origin,
    pub(super) covered: u64,
    pub(super) index: u32,
    pub(super) design_capacity: u64,
    pub(super) budget: f64,
    pub(super) shape: Shape,
}

impl Header {
    pub(super) fn of<F: Growable>(layer: &LayerOf<F>, origin: &Origin, covered: u64) -> Self {
        Self {
            kind: F::KIND as u8,
            origin: *origin,
            covered,
            index: layer.index(),
            design_capacity: layer.design_capacity(),
            budget: layer.budget(),
            shape: layer.filter().shape(),
        }
    }

    pub(super) fn to_bytes(&self) -> [u8; NUMBERS_BYTES] {
        let mut bytes = [0; NUMBERS_BYTES];
        let mut put = |offset: usize, number: &[u8]| bytes[offset..offset + number.len()].copy_from_slice(number);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &[self.kind, u8::from(self.shape.saturated) * SATURATED]);
        put(14, &self.shape.width.to_le_bytes());
        put(16, &self.origin.hash.to_le_bytes());
        put(20, &self.origin.rules.to_le_bytes());
        let index = u64::from(self.index);
        let (budget, Shape { len, size, .. }) = (self.budget.to_bits(), self.shape);
        let numbers = [self.origin.key_check, self.covered, index, self.design_capacity, budget, len, size];
        for (at, number) in numbers.into_iter().enumerate() {
            put(24 + 8 * at, &number.to_le_bytes());
        }
        bytes
    }

    /// The header at the start of these bytes, and its checksum.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, u32), DecodeError> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(magic) {
            return Err(DecodeError::NotAFilter);
        }
        // the version first: another one's header may have another length
        if let Some(start) = bytes.first_chunk::<12>() {
            let version = u32_at(start, 8);
            if version != VERSION {
                return Err(DecodeError::UnknownVersion { version });
            }
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(truncated(bytes, HEADER_BYTES as u64));
        };
        let crc = u32_at(header, NUMBERS_BYTES);
        if crc != crc32fast::hash(&header[..NUMBERS_BYTES]) {
            return Err(damaged(0, "header checksum"));
        }
        let index = u32::try_from(u64_at(header, 40)).map_err(|_| damaged(40, "impossible layer index"))?;
        if header[13] & !SATURATED != 0 {
            return Err(damaged(13, "unknown flags"));
        }
        let header = Self {
            kind: header[12],
            origin: Origin { key_check: u64_at(header, 24), hash: u32_at(header, 16), rules: u32_at(header, 20) },
            covered: u64_at(header, 32),
            index,
            design_capacity: u64_at(header, 48),
            budget: f64::from_bits(u64_at(header, 56)),
            shape: Shape {
                len: u64_at(header, 64),
                size: u64_at(header, 72),
                width: u16::from_le_bytes([header[14], header[15]]),
                saturated: header[13] == SATURATED,
            },
        };
        Ok((header, crc))
    }

    pub(super) fn check_origin(&self, expected: &Origin) -> Result<(), DecodeError> {
        let Origin { key_check, hash, rules } = self.origin;
        if hash != expected.hash {
            return Err(DecodeError::ForeignHash { found: hash });
        }
        if rules != expected.rules {
            return Err(DecodeError::ForeignRules { found: rules });
        }
        if key_check != expected.key_check {
            return Err(DecodeError::ForeignKey);
        }
        Ok(())
    }

    /// Number of lines of such a layer, if it can have been made.
    pub(super) fn check_shape<F: Growable>(&self) -> Result<u64, DecodeError> {
        let expected = F::KIND as u8;
        if self.kind != expected {
            return Err(DecodeError::OtherKind { found: self.kind, expected });
        }
        if self.design_capacity == 0 {
            return Err(damaged(48, "design capacity 0"));
        }
        if !(self.budget > 0.0 && self.budget < 1.0) {
            return Err(damaged(56, "error budget not between 0 and 1"));
        }
        let lines = F::lines_of(&self.shape).map_err(|what| damaged(12, what))?;
        if !(1..=MAX_BLOCKS).contains(&lines) {
            return Err(damaged(72, "impossible size"));
        }
        Ok(lines)
    }
}

/// The number at `offset`, which is a constant of the format and inside the array.
fn u64_at<const N: usize>(bytes: &[u8; N], offset: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[offset + i]))
}

/// As [`u64_at`].
fn u32_at<const N: usize>(bytes: &[u8; N], offset: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[offset + i]))
}
