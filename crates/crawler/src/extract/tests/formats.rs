//! XHTML, SVG, feeds and style sheets; headers; kinds of links and the canonical hint.

use super::*;

fn read(format: Format, settings: Settings, body: &[u8], piece_bytes: usize) -> Page {
    let mut extractor = Extractor::of(format, &document(), settings, None);
    body.chunks(piece_bytes).for_each(|piece| extractor.write(piece));
    extractor.finish()
}

/// Checks the texts of the links, whole and in pieces.
fn check(format: Format, settings: Settings, body: &str, want: &[&str]) {
    for piece_bytes in [usize::MAX, 1, 3, 50] {
        let page = read(format, settings, body.as_bytes(), piece_bytes);
        assert_eq!(raws(&page), want, "in pieces of {piece_bytes}: {body}");
        assert!(!page.malformed && !page.truncated, "{body}");
    }
}

#[test]
fn xhtml_and_drawings() {
    let xml = |body, want: &[&str]| check(Format::Xml, Settings::default(), body, want);
    xml("", &[]);
    xml("<?xml version='1.0'?><!DOCTYPE html><html xmlns='x'><a href='a&amp;b'/><A href='no'/></html>", &["a&b"]);
    // In HTML the rest of the page would be the script's text.
    xml("<html><script src='x'/><title/><textarea/><a href='a'/></html>", &["a"]);
    xml("<html><!-- <a href='no'/> --><![CDATA[<a href='no'/>]]><a href='a'/></html>", &["a"]);
    xml("<html><noscript><a href='no'/></noscript><template><a href='no'/></template><h:a href='a'/></html>", &["a"]);
    xml("<html><script>'<a href='no'/>'</script><a href=\"a\">x</b><a href='b'/></html>", &["a", "b"]);
    xml("<html>& &nbsp; &unknown; <a href='a?b&copy=c'/>1 &lt; 2</html>", &["a?b&copy=c"]);
    xml("<svg><a xlink:href='a'/><a href='b' xlink:href='no'/></svg>", &["a", "b"]);
    xml(
        "<html><iframe src='a'/><link rel='next' href='b'/><meta http-equiv='refresh' content='0;url=c'/></html>",
        &["a", "b", "c"],
    );
    xml("<unknown><a href='no'/></unknown>", &[]);
    let all = |body, want: &[&str]| check(Format::Xml, all_kinds(), body, want);
    all(
        "<svg><image xlink:href='a'/><use href='b'/><feImage href='c'/><script href='d'/></svg>",
        &["a", "b", "c", "d"],
    );
    all(
        "<html><img src='a' srcset='b 1x'/><style>i{j:url(k)} <![CDATA[l{m:url(n&o)}]]></style></html>",
        &["a", "b", "k", "n&o"],
    );
    let page = read(
        Format::Xml,
        Settings::default(),
        b"<html><title>a &lt; b</title><base href='/b/'/><a href='c'/></html>",
        9,
    );
    let url = page.resolve().next().and_then(|(_, url)| url.ok());
    assert_eq!(
        (page.title.as_deref(), url.map(String::from).as_deref()),
        (Some("a < b"), Some("http://site.test/b/c"))
    );
}

#[test]
fn feeds() {
    let feed = |body, want: &[&str]| check(Format::Xml, Settings::default(), body, want);
    feed(
        "<rss><channel><title>t</title><link> http://a.test/ </link><atom:link rel='self' href='no'/><item>\
         <link><![CDATA[/b?c&d]]></link><guid>http://e.test/&amp;</guid><comments>/f</comments></item><item>\
         <guid isPermaLink='false'>http://no.test/</guid><guid>tag:no</guid><link/><enclosure url='no'/></item></channel></rss>",
        &["http://a.test/", "http://site.test/b?c&d", "http://e.test/&", "http://site.test/f"],
    );
    feed(
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/x/'><link href='a'/><link rel='self' href='no'/>\
         <entry xml:base='y/'><link rel='alternate' href='b'/><content type='xhtml'><div><a href='no'/></div></content></entry>\
         <link rel='next' href='c'/><link rel='hub' href='no'/></feed>",
        &["http://site.test/x/a", "http://site.test/x/y/b", "http://site.test/x/c"],
    );
    feed("<rdf:RDF><item rdf:about='no'><link>http://a.test/</link></item></rdf:RDF>", &["http://a.test/"]);
    feed("<urlset><url><loc>http://no.test/</loc></url></urlset>", &[]);
    let media = "<rss><item><enclosure url='a'/><media:content url='b'/><media:thumbnail url='c'/></item></rss>";
    check(
        Format::Xml,
        all_kinds(),
        media,
        &["http://site.test/dir/a", "http://site.test/dir/b", "http://site.test/dir/c"],
    );
    let none = Settings { links: LinkKinds::from_iter([LinkKind::A]), ..Settings::default() };
    check(Format::Xml, none, "<rss><link>http://a.test/</link></rss>", &[]);
}

