//! Gzip or not: known by its first bytes, unpacked as it comes.
//!
//! Not a limit on what comes out (the reader's). Invariant: between two pieces that are handed on, no more than
//! [`PIECE_BYTES`] are unpacked, so that a bomb costs as much memory as they can come to: about a MiB.

use std::io::Write;

use flate2::write::MultiGzDecoder;

use super::End;

/// What every gzip file begins with (RFC 1952, section 2.3.1): two bytes that say so, and the one method there is.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Compressed bytes that are unpacked at once: deflate makes at most 1,032 of one.
const PIECE_BYTES: usize = 1024;

/// What the body is packed in.
pub(super) enum Packing {
    /// Not known yet: its first bytes.
    Unknown(Vec<u8>),
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Default for Packing {
    fn default() -> Self {
        Packing::Unknown(Vec::new())
    }
}

impl Packing {
    pub(super) fn is_gzip(&self) -> bool {
        matches!(self, Packing::Gzip(_))
    }

    /// Unpacks the next bytes, and hands on what comes of them.
    pub(super) fn write(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8]) -> Result<(), End>) -> Result<(), End> {
        match self {
            Packing::Plain => take(bytes),
            Packing::Gzip(decoder) => bytes.chunks(PIECE_BYTES).try_for_each(|piece| {
                let written = decoder.write_all(piece);
                hand_on(decoder, take)?;
                written.map_err(|_| End::BadGzip)
            }),
            Packing::Unknown(start) => {
                start.extend_from_slice(bytes);
                if start.len() < MAGIC.len() {
                    return Ok(());
                }
                let start = std::mem::take(start);
                let gzip = || Packing::Gzip(Box::new(MultiGzDecoder::new(Vec::new())));
                *self = if start.starts_with(&MAGIC) { gzip() } else { Packing::Plain };
                self.write(&start, take)
            }
        }
    }

    /// Ends the body.
    pub(super) fn finish(&mut self, take: &mut impl FnMut(&[u8]) -> Result<(), End>) -> Result<(), End> {
        match self {
            Packing::Plain => Ok(()),
            Packing::Unknown(start) => take(start),
            Packing::Gzip(decoder) => {
                let finished = decoder.try_finish();
                hand_on(decoder, take)?;
                finished.map_err(|_| End::BadGzip)
            }
        }
    }
}

fn hand_on(decoder: &mut MultiGzDecoder<Vec<u8>>, take: &mut impl FnMut(&[u8]) -> Result<(), End>) -> Result<(), End> {
    let taken = take(decoder.get_ref());
    decoder.get_mut().clear();
    taken
}
