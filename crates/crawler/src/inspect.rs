//! What the crawler makes of a URL, for `crawld inspect url`.
//!
//! Not a judgement: no scope, no seen-test, nothing is fetched or recorded. (The links of a page:
//! [`inspect_links`](crate::extract::inspect_links).) Invariant: one JSON line for each line that is not blank, in order.

use std::io::{self, BufRead, Write};

use frontier::Rules;
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    input: &'a str,
    #[serde(flatten)]
    parsed: Parsed<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Parsed<'a> {
    Url { url: &'a str, key: &'a str, host: &'a str, registrable_domain: &'a str },
    Not { error: String },
}

/// Reads URLs, one a line, and writes what each is made into by these rules: `input`, `url`, `key`, `host`, `registrable_domain`; or
/// `input` and `error`. Bytes that are not UTF-8 are replaced.
///
/// # Errors
/// When reading or writing fails.
pub fn urls(rules: &Rules, input: impl BufRead, out: &mut impl Write) -> io::Result<()> {
    each_line(input, |text| {
        let canonical = rules.parse(text);
        let parsed = match &canonical {
            Ok(canonical) => Parsed::Url {
                url: canonical.url(),
                key: canonical.key(),
                host: canonical.host(),
                registrable_domain: canonical.registrable_domain(),
            },
            Err(error) => Parsed::Not { error: error.to_string() },
        };
        serde_json::to_writer(&mut *out, &Line { input: text, parsed })?;
        out.write_all(b"\n")
    })
}

/// Each line of the input that is not blank, without its end; bytes that are not UTF-8 replaced.
pub(crate) fn each_line(input: impl BufRead, mut take: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    for line in input.split(b'\n') {
        let line = line?;
        let text = String::from_utf8_lossy(&line);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        if !text.trim().is_empty() {
            take(text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_for_each_url() {
        let input = b"HTTP://Www.Example.co.uk:80/a/../b?x#f\r\n\nmailto:x@y\nno url\n\xff";
        let mut out = Vec::new();
        urls(&Rules::default(), &input[..], &mut out).expect("memory takes everything");
        let expected = [
            r#"{"input":"HTTP://Www.Example.co.uk:80/a/../b?x#f","url":"http://www.example.co.uk/b?x","key":"uk,co,example,www)http/b?x","host":"www.example.co.uk","registrable_domain":"example.co.uk"}"#,
            r#"{"input":"mailto:x@y","error":"scheme is neither http nor https"}"#,
            r#"{"input":"no url","error":"not a URL: relative URL without a base"}"#,
            "{\"input\":\"\u{fffd}\",\"error\":\"not a URL: relative URL without a base\"}",
        ];
        let out = String::from_utf8(out).expect("JSON is UTF-8");
        assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    }
}
