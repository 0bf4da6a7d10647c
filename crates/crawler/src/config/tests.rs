//! Tests of the config: the shipped file, what options do, and the report on mistakes.
//!
//! Each `fixtures/NAME.toml` holds one kind of mistake, and `fixtures/NAME.txt` the whole report on it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/crawler.toml")
}

fn shipped_text() -> String {
    fs::read_to_string(shipped()).expect("the shipped config")
}

fn load_text(text: &str, sets: &[&str]) -> Result<Config, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("test.toml");
    fs::write(&path, text).expect("a writable directory");
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let prefix = format!("{}/", dir.path().display());
    load(Some(&path), &sets).map_err(|errors| errors.to_string().replace(&prefix, ""))
}

/// A config in which every key differs from its default.
fn everything_changed() -> Config {
    let file = r#"
        fields = [
            { name = "title", selector = "h1 > a[href^=\"/\"]" },
            { name = "x", selector = "meta", attribute = "content" },
        ]
        [scope]
        mode = "domain"
        include = ['^https://a\.test/"', "b"]
        exclude = ["\n\\x{e9}\t'''\"\"\""]
        [growth_guard]
        enabled = false
        max_similar_pages = 20
        max_query_urls = 100
        slow_factor = 2
        max_delay_secs = 7
        [canonical]
        fold_scheme = true
        drop_userinfo = true
        fold_trailing_dot = false
        fold_www = true
        fold_percent_encoding = false
        drop_session_ids = false
        fold_path_case = true
        fold_slashes = true
        fold_trailing_slash = true
        drop_index_pages = true
        drop_tracking_parameters = false
        drop_parameters = ["a", "b*"]
        drop_repeated_parameters = false
        sort_query = true
        fold_empty_query = false
        rewrites = [
            { pattern = '"\d', replacement = "'$0\\" },
            { host = "a.test", pattern = "(?<x>.)", replacement = "${x}" },
        ]
        [fetch]
        concurrency = 1
        timeout_secs = 2
        connect_timeout_secs = 3
        idle_timeout_secs = 4
        max_body_bytes = 1_024
        max_attempts = 1
        max_redirects = 0
        allow_private_networks = true
        [fetch.max_attempts_by_reason]
        timeout = 1
        [fetch.resolve]
        "A.test" = "127.0.0.1:8080"
        "b.test" = "[::1]"
    "#;
    let sets = [
        "crawl={user_agent=\"my-bot (\\\\ 'x')\", max_depth=0x1f, max_pages=9223372036854775807}",
        "crawl.shutdown_secs=0",
        "crawl.idle_exit_secs=1",
        "crawl.worker_threads=3",
        "politeness={delay_ms=0, adaptive_delay_factor=0, connections_per_host=32, per_ip=true, obey_robots=false}",
        "politeness.max_requests_per_sec=7",
        "politeness.max_crawl_delay_secs=1",
        "politeness.retry_delay_secs=2",
        "politeness.max_retry_delay_secs=3",
        "extract={max_links_per_page=1, max_url_bytes=256, links=['css', 'form-get'], canonical='prefer'}",
        "extract.obey_meta_robots=false",
        "extract.obey_rel_nofollow=true",
        "traps={max_path_segments=1, max_repeated_segments=1, max_query_bytes=1, max_query_parameters=1}",
        "sitemap={enabled=false, well_known=[], max_nesting=0, max_entries=1, max_bytes=1024, priority_classes=0}",
        "priority={seeds=1, links=2, per_link=3}",
        "budget={max_urls_per_host=1, max_urls_per_domain=2, max_pages_per_host=3, max_pages_per_domain=4, park=false}",
        "recrawl={enabled=true, initial_interval_secs=8, min_interval_secs=7, max_interval_secs=9, growth=3.0, shrink=0.25}",
        "frontier={partitions=1, hot_cache_entries=0, recent_bytes=65536}",
        "journal={commit_interval_ms=0, max_bytes=1048576}",
        "filter={kind=\"scalable_cuckoo\", false_positive_rate=1e-6, initial_capacity=1, growth_factor=3, max_layers=1}",
        "filter={max_stale_share=0.5, max_bytes=1048576, rebuild_cpu_share=1}",
        "store={cache_bytes=1048576, min_free_disk_bytes=0}",
        "statistics.interval_secs=1",
        "output={kinds=[\"jsonl\", \"warc\"], dir=\"x\", prefix=\"a-b\", compression=\"zstd\", max_file_bytes=1}",
        "duplicates={entries=1, take_links=false, near_entries=2}",
        "output={max_file_age_secs=0, spool_bytes=1, revisit_entries=0, outlinks=true}",
    ];
    load_text(file, &sets).unwrap_or_else(|report| panic!("{report}"))
}

