//! What hostile robots.txt files cost, and that any bytes are answered.

use super::*;

#[test]
fn hostile_files_are_cheap() {
    let mut long_line = b"user-agent: *\ndisallow: /".to_vec();
    long_line.extend("\u{20ac}".repeat(20_000).as_bytes());
    long_line.extend_from_slice(b"\ndisallow: /b");
    let robots = Robots::parse("ourbot", &long_line);
    assert!(!robots.allows(&url("/b")));

    let stars = format!("user-agent: *\ndisallow: /{}b", "*a".repeat(8_000));
    let robots = Robots::parse("ourbot", stars.as_bytes());
    assert!(robots.allows(&url(&format!("/{}", "a".repeat(7_999)))));

    let many = "disallow: /*x\n".repeat(30_000);
    let robots = Robots::parse("ourbot", format!("user-agent: *\n{many}").as_bytes());
    assert!(robots.allows(&url("/a")));
}

/// Files of the full size and a URL of the full length, made to be tried again and again. One search for each rule takes
/// less than a tenth of a second; going back anywhere, or a search for each pair of a star and a place, would take hours.
#[test]
fn the_worst_files_cost_one_search_for_each_rule() {
    let path = url(&format!("/{}", "a".repeat(8_190)));
    for (line, least_rules) in [
        ("disallow:*ab\n".to_owned(), 39_000),
        ("disallow:*a*b$\n".to_owned(), 60_000),
        ("disallow:*aaaba*a*a*a*ab\n".to_owned(), 20_000),
        (format!("disallow:/{}\n", "*".repeat(8_000)), 60),
        (format!("disallow:/{}b\n", "*a".repeat(8_000)), 30),
        (format!("disallow:*{}b\n", "a".repeat(4_095)), 120),
        (format!("disallow:*{}*b*{}b\n", "a".repeat(2_047), "a".repeat(2_047)), 120),
    ] {
        let mut body = b"user-agent:*\n".to_vec();
        body.extend(line.bytes().cycle().take(MAX_BYTES));
        let start = std::time::Instant::now();
        let robots = Robots::parse("ourbot", &body);
        let parsed = start.elapsed();
        let shown = &line[..line.len().min(30)];
        assert!(robots.rules.len() >= least_rules, "{} rules of {shown:?}", robots.rules.len());
        let start = std::time::Instant::now();
        let only_stars = line.contains("**");
        assert_eq!(robots.allows(&path), !only_stars, "{shown:?}");
        eprintln!("{shown:?}: {} rules, parsed in {parsed:?}, asked in {:?}", robots.rules.len(), start.elapsed());
        assert!(parsed + start.elapsed() < Duration::from_secs(10), "{shown:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_have_an_answer(
        body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
        lines in "(user-agent: [*a]|(dis)?allow: [/*$%a\u{e9}]{0,6}|crawl-delay: [0-9e.]{1,4}|\\PC{0,9}|\n|\r){0,20}",
    ) {
        for body in [&body[..], lines.as_bytes()] {
            Robots::parse("a", body).allows(&url("/a%c3?b"));
        }
    }
}
