//! The links of a file as JSON lines, for `crawld inspect links`.
//!
//! Not a crawl: nothing is judged or recorded. Invariant: one line per different link, with at least `url`, `tag`, `attr` and `rel`.

use super::{Extractor, Format, Settings};
use crate::charset::label_of;
use serde::Serialize;
use std::io::{self, Write};
use url::Url;

#[derive(Serialize)]
struct Line<'a> {
    url: Option<&'a str>,
    tag: &'static str,
    attr: &'static str,
    rel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Writes the links of the file `body`, whose address is `base`, to `out`: those of the kinds in `settings`, fragments
/// kept, in order of first appearance. The file is read as `content_type` says. A link that is no URL has `url` null, and its text
/// in `raw` and the reason in `error`.
///
/// # Errors
/// What writing to `out` returns.
pub fn inspect_links(
    base: &Url,
    content_type: &str,
    settings: Settings,
    body: &[u8],
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(format) = Format::of(content_type) else {
        return Ok(());
    };
    let settings = Settings { keep_fragments: true, ..settings };
    let mut extractor = Extractor::of(format, base, settings, label_of(content_type));
    extractor.write(body);
    let page = extractor.finish();
    for (link, url) in page.resolve() {
        let line = Line {
            url: url.as_ref().ok().map(Url::as_str),
            tag: link.source.element,
            attr: link.source.attribute,
            rel: link.rel,
            raw: url.is_err().then_some(link.raw),
            error: url.as_ref().err().map(ToString::to_string),
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::LinkKind;

    #[test]
    fn one_json_line_per_link() {
        let base = Url::parse("http://site.test/dir/page").expect("valid");
        let body = b"<a href=x#y rel=nofollow><a href='http://['><a href=x#y rel=nofollow><frame src=/f>";
        let mut out = Vec::new();
        inspect_links(&base, "text/html", Settings::default(), body, &mut out).expect("a vector takes all");
        let want = concat!(
            r#"{"url":"http://site.test/dir/x#y","tag":"a","attr":"href","rel":"nofollow"}"#,
            "\n",
            r#"{"url":null,"tag":"a","attr":"href","rel":null,"raw":"http://[","#,
            r#""error":"invalid IPv6 address"}"#,
            "\n",
            r#"{"url":"http://site.test/f","tag":"frame","attr":"src","rel":null}"#,
            "\n",
        );
        assert_eq!(String::from_utf8_lossy(&out), want);
    }

    #[test]
    fn the_content_type_says_how_the_file_is_read() {
        let base = Url::parse("http://site.test/").expect("valid");
        let settings = Settings { links: [LinkKind::Css, LinkKind::Feed].into_iter().collect(), ..Settings::default() };
        for (content_type, body, want) in [
            ("text/css", "a { b: url(c) }", r#"{"url":"http://site.test/c","tag":"style","attr":"","rel":null}"#),
            (
                "text/xml",
                "<rss><link>c</link></rss>",
                r#"{"url":"http://site.test/c","tag":"link","attr":"","rel":null}"#,
            ),
            ("text/plain", "<a href=c>", ""),
        ] {
            let mut out = Vec::new();
            inspect_links(&base, content_type, settings, body.as_bytes(), &mut out).expect("a vector takes all");
            assert_eq!(String::from_utf8_lossy(&out).trim_end(), want, "{content_type}");
        }
    }
}
