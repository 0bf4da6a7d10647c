//! From the bytes of a robots.txt to the lines that are parsed.
//!
//! Not the meaning of a line. Invariant: the text is ASCII, so that nothing downstream meets a character boundary, it has
//! the file's lines under their numbers, and made into lines again it is itself.

use super::MAX_BYTES;
use super::pattern::{Undo, normal_escapes, push_escape};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// Bytes that begin a file in UTF-8, if it says so at all.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The body as the line parser and the patterns want it. Byte-order mark and indentation go, UTF-16 is decoded, NUL ends a
/// line (some sites pad with it), and bytes that a URL never holds as they are get escaped. Of a body that is longer than
/// [`MAX_BYTES`], or so long that it was cut there, only whole lines are kept.
pub(super) fn lines_of(body: &[u8]) -> String {
    let is_cut = body.len() >= MAX_BYTES;
    let body = decoded(&body[..body.len().min(MAX_BYTES)]);
    let ends_line = |byte: &u8| matches!(byte, 0 | b'\n' | b'\r');
    let end = if is_cut { body.iter().rposition(ends_line).map_or(0, |at| at + 1) } else { body.len() };
    let mut text = String::with_capacity(end);
    let mut start = 0;
    for &byte in &body[..end] {
        match byte {
            0 | b'\n' | b'\r' => {
                insert_colon(&mut text, start);
                text.push(if byte == b'\r' { '\r' } else { '\n' });
                start = text.len();
            }
            b' ' | b'\t' if text.len() == start => {}
            b'"' | b'<' | b'>' | 0x80.. => push_escape(&mut text, byte),
            _ => text.push(char::from(byte)),
        }
    }
    insert_colon(&mut text, start);
    normal_escapes(&text, Undo::Nothing).into_owned()
}

/// UTF-16, with a mark or recognised by the zeros of its first two letters, becomes UTF-8; the mark of UTF-8 goes, also
/// what there is of it where somebody has lost a part.
fn decoded(body: &[u8]) -> Cow<'_, [u8]> {
    let utf16: Option<(&'static Encoding, usize)> = match *body {
        [0xff, 0xfe, ..] => Some((UTF_16LE, 2)),
        [0xfe, 0xff, ..] => Some((UTF_16BE, 2)),
        [first, 0, second, 0, ..] if first != 0 && second != 0 => Some((UTF_16LE, 0)),
        [0, first, 0, second, ..] if first != 0 && second != 0 => Some((UTF_16BE, 0)),
        _ => None,
    };
    if let Some((encoding, mark)) = utf16 {
        let (text, _) = encoding.decode_without_bom_handling(&body[mark..]);
        return Cow::Owned(text.into_owned().into_bytes());
    }
    let mark = body.iter().zip(MARK).take_while(|(byte, mark)| **byte == *mark).count();
    Cow::Borrowed(&body[mark..])
}

/// A forgotten colon is forgiven by the line parser where the line has two words; this key alone is two already.
fn insert_colon(text: &mut String, start: usize) {
    const KEY: &str = "user agent";
    let line = &text[start..];
    let has_key = line.get(..KEY.len()).is_some_and(|key| key.eq_ignore_ascii_case(KEY));
    if has_key && line[KEY.len()..].starts_with([' ', '\t']) && !line.contains(':') {
        text.insert(start + KEY.len(), ':');
    }
}
