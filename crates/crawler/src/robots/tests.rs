//! Tests of robots.txt rules: tables of files and questions.

use super::*;

mod hostile;

fn url(path: &str) -> Url {
    Url::parse("https://site.test").expect("valid").join(path).expect("joins")
}

/// Every path marked `+` is allowed and every one marked `-` is not.
fn check(body: &str, answers: &[&str]) {
    let robots = Robots::parse("ourbot", body.as_bytes());
    for answer in answers {
        let (sign, path) = answer.split_at(1);
        assert_eq!(robots.allows(&url(path)), sign == "+", "{answer} in {body:?}");
    }
}

#[test]
fn the_line_that_decides_is_known() {
    let body = "# ours\r\nuser-agent: *\r\n\r\ndisallow: /a\nallow: /a/index.html\n";
    let robots = Robots::parse("ourbot", body.as_bytes());
    let line = |path: &str| robots.decisive(&url(path)).map(|rule| (rule.line, rule.allow, rule.pattern.as_str()));
    assert_eq!(line("/ab"), Some((4, false, "/a")));
    assert_eq!(line("/a/index.html"), Some((5, true, "/a/index.html")));
    assert_eq!(line("/a/"), Some((5, true, "/a/$")), "the directory of an index page");
    assert_eq!(line("/b"), None);
}

#[test]
fn a_remembered_text_has_the_same_rules_on_the_same_lines() {
    for body in [
        &b"\xef\xbb\xbfuser-agent: *\r\n  disallow: /a%2f\xe9\"\0allow: /a/index.html\r\rsitemap: http://site.test/s\n"
            [..],
        b"crawl-delay: 3\nuser-agent: ourbot\ndisallow: /x y#z\n \x00 \tallow: /%7e\n",
        b"",
    ] {
        let text = Robots::text_of(body).expect("short");
        assert_eq!(Robots::parse("ourbot", text.as_bytes()), Robots::parse("ourbot", body), "{text:?}");
        assert_eq!(Robots::text_of(text.as_bytes()), Some(text));
    }
    assert_eq!(Robots::text_of(&[0xe9; MAX_BYTES / 2]), None, "each byte is escaped");
}

#[test]
fn the_group_of_our_name_counts_else_the_star() {
    check("", &["+/", "+/a"]);
    check("user-agent: *\ndisallow: /a", &["-/a", "-/ab", "+/b"]);
    check("user-agent: *\ndisallow: /\nuser-agent: OURBOT/2.0\ndisallow: /a", &["-/a", "+/b"]);
    check("user-agent: *\ndisallow: /\nuser-agent: ourbot\ndisallow:", &["+/a"]);
    check("user-agent: ourbot-news\ndisallow: /", &["+/a"]);
    check("user-agent: other\nuser-agent: ourbot\ndisallow: /a", &["-/a", "+/b"]);
    check("disallow: /\nuser-agent: other\ndisallow: /", &["+/a"]);
    check("user-agent: * everyone\ndisallow: /a", &["-/a"]);
}

#[test]
fn groups_of_our_name_are_merged() {
    check(
        "user-agent: ourbot\ndisallow: /a\n\nuser-agent: other\ndisallow: /b\n\n\
         user-agent: ourbot\ndisallow: /c",
        &["-/a", "+/b", "-/c"],
    );
    // Lines that are no rules do not end a group.
    check(
        "user-agent: ourbot\nsitemap: http://site.test/s.xml\ncrawl-delay: 1\n\
         user-agent: other\ndisallow: /a",
        &["-/a"],
    );
}

#[test]
fn the_longest_pattern_decides_and_allow_wins_a_tie() {
    check(
        "user-agent: *\ndisallow: /a\nallow: /a/public\ndisallow: /a/public/not",
        &["-/a/x", "+/a/public/x", "-/a/public/not/x"],
    );
    check("user-agent: *\ndisallow: /a\nallow: /a", &["+/a"]);
    check("user-agent: *\nallow: /a\ndisallow: /*.php", &["-/a/b.php", "+/a/b"]);
    check("user-agent: *\ndisallow: /\nallow: /d/index.html", &["+/d/", "+/d/index.html", "-/d/x"]);
}

#[test]
fn stars_and_dollars() {
    check("user-agent: *\ndisallow: /*.gif$", &["-/x.gif", "+/x.gif?q", "-/a.gif.gif"]);
    check("user-agent: *\ndisallow: /a*b*c", &["-/abc", "-/a/b/c/d", "+/acb"]);
    check("user-agent: *\ndisallow: /a$", &["-/a", "+/ab", "+/"]);
    check("user-agent: *\ndisallow: *secret", &["-/a/secret", "+/a"]);
    check("user-agent: *\ndisallow: /a$b", &["-/a$bc", "+/a"]);
    check("user-agent: *\ndisallow: /a$", &["-/a$", "-/a%24b"]);
    check("user-agent: *\ndisallow: /\nallow: /a$", &["+/a", "-/a$"]);
    check("user-agent: *\ndisallow: /*ab$", &["-/abab", "+/aba"]);
    check("user-agent: *\ndisallow: /ab*b$", &["+/ab", "-/abb"]);
}

