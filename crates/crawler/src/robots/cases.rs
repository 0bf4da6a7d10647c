//! Rows that other robots.txt parsers test themselves with, run when they are there: `CRAWLD_CASES` names a folder with
//! `robots.jsonl`, one JSON object a line with `convention`, `kind`, `robots`, `agent`, `url` and what is `expected` or
//! `allowed`. They are not part of this repository. Why some rows have another answer here is in the module above.

use super::*;
use robotstxt::RobotsParseHandler;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many in a hundred rows of a convention must have the same answer.
const LEAST: [(&str, usize); 4] =
    [("rfc9309-google", 100), ("crawler-commons", 97), ("protego", 97), ("texting-robots", 97)];

/// What is counted of a convention: rows with the same answer, and rows.
#[derive(Default)]
struct Count {
    passed: usize,
    total: usize,
}

#[test]
fn the_rows_of_other_parsers_are_answered_as_the_module_says() {
    let Some(folder) = std::env::var_os("CRAWLD_CASES") else {
        eprintln!("CRAWLD_CASES is not set: ran without the rows of robots.jsonl");
        return;
    };
    let path = PathBuf::from(folder).join("robots.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let Some(is_same) = is_same(&row) else { continue };
        let count = counts.entry(field(&row, "convention").to_owned()).or_default();
        count.total += 1;
        count.passed += usize::from(is_same);
        if !is_same {
            eprintln!("other: {row}");
        }
    }
    for (convention, Count { passed, total }) in &counts {
        eprintln!("{convention}: {passed} of {total}");
    }
    for (convention, least) in LEAST {
        let Count { passed, total } = counts[convention];
        assert!(passed * 100 >= total * least, "{convention}: {passed} of {total}");
    }
}

/// Whether a row has its answer; `None` where it asks for what is no part of this module.
fn is_same(row: &Value) -> Option<bool> {
    let body = match row["robots_b64"].as_str() {
        Some(encoded) => from_base64(encoded),
        None => field(row, "robots").as_bytes().to_vec(),
    };
    match field(row, "kind") {
        "allowed" => Some(is_allowed(row, &body) == row["allowed"].as_bool().expect("allowed")),
        "crawl-delay" => {
            let delay = robots(row, &body).crawl_delay().map(|delay| delay.as_secs_f64());
            Some(delay == row["expected"].as_f64())
        }
        "directive-count" => Some(is_counted(&row["expected"], &body)),
        // How that parser escapes for itself.
        "path-to-match" | "rule-escape" => None,
        kind => panic!("a new kind: {kind}"),
    }
}

fn field<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}

/// These ask their parser with the text of a product token and of a URL, the others with a crawler's names and a URL.
fn is_googles(row: &Value) -> bool {
    matches!(field(row, "convention"), "rfc9309-google" | "google" | "google-spec")
}

fn robots(row: &Value, body: &[u8]) -> Robots {
    if is_googles(row) {
        return Robots::parse(field(row, "agent"), body);
    }
    let names: Vec<&str> = match &row["agent"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        // A whole header, or one name: its words, without their versions.
        agent => {
            agent.as_str().unwrap_or_default().split_whitespace().filter_map(|word| word.split('/').next()).collect()
        }
    };
    Robots::parse_for(&names, body)
}

fn is_allowed(row: &Value, body: &[u8]) -> bool {
    let (robots, url) = (robots(row, body), field(row, "url"));
    if is_googles(row) {
        return robots.decisive_on(path_of(url)).is_none_or(|rule| rule.allow);
    }
    let site = Url::parse("http://site.test").expect("valid");
    robots.allows(&site.join(url).expect("a URL"))
}

/// Path and query of a URL as it is written.
fn path_of(url: &str) -> &str {
    let url = url.split('#').next().unwrap_or_default();
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    after_scheme.find('/').map_or("/", |at| &after_scheme[at..])
}

/// Counts lines by what they are.
#[derive(Default)]
struct Lines {
    valid: u32,
    unknown: u32,
    last: u32,
}

impl Lines {
    fn valid(&mut self, line: u32) {
        self.valid += 1;
        self.last = line;
    }
}

impl RobotsParseHandler for Lines {
    fn handle_robots_start(&mut self) {}
    fn handle_robots_end(&mut self) {}
    fn handle_user_agent(&mut self, line: u32, _: &str) {
        self.valid(line);
    }
    fn handle_allow(&mut self, line: u32, _: &str) {
        self.valid(line);
    }
    fn handle_disallow(&mut self, line: u32, _: &str) {
        self.valid(line);
    }
    fn handle_sitemap(&mut self, line: u32, _: &str) {
        self.valid(line);
    }
    fn handle_unknown_action(&mut self, line: u32, _: &str, _: &str) {
        self.unknown += 1;
        self.last = line;
    }
}

fn is_counted(expected: &Value, body: &[u8]) -> bool {
    let mut lines = Lines::default();
    parse_robotstxt(&text::lines_of(body), &mut lines);
    let counted = json!({"valid": lines.valid, "unknown": lines.unknown, "last_line": lines.last});
    expected.as_object().expect("counts").iter().all(|(name, count)| counted[name] == *count)
}

fn from_base64(encoded: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for digit in encoded.bytes().filter(|digit| *digit != b'=') {
        let value = DIGITS.iter().position(|one| *one == digit).expect("base64");
        (bits, count) = (bits << 6 | value as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
