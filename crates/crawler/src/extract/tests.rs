//! The extractor against the DOM oracle, in pieces of any size, and on hostile pages.

use super::*;
use crate::demo::site::PAGES;
use crate::fields::oracle;
use crate::robots::directives::Directives;
use std::fmt::Write;

fn document() -> Url {
    Url::parse("http://site.test/dir/page.html").expect("valid")
}

fn extract(document: &Url, body: &[u8], piece_bytes: usize) -> Page {
    let mut extractor = Extractor::new(document, Settings::default(), None);
    for piece in body.chunks(piece_bytes) {
        extractor.write(piece);
    }
    extractor.finish()
}

/// Tag, text and URL without fragment, as the oracle has them.
fn links(page: &Page) -> Vec<(String, String, Option<String>)> {
    let row = |(link, url): (Link<'_>, Result<Url, _>)| {
        let url = url.ok().map(|mut url: Url| {
            url.set_fragment(None);
            url.to_string()
        });
        (link.tag.name().to_owned(), link.raw.to_owned(), url)
    };
    page.resolve().map(row).collect()
}

/// Compares all but the number of repeats; gives that, as found and as wanted.
fn check_oracle(document: &Url, body: &[u8]) -> (u64, u64) {
    let shown = String::from_utf8_lossy(body);
    let whole = extract(document, body, usize::MAX);
    let want = oracle::read(document, body, whole.encoding);
    assert_eq!(links(&whole), want.links, "{shown}");
    assert_eq!(whole.title, want.title, "{shown}");
    assert_eq!(whole.base, want.base, "{shown}");
    let kept = whole.links().count() as u64;
    assert_eq!(whole.links_found, whole.page_duplicates + kept, "{shown}");
    for piece_bytes in [1, 7, 1_000] {
        let pieces = extract(document, body, piece_bytes);
        assert_eq!(links(&pieces), want.links, "in pieces of {piece_bytes}: {shown}");
        assert_eq!(pieces.title, want.title, "in pieces of {piece_bytes}: {shown}");
    }
    (whole.links_found, want.links_found)
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
        "<svg><a href=x><a xlink:href=no></svg><math><a href=no></math><a href=y>",
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

#[test]
fn a_query_is_written_in_the_encoding_of_the_page() {
    let check = |label, href: &str, want: &str| {
        let mut extractor = Extractor::new(&document(), Settings::default(), Some(label));
        let encoding = Encoding::for_label(label.as_bytes()).expect("known");
        let page = format!("<a href='{href}'>");
        extractor.write(&encoding.encode(&page).0);
        let page = extractor.finish();
        let url = page.resolve().next().and_then(|(_, url)| url.ok());
        assert_eq!(url.map(String::from).as_deref(), Some(want), "{label} {href}");
    };
    check("utf-8", "/?\u{fc}", "http://site.test/?%C3%BC");
    check("latin1", "/\u{fc}?\u{fc}", "http://site.test/%C3%BC?%FC");
    check("latin1", "/?&#1083;x", "http://site.test/?%26%231083%3Bx");
}

#[test]
fn the_header_decides_over_the_page() {
    let mut extractor = Extractor::new(&document(), Settings::default(), Some("latin1"));
    extractor.write(b"<meta charset=utf-8><title>\xfc</title>");
    assert_eq!(extractor.finish().title.as_deref(), Some("\u{fc}"));
}

#[test]
fn nofollow_is_told_for_links_and_pages() {
    let check = |body: &str, link: bool, page: bool| {
        let got = extract(&document(), body.as_bytes(), usize::MAX);
        let first = got.links().next().expect("a link");
        assert_eq!((first.nofollow, got.directives.nofollow), (link, page), "{body}");
    };
    check("<a href=x>", false, false);
    check("<a href=x rel='ugc NoFollow'>", true, false);
    check("<a href=x rel=canonical,nofollow>", true, false);
    check("<a href=x rel=nofollow><a href=x>", false, false);
    check("<meta name=ROBOTS content='noindex, NOFOLLOW'><a href=x>", false, true);
    check("<meta name=robots content=none><a href=x>", false, true);
    check("<meta name=description content=nofollow><a href=x>", false, false);
    check("<meta name=OurBot content=nofollow><a href=x>", false, false);
    check("<template><meta name=robots content=nofollow></template><a href=x>", false, false);
}

#[test]
fn a_page_may_speak_to_one_crawler() {
    let mut extractor = Extractor::new(&document(), Settings::default(), None).for_crawler("ourbot");
    extractor.write(b"<meta name=otherbot content=nofollow><meta name=OurBot content='no&#105;ndex'>");
    assert_eq!(extractor.finish().directives, Directives { noindex: true, nofollow: false });
}

#[test]
fn limits_are_counted() {
    let settings = Settings { max_links: 2, max_url_bytes: 3, ..Settings::default() };
    let mut extractor = Extractor::new(&document(), settings, None);
    extractor.write(b"<a href=a><a href=long><a href=b><a href=a><a href=c><a href=abc#long>");
    let page = extractor.finish();
    let counts = [page.links_found, page.page_duplicates, page.too_long, page.over_cap];
    assert_eq!((counts, page.link_count(), page.truncated), ([6, 1, 1, 2], 2, false));
}

#[test]
fn over_the_memory_limit_what_was_found_is_kept() {
    let settings = Settings { max_parser_bytes: 64 << 10, ..Settings::default() };
    for rest in ["<b>".repeat(100_000), format!("<a href='{}", "x".repeat(1 << 20))] {
        let mut extractor = Extractor::new(&document(), settings, None);
        let body = format!("<title>t</title><a href=kept>{rest}<a href=lost>");
        body.as_bytes().chunks(4096).for_each(|piece| extractor.write(piece));
        let page = extractor.finish();
        assert!(page.truncated);
        assert_eq!(page.links().map(|link| link.raw).collect::<Vec<_>>(), ["kept"]);
        assert_eq!(page.title.as_deref(), Some("t"));
    }
}

#[test]
fn a_huge_href_is_one_counted_link() {
    let body = format!("<a href='{}'><a href=y>", "&amp;".repeat(200_000));
    let page = extract(&document(), body.as_bytes(), 1400);
    assert_eq!((page.links_found, page.too_long, page.link_count()), (2, 1, 1));
}

#[test]
fn very_many_links_are_counted_and_capped() {
    let mut body = String::new();
    for number in 0..150_000 {
        write!(body, "<a href=/{number}></a>").expect("strings take all");
    }
    let page = extract(&document(), body.as_bytes(), 16 << 10);
    assert_eq!((page.links_found, page.over_cap), (150_000, 50_000));
    assert_eq!(page.link_count(), 100_000);
}

#[test]
fn a_misplaced_tag_is_still_a_link() {
    let page = extract(&document(), b"<select><a href=x></select><frame src=y>", usize::MAX);
    assert_eq!(page.links().map(|link| link.raw).collect::<Vec<_>>(), ["x", "y"]);
}

#[test]
fn a_page_may_change_threads_while_it_comes_in() {
    let mut extractor = Extractor::new(&document(), Settings::default(), None);
    extractor.write(b"<a href=x");
    let moved = std::thread::spawn(move || {
        extractor.write(b"><a href=y>");
        extractor.finish().link_count()
    });
    assert_eq!(moved.join().expect("no panic"), 2);
}

#[test]
fn a_long_title_is_cut() {
    let body = format!("<title>{}", "\u{20ac}".repeat(5_000));
    let title = extract(&document(), body.as_bytes(), 100).title.expect("a title");
    assert_eq!(title.len(), MAX_TITLE_BYTES - MAX_TITLE_BYTES % 3);
}

fn token() -> impl proptest::strategy::Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "<a href=",
        "x",
        "y#f",
        "'",
        "\"",
        ">",
        "</a>",
        " ",
        "<",
        "/",
        "<!--",
        "-->",
        "&amp;",
        "<script>",
        "</script>",
        "<title>",
        "</title>",
        "<p>",
        "\n",
        "=",
        "href",
        "\u{e9}",
        "<base href=/b/>",
        "<iframe src=i>",
        "</iframe>",
        "<svg>",
        "</svg>",
        "&#x41;",
        "\0",
    ])
}

proptest::proptest! {
    #[test]
    fn any_bytes_balance_and_do_not_depend_on_the_pieces(
        body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400),
        tokens in proptest::collection::vec(token(), 0..60),
        piece_bytes in 1_usize..50,
    ) {
        for body in [body, tokens.concat().into_bytes()] {
            let page = extract(&document(), &body, piece_bytes);
            let whole = extract(&document(), &body, usize::MAX);
            proptest::prop_assert_eq!(links(&page), links(&whole));
            proptest::prop_assert_eq!(&page.title, &whole.title);
            let kept = page.link_count() as u64;
            proptest::prop_assert_eq!(page.links_found, page.page_duplicates + kept);
        }
    }
}
