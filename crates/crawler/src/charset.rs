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

mod prescan;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
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
            (prescan::html(head).unwrap_or_else(|| guess(url, head, whole)), 0)
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
        Format::Html => prescan::html(head),
        Format::Xml => prescan::xml(head),
        Format::Css => prescan::css(head),
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

#[cfg(test)]
mod tests;