/// All keys below a TOML value, dotted; the elements of a list are not looked into.
fn keys_of(value: &toml::Value, prefix: &str, keys: &mut BTreeSet<String>) {
    if let toml::Value::Table(table) = value {
        for (key, value) in table {
            let path = format!("{prefix}{key}");
            keys_of(value, &format!("{path}."), keys);
            keys.insert(path);
        }
    }
}

fn keys_of_text(text: &str) -> BTreeSet<String> {
    let table: toml::Table = toml::from_str(text).expect("valid TOML");
    let mut keys = BTreeSet::new();
    keys_of(&toml::Value::Table(table), "", &mut keys);
    keys
}

#[test]
fn shipped_file_equals_the_defaults_and_holds_every_key() {
    let loaded = load(Some(&shipped()), &[]).expect("the shipped config is valid");
    assert_eq!(loaded, Config::default());
    let mut expect = keys_of_text(&Config::default().to_toml());
    // an empty list of tables cannot be written as [[fields]]; its example is tested below
    expect.remove("fields");
    assert_eq!(keys_of_text(&shipped_text()), expect);
}

#[test]
fn shipped_file_explains_every_key() {
    let text = shipped_text();
    let mut above = "";
    for line in text.lines() {
        if line.contains(" = ") && !line.starts_with('#') {
            assert!(above.starts_with("# "), "no comment above {line:?}");
        }
        assert!(line.chars().count() <= 120, "too long: {line:?}");
        above = line;
    }
}

#[test]
fn shipped_examples_load() {
    let text = shipped_text();
    let (resolve, fields) = ("# \"www.", "# [[fields]]");
    let start = text.find(fields).expect("an example of [[fields]]");
    let uncomment = |line: &str| format!("{}\n", line.strip_prefix("# ").unwrap_or(line));
    let entries = text.lines().filter(|line| line.starts_with(resolve) || line.starts_with("# \"new."));
    let reasons =
        text.lines().filter(|line| ["# timeout = ", "# unavailable = "].iter().any(|key| line.starts_with(key)));
    let examples: String = std::iter::once("[fetch.max_attempts_by_reason]")
        .chain(reasons)
        .chain(["[fetch.resolve]"])
        .chain(entries)
        .chain(text[start..].lines().filter(|line| *line != "#"))
        .map(uncomment)
        .collect();
    let config = load_text(&examples, &[]).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(config.fetch.max_attempts_by_reason.len(), 2);
    assert_eq!(config.fetch.resolve.len(), 2);
    assert_eq!(config.fields.len(), 2);
    assert_eq!(config.fields[1].attribute.as_deref(), Some("content"));
}

#[test]
fn without_file_and_options_the_defaults_hold() {
    assert_eq!(load(None, &[]), Ok(Config::default()));
    assert_eq!(load_text("", &[]), Ok(Config::default()));
}

#[test]
fn shown_config_loads_back_equal() {
    for config in [Config::default(), everything_changed()] {
        let text = config.to_toml();
        assert_eq!(load_text(&text, &[]), Ok(config), "{text}");
    }
}

#[test]
fn every_key_can_be_changed() {
    let changed = toml::Value::try_from(everything_changed()).expect("serialisable");
    let default = toml::Value::try_from(Config::default()).expect("serialisable");
    for key in keys_of_text(&Config::default().to_toml()) {
        let at = |root: &toml::Value| key.split('.').try_fold(root.clone(), |v, k| v.get(k).cloned());
        assert_ne!(at(&changed), at(&default), "{key}");
    }
}

