//! The extractor against the DOM: the test site, a table of pages, other charsets; each for the default kinds of links and
//! for all of them.

use super::*;
use crate::demo::site::PAGES;
use crate::fields::oracle::{self, OraclePage, Wanted};

/// Element, attribute, text and URL without fragment, as the oracle has them.
pub(super) fn links(page: &Page) -> Vec<(String, String, String, Option<String>)> {
    let row = |(link, url): (Link<'_>, Result<Url, _>)| {
        let url = url.ok().map(|mut url: Url| {
            url.set_fragment(None);
            url.to_string()
        });
        let Source { element, attribute, .. } = link.source;
        (element.to_owned(), attribute.to_owned(), link.raw.to_owned(), url)
    };
    page.resolve().map(row).collect()
}

/// The page by its DOM.
pub(super) fn by_dom(document: &Url, body: &[u8], encoding: &'static Encoding, all: bool) -> OraclePage {
    let wanted = Wanted { all, srcset: |text, take| srcset::urls(text, take), css: |text, take| css::urls(text, take) };
    oracle::read(document, body, encoding, wanted)
}

/// The page as it is extracted, from pieces of a size.
pub(super) fn by_pieces(document: &Url, body: &[u8], all: bool, piece_bytes: usize) -> Page {
    let settings = if all { all_kinds() } else { Settings::default() };
    let mut extractor = Extractor::new(document, settings, None);
    body.chunks(piece_bytes).for_each(|piece| extractor.write(piece));
    extractor.finish()
}

/// Compares all but the number of repeats; gives that, as found and as wanted.
fn check_oracle(document: &Url, body: &[u8]) -> (u64, u64) {
    let shown = String::from_utf8_lossy(body);
    let mut numbers = (0, 0);
    for all in [true, false] {
        let whole = by_pieces(document, body, all, usize::MAX);
        let want = by_dom(document, body, whole.encoding, all);
        assert_eq!(links(&whole), want.links, "all: {all}, {shown}");
        assert_eq!(whole.title, want.title, "{shown}");
        assert_eq!(whole.base, want.base, "{shown}");
        let kept = whole.links().count() as u64;
        assert_eq!(whole.links_found, whole.page_duplicates + kept, "{shown}");
        for piece_bytes in [1, 7, 1_000] {
            let pieces = by_pieces(document, body, all, piece_bytes);
            assert_eq!(links(&pieces), want.links, "in pieces of {piece_bytes}: {shown}");
            assert_eq!(pieces.title, want.title, "in pieces of {piece_bytes}: {shown}");
        }
        numbers = (whole.links_found, want.links_found);
    }
    numbers
}

#[test]
fn the_test_site_is_read_as_its_dom_says() {
    for (path, content_type, body) in PAGES {
        if content_type.starts_with("text/html") {
            let document = document().join(path).expect("joins");
            let (found, want) = check_oracle(&document, body);
            assert_eq!(found, want, "{path}");
        }
    }
}

