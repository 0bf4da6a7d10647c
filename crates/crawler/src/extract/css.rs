//! The URLs that a style sheet names: `url()`, `@import` and the strings of `image-set()`.
//!
//! Not a parser of declarations: whether a property takes a URL is not asked. Invariant: the cost is linear; blocks
//! are entered as deep as the tokenizer allows (75), and what lies deeper is read as if it had no blocks.

use super::found::Found;
use super::kinds::{LinkKind, Source};
use super::text::Decoding;
use cssparser::{ParseError, Parser, Token};
use encoding_rs::Encoding;

/// A style sheet as it streams in. It is kept, up to `Settings::max_parser_bytes`, and read at its end.
pub(super) struct Sheet {
    found: Found,
    decoding: Decoding,
    text: String,
    whole: bool,
}

impl Sheet {
    pub(super) fn new(found: Found, encoding: &'static Encoding) -> Sheet {
        let whole = true;
        Sheet { found, decoding: Decoding::new(encoding), text: String::new(), whole }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.decode(bytes, false);
    }

    /// Ends the sheet. Gives what was found, and whether all of it was read.
    pub(super) fn end(mut self) -> (Found, bool) {
        self.decode(&[], true);
        if self.found.settings.links.has(LinkKind::Css) {
            let source = Source::new(LinkKind::Css, "style", "");
            self.found.value(&self.text, source, None);
        }
        (self.found, self.whole)
    }

    fn decode(&mut self, bytes: &[u8], last: bool) {
        let Sheet { found, decoding, text, whole } = self;
        let max_bytes = found.settings.max_parser_bytes;
        *whole = *whole
            && decoding.write(bytes, last, |piece| {
                let room = max_bytes - text.len();
                text.push_str(&piece[..piece.floor_char_boundary(room)]);
                piece.len() <= room
            });
    }
}

/// Calls `take` with each URL, unescaped, in order. `@namespace` has a name, not a URL; an empty `url()` loads nothing.
pub(super) fn urls(sheet: &str, mut take: impl FnMut(&str)) {
    let mut not_empty = |url: &str| {
        if !url.trim_ascii().is_empty() {
            take(url);
        }
    };
    block(&mut Parser::new(sheet), Strings::Text, &mut not_empty);
}

/// What a quoted string is, where it stands.
#[derive(Clone, Copy, PartialEq)]
enum Strings {
    Text,
    Url,
}

/// The at-rule whose beginning is being read.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Import,
    Namespace,
    Other,
}

/// Reads the tokens of a block or of the whole sheet.
fn block(parser: &mut Parser<'_>, strings: Strings, take: &mut dyn FnMut(&str)) {
    let mut rule = Rule::Other;
    while let Ok(token) = parser.next() {
        let mut inside = None;
        match token {
            Token::UnquotedUrl(url) if rule != Rule::Namespace => take(url),
            Token::QuotedString(url) if strings == Strings::Url => take(url),
            Token::QuotedString(url) if rule == Rule::Import => {
                take(url);
                rule = Rule::Other;
            }
            Token::AtKeyword(name) if name.eq_ignore_ascii_case("import") => rule = Rule::Import,
            Token::AtKeyword(name) if name.eq_ignore_ascii_case("namespace") => rule = Rule::Namespace,
            Token::AtKeyword(_) | Token::Semicolon => rule = Rule::Other,
            Token::Function(name) => {
                let is_url = name.eq_ignore_ascii_case("url") && rule != Rule::Namespace;
                let is_set = ["image-set", "-webkit-image-set"].iter().any(|set| name.eq_ignore_ascii_case(set));
                inside = Some(if is_url || is_set { Strings::Url } else { Strings::Text });
            }
            Token::CurlyBracketBlock => {
                rule = Rule::Other;
                inside = Some(Strings::Text);
            }
            Token::ParenthesisBlock | Token::SquareBracketBlock => inside = Some(Strings::Text),
            _ => {}
        }
        if let Some(strings) = inside {
            // An error would only say that the block lies too deep: then the next token is its first one.
            let _ = parser.parse_nested_block(|parser| -> Result<(), ParseError<()>> {
                block(parser, strings, take);
                Ok(())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sheet: &str, want: &[&str]) {
        let mut got = Vec::new();
        urls(sheet, |url| got.push(url.to_owned()));
        assert_eq!(got, want, "{sheet:.100}");
    }

    #[test]
    fn sheets() {
        check("", &[]);
        check("a { background: url(x.png) }", &["x.png"]);
        check("a { background: URL( 'x y.png' ) , url(\"z\") }", &["x y.png", "z"]);
        check("@import 'a.css'; @import url(b.css) screen; @import \"c\" layer(x)", &["a.css", "b.css", "c"]);
        check("@charset 'utf-8'; @namespace url(http://n/); @namespace p url('http://n/'); @namespace 'n';", &[]);
        check("@font-face { src: url(a.woff2) format('woff2'), local('b') }", &["a.woff2"]);
        check("@media x { @supports (a: b) { i { j: url(k) } } }", &["k"]);
        check("a { b: image-set('x' 1x, url(y) 2x type('image/png')) }", &["x", "y"]);
        check("/* url(no) */ a { content: 'url(no)' } b { c: url() url('') url( ) }", &[]);
        check("a { b: url(x\\29 y\\.png) }", &["x)y.png"]);
        check("a { b: url(bad url); c: url(good) }", &["good"]);
        check("} ) ] a { b: url(x", &["x"]);
        check("background: url(x)", &["x"]);
    }

    #[test]
    fn blocks_nested_without_end_cost_little_and_hide_nothing() {
        let depth = 200_000;
        let sheet = format!("{}url(deep){} a {{ b: url(after) }}", "(".repeat(depth), ")".repeat(depth));
        check(&sheet, &["deep", "after"]);
        check(&"url(".repeat(depth), &[]);
        check(&"{".repeat(depth), &[]);
    }
}