#[test]
fn options_win_over_the_file_and_later_ones_over_earlier_ones() {
    let file = "politeness.delay_ms = 1\nscope.exclude = ['a']\nfetch.resolve = { 'a.test' = '192.0.2.1' }";
    let sets = [
        "politeness.delay_ms=2",
        "politeness.delay_ms = 3",
        "scope.exclude=['b', \"c\"]",
        "fetch.resolve.'b.test'=192.0.2.2",
        "fetch.resolve.www.c.test=[::1]:80",
        "scope.mode=any",
        "crawl.user_agent=my-bot/1.0 (a=b; \"c\")",
        "filter.growth_factor=4",
    ];
    let config = load_text(file, &sets).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(config.politeness.delay_ms, 3);
    let exclude: Vec<&str> = config.scope.exclude.iter().map(Pattern::as_str).collect();
    assert_eq!(exclude, ["b", "c"]);
    let resolve: Vec<String> = config.fetch.resolve.iter().map(|(host, address)| format!("{host} {address}")).collect();
    assert_eq!(resolve, ["a.test 192.0.2.1", "b.test 192.0.2.2", "www.c.test [::1]:80"]);
    assert_eq!(config.scope.mode, Mode::Any);
    assert_eq!(config.crawl.user_agent, "my-bot/1.0 (a=b; \"c\")");
    assert_eq!(config.crawl.robots_product(), "my-bot");
    assert_eq!(config.filter.growth_factor, 4.0);
}

#[test]
fn bad_options_name_their_text() {
    let check = |set: &str, expect: &str| {
        let errors = load(None, &[set.to_owned()]).expect_err(set);
        assert_eq!(errors.to_string(), expect, "{set}");
    };
    check("delay", "--set delay: expected KEY=VALUE, as in politeness.delay_ms=0");
    check("=1", "--set =1: \"\" is not a key");
    check("# a=1", "--set # a=1: \"# a\" is not a key");
    check("[crawl]\nmax_depth=1", "--set [crawl]\u{fffd}max_depth=1: \"[crawl]\\nmax_depth\" is not a key");
    check("politeness.delay_ms=1s", "--set politeness.delay_ms=1s: expected an integer, found the string \"1s\"");
    check("fetch.max_attempts=0", "--set fetch.max_attempts=0: must be 1 to 100, found 0");
    check(
        "statistics.secs=1",
        "--set statistics.secs=1: unknown key \"secs\"; the keys of statistics are interval_secs",
    );
    check(
        "politeness.retry_delay_secs=9999",
        "--set politeness.retry_delay_secs=9999: retry_delay_secs (9999) is above max_retry_delay_secs (3600)",
    );
    for broken in ["scope.exclude=['a'", "crawl.user_agent=\"a", "crawl.max_depth=", "a b.c=1", "a..b=1"] {
        let errors = load(None, &[broken.to_owned()]).expect_err(broken);
        assert!(errors.to_string().starts_with(&format!("--set {broken}: ")), "{errors}");
    }
}

#[test]
fn file_and_options_are_reported_together() {
    let report = load_text("[crawl]\nmax_depth = -1\n", &["x.y=1", "z"]).expect_err("three mistakes");
    let heads: Vec<&str> = report.split("\n\n").map(|mistake| &mistake[..16]).collect();
    assert_eq!(heads, ["test.toml:2:13: ", "--set x.y=1: unk", "--set z: expecte"]);

    let errors = load(Some(Path::new("/nowhere/c.toml")), &["z".to_owned()]).expect_err("two mistakes");
    assert_eq!(errors.mistakes.len(), 2);
    assert!(errors.to_string().starts_with("/nowhere/c.toml: cannot be read: "), "{errors}");
}

#[test]
fn hostile_files_end_in_a_bounded_report() {
    let many = "x = 1\n".repeat(100_000);
    let deep = format!("a = {}", "[".repeat(500_000));
    let dotted = format!("{}a = 1", "a.".repeat(400_000));
    let large = " ".repeat(2 << 20);
    let zeros = "\0".repeat(1 << 19);
    for text in [many, deep, dotted, large, zeros] {
        let report = load_text(&text, &[]).expect_err("not a config");
        assert!(report.len() < 100_000, "{} bytes", report.len());
    }
}

#[test]
fn fixtures_give_exactly_their_reports() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/fixtures");
    let prefix = format!("{}/", dir.display());
    let mut seen = 0;
    let mut stale = String::new();
    for entry in fs::read_dir(&dir).expect("the fixtures") {
        let path = entry.expect("a readable directory").path();
        if path.extension() != Some("toml".as_ref()) {
            continue;
        }
        seen += 1;
        let errors = load(Some(&path), &[]).expect_err("each fixture holds a mistake");
        let report = format!("{errors}\n").replace(&prefix, "");
        if fs::read_to_string(path.with_extension("txt")).ok().as_ref() != Some(&report) {
            stale.push_str(&format!("=== {} gives\n{report}", path.display()));
        }
    }
    assert!(seen > 10, "{seen} fixtures");
    assert!(stale.is_empty(), "\n{stale}");
}
