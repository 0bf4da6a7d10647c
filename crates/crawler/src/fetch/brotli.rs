//! Brotli bodies (RFC 7932), undone here and not by the HTTP client.
//!
//! The client's decoder accepts the *large window* extension, which is no part of `Content-Encoding: br`: 234 bytes of
//! it take 256 MiB of memory, up to 1 GiB, before the first decoded byte comes out and any cap can act. Invariant: a
//! body takes its window and no more, at most 16 MiB, and one step hands out at most [`STEP_BYTES`].

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::FetchError;

/// Decoded bytes handed out at once, at most.
const STEP_BYTES: usize = 64 * 1024;

/// A decoder that is fed compressed bytes and asked for decoded ones, in turn.
pub(super) struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    input: Vec<u8>,
    taken: usize,
    begun: bool,
    ended: bool,
}

impl Brotli {
    pub(super) fn new() -> Self {
        let alloc = StandardAlloc::default;
        Self {
            state: BrotliState::new_strict(alloc(), alloc(), alloc()),
            input: Vec::new(),
            taken: 0,
            begun: false,
            ended: false,
        }
    }

    /// Adds compressed bytes. To be called when [`step`](Self::step) has nothing more to give.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.input.drain(..self.taken);
        self.taken = 0;
        self.input.extend_from_slice(bytes);
        self.begun |= !bytes.is_empty();
    }

    /// The next decoded bytes, empty when there are none before more is fed. What follows the end of the stream is
    /// ignored.
    ///
    /// # Errors
    /// [`FetchError::BadEncoding`] for bytes that are not brotli.
    pub(super) fn step(&mut self) -> Result<Vec<u8>, FetchError> {
        if self.ended {
            return Ok(Vec::new());
        }
        let mut output = vec![0; STEP_BYTES];
        let mut length = 0;
        let result = BrotliDecompressStream(
            &mut (self.input.len() - self.taken),
            &mut self.taken,
            &self.input,
            &mut output.len(),
            &mut length,
            &mut output,
            &mut 0,
            &mut self.state,
        );
        match result {
            BrotliResult::ResultFailure => return Err(FetchError::BadEncoding),
            BrotliResult::ResultSuccess => self.ended = true,
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
        }
        output.truncate(length);
        Ok(output)
    }

    /// Whether the body may end here: at the end of the stream, or before it began, as bodies of redirects do.
    pub(super) fn may_end(&self) -> bool {
        self.ended || !self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "<a href=/x>x</a>"
    const PAGE: &[u8] =
        &[0x1b, 0x0f, 0x00, 0xf8, 0x25, 0xf1, 0x7c, 0x5e, 0x4a, 0x14, 0x61, 0xaa, 0x95, 0x82, 0xda, 0x54, 0x26];

    fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool), FetchError> {
        let mut brotli = Brotli::new();
        let mut decoded = Vec::new();
        for piece in pieces {
            brotli.feed(piece);
            loop {
                let step = brotli.step()?;
                if step.is_empty() {
                    break;
                }
                assert!(step.len() <= STEP_BYTES);
                decoded.extend(step);
            }
        }
        Ok((decoded, brotli.may_end()))
    }

    #[test]
    fn pieces_of_any_size_give_the_same_page() {
        for size in 1..=PAGE.len() {
            let pieces: Vec<&[u8]> = PAGE.chunks(size).collect();
            assert_eq!(decode(&pieces), Ok((b"<a href=/x>x</a>".to_vec(), true)), "size {size}");
        }
    }

    #[test]
    fn what_is_not_a_whole_stream_is_told_apart() {
        #[track_caller]
        fn check(bytes: &[u8], expect: Result<(&[u8], bool), FetchError>) {
            let decoded = decode(&[bytes]);
            assert_eq!(decoded, expect.map(|(text, may_end)| (text.to_vec(), may_end)));
        }
        let page: &[u8] = b"<a href=/x>x</a>";
        check(b"", Ok((b"", true)));
        check(&PAGE[..1], Ok((b"", false)));
        check(&[PAGE, b"more"].concat(), Ok((page, true)));
        check(&[0xff; 40], Err(FetchError::BadEncoding));
        check(b"<a href=/x>not compressed</a>", Err(FetchError::BadEncoding));
    }

    #[test]
    fn a_window_larger_than_the_standard_is_refused() {
        // The beginning of 300 MB of zeros with a window of 2^28 bytes.
        let bomb = [0x11, 0x1c, 0xff, 0xff, 0xff, 0x01, 0x90, 0x00, 0x88, 0xc7, 0x02, 0x21, 0xf7, 0xfe];
        assert_eq!(decode(&[&bomb]), Err(FetchError::BadEncoding));
    }

    #[test]
    fn a_bomb_comes_out_in_steps() {
        // The beginning of 300 MB of zeros with a window of 2^24 bytes: 16 MiB of them.
        let bomb = [0xcf, 0xff, 0xff, 0x7f, 0x00, 0x24, 0x00, 0xe2, 0xb1, 0x40, 0x72, 0xef, 0xff, 0xf9];
        let mut brotli = Brotli::new();
        brotli.feed(&bomb);
        let step = brotli.step().expect("it is brotli");
        assert_eq!(step.len(), STEP_BYTES);
    }
}
