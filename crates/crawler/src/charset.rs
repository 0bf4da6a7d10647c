//! Which character encoding a body is in: byte-order mark, else the header's label, else what the body declares, else a
//! guess by its bytes (HTML) or UTF-8 (XML, style sheets).
//!
//! Not a decoder (that is `encoding_rs`) and not the guess itself (`chardetng`, as in Firefox). Invariant: every input has
//! exactly one answer, found by looking at no more than [`DETECTION_BYTES`].
//!
//! The order and the prescan are those of the HTML standard, section 13.2.3 "the input byte stream"; the prescan is
//! simplified in that a declaration cut off by the limit is not seen. Browsers start anew when they meet a `<meta>` after
//! the first 1,024 bytes; here one in the first [`DETECTION_BYTES`] is looked for before anything is read. A label that
//! means `replacement` (`hz-gb-2312`, `iso-2022-kr`, …) is obeyed: there is no text, hence no link. In a `<meta>`
//! `x-user-defined` is windows-1252, and UTF-16 is UTF-8. XML: XML 1.0, appendix F; style sheets: CSS Syntax, section 3.2.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use url::{Host, Url};

use crate::extract::Format;

/// How many bytes at the start of a page may declare its encoding (HTML standard: 1024).
pub const PRESCAN_BYTES: usize = 1024;

/// How many bytes are looked at where the first [`PRESCAN_BYTES`] declare nothing. Enough text for a guess: 10 KiB of
/// markup come before the text on many pages.
pub const DETECTION_BYTES: usize = 32 << 10;

type Sniffed = (&'static Encoding, usize);

/// The encoding of a body and the length in bytes of the byte-order mark to be skipped.
///
/// `label` is the charset of the `Content-Type` header, if it had one (see [`label_of`]); an unknown label counts as none.
/// `head` is the start of the body: the first [`DETECTION_BYTES`], or all of a shorter body. `url` is where it is from: its
/// top-level domain helps to guess.
pub fn sniff(format: Format, label: Option<&str>, url: &Url, head: &[u8]) -> Sniffed {
    declared(format, label, head).unwrap_or_else(|| match format {
        Format::Html => {
            let whole = head.len() < DETECTION_BYTES;
            let head = &head[..head.len().min(DETECTION_BYTES)];
            (prescan(head).unwrap_or_else(|| guess(url, head, whole)), 0)
        }
        Format::Xml | Format::Css => (UTF_8, 0),
    })
}

/// What header and the first [`PRESCAN_BYTES`] say, where they say anything.
pub fn declared(format: Format, label: Option<&str>, head: &[u8]) -> Option<Sniffed> {
    if let Some((encoding, bom_bytes)) = Encoding::for_bom(head) {
        return Some((encoding, bom_bytes));
    }
    let head = &head[..head.len().min(PRESCAN_BYTES)];
    let by_label = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = by_label.or_else(|| match format {
        Format::Html => prescan(head),
        Format::Xml => utf16_xml(head).or_else(|| xml_declaration(head)),
        Format::Css => charset_rule(head),
    });
    Some((encoding?, 0))
}

/// The `charset` parameter of a `Content-Type` header value, without quotes.
pub fn label_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

/// UTF-8 if `head` may be the start of UTF-8 text (its last character may be cut off), else what its bytes look most
/// like. (Unlike here, a browser does not guess UTF-8, so that nobody comes to rely on it.)
fn guess(url: &Url, head: &[u8], whole: bool) -> &'static Encoding {
    match std::str::from_utf8(head) {
        Ok(_) => return UTF_8,
        Err(error) if error.error_len().is_none() => return UTF_8,
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, whole);
    detector.guess(top_level_domain(url), Utf8Detection::Allow)
}

/// The last label of the host, in the form that the detector takes.
fn top_level_domain(url: &Url) -> Option<&[u8]> {
    let Some(Host::Domain(host)) = url.host() else {
        return None;
    };
    let label = host.trim_end_matches('.').rsplit('.').next()?.as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    label.iter().all(is_plain).then_some(label)
}

/// The encoding that a `<meta>` in `head` declares ("prescan a byte stream to determine its encoding"), else an XML
/// declaration. Comments are skipped, other tags are stepped over attribute by attribute.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    utf16_xml(head).or_else(|| meta(head)).or_else(|| xml_declaration(head))
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

