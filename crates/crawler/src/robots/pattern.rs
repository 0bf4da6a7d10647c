//! The text of robots.txt patterns and paths, brought to one spelling, and their comparison.
//!
//! Not the bytes of the file (`text`). Invariant: no pattern makes a comparison cost more than one search through the
//! path.

use memchr::memmem;
use std::borrow::Cow;

/// The path with its own `*` and `$` as escapes, for in patterns they are operators.
pub(super) fn escape_specials(path: &str) -> Cow<'_, str> {
    if !path.contains(['*', '$']) {
        return Cow::Borrowed(path);
    }
    Cow::Owned(path.replace('*', "%2A").replace('$', "%24"))
}

/// Which escapes are undone: those of no character, of `~` (RFC 1738 had it escaped, so old files and links do), or of all
/// that RFC 3986 calls unreserved (its section 6.2.2.2).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Undo {
    Nothing,
    Tilde,
    Unreserved,
}

impl Undo {
    fn undoes(self, byte: u8) -> bool {
        match self {
            Undo::Nothing => false,
            Undo::Tilde => byte == b'~',
            Undo::Unreserved => byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
        }
    }
}

/// One spelling for each escape that stays: its digits in upper case.
pub(super) fn normal_escapes(text: &str, undo: Undo) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        normal.push_str(&rest[..at]);
        let digits = rest.as_bytes().get(at + 1..at + 3).unwrap_or(b"");
        let mut value = 0;
        let is_escape = digits.len() == 2
            && digits.iter().all(|&digit| {
                let digit = char::from(digit).to_digit(16);
                value = value * 16 + digit.unwrap_or(0);
                digit.is_some()
            });
        match u8::try_from(value) {
            Ok(byte) if is_escape => {
                if undo.undoes(byte) {
                    normal.push(char::from(byte));
                } else {
                    push_escape(&mut normal, byte);
                }
                rest = &rest[at + 3..];
            }
            _ => {
                normal.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    normal.push_str(rest);
    Cow::Owned(normal)
}

pub(super) fn push_escape(text: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.push('%');
    text.push(char::from(DIGITS[usize::from(byte >> 4)]));
    text.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Whether `pattern` matches a start of `path`: `*` stands for any characters, `$` at the
/// end for the end of the path. Each piece between stars is taken at its first place, which
/// is enough, so the cost is one search through the path.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, to_end) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let Some((first, mut pieces)) = pattern.split_once('*') else {
        return if to_end { path == pattern } else { path.starts_with(pattern) };
    };
    let Some(mut path) = path.strip_prefix(first) else {
        return false;
    };
    while let Some((piece, rest)) = pieces.split_once('*') {
        let Some(at) = find(path, piece) else {
            return false;
        };
        path = &path[at + piece.len()..];
        pieces = rest;
    }
    if to_end { path.ends_with(pieces) } else { find(path, pieces).is_some() }
}

/// Where `piece` first stands in `text`; patterns are ASCII, so that it begins and ends with a character. Linear in both.
fn find(text: &str, piece: &str) -> Option<usize> {
    memmem::find(text.as_bytes(), piece.as_bytes())
}
