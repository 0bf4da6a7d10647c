//! The commands that do not crawl: config, inspect, help, and what is said of a wrong command line.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::harness::{crawld, root};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Standard output of a command that must succeed.
fn good(arguments: &[&str], input: &str) -> String {
    let output = crawld(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    text(&output.stdout)
}

/// Standard error of a command that must fail like this.
fn bad(arguments: &[&str], code: i32) -> String {
    let output = crawld(arguments, "");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    text(&output.stderr)
}

fn file(dir: &Path, name: &str, content: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, content).expect("written");
    path.to_string_lossy().into_owned()
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[test]
fn config_show_reads_its_own_output() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let sets = [
        "config",
        "show",
        "--set",
        "politeness.delay_ms=7",
        "--set",
        "scope.mode=any",
        "--set",
        "fetch.resolve.\"a.test\"=\"127.0.0.1:80\"",
        "--set",
        "fields=[{name=\"t\",selector=\"h1\"}]",
    ];
    let shown = good(&sets, "");
    assert!(shown.contains("delay_ms = 7") && shown.contains("mode = \"any\""), "{shown}");
    let shown_file = file(dir.path(), "shown.toml", &shown);
    assert_eq!(good(&["config", "show", "--config", &shown_file], ""), shown);
    good(&["config", "check", "--config", &shown_file], "");
    let shipped = root().join("config/crawler.toml");
    let shipped = shipped.to_string_lossy();
    assert_eq!(good(&["config", "show", "--config", &shipped], ""), good(&["config", "show"], ""), "the shipped file");
    let over = good(&["config", "show", "--config", &shown_file, "--set", "politeness.delay_ms=8"], "");
    assert!(over.contains("delay_ms = 8") && over.contains("mode = \"any\""), "--set wins over the file: {over}");
}

#[test]
fn every_mistake_of_a_config_is_shown_where_it_is() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let wrong = "[politeness]\ndelay_ms = \"soon\"\ndelay = 5\n\n[fetch]\nconcurrency = 0\n";
    let path = file(dir.path(), "wrong.toml", wrong);
    let said = bad(&["config", "check", "--config", &path], 2);
    for (place, line) in [(":2:12:", "delay_ms = \"soon\""), (":3:1:", "delay = 5"), (":6:15:", "concurrency = 0")] {
        assert!(said.contains(&format!("{path}{place}")), "{place} is missing: {said}");
        assert!(said.contains(line), "{line:?} is not shown: {said}");
    }
    assert_eq!(bad(&["run", "--config", &path], 2), said, "run says the same");
    let said = bad(&["config", "check", "--set", "politeness.delay_ms=soon", "--set", "no.such=1"], 2);
    assert!(said.contains("--set politeness.delay_ms=soon") && said.contains("--set no.such=1"), "{said}");
    bad(&["config", "check", "--config", &dir.path().join("missing").to_string_lossy()], 2);
    let syntax = file(dir.path(), "syntax.toml", "[crawl]\nmax_depth = = 3\n");
    let said = bad(&["config", "check", "--config", &syntax], 2);
    assert!(said.contains(&format!("{syntax}:2:")), "{said}");
}

#[test]
fn every_bad_seed_is_named_with_its_line_and_nothing_is_started() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let seeds = file(dir.path(), "seeds.txt", "# good ones\n\nhttp://a.test/\nexample.org\nftp://b.test/\n");
    let data = dir.path().join("data");
    let data = data.to_string_lossy();
    let said = bad(&["run", "--data", &data, "--seeds", &seeds, "nonsense"], 2);
    for place in [format!("{seeds}:4: "), format!("{seeds}:5: "), "argument 1: ".to_owned()] {
        assert!(said.contains(&place), "{place:?} is missing: {said}");
    }
    assert!(!said.contains(&format!("{seeds}:3")), "a good line is no mistake: {said}");
    assert!(!Path::new(&*data).exists(), "no data directory is made");
    bad(&["run", "--data", &data, "--seeds", "/nowhere/seeds.txt"], 2);
}

