//! Whole sitemaps, well-meant, broken and hostile.
//!
//! Not dates and locations: those are tested where they are. Invariant: every document here is also read one byte at a
//! time, and has to come to the same.

mod cases;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

const FEW: Settings = Settings { max_entries: 3, max_bytes: 64 << 10, max_url_bytes: 200, is_expected: true };

/// Reads a document whole and a byte at a time, which has to come to the same.
pub(super) fn read_with(settings: Settings, label: Option<&str>, body: &[u8]) -> (Sitemap, End) {
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut reader = Reader::new(settings, label);
        pieces.for_each(|piece| reader.write(piece));
        let is_sitemap = reader.is_sitemap();
        let (sitemap, end) = reader.finish();
        assert!(is_sitemap.is_none_or(|is| is == sitemap.format.is_some()));
        assert_eq!(end == End::NotASitemap, sitemap.format.is_none() && end != End::BadGzip, "{end:?}");
        (sitemap, end)
    };
    let (whole, end) = read(&mut std::iter::once(body));
    let (cut, end_of_cut) = read(&mut body.chunks(1));
    assert_eq!((&whole.entries, whole.format, whole.invalid), (&cut.entries, cut.format, cut.invalid));
    assert_eq!(end, end_of_cut, "{}", String::from_utf8_lossy(body));
    (whole, end)
}

fn read(body: &[u8]) -> (Sitemap, End) {
    read_with(Settings::default(), None, body)
}

/// What the URLs of a document are, and how it ends.
fn check(body: impl AsRef<[u8]>, format: Option<Format>, urls: &[&str], end: End) {
    let (sitemap, ended) = read(body.as_ref());
    let found: Vec<&str> = sitemap.entries.iter().map(|entry| entry.url.as_str()).collect();
    assert_eq!((sitemap.format, &found[..], ended), (format, urls, end), "{}", String::from_utf8_lossy(body.as_ref()));
}

