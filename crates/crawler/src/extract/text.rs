//! Bytes in an encoding to text, piece by piece.
//!
//! Not the choice of the encoding (`charset`). Invariant: the pieces of text joined are the bytes joined and decoded,
//! what is malformed replaced; a piece of text is at most some KiB.

use encoding_rs::{CoderResult, Decoder, Encoding};

/// Bytes of a piece of text.
const PIECE_BYTES: usize = 8 << 10;

pub(super) struct Decoding {
    decoder: Decoder,
    text: String,
}

impl Decoding {
    /// The byte-order mark must be gone by now.
    pub(super) fn new(encoding: &'static Encoding) -> Decoding {
        Decoding { decoder: encoding.new_decoder_without_bom_handling(), text: String::with_capacity(PIECE_BYTES) }
    }

    /// Calls `take` with the text of `bytes`, until that says false: then so does this, and must not be called again.
    pub(super) fn write(&mut self, mut bytes: &[u8], last: bool, mut take: impl FnMut(&str) -> bool) -> bool {
        loop {
            self.text.clear();
            let (result, read, _) = self.decoder.decode_to_string(bytes, &mut self.text, last);
            bytes = &bytes[read..];
            if !take(&self.text) {
                return false;
            }
            if result == CoderResult::InputEmpty {
                return true;
            }
        }
    }
}