#[test]
fn an_error_in_xml_ends_it_and_keeps_what_was_found() {
    for rest in
        ["<a href='no", "<!-- never closed <a href='no'/>", "<![CDATA[ <a href='no'/>", "<!wrong><a href='no'/>"]
    {
        let body = format!("<html><a href='a'/>{rest}");
        for piece_bytes in [usize::MAX, 1] {
            let page = read(Format::Xml, Settings::default(), body.as_bytes(), piece_bytes);
            assert_eq!((raws(&page), page.malformed), (vec!["a"], true), "{body}");
        }
    }
}

#[test]
fn a_token_of_xml_may_be_as_long_as_the_parser_may_hold() {
    let settings = Settings { max_parser_bytes: 64 << 10, ..Settings::default() };
    let check = |token_bytes: usize, links: &[&str], truncated| {
        let token = "x".repeat(token_bytes);
        let body = format!("<rss><link>/a</link><x><![CDATA[{token}]]></x><link>/b</link></rss>");
        let page = read(Format::Xml, settings, body.as_bytes(), 1_000);
        assert_eq!((raws(&page).len(), page.truncated), (links.len(), truncated), "{token_bytes}");
    };
    check(40 << 10, &["/a", "/b"], false);
    check(80 << 10, &["/a"], true);
}

#[test]
fn a_link_of_a_feed_that_is_too_long_is_counted_not_cut() {
    let settings = Settings { max_url_bytes: 10, ..Settings::default() };
    // Ten bytes of text are five of the URL, and would be a link.
    let body = "<rss><link>/&amp;/long</link><link>/b          \n \n</link><guid>tag:very-long-name</guid></rss>";
    let page = read(Format::Xml, settings, body.as_bytes(), 4);
    assert_eq!((raws(&page).len(), page.too_long, page.links_found), (0, 2, 2), "an absolute URL is longer than ten");
    let page = read(Format::Xml, Settings { max_url_bytes: 19, ..settings }, body.as_bytes(), 4);
    assert_eq!((raws(&page), page.too_long), (vec!["http://site.test/b"], 1));
}

#[test]
fn a_style_element_that_is_too_long_is_read_as_far_as_it_was_kept() {
    let settings = Settings { max_parser_bytes: 64 << 10, ..all_kinds() };
    let long = format!("@import 'a';{}@import 'no';", " ".repeat(100 << 10));
    for (format, body) in [
        (Format::Html, format!("<style>{long}</style><a href=b></a>")),
        (Format::Xml, format!("<html><style>{long}</style><a href='b'/></html>")),
    ] {
        let page = read(format, settings, body.as_bytes(), 1_000);
        assert_eq!((raws(&page), page.truncated), (vec!["a", "b"], true), "{format:?}");
    }
}

#[test]
fn a_style_sheet() {
    let css = |body, want: &[&str]| check(Format::Css, all_kinds(), body, want);
    css("@import 'a'; b { c: url(d) url('e#f') }", &["a", "d", "e"]);
    css("", &[]);
    check(Format::Css, Settings::default(), "@import 'a'", &[]);
    let settings = Settings { max_parser_bytes: 100, ..all_kinds() };
    let page = read(Format::Css, settings, format!("@import 'a';{}", " ".repeat(10_000)).as_bytes(), 50);
    assert_eq!((raws(&page), page.truncated), (vec!["a"], true));
    // Queries are in UTF-8, whatever the sheet is in.
    let page = read(Format::Css, all_kinds(), b"@charset \"latin1\"; @import '/?\xfc'", 99);
    let url = page.resolve().next().and_then(|(_, url)| url.ok());
    assert_eq!(url.map(String::from).as_deref(), Some("http://site.test/?%C3%BC"));
}

