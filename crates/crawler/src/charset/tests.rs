//! Encodings: who declares, who wins, what is guessed.

use super::*;

fn url(top_level_domain: &str) -> Url {
    Url::parse(&format!("http://site.{top_level_domain}/")).expect("valid")
}

#[test]
fn the_first_source_that_knows_wins() {
    let check = |label: Option<&str>, head: &[u8], want: &str, bom_bytes: usize| {
        let (encoding, bom) = sniff(Format::Html, label, &url("test"), head);
        let shown = String::from_utf8_lossy(head);
        assert_eq!((encoding.name(), bom), (want, bom_bytes), "{label:?} {shown:?}");
    };
    check(None, b"", "UTF-8", 0);
    check(None, b"\xef\xbb\xbf<meta charset=latin1>", "UTF-8", 3);
    check(Some("latin1"), b"\xff\xfea\0", "UTF-16LE", 2);
    check(Some("koi8-r"), b"<meta charset=utf-8>", "KOI8-R", 0);
    check(Some("no-such"), b"<meta charset=koi8-r>", "KOI8-R", 0);
    check(Some("utf-16"), b"<\0a\0", "UTF-16LE", 0);
    check(None, b"<html><META CharSet = 'Shift_JIS' >", "Shift_JIS", 0);
    check(None, b"<meta http-equiv=Content-Type content=\"text/html; charset=gbk\">", "GBK", 0);
    check(None, b"<meta content='text/html; charset=gbk'>", "UTF-8", 0);
    check(None, b"<!-- <meta charset=gbk> --><p>", "UTF-8", 0);
    check(None, b"<!--><meta charset=gbk>", "GBK", 0);
    check(None, b"<p title='<meta charset=gbk>'>", "UTF-8", 0);
    check(None, b"<meta charset=utf-16le>", "UTF-8", 0);
    check(None, b"<meta charset=x-user-defined>", "windows-1252", 0);
    check(None, "gr\u{fc}n".as_bytes(), "UTF-8", 0);
    check(None, b"cut in a character \xe2\x82", "UTF-8", 0);
    check(None, b"gr\xfcn ", "windows-1252", 0);
    check(Some("hz-gb-2312"), b"<meta charset=utf-8>", "replacement", 0);
    check(None, b"<meta charset=iso-2022-kr>", "replacement", 0);
    check(Some("x-user-defined"), b"", "x-user-defined", 0);
    check(None, b"</p title='<meta charset=gbk>'><!doctype <meta charset=gbk> >", "UTF-8", 0);
    check(None, b"<?xml version='1.0' encoding = 'koi8-r' ?><p>", "KOI8-R", 0);
    check(None, b"<?xml encoding='koi8-r'?><meta charset=gbk>", "GBK", 0);
    check(None, b"<?xml encoding='utf-16'?>", "UTF-8", 0);
    check(None, b"<?xml encoding='koi8-r", "UTF-8", 0);
    check(None, b"<?xml encoding='koi8-r>", "UTF-8", 0);
    check(None, b"<\0?\0x\0m\0", "UTF-16LE", 0);
    check(None, b"\0<\0?\0x\0m", "UTF-16BE", 0);
}

#[test]
fn other_formats_declare_in_their_own_way() {
    let check = |format, head: &[u8], want: &str| {
        assert_eq!(sniff(format, None, &url("test"), head).0.name(), want, "{}", String::from_utf8_lossy(head));
    };
    check(Format::Xml, b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", "windows-1252");
    check(Format::Xml, b"<a>gr\xfcn<meta charset=gbk></a>", "UTF-8");
    check(Format::Css, b"@charset \"koi8-r\";", "KOI8-R");
    check(Format::Css, b"@charset \"utf-16\";", "UTF-8");
    check(Format::Css, b"@charset 'koi8-r';", "UTF-8");
}

#[test]
fn what_nobody_declares_is_guessed() {
    let check = |encoding: &'static Encoding, top_level_domain, text: &str| {
        let (bytes, _, unmappable) = encoding.encode(text);
        assert!(!unmappable);
        let (guessed, _) = sniff(Format::Html, None, &url(top_level_domain), &bytes);
        assert_eq!(guessed.name(), encoding.name(), "{text}");
    };
    check(encoding_rs::WINDOWS_1251, "ru", "Все счастливые семьи похожи друг на друга, каждая несчастлива по-своему.");
    check(encoding_rs::SHIFT_JIS, "jp", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。");
    check(encoding_rs::EUC_KR, "kr", "모든 국민은 인간으로서의 존엄과 가치를 가지며");
    check(encoding_rs::BIG5, "tw", "中華民國基於三民主義，為民有民治民享之民主共和國。");
    check(UTF_8, "ru", "Все счастливые семьи");
    // A host that has no label to help.
    for host in ["[::1]", "192.0.2.1", "test."] {
        let url = Url::parse(&format!("http://{host}/")).expect("valid");
        assert_eq!(sniff(Format::Html, None, &url, b"gr\xfcn").0.name(), "windows-1252");
    }
}

#[test]
fn a_declaration_is_seen_up_to_the_limit() {
    for (before, first, all) in
        [(500, Some("GBK"), "GBK"), (PRESCAN_BYTES, None, "GBK"), (DETECTION_BYTES, None, "UTF-8")]
    {
        let mut head = vec![b' '; before];
        head.extend_from_slice(b"<meta charset=gbk>");
        assert_eq!(declared(Format::Html, None, &head).map(|(encoding, _)| encoding.name()), first, "{before}");
        assert_eq!(sniff(Format::Html, None, &url("test"), &head).0.name(), all, "{before}");
    }
}

#[test]
fn header_labels() {
    let check = |header, want| assert_eq!(label_of(header), want, "{header}");
    check("text/html", None);
    check("text/html; charset=utf-8", Some("utf-8"));
    check("text/html;Charset = \"ISO-8859-1\" ; q=1", Some("ISO-8859-1"));
    check("text/html; charset=", None);
    check("charset=utf-8", None);
}

proptest::proptest! {
    #[test]
    fn any_bytes_have_an_answer(head in proptest::collection::vec(
        proptest::sample::select(b"<>!-?meta xml encoding charset=\"'/\n\xef;gbk@".to_vec()), 0..200,
    )) {
        for format in [Format::Html, Format::Xml, Format::Css] {
            sniff(format, None, &url("test"), &head);
        }
    }
}