#[test]
fn a_directory_of_somebody_else_s_is_not_made_a_crawl() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    file(dir.path(), "index.html", "mine");
    let data = dir.path().to_string_lossy();
    let seeds = file(dir.path(), "list.txt", "http://a.test/\n");
    for words in [&["run", "--data", &data, "http://127.0.0.1:1/"][..], &["import", "--data", &data, "--queue", &seeds]]
    {
        let said = bad(words, 2);
        assert!(
            said.contains("holds no crawl, but files that crawld has not made: [\"index.html\", \"list.txt\"]"),
            "{said}"
        );
        assert!(said.contains("--data DIR"), "{said}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("is there").count(), 2, "nothing is made");
}

#[test]
fn inspect_shows_what_becomes_of_urls_and_pages() {
    let lines = json_lines(&good(&["inspect", "url"], "http://WWW.Example.co.uk/a/../b#c\nmailto:x@y\n"));
    let expected = json!({
        "input": "http://WWW.Example.co.uk/a/../b#c",
        "url": "http://www.example.co.uk/b",
        "key": "uk,co,example,www)http/b",
        "host": "www.example.co.uk",
        "registrable_domain": "example.co.uk",
    });
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], expected);
    assert!(lines[1]["input"] == "mailto:x@y" && lines[1]["error"].is_string(), "{}", lines[1]);

    let dir = tempfile::tempdir().expect("a directory for the test");
    let html = "<link rel=next href=two><a href='/x' rel=nofollow>x</a><iframe src=frame></iframe>";
    let page = file(dir.path(), "page.html", html);
    let lines = json_lines(&good(&["inspect", "links", "--base", "http://a.test/d/", &page], ""));
    let expected = [
        json!({"url": "http://a.test/d/two", "tag": "link", "attr": "href", "rel": "next"}),
        json!({"url": "http://a.test/x", "tag": "a", "attr": "href", "rel": "nofollow"}),
        json!({"url": "http://a.test/d/frame", "tag": "iframe", "attr": "src", "rel": null}),
    ];
    assert_eq!(lines, expected);
    bad(&["inspect", "links", "--base", "http://a.test/", "/nowhere/page.html"], 2);
    bad(&["inspect", "links", "--base", "no url", &page], 2);

    let robots =
        file(dir.path(), "robots.txt", "user-agent: *\ndisallow: /\nuser-agent: bot\nallow: /a\ndisallow: /*x\n");
    let urls = "http://a.test/ax\nhttp://a.test/b\n";
    let line = |url: &str, allowed: bool, rule: Option<&str>, line: Option<u32>| {
        let head = json!({"url": url, "allowed": allowed, "rule": rule, "line": line});
        let mut line = head.as_object().expect("an object").clone();
        line.extend([("crawl_delay".to_owned(), Value::Null), ("sitemaps".to_owned(), json!([]))]);
        Value::Object(line)
    };
    let lines = json_lines(&good(&["inspect", "robots", "--agent", "Bot", &robots], urls));
    let expected =
        [line("http://a.test/ax", false, Some("Disallow: /*x"), Some(5)), line("http://a.test/b", true, None, None)];
    assert_eq!(lines, expected);
    let lines = json_lines(&good(&["inspect", "robots", "--agent", "x", "--agent", "y", &robots], urls));
    assert_eq!(lines[1], line("http://a.test/b", false, Some("Disallow: /"), Some(2)));
    bad(&["inspect", "robots", &robots], 2);
    bad(&["inspect", "robots", "--agent", "x", "/nowhere/robots.txt"], 2);
}

#[test]
fn help_tells_the_exit_codes_and_a_wrong_command_is_one_of_them() {
    let help = good(&["--help"], "");
    let codes = help.split_once("Exit codes:").map_or("", |(_, codes)| codes);
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "130 "] {
        assert!(codes.lines().any(|line| line.trim_start().starts_with(code)), "{code}is missing: {help}");
    }
    for command in [
        "run", "demo", "config", "stats", "seen", "explain", "inspect", "audit", "filter", "budget", "forget",
        "export", "import",
    ] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{command} is missing: {help}");
    }
    bad(&["no-such-command"], 2);
    bad(&["run", "--no-such-option"], 2);
    good(&["--version"], "");
}

#[test]
fn demo_crawls_its_whole_site() {
    let output: Output = crawld(&["demo"], "");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("; 0 asked for a second time."), "{said}");
    assert!(said.contains("every URL found is finished"), "{said}");
}

#[test]
fn the_readme_names_every_key_of_its_config_table() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let shown = good(&["config", "show"], "");
    let keys = keys(&shown);
    assert!(keys.len() > 30, "{keys:?}");
    let missing: Vec<_> = keys.iter().filter(|key| !readme.contains(key.trim_start_matches('.'))).collect();
    assert!(missing.is_empty(), "not in the README: {missing:?}");
}

/// The dotted keys of a config in TOML.
fn keys(config: &str) -> Vec<String> {
    let mut section = PathBuf::new();
    let mut keys = Vec::new();
    for line in config.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = PathBuf::from(name);
        } else if let Some((key, _)) = line.split_once(" = ") {
            keys.push(format!("{}.{key}", section.display()));
        }
    }
    keys
}
