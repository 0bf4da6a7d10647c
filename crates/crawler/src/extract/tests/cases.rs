//! Rows that other extractors test themselves with, run when they are there: `CRAWLD_CASES` names a folder with
//! `links.jsonl`, one JSON object a line. They are not part of this repository.
//!
//! Not asked: rows about an option of the other extractor (which elements, which extensions, which part of the page), and
//! two that are written in base64. `srcset` rows, which state the standard, must all agree. Where the others differ:
//!
//! * scrapy takes ftp, which is not crawled here, and leaves out extensions that are seldom pages (`scope.exclude` here).
//! * lychee looks at text, too: leaves out what looks like a mail address (here a file's name, as to a browser), and links
//!   in `<pre>`, or takes what looks like a URL there.
//! * ia-css: `url(\'x\')` is a name with quotes in it, by CSS.
//! * ia-metadata and heritrix take attributes that no browser fetches or follows: `cite`, `longdesc`, `data-href`,
//!   `onclick`, metadata of Open Graph.
//! * security-crawl-maze has pages that lead somewhere only with JavaScript, or through a file they name; plain text that
//!   looks like a path; POST; attributes that browsers do not know, or no longer (`applet`, `cite`, `longdesc`, `lowsrc`,
//!   pinned sites), or only send a message to (`ping`); a `<base>`, which is no link. `<iframe srcdoc>` is a page of its own
//!   that a browser would read and we do not.

use super::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn rows() -> Vec<Value> {
    let Some(folder) = std::env::var_os("CRAWLD_CASES") else {
        eprintln!("CRAWLD_CASES is not set: ran without the rows of links.jsonl");
        return Vec::new();
    };
    let path = std::path::PathBuf::from(folder).join("links.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn text<'r>(row: &'r Value, field: &str) -> &'r str {
    row[field].as_str().unwrap_or_default()
}

fn base(row: &Value) -> Url {
    Url::parse(text(row, "base")).unwrap_or_else(|_| document())
}

/// The URLs that the row expects, written as this parser writes them where they are absolute.
fn expected(row: &Value) -> Vec<String> {
    let urls = row["expected"].as_array().expect("a list").iter();
    let texts = urls.map(|url| url.as_str().or(url["url"].as_str()).unwrap_or_default().to_owned());
    let is_resolved = text(row, "mode") == "resolved";
    texts.map(|url| Url::parse(&url).ok().filter(|_| is_resolved).map_or(url, String::from)).collect()
}

/// What is found in the row's page.
fn found(row: &Value) -> Vec<String> {
    let html = text(row, "html");
    let mut urls = Vec::new();
    match text(row, "kind") {
        "srcset" => srcset::urls(html, |url| urls.push(url.to_owned())),
        "css" => css::urls(html, |url| urls.push(url.to_owned())),
        kind => {
            let kinds = match (kind, text(row, "convention")) {
                ("meta-refresh", _) => vec![LinkKind::Refresh],
                (_, "scrapy") => vec![LinkKind::A, LinkKind::Area],
                _ => LinkKind::ALL.to_vec(),
            };
            let links = kinds.into_iter().collect();
            let settings = Settings { links, keep_fragments: true, ..Settings::default() };
            let mut extractor = Extractor::new(&base(row), settings, None);
            extractor.write(html.as_bytes());
            let page = extractor.finish();
            if kind == "base-url" {
                // Without a base of its own the row says nothing.
                let base = if page.base == document() { String::new() } else { page.base.to_string() };
                return vec![base];
            }
            let is_resolved = text(row, "mode") == "resolved";
            // Whether such links are followed is not the extractor's to say.
            let followed = page.resolve().filter(|(link, _)| !link.nofollow && !page.directives.nofollow);
            urls.extend(followed.filter_map(|(link, url)| match url {
                Ok(url) if is_resolved => matches!(url.scheme(), "http" | "https").then(|| url.to_string()),
                _ => (!is_resolved).then(|| link.raw.to_owned()),
            }));
        }
    }
    urls
}

/// A row about what is here.
fn is_asked(row: &Value) -> bool {
    let has_options = row["options"].is_object() && !text(row, "convention").starts_with("lychee");
    !has_options && row["html_b64"].is_null()
}

fn agrees(row: &Value) -> bool {
    let (found, expected) = (found(row), expected(row));
    let set = |urls: &[String]| urls.iter().cloned().collect::<BTreeSet<String>>();
    match text(row, "compare") {
        "first" => found.first() == expected.first(),
        "contains" => set(&expected).is_subset(&set(&found)),
        _ => set(&found) == set(&expected),
    }
}

#[test]
fn rows_of_other_extractors_agree_but_for_the_differences_explained() {
    let rows = rows();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_asked(row)) {
        let (agreed, all) = counts.entry(text(row, "convention")).or_default();
        *all += 1;
        if agrees(row) {
            *agreed += 1;
        } else {
            println!(
                "{} {} {}: {:?}, not {:?}",
                text(row, "convention"),
                row["id"],
                row["notes"],
                found(row),
                expected(row)
            );
        }
    }
    if !rows.is_empty() {
        let want = [
            ("heritrix", (11, 12)),
            ("ia-css", (4, 5)),
            ("ia-metadata", (1, 5)),
            ("lychee", (8, 10)),
            ("lychee-html5gum", (9, 12)),
            ("scrapy", (4, 6)),
            ("security-crawl-maze", (10, 35)),
            ("w3lib", (20, 20)),
            ("whatwg-srcset", (116, 116)),
        ];
        assert_eq!(counts, BTreeMap::from(want));
    }
}