fn url_set(body: &str, urls: &[&str]) {
    check(format!("<urlset>{body}</urlset>"), Some(Format::UrlSet), urls, End::Complete);
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

#[test]
fn an_entry_with_all_that_it_may_say() {
    let body = "<?xml version='1.0' encoding='UTF-8'?><?xml-stylesheet href='x'?><!-- <url> -->\
        <urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc> http://a.test/?a&amp;b&#x3D;&#49; </loc>\
        <lastmod>2004-10-01</lastmod><changefreq>weekly</changefreq><priority>0.8</priority></url></urlset>";
    let text = |text: &str| Some(text.to_owned());
    let entry = Entry {
        url: "http://a.test/?a&b=1".to_owned(),
        lastmod: text("2004-10-01"),
        changefreq: text("weekly"),
        priority: text("0.8"),
    };
    let (sitemap, end) = read(body.as_bytes());
    assert_eq!((sitemap.entries, sitemap.invalid, end), (vec![entry], 0, End::Complete));
}

#[test]
fn a_namespace_may_be_missing_wrong_or_have_a_prefix() {
    url_set("<url xmlns=''><loc>a</loc></url>", &["a"]);
    let prefixed = "<sm:urlset xmlns:sm='x'><sm:url><sm:loc>a</sm:loc></sm:url></sm:urlset>";
    check(prefixed, Some(Format::UrlSet), &["a"], End::Complete);
    url_set("<url><loc>a</loc><image:image><image:loc>b</image:loc></image:image></url>", &["a"]);
    url_set("<url><image><loc>b</loc></image><loc>a</loc></url>", &["a"]);
    url_set("<url><video:video><video:url><loc>b</loc></video:url></video:video><loc>a</loc></url>", &["a"]);
    url_set("<url><loc>a</loc><xhtml:link rel='alternate' href='b'/></url>", &["a"]);
    check("<URLSET><URL><Loc>a</Loc></URL></URLSET>", Some(Format::UrlSet), &["a"], End::Complete);
}

#[test]
fn text_is_put_together_of_all_its_parts() {
    url_set("<url><loc><![CDATA[http://a.test/?a&b]]></loc></url>", &["http://a.test/?a&b"]);
    url_set("<url><loc>\n <![CDATA[ \u{a0}a]]>b<!-- c -->&amp;<![CDATA[]]> \u{2000}</loc></url>", &["ab&"]);
    url_set("<url><loc>a?b=1&c=2&d;&e=3;f&lt;</loc></url>", &[]);
    url_set("<url><loc>a?b=1&c=2&e=3;f&lt;&</loc></url>", &["a?b=1&c=2&e=3;f<&"]);
    url_set("<url><loc>a<b>c</b>d</loc></url>", &["acd"]);
    url_set("<url><loc><url><![CDATA[a]]></url></loc><lastmod>x</lastmod></url>", &["a"]);
}

#[test]
fn what_nobody_has_closed() {
    url_set("<url><loc>a</loc><url><loc>b</url><url><loc>c<lastmod>d</url>", &["a", "b", "c"]);
    url_set("<url><loc>a</loc><lastmod>x</lastmod><loc>b</loc><image></url><url><loc>c</loc>", &["a", "b", "c"]);
    url_set("</url></loc><url></b><loc>a</b></loc></url></urlset><url><loc>b</loc></url>", &["a"]);
    url_set("<loc>a</loc><url><loc/><loc></loc></url><url/>", &[]);
}

#[test]
fn what_came_before_a_cut_counts() {
    let whole =
        "<urlset><url><loc>a</loc><lastmod>2004</lastmod></url><url><loc>b</loc><lastmod>20</lastmod></url></urlset>";
    let cut = |at: &str, urls: &[&str]| {
        let body = &whole[..whole.find(at).expect("is there") + at.len()];
        check(body, Some(Format::UrlSet), urls, End::Unfinished);
    };
    cut("<urlset>", &[]);
    cut("<loc>a", &[]);
    cut("<loc>a</lo", &[]);
    cut("<loc>a</loc>", &["a"]);
    cut("</url><url><loc>b", &["a"]);
    cut("<lastmod>20</lastmod></ur", &["a", "b"]);
    let packed = gzip(whole.as_bytes());
    check(&packed, Some(Format::UrlSet), &["a", "b"], End::Complete);
    let (sitemap, end) = read(&packed[..packed.len() - 20]);
    assert!(end == End::BadGzip && sitemap.entries.len() < 2, "{sitemap:?}");
    check(&packed[..20], None, &[], End::BadGzip);
    check([&packed[..12], b"xxxxxxxxxxxx"].concat(), None, &[], End::BadGzip);
    let padded = [&packed[..], &[0; 100]].concat();
    check(&padded, Some(Format::UrlSet), &["a", "b"], End::Complete);
    let in_two = [gzip(&whole.as_bytes()[..50]), gzip(&whole.as_bytes()[50..])].concat();
    check(&in_two, Some(Format::UrlSet), &["a", "b"], End::Complete);
}

#[test]
fn entities_stand_for_nothing() {
    let xxe = "<!DOCTYPE urlset [<!ENTITY test SYSTEM 'file:///etc/hostname'><!ENTITY % x '>'>]>\
        <urlset><url><loc>a</loc></url><url><loc>&test;</loc></url><url><loc>b&#0;</loc></url></urlset>";
    let (sitemap, end) = read(xxe.as_bytes());
    assert_eq!((sitemap.entries.len(), sitemap.invalid, end), (1, 2, End::Complete));

    let mut laughs = "<!DOCTYPE urlset [<!ENTITY a0 'ha'>".to_owned();
    for n in 1..30 {
        laughs.push_str(&format!("<!ENTITY a{n} '{}'>", format!("&a{};", n - 1).repeat(10)));
    }
    laughs.push_str("]><urlset><url><loc>http://a.test/&a29;</loc><lastmod>&a29;</lastmod></url></urlset>");
    let (sitemap, end) = read(laughs.as_bytes());
    assert_eq!((sitemap.entries.len(), sitemap.invalid, end), (0, 1, End::Complete));
}

#[test]
fn encodings() {
    let document =
        |label: &str| format!("<?xml version='1.0' encoding='{label}'?><urlset><url><loc>\u{e9}</loc></url></urlset>");
    let utf16 = |text: &str, swap: bool| -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode("\u{e9}");
    let latin = |label: &str| {
        let text = document(label).into_bytes();
        let at = text.windows(2).position(|pair| pair == "\u{e9}".as_bytes()).expect("is there");
        [&text[..at], &latin[..], &text[at + 2..]].concat()
    };
    let good = |body: &[u8]| check(body, Some(Format::UrlSet), &["\u{e9}"], End::Complete);
    good(document("utf-8").as_bytes());
    good(document("no-such").as_bytes());
    good(document("utf-16").as_bytes());
    good(&latin("iso-8859-1"));
    good(&latin("no-such"));
    for mark in ["\u{feff}", "\u{feff}\n \t\r\n", "", "\u{feff}\u{feff}"] {
        let text = format!("{mark}{}", document("utf-8"));
        good(text.as_bytes());
        if mark != "\u{feff}\u{feff}" {
            good(&utf16(&text, false));
            good(&utf16(&text, true));
        }
    }
    let (sitemap, _) = read_with(Settings::default(), Some("windows-1251"), &latin("utf-8"));
    assert_eq!(sitemap.entries[0].url, "\u{439}", "a header has more to say than a declaration");
    check(
        "<urlset><url><loc>http://\u{feff}a</loc></url>\u{feff}</urlset>",
        Some(Format::UrlSet),
        &["http://\u{feff}a"],
        End::Complete,
    );
}

#[test]
fn an_index() {
    let body =
        "<sitemapindex><sitemap><loc>a</loc><lastmod>x</lastmod></sitemap><url><loc>b</loc></url></sitemapindex>";
    check(body, Some(Format::Index), &["a"], End::Complete);
    assert!(read(body.as_bytes()).0.is_index());
}

#[test]
fn text() {
    check(
        "http://a.test/\r\n\n  HTTPS://b.test/ \r\rno url",
        Some(Format::Text),
        &["http://a.test/", "HTTPS://b.test/", "no url"],
        End::Complete,
    );
    check("\u{feff}http://a.test/\u{e9}", Some(Format::Text), &["http://a.test/\u{e9}"], End::Complete);
    check(gzip(b"http://a.test/\n"), Some(Format::Text), &["http://a.test/"], End::Complete);
    for bogus in
        ["this is a bogus sitemap", "/a\nhttp://a.test/", "{\"a\": 1}", "", " \n", "\u{0}", "http:/", "ftp://a.test/"]
    {
        check(bogus, None, &[], End::NotASitemap);
    }
    let long = format!("http://a.test/\nhttp://a.test/{}\n{}http://b.test/", "x".repeat(9000), " ".repeat(9000));
    let (sitemap, end) = read(long.as_bytes());
    assert_eq!((sitemap.entries.len(), sitemap.invalid, end), (2, 1, End::Complete));
    let (sitemap, end) = read(format!("http://a.test/{}", "x".repeat(9000)).as_bytes());
    assert_eq!((sitemap.format, sitemap.invalid, end), (Some(Format::Text), 1, End::Complete));
}

#[test]
fn feeds() {
    let rss = "<rss version='2.0'><channel><link>no</link><pubDate>no</pubDate><atom:link href='no'/>\
        <item><title>t</title><link>a</link><link>b</link><guid>c</guid><pubDate>Fri, 01 Oct 2004 18:23:17 GMT</pubDate></item>\
        <item><guid isPermaLink='false'>https://g.test/</guid></item><item><guid>7</guid></item><item/></channel></rss>";
    check(rss, Some(Format::Rss), &["a", "https://g.test/"], End::Complete);
    assert_eq!(read(rss.as_bytes()).0.entries[0].changed_at_secs(), Some(1_096_654_997));
    let rdf = "<rdf:RDF xmlns='x'><channel><link>no</link></channel><item rdf:about='x'><link>a</link><dc:date>2004</dc:date></item></rdf:RDF>";
    check(rdf, Some(Format::Rss), &["a"], End::Complete);
    assert_eq!(read(rdf.as_bytes()).0.entries[0].lastmod.as_deref(), Some("2004"));
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='no'/><entry><link rel='self' href='no'/>\
        <link href='a?b&amp;c'/><link rel='alternate' href='no'></link><published>1999</published><updated>2004</updated>\
        <content><entry/></content></entry><entry><link rel='enclosure' href='no'/></entry></feed>";
    check(atom, Some(Format::Atom), &["a?b&c"], End::Complete);
    assert_eq!(read(atom.as_bytes()).0.entries[0].lastmod.as_deref(), Some("2004"));
}

#[test]
fn what_is_no_sitemap() {
    let unexpected = Settings { is_expected: false, ..Settings::default() };
    for body in [
        "<!DOCTYPE html><html><body><a href='x'>y</a></body></html>",
        "<svg/>",
        "<",
        "<!-- never ends",
        "<?xml version='1.0'?>",
        "\u{1f}\u{8b}",
        "</>",
        "</urlset>",
    ] {
        check(body, None, &[], End::NotASitemap);
    }
    for body in ["<rss><channel><item><link>a</link></item></channel></rss>", "<feed/>", "http://a.test/"] {
        assert_eq!(read_with(unexpected, None, body.as_bytes()).1, End::NotASitemap, "{body}");
        assert_eq!(read(body.as_bytes()).1, End::Complete, "{body}");
    }
    let (sitemap, _) = read_with(unexpected, None, b"<urlset><url><loc>a</loc></url></urlset>");
    assert_eq!(sitemap.entries.len(), 1);
    let prolog = format!("<!-- {} -->", "x".repeat(1000)).repeat(1000);
    check(format!("{prolog}<urlset/>"), None, &[], End::NotASitemap);
    check(" ".repeat(1 << 20), None, &[], End::NotASitemap);
}

#[test]
fn limits_cut_and_say_so() {
    let entry = "<url><loc>http://a.test/</loc></url>";
    let count = |body: &[u8]| {
        let (sitemap, end) = read_with(FEW, None, body);
        (sitemap.entries.len(), sitemap.invalid, end)
    };
    assert_eq!(count(format!("<urlset>{}</urlset>", entry.repeat(3)).as_bytes()), (3, 0, End::Complete));
    assert_eq!(count(format!("<urlset>{}</urlset>", entry.repeat(4)).as_bytes()), (3, 0, End::TooManyEntries));
    let large = format!("<urlset>{entry}<!-- {} -->{entry}</urlset>", "x".repeat(64 << 10));
    assert_eq!(count(large.as_bytes()), (1, 0, End::TooLarge));
    let huge = format!("<urlset>{entry}<url><loc>{}</loc></url>{entry}</urlset>", "x".repeat(201));
    assert_eq!(count(huge.as_bytes()), (2, 1, End::Complete));
    let huge = format!("<urlset>{entry}<url><loc>{}</loc></url>{entry}</urlset>", "x&amp;".repeat(5000));
    assert_eq!(count(huge.as_bytes()), (2, 1, End::Complete));
}

#[test]
fn a_token_without_end_ends_the_reading() {
    for start in ["<![CDATA[", "<!-- ", "<a b='", "<!DOCTYPE x [", "<?x "] {
        let mut reader = Reader::new(Settings::default(), None);
        reader.write(b"<urlset><url><loc>http://a.test/</loc></url>");
        reader.write(start.as_bytes());
        let piece = [b'x'; 10_000];
        let pieces = (0..1000).take_while(|_| {
            reader.write(&piece);
            reader.ended().is_none()
        });
        assert!(pieces.count() < 300, "{start}");
        let (sitemap, end) = reader.finish();
        assert_eq!((sitemap.entries.len(), end), (1, End::Malformed), "{start}");
    }
}

#[test]
fn a_bomb_costs_what_is_taken_of_it() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(b"<urlset><url><loc>http://a.test/</loc></url>").expect("memory takes all");
    let blank = vec![b' '; 1 << 20];
    (0..100).for_each(|_| encoder.write_all(&blank).expect("memory takes all"));
    let bomb = encoder.finish().expect("memory takes all");
    assert!(bomb.len() < 200_000);
    let mut reader = Reader::new(Settings::default(), None);
    reader.write(&bomb);
    assert_eq!(reader.ended(), Some(End::TooLarge));
    let (sitemap, end) = reader.finish();
    assert_eq!((sitemap.entries.len(), sitemap.bytes, end), (1, 50 << 20, End::TooLarge));
}

proptest! {
    #[test]
    fn any_bytes_end_the_same_however_they_are_cut(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes);
    }

    #[test]
    fn any_markup_ends_the_same_however_it_is_cut(tokens in prop::collection::vec(prop::sample::select(vec![
        "<urlset>", "<sitemapindex>", "<rss>", "<feed>", "</urlset>", "<url>", "</url>", "<loc>", "</loc>", "<sitemap>",
        "http://a.test/", "&amp;", "&", ";", "&#x41;", "<![CDATA[", "]]>", "<!--", "-->", "<!", "<", ">", "<?", "?>", "<!DOCTYPE x [",
        "]", "'", "\"", "<lastmod>", "</lastmod>", "<a", "/>", " ", "\n", "\u{feff}", "\u{e9}", "<item>", "<link>", "</", "<!ENTITY a 'b'>",
    ]), 0..40)) {
        read(tokens.concat().as_bytes());
    }
}
