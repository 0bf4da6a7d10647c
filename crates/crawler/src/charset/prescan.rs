//! What the first bytes of a body declare: `<meta>`, an XML declaration, `@charset`.
//!
//! Not a parser: the steps are those of the HTML standard, section 13.2.3.2 "prescan a byte stream to determine its
//! encoding", and its "get an XML encoding". Invariant: each byte is looked at a bounded number of times.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// The encoding that a `<meta>` in `head` declares ("prescan a byte stream to determine its encoding"), else an XML
/// declaration. Comments are skipped, other tags are stepped over attribute by attribute.
pub(super) fn html(head: &[u8]) -> Option<&'static Encoding> {
    utf16_xml(head).or_else(|| meta(head)).or_else(|| xml_declaration(head))
}

/// The encoding that XML declares, or shows by being in UTF-16.
pub(super) fn xml(head: &[u8]) -> Option<&'static Encoding> {
    utf16_xml(head).or_else(|| xml_declaration(head))
}

/// XML in UTF-16 without a mark, by the first two characters of its declaration.
fn utf16_xml(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [b'<', 0, b'?', 0, b'x', 0, ..] => Some(UTF_16LE),
        [0, b'<', 0, b'?', 0, b'x', ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// "Get an XML encoding" of the HTML standard.
fn xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let is_space = |byte: &u8| *byte <= b' ';
    let skip = |text: &'_ [u8]| text.iter().take_while(|byte| is_space(byte)).count();
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..find(declaration, b">")?];
    let rest = &declaration[find(declaration, b"encoding")? + b"encoding".len()..];
    let rest = rest[skip(rest)..].strip_prefix(b"=")?;
    let rest = &rest[skip(rest)..];
    let quote = *rest.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let label = rest[1..].split(|byte| *byte == quote).next().filter(|label| label.len() < rest.len() - 1)?;
    let encoding = Encoding::for_label(label).filter(|_| !label.iter().any(is_space))?;
    Some(if is_utf16(encoding) { UTF_8 } else { encoding })
}

/// `@charset "…";` of a style sheet, in just this form.
pub(super) fn css(head: &[u8]) -> Option<&'static Encoding> {
    let label = head.strip_prefix(b"@charset \"")?;
    let encoding = Encoding::for_label(&label[..find(label, b"\";")?])?;
    Some(if is_utf16(encoding) { UTF_8 } else { encoding })
}

/// What could be read as ASCII so far is not in UTF-16, whatever it says.
fn is_utf16(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

fn meta(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head;
    while let Some(at) = rest.iter().position(|&byte| byte == b'<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix(b"!--") {
            // `<!-->` is a whole comment, so the closing `-->` may share its hyphens.
            let from = rest.len() - comment.len() - 2;
            let end = find(&rest[from..], b"-->")?;
            rest = &rest[from + end + 3..];
        } else if starts_with_meta(rest) {
            let (found, after) = meta_charset(&rest[4..]);
            if found.is_some() {
                return found;
            }
            rest = after;
        } else if rest.strip_prefix(b"/").unwrap_or(rest).first().is_some_and(u8::is_ascii_alphabetic) {
            let name_end = rest.iter().position(|&byte| is_space(byte) || byte == b'>')?;
            rest = &rest[name_end..];
            while let (Some(_), after) = attribute(rest) {
                rest = after;
            }
        } else if matches!(rest.first(), Some(b'!' | b'/' | b'?')) {
            rest = &rest[find(rest, b">")?..];
        }
    }
    None
}

fn starts_with_meta(rest: &[u8]) -> bool {
    rest.len() > 4 && rest[..4].eq_ignore_ascii_case(b"meta") && (is_space(rest[4]) || rest[4] == b'/')
}

/// The encoding declared by the attributes of one `<meta>`, and what follows them.
fn meta_charset(mut rest: &[u8]) -> (Option<&'static Encoding>, &[u8]) {
    let (mut is_content_type, mut charset, mut content) = (false, None, None);
    while let (Some((name, value)), after) = attribute(rest) {
        rest = after;
        if name.eq_ignore_ascii_case(b"http-equiv") {
            is_content_type |= value.eq_ignore_ascii_case(b"content-type");
        } else if name.eq_ignore_ascii_case(b"charset") {
            charset = charset.or(Some(value));
        } else if name.eq_ignore_ascii_case(b"content") {
            content = content.or_else(|| charset_in_content(value));
        }
    }
    let label = charset.or(if is_content_type { content } else { None });
    let encoding = label.and_then(Encoding::for_label);
    let encoding = encoding.map(|encoding| {
        if is_utf16(encoding) {
            UTF_8
        } else if encoding == X_USER_DEFINED {
            WINDOWS_1252
        } else {
            encoding
        }
    });
    (encoding, rest)
}

/// The label after `charset=` in a `content` attribute.
fn charset_in_content(value: &[u8]) -> Option<&[u8]> {
    let mut rest = value;
    loop {
        let at = rest.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[at + 7..].trim_ascii_start();
        if let Some(label) = rest.strip_prefix(b"=") {
            let label = label.trim_ascii_start();
            let quote = *label.first()?;
            let end = if matches!(quote, b'"' | b'\'') {
                rest = &label[1..];
                rest.iter().position(|&byte| byte == quote)
            } else {
                rest = label;
                rest.iter().position(|&byte| is_space(byte) || byte == b';')
            };
            return Some(&rest[..end.unwrap_or(rest.len())]);
        }
    }
}

type Attribute<'a> = (&'a [u8], &'a [u8]);

/// The next attribute (name, value) of a tag and what follows it; none at the tag's end.
fn attribute(rest: &[u8]) -> (Option<Attribute<'_>>, &[u8]) {
    let start = rest.iter().position(|&byte| !is_space(byte) && byte != b'/');
    let Some(start) = start else {
        return (None, &[]);
    };
    let rest = &rest[start..];
    if rest[0] == b'>' {
        return (None, &rest[1..]);
    }
    let is_name_end = |&byte: &u8| is_space(byte) || matches!(byte, b'/' | b'>' | b'=');
    let name_len = 1 + rest[1..].iter().position(is_name_end).unwrap_or(rest.len() - 1);
    let (name, rest) = rest.split_at(name_len);
    let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") else {
        return (Some((name, b"")), rest);
    };
    let value = value.trim_ascii_start();
    let (value, rest) = match value.first() {
        Some(&quote @ (b'"' | b'\'')) => match value[1..].iter().position(|&b| b == quote) {
            Some(end) => (&value[1..=end], &value[end + 2..]),
            None => (&value[..0], &value[..0]),
        },
        _ => {
            let end = value.iter().position(|&byte| is_space(byte) || byte == b'>');
            value.split_at(end.unwrap_or(value.len()))
        }
    };
    (Some((name, value)), rest)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
