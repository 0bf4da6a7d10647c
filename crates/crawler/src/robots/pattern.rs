//! The text of robots.txt patterns and paths, brought to one spelling, and their comparison.
//!
//! Invariant: all text is ASCII, and no pattern makes a comparison cost more than one search
//! through the path.

use super::MAX_BYTES;
use std::borrow::Cow;

/// The body as the line parser and the patterns want it: ASCII only, so that nothing
/// downstream meets a character boundary. The byte-order mark and indentation go, NUL ends
/// a line (some sites pad with it), and bytes that a URL never holds as they are get escaped.
pub(super) fn to_ascii(body: &[u8]) -> String {
    let body = &body[..body.len().min(MAX_BYTES)];
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut text = String::with_capacity(body.len());
    for &byte in body {
        match byte {
            0 | b'\n' => text.push('\n'),
            b' ' | b'\t' if text.is_empty() || text.ends_with(['\n', '\r']) => {}
            b'"' | b'<' | b'>' | 0x80.. => push_escape(&mut text, byte),
            _ => text.push(char::from(byte)),
        }
    }
    normal_escapes(&text, false).into_owned()
}

/// The path with its own `*` and `$` as escapes, for in patterns they are operators.
pub(super) fn escape_specials(path: &str) -> Cow<'_, str> {
    if !path.contains(['*', '$']) {
        return Cow::Borrowed(path);
    }
    Cow::Owned(path.replace('*', "%2A").replace('$', "%24"))
}

/// One spelling for each escape: digits in upper case and, with `decode`, unreserved
/// characters as themselves (RFC 3986 section 6.2.2). `text` is ASCII.
pub(super) fn normal_escapes(text: &str, decode: bool) -> Cow<'_, str> {
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
                if decode && (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) {
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

fn push_escape(text: &mut String, byte: u8) {
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
        let Some(at) = path.find(piece) else {
            return false;
        };
        path = &path[at + piece.len()..];
        pieces = rest;
    }
    if to_end { path.ends_with(pieces) } else { path.contains(pieces) }
}
