//! Rows that other crawlers and the web-platform tests hold, run when they are there: `CRAWLD_CASES` names a folder with
//! `url_canonical.jsonl` and `surt.jsonl`, one JSON object a line with `convention`, `op`, `input`, `expected` and maybe
//! `base`. They are not part of this repository.
//!
//! The conventions contradict each other on purpose. What is asked here: the fetch URL is what the WHATWG rows say; every URL
//! of every row has one key, its own; and what the module says about each convention is so.

use std::path::PathBuf;

use frontier::{RuleOptions, Rules};
use serde_json::Value;
use url::Url;

fn rows(file: &str) -> Vec<Value> {
    let Some(folder) = std::env::var_os("CRAWLD_CASES") else {
        eprintln!("CRAWLD_CASES is not set: ran without the rows of {file}");
        return Vec::new();
    };
    let path = PathBuf::from(folder).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn text<'r>(row: &'r Value, field: &str) -> Option<&'r str> {
    row[field].as_str()
}

/// The row's URL, against its base where it has one.
fn parsed(row: &Value) -> Option<Url> {
    let input = text(row, "input")?;
    match text(row, "base").and_then(|base| Url::parse(base).ok()) {
        Some(base) => base.join(input).ok(),
        None => Url::parse(input).ok(),
    }
}

/// The rules for whole sets of conventions.
fn rules(change: impl FnOnce(&mut RuleOptions)) -> Rules {
    let mut options = RuleOptions::default();
    change(&mut options);
    Rules::new(options)
}

#[test]
fn the_fetch_url_is_what_the_whatwg_rows_say() {
    let (mut count, mut others) = (0, Vec::new());
    for row in rows("url_canonical.jsonl") {
        if text(&row, "convention") != Some("whatwg") || text(&row, "op") != Some("parse") {
            continue;
        }
        let is_http = |url: &&str| url.starts_with("http://") || url.starts_with("https://");
        let expected = text(&row, "expected").filter(is_http);
        let parsed = parsed(&row);
        if parsed.as_ref().map(Url::as_str).filter(is_http) != expected {
            others.push(row["input"].clone());
            continue;
        }
        count += 1;
        let ours = parsed.and_then(|url| Rules::default().canonical(url).ok());
        assert_eq!(ours.as_ref().map(|one| one.url()), expected.and_then(|url| url.split('#').next()), "{row}");
    }
    eprintln!("{count} rows; in {} the url crate itself differs: {others:?}", others.len());
    assert!(others.len() * 33 <= count, "more than 3 % differ");
}

#[test]
fn every_url_of_every_row_has_one_key_which_is_its_own() {
    let sets = [
        Rules::default(),
        Rules::new(RuleOptions::none()),
        rules(|o| {
            (o.fold_scheme, o.drop_userinfo, o.fold_www, o.fold_path_case) = (true, true, true, true);
            (o.fold_slashes, o.fold_trailing_slash, o.drop_index_pages, o.sort_query) = (true, true, true, true);
        }),
    ];
    for row in rows("url_canonical.jsonl").iter().chain(&rows("surt.jsonl")) {
        let Some(url) = parsed(row).filter(|url| matches!(url.scheme(), "http" | "https")) else { continue };
        for rules in &sets {
            let explained = rules.explain(url.as_str()).unwrap_or_else(|error| panic!("{row}: {error}"));
            let last = explained.steps.last().map_or(url.as_str(), |step| &step.after);
            let again = rules.explain(last).unwrap_or_else(|error| panic!("{row}: {error}"));
            assert_eq!(again.canonical.key(), explained.canonical.key(), "{row}");
            assert_eq!(again.steps, [], "{row}");
        }
    }
}

#[test]
fn the_conventions_are_followed_as_far_as_the_module_says() {
    // With the switches that a convention has on: how many in a hundred of its rows come to the key of what it expects.
    let conventions: [(&str, Rules, usize); 6] = [
        ("crawler-commons-basic", rules(|o| (o.fold_slashes, o.sort_query) = (true, true)), 90),
        ("nutch-basic", rules(|o| (o.fold_slashes, o.drop_userinfo) = (true, true)), 90),
        ("nutch-regex", rules(|o| (o.fold_slashes, o.drop_index_pages) = (true, true)), 90),
        ("stormcrawler-basic", rules(|o| o.drop_parameters = vec!["a".into(), "foo".into()]), 75),
        ("w3lib-canonicalize", rules(|o| o.sort_query = true), 90),
        ("bubing-burl", Rules::default(), 75),
    ];
    let rows = rows("url_canonical.jsonl");
    for (convention, rules, least) in conventions {
        let key = |url: Option<Url>| url.and_then(|url| rules.canonical(url).ok()).map(|one| one.key().to_owned());
        let its: Vec<&Value> = rows.iter().filter(|row| text(row, "convention") == Some(convention)).collect();
        let is_other = |row: &&&Value| {
            key(parsed(row)) != key(text(row, "expected").and_then(|expected| Url::parse(expected).ok()))
        };
        let others: Vec<&&Value> = its.iter().filter(is_other).collect();
        eprintln!("{convention}: {} rows, {} have another key here:", its.len(), others.len());
        others.iter().for_each(|row| eprintln!("    {} -> {}", row["input"], row["expected"]));
        assert!((its.len() - others.len()) * 100 >= its.len() * least, "{convention}");
    }
}

#[test]
fn hosts_stand_as_in_surts() {
    let mut count = 0;
    for row in rows("surt.jsonl") {
        // Those that keep www and have no comma at the end.
        if !matches!(text(&row, "convention"), Some("ia-surt-py" | "cdxj-indexer" | "jwarc-cdx")) {
            continue;
        }
        let (Some(url), Some(surt)) = (parsed(&row), text(&row, "expected")) else { continue };
        let Ok(one) = Rules::default().canonical(url.clone()) else { continue };
        if url.port().is_none() && matches!(url.domain(), Some(domain) if !domain.starts_with("www")) {
            count += 1;
            assert_eq!(one.key().split(')').next(), surt.split(')').next(), "{row}");
        }
    }
    eprintln!("{count} hosts of SURTs");
}
