//! The entries of a file as JSON lines, for `crawld inspect sitemap`.
//!
//! Invariant: one line per entry, in order, with at least `url` and `kind`; the last line says how it ended, and counts.

use std::io::{self, Write};

use serde::Serialize;
use url::Url;

use super::{Location, Reader, Settings};

#[derive(Serialize)]
struct Line<'a> {
    url: Option<&'a str>,
    kind: &'static str,
    lastmod: Option<&'a str>,
    changefreq: Option<&'a str>,
    priority: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at_secs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct LastLine {
    outcome: &'static str,
    format: Option<&'static str>,
    gzip: bool,
    encoding: Option<&'static str>,
    bytes: u64,
    entries: usize,
    invalid: u64,
    other_host: usize,
    outside_directory: usize,
}

/// Writes the entries of the sitemap `body`, whose address is `url`, to `out`. `location` says whether the protocol lets it
/// speak for an entry (`within`), where no robots.txt says more. An entry that is no URL has `url` null, its text in `raw`
/// and the reason in `error`.
///
/// # Errors
/// What writing to `out` returns.
pub fn inspect_sitemap(url: &Url, body: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut reader = Reader::new(Settings::default(), None);
    reader.write(body);
    let (sitemap, end) = reader.finish();
    let kind = if sitemap.is_index() { "sitemap" } else { "url" };
    let (mut other_host, mut outside_directory) = (0, 0);
    for entry in &sitemap.entries {
        let resolved = url.join(&entry.url);
        let location = resolved.as_ref().ok().map(|resolved| Location::of(url, resolved));
        other_host += usize::from(location == Some(Location::OtherHost));
        outside_directory += usize::from(location == Some(Location::OutsideDirectory));
        let line = Line {
            url: resolved.as_ref().ok().map(Url::as_str),
            kind,
            lastmod: entry.lastmod.as_deref(),
            changefreq: entry.changefreq.as_deref(),
            priority: entry.priority.as_deref(),
            changed_at_secs: entry.changed_at_secs(),
            location: location.map(Location::name),
            raw: resolved.is_err().then_some(&entry.url),
            error: resolved.as_ref().err().map(ToString::to_string),
        };
        write_line(out, &line)?;
    }
    let last = LastLine {
        outcome: end.name(),
        format: sitemap.format.map(super::Format::name),
        gzip: sitemap.is_gzip,
        encoding: sitemap.encoding.map(|encoding| encoding.name()),
        bytes: sitemap.bytes,
        entries: sitemap.entries.len(),
        invalid: sitemap.invalid,
        other_host,
        outside_directory,
    };
    write_line(out, &last)
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_json_line_per_entry_and_one_for_the_end() {
        let url = Url::parse("http://a.test/b/sitemap.xml").expect("a URL");
        let body =
            b"<urlset><url><loc>http://a.test/b/c</loc><lastmod>2004-10-01</lastmod><priority>0.8</priority></url>\
            <url><loc>/d</loc></url><url><loc>http://[</loc></url><url><loc>&x;</loc></url><url><loc>http://b.test/";
        let mut out = Vec::new();
        inspect_sitemap(&url, body, &mut out).expect("a vector takes all");
        let want = concat!(
            r#"{"url":"http://a.test/b/c","kind":"url","lastmod":"2004-10-01","changefreq":null,"priority":"0.8","#,
            r#""changed_at_secs":1096588800,"location":"within"}"#,
            "\n",
            r#"{"url":"http://a.test/d","kind":"url","lastmod":null,"changefreq":null,"priority":null,"#,
            r#""location":"outside_directory"}"#,
            "\n",
            r#"{"url":null,"kind":"url","lastmod":null,"changefreq":null,"priority":null,"raw":"http://[","#,
            r#""error":"invalid IPv6 address"}"#,
            "\n",
            r#"{"outcome":"unfinished","format":"urlset","gzip":false,"encoding":"UTF-8","bytes":203,"entries":3,"#,
            r#""invalid":1,"other_host":0,"outside_directory":1}"#,
            "\n",
        );
        assert_eq!(String::from_utf8_lossy(&out), want);
    }
}
