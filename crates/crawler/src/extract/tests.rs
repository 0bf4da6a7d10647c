//! The extractor against the DOM oracle, in pieces of any size, and on hostile pages.

mod cases;
mod documentation;
mod formats;
mod oracle;

use super::*;
use crate::robots::directives::Directives;
use oracle::links;
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

/// Settings that take every kind of link.
fn all_kinds() -> Settings {
    Settings { links: LinkKinds::from_iter(LinkKind::ALL), ..Settings::default() }
}

/// The texts of the links.
fn raws(page: &Page) -> Vec<&str> {
    page.links().map(|link| link.raw).collect()
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
        assert_eq!(raws(&page), ["kept"]);
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
    assert_eq!(raws(&page), ["x", "y"]);
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
