//! Which character encoding a page is in: byte-order mark, else the header's label, else a
//! `<meta>` in the first 1,024 bytes, else UTF-8 if it looks like it, else windows-1252.
//!
//! Not a decoder (that is `encoding_rs`) and not a statistical detector. Invariant: every
//! input has exactly one answer, found by looking at no more than [`PRESCAN_BYTES`] bytes.
//!
//! The order and the prescan are those of the HTML standard, section 13.2.3 "the input byte
//! stream"; the prescan is simplified in that a declaration cut off by the limit is not seen.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// How many bytes at the start of a page may declare its encoding (HTML standard: 1024).
pub const PRESCAN_BYTES: usize = 1024;

/// The encoding of a page and the length in bytes of the byte-order mark to be skipped.
///
/// `label` is the charset of the `Content-Type` header, if it had one (see [`label_of`]);
/// an unknown label counts as none. `head` is the start of the body: the first
/// [`PRESCAN_BYTES`], or all of a shorter body.
pub fn sniff(label: Option<&str>, head: &[u8]) -> (&'static Encoding, usize) {
    if let Some((encoding, bom_bytes)) = Encoding::for_bom(head) {
        return (encoding, bom_bytes);
    }
    let head = &head[..head.len().min(PRESCAN_BYTES)];
    let encoding = label
        .and_then(|label| Encoding::for_label_no_replacement(label.as_bytes()))
        .or_else(|| prescan(head))
        .unwrap_or_else(|| fallback(head));
    (encoding, 0)
}

/// The `charset` parameter of a `Content-Type` header value, without quotes.
pub fn label_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

/// UTF-8 if `head` may be the start of UTF-8 text (its last character may be cut off),
/// else windows-1252, the standard's default for the Western locale.
fn fallback(head: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(head) {
        Ok(_) => UTF_8,
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// The encoding that a `<meta>` in `head` declares ("prescan a byte stream to determine its
/// encoding"). Comments are skipped, other tags are stepped over attribute by attribute.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
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
        } else if rest.first().is_some_and(u8::is_ascii_alphabetic) {
            let name_end = rest.iter().position(|&byte| is_space(byte) || byte == b'>')?;
            rest = &rest[name_end..];
            while let (Some(_), after) = attribute(rest) {
                rest = after;
            }
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
    let encoding = label.and_then(Encoding::for_label_no_replacement);
    let encoding = encoding.map(|encoding| {
        // A page whose meta could be read as ASCII is not in UTF-16, whatever it says.
        if encoding == UTF_16LE || encoding == UTF_16BE {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_that_knows_wins() {
        let check = |label: Option<&str>, head: &[u8], want: &str, bom_bytes: usize| {
            let (encoding, bom) = sniff(label, head);
            let shown = String::from_utf8_lossy(head);
            assert_eq!((encoding.name(), bom), (want, bom_bytes), "{label:?} {shown:?}");
        };
        check(None, b"", "UTF-8", 0);
        check(None, b"\xef\xbb\xbf<meta charset=latin1>", "UTF-8", 3);
        check(Some("latin1"), b"\xff\xfea\0", "UTF-16LE", 2);
        check(Some("koi8-r"), b"<meta charset=utf-8>", "KOI8-R", 0);
        check(Some("no-such"), b"<meta charset=koi8-r>", "KOI8-R", 0);
        check(Some("utf-16"), b"<\0a\0", "UTF-16LE", 0);
        check(None, b"<html><META CharSet = 'Shift_JIS' >", "Shift_JIS", 0);
        check(None, b"<meta http-equiv=Content-Type content=\"text/html; charset=gbk\">", "GBK", 0);
        check(None, b"<meta content='text/html; charset=gbk'>", "UTF-8", 0);
        check(None, b"<!-- <meta charset=gbk> --><p>", "UTF-8", 0);
        check(None, b"<!--><meta charset=gbk>", "GBK", 0);
        check(None, b"<p title='<meta charset=gbk>'>", "UTF-8", 0);
        check(None, b"<meta charset=utf-16le>", "UTF-8", 0);
        check(None, b"<meta charset=x-user-defined>", "windows-1252", 0);
        check(None, "gr\u{fc}n".as_bytes(), "UTF-8", 0);
        check(None, b"cut in a character \xe2\x82", "UTF-8", 0);
        check(None, b"gr\xfcn ", "windows-1252", 0);
    }

    #[test]
    fn a_declaration_beyond_the_limit_is_not_seen() {
        let mut head = vec![b' '; PRESCAN_BYTES];
        head.extend_from_slice(b"<meta charset=gbk>");
        assert_eq!(sniff(None, &head).0.name(), "UTF-8");
    }

    #[test]
    fn header_labels() {
        let check = |header, want| assert_eq!(label_of(header), want, "{header}");
        check("text/html", None);
        check("text/html; charset=utf-8", Some("utf-8"));
        check("text/html;Charset = \"ISO-8859-1\" ; q=1", Some("ISO-8859-1"));
        check("text/html; charset=", None);
        check("charset=utf-8", None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_an_answer(head in proptest::collection::vec(
            proptest::sample::select(b"<>!-meta charset=\"'/\n\xef;gbk".to_vec()), 0..200,
        )) {
            sniff(None, &head);
        }
    }
}