#[test]
fn headers_are_relative_to_the_page_and_come_first() {
    let settings = Settings { canonical: true, ..all_kinds() };
    let mut extractor = Extractor::new(&document(), settings, None);
    let link = "<a>; rel=canonical, <b>; rel=next; anchor=\"#c\", </s.css>; rel=stylesheet, <no>; rel=author, <no>, <http://[>; rel=prev";
    extractor.headers(Some(link), Some("5; url=d"));
    extractor.write(b"<base href=/base/><a href=e>");
    let page = extractor.finish();
    let urls: Vec<Option<String>> = page.resolve().map(|(_, url)| url.ok().map(String::from)).collect();
    let want = ["dir/a", "s.css", "", "dir/d", "base/e"]
        .map(|path| (!path.is_empty()).then(|| format!("http://site.test/{path}")));
    assert_eq!(urls, want);
    assert!(page.links().next().is_some_and(|link| link.is_canonical() && link.source.element == "header"));
    // None of these kinds is wanted.
    let mut extractor = Extractor::new(&document(), Settings { links: LinkKinds::from_iter([]), ..settings }, None);
    extractor.headers(Some(link), Some("5; url=d"));
    assert_eq!(extractor.finish().links_found, 0);
}

#[test]
fn a_canonical_hint_is_a_link_unless_it_is_ignored() {
    let body = "<link rel=canonical href=a><link rel='canonical next' href=b>";
    let ignored = Settings { canonical: false, ..Settings::default() };
    check(Format::Html, Settings::default(), body, &["a", "b"]);
    check(Format::Html, ignored, body, &["b"]);
}

#[test]
fn each_kind_is_taken_by_itself() {
    let page = "<a href=a><map><area href=area></map><link rel=next href=link><iframe src=iframe></iframe>\
        <frame src=frame><meta http-equiv=refresh content='0;url=refresh'><form action=form-get></form><img src=img>\
        <img srcset=srcset><script src=script></script><style>@import 'css'</style><link rel=icon href=icon>\
        <link rel=preload href=preload><object data=object></object><video src=media></video>";
    for kind in LinkKind::ALL.into_iter().filter(|kind| *kind != LinkKind::Feed) {
        let settings = Settings { links: LinkKinds::from_iter([kind]), ..Settings::default() };
        check(Format::Html, settings, page, &[kind.name()]);
    }
}

#[test]
fn many_attributes_cost_little() {
    let body =
        format!("<html><link{}/><a href='a'/></html>", (0..20_000).map(|i| format!(" a{i}=''")).collect::<String>());
    for format in [Format::Html, Format::Xml] {
        assert_eq!(raws(&read(format, all_kinds(), body.as_bytes(), 16 << 10)), ["a"]);
    }
}

#[test]
fn a_page_of_a_replacement_label_has_no_links() {
    let mut extractor = Extractor::new(&document(), Settings::default(), Some("iso-2022-kr"));
    extractor.write(b"<a href=x>");
    assert_eq!(extractor.finish().links_found, 0);
}

proptest::proptest! {
    #[test]
    fn any_xml_balances_and_does_not_depend_on_the_pieces(
        tokens in proptest::collection::vec(proptest::sample::select(vec![
            "<", ">", "/", "a", " href='x'", "'", "\"", "=", "&", "amp;", "&#65;", ";", "<!--", "-->", "<![CDATA[", "]]>", "<?x", "?>",
            "<!DOCTYPE x [", "]>", "<link>", "</link>", "<link href='l'/>", "text", "\u{e9}", "\n", "<title>", "</title>", "<style>",
            "<entry xml:base='/b/'>", "</entry>", "<template>", "</template>", "]",
        ]), 0..60),
        root in proptest::sample::select(vec!["<html>", "<feed>", "<svg>", ""]),
        piece_bytes in 1_usize..50,
    ) {
        let body = format!("{root}{}", tokens.concat());
        let whole = read(Format::Xml, all_kinds(), body.as_bytes(), usize::MAX);
        let page = read(Format::Xml, all_kinds(), body.as_bytes(), piece_bytes);
        proptest::prop_assert_eq!(raws(&page), raws(&whole));
        proptest::prop_assert_eq!(&page.title, &whole.title);
        proptest::prop_assert_eq!(page.malformed, whole.malformed);
        proptest::prop_assert_eq!(page.links_found, page.page_duplicates + page.link_count() as u64);
    }
}