/// `@charset "…";`, in just this form.
fn charset_rule(head: &[u8]) -> Option<&'static Encoding> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn url(top_level_domain: &str) -> Url {
        Url::parse(&format!("http://site.{top_level_domain}/")).expect("valid")
    }

    #[test]
    fn the_first_source_that_knows_wins() {
        let check = |label: Option<&str>, head: &[u8], want: &str, bom_bytes: usize| {
            let (encoding, bom) = sniff(Format::Html, label, &url("test"), head);
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
        check(Some("hz-gb-2312"), b"<meta charset=utf-8>", "replacement", 0);
        check(None, b"<meta charset=iso-2022-kr>", "replacement", 0);
        check(Some("x-user-defined"), b"", "x-user-defined", 0);
        check(None, b"</p title='<meta charset=gbk>'><!doctype <meta charset=gbk> >", "UTF-8", 0);
        check(None, b"<?xml version='1.0' encoding = 'koi8-r' ?><p>", "KOI8-R", 0);
        check(None, b"<?xml encoding='koi8-r'?><meta charset=gbk>", "GBK", 0);
        check(None, b"<?xml encoding='utf-16'?>", "UTF-8", 0);
        check(None, b"<?xml encoding='koi8-r", "UTF-8", 0);
        check(None, b"<?xml encoding='koi8-r>", "UTF-8", 0);
        check(None, b"<\0?\0x\0m\0", "UTF-16LE", 0);
        check(None, b"\0<\0?\0x\0m", "UTF-16BE", 0);
    }

    #[test]
    fn other_formats_declare_in_their_own_way() {
        let check = |format, head: &[u8], want: &str| {
            assert_eq!(sniff(format, None, &url("test"), head).0.name(), want, "{}", String::from_utf8_lossy(head));
        };
        check(Format::Xml, b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", "windows-1252");
        check(Format::Xml, b"<a>gr\xfcn<meta charset=gbk></a>", "UTF-8");
        check(Format::Css, b"@charset \"koi8-r\";", "KOI8-R");
        check(Format::Css, b"@charset \"utf-16\";", "UTF-8");
        check(Format::Css, b"@charset 'koi8-r';", "UTF-8");
    }

    #[test]
    fn what_nobody_declares_is_guessed() {
        let check = |encoding: &'static Encoding, top_level_domain, text: &str| {
            let (bytes, _, unmappable) = encoding.encode(text);
            assert!(!unmappable);
            let (guessed, _) = sniff(Format::Html, None, &url(top_level_domain), &bytes);
            assert_eq!(guessed.name(), encoding.name(), "{text}");
        };
        check(
            encoding_rs::WINDOWS_1251,
            "ru",
            "Все счастливые семьи похожи друг на друга, каждая несчастлива по-своему.",
        );
        check(encoding_rs::SHIFT_JIS, "jp", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。");
        check(encoding_rs::EUC_KR, "kr", "모든 국민은 인간으로서의 존엄과 가치를 가지며");
        check(encoding_rs::BIG5, "tw", "中華民國基於三民主義，為民有民治民享之民主共和國。");
        check(UTF_8, "ru", "Все счастливые семьи");
        // A host that has no label to help.
        for host in ["[::1]", "192.0.2.1", "test."] {
            let url = Url::parse(&format!("http://{host}/")).expect("valid");
            assert_eq!(sniff(Format::Html, None, &url, b"gr\xfcn").0.name(), "windows-1252");
        }
    }

    #[test]
    fn a_declaration_is_seen_up_to_the_limit() {
        for (before, first, all) in
            [(500, Some("GBK"), "GBK"), (PRESCAN_BYTES, None, "GBK"), (DETECTION_BYTES, None, "UTF-8")]
        {
            let mut head = vec![b' '; before];
            head.extend_from_slice(b"<meta charset=gbk>");
            assert_eq!(declared(Format::Html, None, &head).map(|(encoding, _)| encoding.name()), first, "{before}");
            assert_eq!(sniff(Format::Html, None, &url("test"), &head).0.name(), all, "{before}");
        }
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
            proptest::sample::select(b"<>!-?meta xml encoding charset=\"'/\n\xef;gbk@".to_vec()), 0..200,
        )) {
            for format in [Format::Html, Format::Xml, Format::Css] {
                sniff(format, None, &url("test"), &head);
            }
        }
    }
}