#[test]
fn queries_case_and_escapes() {
    check("user-agent: *\ndisallow: /p?id=", &["-/p?id=1", "+/p?x", "+/P?id=1"]);
    check("user-agent: *\ndisallow: /\u{e9}", &["-/\u{e9}", "-/%C3%A9", "-/%c3%a9"]);
    check("user-agent: *\ndisallow: /%c3%a9", &["-/\u{e9}"]);
    check("user-agent: *\ndisallow: /a%2fb", &["-/a%2Fb", "+/a/b"]);
    check("user-agent: *\ndisallow: /%7ea", &["-/~a", "-/%7Ea"]);
    check("user-agent: *\ndisallow: /~a", &["-/%7ea"]);
    check("user-agent: *\ndisallow: /\nallow: /%61", &["-/a", "+/%61"]);
    check("user-agent: *\ndisallow: /\nallow: /~a", &["+/~a", "+/%7ea", "-/%61"]);
    check("user-agent: *\ndisallow: /\nallow: /%7e%61", &["+/%7e%61", "+/~%61", "-/~a"]);
    check("user-agent: *\ndisallow: /a<b", &["-/a<b", "-/a%3cb"]);
    check("user-agent: *\ndisallow: /100%x%zz%4", &["-/100%x%zz%4", "+/100"]);
    check("user-agent: *\ndisallow: /%2a", &["-/*", "+/a"]);
}

#[test]
fn sloppy_files_are_understood() {
    check("\u{feff}User-Agent: *\r\nDisalow: /a # private\r\n\r\n", &["-/a"]);
    check("useragent: *\rdisallow /a\r", &["-/a"]);
    check("  user-agent: *\n\tdisallow /a", &["-/a"]);
    check("<html>\nuser-agent: *\n<br>\ndisallow: /a", &["-/a"]);
    check("user-agent: *\0disallow: /a\0\0", &["-/a"]);
    check("user agent our bot\ndisallow: /", &["+/a"]);
    check("User Agent ourbot the great\ndisallow: /a", &["-/a"]);
}

#[test]
fn marks_and_utf_16_are_understood() {
    let lines = "User-agent: *\r\nDisallow: /\u{e9}\r\n";
    let utf16 = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
        mark.iter().copied().chain(lines.encode_utf16().flat_map(bytes)).collect::<Vec<u8>>()
    };
    for body in [
        lines.as_bytes().to_vec(),
        [b"\xef\xbb\xbf", lines.as_bytes()].concat(),
        [b"\xef", lines.as_bytes()].concat(),
        utf16(b"\xff\xfe", u16::to_le_bytes),
        utf16(b"\xfe\xff", u16::to_be_bytes),
        utf16(b"", u16::to_le_bytes),
        utf16(b"", u16::to_be_bytes),
    ] {
        let robots = Robots::parse("ourbot", &body);
        let decisive = robots.decisive(&url("/\u{e9}x")).map(|rule| (rule.line, rule.to_string()));
        assert_eq!(decisive, Some((2, "Disallow: /%C3%A9".to_owned())), "{body:?}");
        let text = Robots::text_of(&body).expect("short");
        assert_eq!(Robots::parse("ourbot", text.as_bytes()), robots, "{body:?}");
    }
    for broken in [&b"\xff\xfe"[..], b"\xfe\xff\0", b"\xff\xfea", b"a\0b\0c"] {
        assert_eq!(Robots::parse("ourbot", broken), Robots::allow_all());
    }
}

#[test]
fn a_crawler_may_go_by_several_names() {
    let body = b"user-agent: bot1\ndisallow: /1\nuser-agent: BOT2/1.0\ndisallow: /2\nuser-agent: bot\ndisallow: /0\n\
                 user-agent: *\ndisallow: /\nuser-agent: \xce\xbbbot x\ndisallow: /3";
    let check = |names: &[&str], answers: &[&str]| {
        let robots = Robots::parse_for(names, body);
        for answer in answers {
            let (sign, path) = answer.split_at(1);
            assert_eq!(robots.allows(&url(path)), sign == "+", "{answer} for {names:?}");
        }
    };
    check(&["bot2"], &["-/2", "+/1", "+/0"]);
    check(&["bot1", "Bot2"], &["-/1", "-/2", "+/0"]);
    check(&["\u{3bb}bot"], &["-/3", "+/1"]);
    check(&["bot2", "*"], &["-/2", "-/x"]);
    check(&["", "other"], &["-/x"]);
    // A product token has no digits: such lines name the crawler whose token they begin with (RFC 9309, section 2.2.1).
    check(&["bot"], &["-/1", "-/2", "-/0", "+/x"]);
    assert!(Robots::parse("bot2", b"user-agent: bot2\ndisallow: /").allows(&url("/")), "no product token");
    assert!(Robots::parse("", b"user-agent: 1\ndisallow: /").allows(&url("/")), "nobody");
}

