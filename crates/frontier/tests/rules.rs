//! The canonical rules of a data directory, through the public API.

use std::path::Path;

use frontier::{Error, Found, FoundUrl, Frontier, Options, RuleOptions, Rules};

fn options(dir: &Path, rules: RuleOptions) -> Options {
    Options { partitions: 2, rules: Rules::new(rules), ..Options::new(dir) }
}

/// A stopped crawl of `urls`.
fn crawl(dir: &Path, rules: RuleOptions, urls: &[&str]) {
    let frontier = Frontier::open(options(dir, rules), 1, || {}).expect("opens");
    let url = |url: &&str| FoundUrl::new(frontier.rules().parse(url).expect("a URL"), 0);
    let found = Found { urls: urls.iter().map(url).collect(), ..Found::default() };
    let discovered = frontier.offer(&found, None, 1).expect("offers").discovered;
    assert_eq!(discovered, 1, "{urls:?} are one");
    frontier.close().expect("closes");
}

#[test]
fn questions_are_answered_by_the_rules_of_the_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let rules = RuleOptions { fold_www: true, drop_parameters: vec!["ref".into()], ..RuleOptions::default() };
    crawl(dir.path(), rules.clone(), &["https://www.example.com/?ref=1", "https://example.com/"]);
    let frontier = Frontier::open_existing(dir.path(), None, 2).expect("opens");
    assert_eq!(frontier.rules().options(), &rules);
    for (url, is_seen) in [("https://www.example.com/?ref=2", true), ("https://www.example.com/?rel=2", false)] {
        let url = frontier.rules().parse(url).expect("a URL");
        assert_eq!(frontier.seen(&url).expect("answers"), is_seen, "{url:?}");
    }
}

#[test]
fn a_directory_is_not_opened_under_other_rules() {
    let dir = tempfile::tempdir().expect("a directory");
    crawl(dir.path(), RuleOptions::default(), &["https://example.com/?", "https://example.com/"]);
    let other = RuleOptions { sort_query: true, fold_www: true, ..RuleOptions::default() };
    let error = Frontier::open(options(dir.path(), other), 2, || {}).err().expect("is refused");
    assert!(matches!(error, Error::Incompatible { .. }), "{error}");
    assert!(error.to_string().contains("(fold_www, sort_query)"), "{error}");
    assert!(error.to_string().contains("crawld rekey --data"), "{error}");
    Frontier::open(options(dir.path(), RuleOptions::default()), 3, || {}).expect("opens under its own");
}