#[test]
fn a_table_of_pages_is_read_as_their_dom_says() {
    for body in [
        "",
        "no markup",
        "<a href=x>",
        "<a href='x'><a href=\"y\"><a href = z >",
        "<A HREF=x><a HrEf=y>",
        "<a href><a href=''><a href=#><a href='#x'><a href=' '>",
        "<a href='x#1'><a href='x#2'><a href='x #3'><a href='x '>",
        "<a href=?q=1&amp;r=2><a href=?q=1&r=2><a href=?a&copy=1><a href=?a&copy;=1>",
        "<a href='&#x68;ttp&colon;//h.test/&#0;&#128;'><a href='a\0b'><a href='a\r\nb\rc'>",
        "<a href='\tx\n'><a href='x\ty'>",
        "<a href=x href=y><a title='<a href=no>' href=yes>",
        "<a href=x/><a/href=y><a href='z'title=t><a\nhref=w>",
        "<a href=x <a href=y>",
        "<a href='unclosed>",
        "<a href=x",
        "<!-- <a href=c> --><!--><a href=d>--><!---><a href=e>--><a href=f>",
        "<![CDATA[<a href=c>]]><svg><![CDATA[<a href=d>]]><a href=e></svg>",
        "<?pi <a href=x>?><a href=y></a <a href=no>",
        "<script><a href=no></script><a href=yes>",
        "<script><!--<script><a href=no></script>--></script><a href=yes>",
        "<style><a href=no></style><textarea><a href=no></textarea><a href=yes>",
        "<noscript><a href=no></noscript><xmp><a href=no></xmp><a href=yes>",
        "<title>a</title><svg><title>b</title></svg><title>c</title>",
        "<svg><title>b</title></svg><title>&lt;c&gt; &amp; d</title>",
        "<title> a \n b </title><title><a href=no></title><a href=yes>",
        "<template><a href=no><base href=/no/><title>no</title></template><a href=yes>",
        "<template><template><a href=no></template><a href=no></template><a href=yes>",
        "<div><template shadowrootmode=open><a href=yes></template></div><a href=too>",
        "<svg><template></template><a href=yes></svg>",
        "<svg><a href=x><a xlink:href=y><a xlink:href=no href=z></svg><math><a href=no></math><a href=w>",
        "<svg><image href=a /><image xlink:href=b /><use xlink:href=c /><script href=d></script><feImage href=e /></svg>",
        "<svg><style>i { j: url(k) } /* &amp; */</style></svg><svg style='a: url(b)'></svg>",
        "<svg><desc><a href=x></desc><foreignObject><iframe src=y></iframe></foreignObject></svg>",
        "<a href=x>1<base href=/b/><base href=/c/><a href=y>",
        "<base target=_top><base href='//other.test/d/'><a href=x>",
        "<base href='http://['><a href=x>",
        "<base href=''><a href=x>",
        "<base href='#f'><a href=x>",
        "<link rel=canonical href=a><link rel='X NEXT' href=b><link rel=stylesheet href=no>",
        "<link rel='alternate stylesheet' href=no><link href=no><link rel=prev>",
        "<map><area href=a><area></map><iframe src=b></iframe><iframe></iframe>",
        "<frameset><frame src=a><frame src=b><noframes><a href=no></noframes></frameset>",
        "<meta http-equiv=Refresh content='0; url=a'><meta http-equiv=refresh content='1;URL=\"b\"'>",
        "<p><a href=x>1<p>2<p><a href=y>3", // the tree holds the first twice
        "<table><tr><td><a href=x>1</a></table><a href=y>",
        "<ul><li><a href=x>1<li><a href=y>2</ul>",
        "<img src=a srcset='b 1x, c 2x' style='d: url(e)'><image src=f><img><img src=''>",
        "<picture><source srcset='a, b 2x'><source src=c></picture><link rel=preload imagesrcset='d 1x' href=e>",
        "<script src=a></script><script>'<img src=no>'</script><noscript><img src=no></noscript>",
        "<style>@import 'a'; b { c: url(d) }</style><style></style><style media=x>url(e)",
        "<style>a { content: '</style><a href=x>' }</style>",
        "<link rel=stylesheet href=a><link rel='shortcut icon' href=b><link rel=manifest href=c><link rel=dns-prefetch href=no>",
        "<link rel=stylesheet href=no disabled><link rel=stylesheet href=b disabled=''><link rel=next href=c disabled>",
        "<link rel='can&#111;nical' href=a><link rel='alternate stylesheet' href=b>",
        "<form action=a></form><form action=no method=POST></form><form method=GET action=b></form><form></form>",
        "<form action=no method=dialog></form><form action=c method=put></form>",
        "<input type=IMAGE src=a><input src=no><object data=b><embed src=c></object>",
        "<video src=a poster=b><source src=c><track src=d></video><audio src=e></audio>",
        "<body background=a><table background=b><tr background=c><td background=d>x<th background=e></table>",
        "<template><img src=no><style>url(no)</style><form action=no></form></template><img src=yes>",
        "<p style='a: url(&quot;b&quot;)'><p style=''><p style='c:url(d#e)'>",
        "<select><option>1</select><a href=x>",
        "\u{feff}<a href=\u{e9}?\u{e9}>",
        "<meta charset=latin1><a href=x>",
        "<a href=\u{65e5}><a href='http://\u{65e5}.test/'>",
    ] {
        check_oracle(&document(), body.as_bytes());
    }
}

#[test]
fn other_charsets_are_read_as_their_dom_says() {
    let text = "<title>\u{43f}\u{440}</title><a href='\u{43f}?\u{440}'>";
    for (label, encoding) in [
        ("koi8-r", encoding_rs::KOI8_R),
        ("windows-1251", encoding_rs::WINDOWS_1251),
        ("shift_jis", encoding_rs::SHIFT_JIS),
        ("iso-2022-jp", encoding_rs::ISO_2022_JP),
        ("utf-8", UTF_8),
    ] {
        let body = format!("<meta charset={label}>{text}");
        let (body, _, _) = encoding.encode(&body);
        check_oracle(&document(), &body);
    }
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let body: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect();
        check_oracle(&document(), &body);
    }
}
