//! Character references in attribute values and titles: `&amp;`, `&#x41;`, `&notit` …
//!
//! Not a tokenizer: it sees one value at a time. Invariant: the output is what an HTML
//! parser's DOM would hold (HTML standard, section 13.2.5.72 "character reference state"),
//! and the cost is linear in the input.

use markup5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// Where a reference stands: in attributes `&copy=1` and `&copyright` stay as they are, so
/// that queries with unescaped ampersands survive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Attribute,
    Text,
}

/// Whether [`decode`] would change `value`.
pub(super) fn is_encoded(value: &str) -> bool {
    let special = |byte: &u8| matches!(byte, b'&' | b'\r' | 0);
    value.as_bytes().iter().any(special)
}

/// Appends `value` to `out` with references decoded, line ends as `\n` and NUL as U+FFFD.
pub(super) fn decode(value: &str, place: Place, out: &mut String) {
    let mut rest = value;
    while let Some(at) = rest.find(['&', '\r', '\0']) {
        out.push_str(&rest[..at]);
        let special = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match special {
            b'\r' => {
                out.push('\n');
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
            0 => out.push(char::REPLACEMENT_CHARACTER),
            _ => rest = reference(rest, place, out),
        }
    }
    out.push_str(rest);
}

/// Decodes the reference whose `&` stood before `rest`; returns what follows it.
fn reference<'a>(rest: &'a str, place: Place, out: &mut String) -> &'a str {
    let decoded = match rest.strip_prefix('#') {
        Some(number) => numeric(number, out),
        None => named(rest, place, out),
    };
    decoded.unwrap_or_else(|| {
        out.push('&');
        rest
    })
}

fn numeric<'a>(number: &'a str, out: &mut String) -> Option<&'a str> {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    let not_digit = |c: char| !c.is_digit(radix);
    let len = digits.find(not_digit).unwrap_or(digits.len());
    if len == 0 {
        return None;
    }
    // Too many digits for the type are too many for Unicode, too.
    let code = u32::from_str_radix(&digits[..len], radix).unwrap_or(u32::MAX);
    out.push(match code {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => {
            C1_REPLACEMENTS[(code - 0x80) as usize].or(char::from_u32(code)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    });
    let rest = &digits[len..];
    Some(rest.strip_prefix(';').unwrap_or(rest))
}

fn named<'a>(rest: &'a str, place: Place, out: &mut String) -> Option<&'a str> {
    let mut longest = None;
    // The table holds every prefix of a name (with 0 for its character), so the search ends
    // at the first text that begins no name.
    for (at, c) in rest.char_indices() {
        if !c.is_ascii_alphanumeric() && c != ';' {
            break;
        }
        match NAMED_ENTITIES.get(&rest[..=at]) {
            None => break,
            Some((0, _)) => {}
            Some(&characters) => longest = Some((at + 1, characters)),
        }
    }
    let (len, (first, second)) = longest?;
    let after = &rest[len..];
    let goes_on = after.starts_with(|c: char| c == '=' || c.is_ascii_alphanumeric());
    if place == Place::Attribute && goes_on && !rest[..len].ends_with(';') {
        return None;
    }
    out.extend(char::from_u32(first));
    if second != 0 {
        out.extend(char::from_u32(second));
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, attribute: &str, text: &str) {
        for (place, want) in [(Place::Attribute, attribute), (Place::Text, text)] {
            let mut got = String::new();
            decode(value, place, &mut got);
            assert_eq!(got, want, "{value:?}");
            assert!(is_encoded(value) || got == value, "{value:?}");
        }
    }

    #[test]
    fn references() {
        check("plain", "plain", "plain");
        check("a&amp;b", "a&b", "a&b");
        check("a&ampb", "a&ampb", "a&b");
        check("a&amp=b", "a&amp=b", "a&=b");
        check("a&amp b", "a& b", "a& b");
        check("?x=1&copy=2", "?x=1&copy=2", "?x=1\u{a9}=2");
        check("&notit;", "&notit;", "\u{ac}it;");
        check("&notin;", "\u{2209}", "\u{2209}");
        check("&bne;", "=\u{20e5}", "=\u{20e5}");
        check("&unknown; & &;", "&unknown; & &;", "&unknown; & &;");
    }

    #[test]
    fn numbers() {
        check("&#47;&#x2f;&#X2F", "///", "///");
        check("&#47a", "/a", "/a");
        check("&#;&#x;&#", "&#;&#x;&#", "&#;&#x;&#");
        check(
            "&#0;&#xD800;&#x110000;&#99999999999;",
            "\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
            "\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
        );
        check("&#x80;&#x81;", "\u{20ac}\u{81}", "\u{20ac}\u{81}");
    }

    #[test]
    fn line_ends_and_nul() {
        check("a\r\nb\rc\0d", "a\nb\nc\u{fffd}d", "a\nb\nc\u{fffd}d");
    }
}