#[test]
fn crawl_delays() {
    let check = |body: &str, want: Option<f64>| {
        let robots = Robots::parse("ourbot", body.as_bytes());
        assert_eq!(robots.crawl_delay(), want.map(Duration::from_secs_f64), "{body:?}");
    };
    check("user-agent: *\ncrawl-delay: 2.5", Some(2.5));
    check("user-agent: *\ndisallow: /a", None);
    check("user-agent: *\ncrawl-delay: 9\nuser-agent: ourbot\ncrawl-delay: 1", Some(1.0));
    check("user-agent: *\ncrawl-delay: 9\nuser-agent: ourbot\ndisallow: /", None);
    check("user-agent: ourbot\ncrawl-delay: 4\nuser-agent: x\ncrawl-delay: 3", Some(4.0));
    // What is no delay does not end the list of agents, and neither does it count.
    check("user-agent: ourbot\ncrawl-delay: -1\nuser-agent: x\ncrawl-delay: 3", Some(3.0));
    // Rules end it.
    check("user-agent: *\ndisallow: /a\nuser-agent: x\nallow: /\ncrawl-delay: 3", None);
    check("crawl-delay: 7\nuser-agent: *\ndisallow: /", Some(7.0));
    for hostile in ["nan", "inf", "-inf", "1e400", "1e300", "word", ""] {
        check(&format!("user-agent: *\ncrawl-delay: {hostile}"), None);
    }
}

#[test]
fn sitemaps_of_all_groups_are_kept() {
    let sitemaps = |body: &str| {
        let robots = Robots::parse("ourbot", body.as_bytes());
        robots.sitemaps().iter().map(Url::to_string).collect::<Vec<_>>()
    };
    let body = "sitemap: https://a.test/1.xml\nuser-agent: other\nSiteMap: HTTP://B.test\nSite-map:/2.xml\n\
                sitemap: ftp://a.test/3\nsitemap:\nsitemap: https://a.test/1.xml # again";
    assert_eq!(sitemaps(body), ["https://a.test/1.xml", "http://b.test/", "https://a.test/1.xml"]);
    let many: String = (0..2_000).map(|n| format!("sitemap: https://a.test/{n}\n")).collect();
    let found = sitemaps(&many);
    assert_eq!((found.len(), found.last().map(String::as_str)), (MAX_SITEMAPS, Some("https://a.test/999")));
}

#[test]
fn statuses() {
    let check = |status, want| assert_eq!(from_status(status), want, "{status}");
    check(200, Availability::Parse);
    check(301, Availability::AllowAll);
    check(404, Availability::AllowAll);
    check(429, Availability::AllowAll);
    check(500, Availability::Unreachable);
    check(503, Availability::Unreachable);
    check(999, Availability::Unreachable);
}

#[test]
fn products() {
    let check = |agent, want| assert_eq!(product_token(agent), want);
    check("crawld/0.1 (+https://site.test/bot)", "crawld");
    check("My_Bot-X", "My_Bot-X");
    check("", "");
}

#[test]
fn what_lies_beyond_the_limit_is_ignored() {
    let mut body = b"user-agent: *\ndisallow: /a\n".to_vec();
    body.resize(MAX_BYTES, b'\n');
    body.extend_from_slice(b"disallow: /b\n");
    let robots = Robots::parse("ourbot", &body);
    assert!(!robots.allows(&url("/a")));
    assert!(robots.allows(&url("/b")));
}

#[test]
fn the_line_that_the_limit_cuts_does_not_count() {
    let mut body = b"user-agent: *\ndisallow: /a\n#".to_vec();
    body.resize(MAX_BYTES - b"\ndisallow: /".len(), b'x');
    body.extend_from_slice(b"\ndisallow: /private\n");
    // Whether the limit is met here or was by whoever has read the body.
    for body in [&body[..], &body[..MAX_BYTES]] {
        let robots = Robots::parse("ourbot", body);
        assert!(robots.allows(&url("/b")));
        assert!(!robots.allows(&url("/a")));
    }
    let one_line = vec![b'a'; MAX_BYTES];
    assert_eq!(Robots::parse("ourbot", &one_line), Robots::allow_all());
}
