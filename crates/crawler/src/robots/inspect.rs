//! What a robots.txt says of URLs, as JSON lines, for `crawld inspect robots`.
//!
//! Not the fetch of the file, and no other rule of the crawl. Invariant: one line for each line of the input that is not
//! blank, in order.

use super::{Robots, Rule};
use crate::inspect::each_line;
use serde::Serialize;
use std::io::{self, BufRead, Write};
use url::Url;

#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    #[serde(flatten)]
    says: Says<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Says<'a> {
    Rules { allowed: bool, rule: Option<String>, line: Option<u32>, crawl_delay: Option<f64>, sitemaps: Vec<&'a str> },
    Not { error: String },
}

/// Reads URLs, one a line, and writes what `robots` says of each: `url`, `allowed`, the `rule` that decides and its `line`
/// in the file (both null where none does), `crawl_delay` in seconds (null without one) and `sitemaps`; or `url` and
/// `error`. Bytes that are not UTF-8 are replaced.
///
/// # Errors
/// When reading or writing fails.
pub fn inspect(robots: &Robots, input: impl BufRead, out: &mut impl Write) -> io::Result<()> {
    each_line(input, |text| {
        let says = match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => says(robots, &url),
            Ok(_) => Says::Not { error: "scheme is neither http nor https".to_owned() },
            Err(error) => Says::Not { error: format!("not a URL: {error}") },
        };
        serde_json::to_writer(&mut *out, &Line { url: text, says })?;
        out.write_all(b"\n")
    })
}

fn says<'a>(robots: &'a Robots, url: &Url) -> Says<'a> {
    let rule = robots.decisive(url);
    Says::Rules {
        allowed: rule.is_none_or(|rule| rule.allow),
        rule: rule.map(Rule::to_string),
        line: rule.map(|rule| rule.line),
        crawl_delay: robots.crawl_delay().map(|delay| delay.as_secs_f64()),
        sitemaps: robots.sitemaps().iter().map(Url::as_str).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_for_each_url() {
        let body = b"user-agent: a2\ndisallow: /x\ncrawl-delay: 1.5\nsitemap: http://s.test/m.xml\n";
        let robots = Robots::parse_for(&["a2"], body);
        let mut out = Vec::new();
        inspect(&robots, &b"http://s.test/xy\r\n\nhttps://s.test\nftp://s.test/\nx\n"[..], &mut out).expect("memory");
        let rest = r#""crawl_delay":1.5,"sitemaps":["http://s.test/m.xml"]}"#;
        let expected = [
            format!(r#"{{"url":"http://s.test/xy","allowed":false,"rule":"Disallow: /x","line":2,{rest}"#),
            format!(r#"{{"url":"https://s.test","allowed":true,"rule":null,"line":null,{rest}"#),
            r#"{"url":"ftp://s.test/","error":"scheme is neither http nor https"}"#.to_owned(),
            r#"{"url":"x","error":"not a URL: relative URL without a base"}"#.to_owned(),
        ];
        let out = String::from_utf8(out).expect("JSON is UTF-8");
        assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    }
}
