//! One spelling for percent-encoding: RFC 3986 sections 6.2.2.1 (hex digits are upper case), 6.2.2.2 (an unreserved
//! character needs no escape) and 2 (what is neither reserved nor unreserved has no other form; WHATWG lets some of it be).
//!
//! Not decoding: escapes of all other characters stay, and so does a `%` that no two hex digits follow. Invariant: no
//! escape of a character comes into being of text that did not stand for it, so doing it twice changes nothing.

/// `%`, and what must be escaped.
const WORTH_A_LOOK: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte == b'%' as usize || must_be_escaped(byte as u8);
        byte += 1;
    }
    table
};

/// The text in its one spelling; `None` where that is the text itself.
pub(super) fn normalised(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let first = bytes.iter().position(|byte| WORTH_A_LOOK[usize::from(*byte)])?;
    // Most texts with escapes are well spelled: look before copying.
    if !(first..bytes.len()).any(|at| is_misspelled(bytes, at)) {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    out.extend_from_slice(&bytes[..first]);
    let mut at = first;
    while let Some(&byte) = bytes.get(at) {
        match escape(bytes, at) {
            Some(decoded) if is_unreserved(decoded) && !completes_an_escape(&out, decoded) => out.push(decoded),
            Some(_) => out.extend(bytes[at..at + 3].iter().map(u8::to_ascii_uppercase)),
            None if must_be_escaped(byte) => out.extend(format!("%{byte:02X}").bytes()),
            None => out.push(byte),
        }
        at += if is_escape(bytes, at) { 3 } else { 1 };
    }
    // Bytes of characters beyond ASCII were kept as they were.
    String::from_utf8(out).ok().filter(|out| out != text)
}

fn is_misspelled(bytes: &[u8], at: usize) -> bool {
    match escape(bytes, at) {
        Some(byte) => is_unreserved(byte) || bytes[at + 1..at + 3].iter().any(u8::is_ascii_lowercase),
        None => must_be_escaped(bytes[at]),
    }
}

/// Is there an escape at `at`?
pub(super) fn is_escape(bytes: &[u8], at: usize) -> bool {
    escape(bytes, at).is_some()
}

fn escape(bytes: &[u8], at: usize) -> Option<u8> {
    let &[b'%', high, low] = bytes.get(at..at + 3)? else { return None };
    let digit = |hex: u8| char::from(hex).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// RFC 3986 section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Printable ASCII that no rule of RFC 3986 knows.
const fn must_be_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// Would `next` make an escape of a stray `%` before it? `%%341` must not become `%41`… of `%2%45` neither `%2E`.
fn completes_an_escape(out: &[u8], next: u8) -> bool {
    next.is_ascii_hexdigit()
        && match out {
            [.., b'%'] => true,
            [.., b'%', digit] => digit.is_ascii_hexdigit(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_have_one_spelling() {
        for (text, expect) in [
            ("/%7Euser/%61", "/~user/a"),
            ("/%e2%84%a2", "/%E2%84%A2"),
            ("/a%2fb%3fc", "/a%2Fb%3Fc"),
            ("/a+b%20c%2B", "/a+b%20c%2B"),
            ("%2%45", "%2%45"),
            ("%%41", "%%41"),
            ("%%34%31", "%%341"),
            ("%4%7e", "%4~"),
            ("%a%62", "%a%62"),
            ("100%", "100%"),
            ("%zz%", "%zz%"),
            ("%u011f%41", "%u011fA"),
            ("a|b^{c}\\`", "a%7Cb%5E%7Bc%7D%5C%60"),
            ("%|%4|é", "%%7C%4%7Cé"),
            ("[a]!$&'()*+,;=:@/?", "[a]!$&'()*+,;=:@/?"),
            ("", ""),
        ] {
            let once = normalised(text).unwrap_or_else(|| text.to_owned());
            assert_eq!(once, expect, "{text}");
            assert_eq!(normalised(&once), None, "{text} again");
        }
    }
}
