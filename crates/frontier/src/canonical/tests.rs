//! Tests of keys and rules: the grammar, the default profile, each switched rule, and what must hold for every URL.

mod complaints;
mod properties;

use super::*;

fn key_of(rules: &Rules, url: &str) -> String {
    rules.parse(url).unwrap_or_else(|error| panic!("{url}: {error}")).key().to_owned()
}

fn rules(change: impl FnOnce(&mut RuleOptions)) -> Rules {
    let mut options = RuleOptions::default();
    change(&mut options);
    Rules::new(options)
}

/// One key for each row, another one for each of two rows.
fn check_twins(rules: &Rules, rows: &[&[&str]]) {
    let mut keys: Vec<String> = Vec::new();
    for row in rows {
        let key = key_of(rules, row[0]);
        for url in *row {
            assert_eq!(key_of(rules, url), key, "{url}");
        }
        assert!(!keys.contains(&key), "{row:?} has the key of an earlier row");
        keys.push(key);
    }
}

#[test]
fn keys_follow_the_grammar() {
    for (url, key) in [
        ("https://www.example.com/path?query#frag", "com,example,www)/path?query"),
        ("http://www.example.com", "com,example,www)http/"),
        ("http://www.example.com:80/a", "com,example,www)http/a"),
        ("http://www.example.com:8080/a", "com,example,www)http:8080/a"),
        ("https://user:pw@example.com:1/", "com,example):1@user:pw/"),
        ("https://user@example.com/", "com,example)@user/"),
        ("http://127.0.0.1:8180/x", "127.0.0.1)http:8180/x"),
        ("https://[2001:db8::1]/", "[2001:db8::1])/"),
        ("https://example.com./a", "com,example)/a"),
        ("https://example.com/a?", "com,example)/a"),
        ("https://a,b.example.com/", "com,example,a%2Cb)/"),
        ("https://a)*+b.example.com/", "com,example,a%29%2A%2Bb)/"),
        ("https://EXAMPLE.com/%7Ea/./b/../c", "com,example)/~a/c"),
        ("https://bücher.example/", "example,xn--bcher-kva)/"),
        ("https://example.com../a", "com,example)/a"),
        ("https://./a", ",)/a"),
    ] {
        assert_eq!(Canonical::parse(url).map(|c| c.key().to_owned()), Ok(key.to_owned()), "{url}");
    }
}

#[test]
fn what_cannot_be_crawled_is_named() {
    assert_eq!(Canonical::parse("mailto:a@example.com"), Err(UrlError::Scheme));
    assert_eq!(Canonical::parse("ftp://example.com/"), Err(UrlError::Scheme));
    assert!(matches!(Canonical::parse("https://"), Err(UrlError::Invalid(_))));
    let long = format!("https://example.com/{}", "a".repeat(MAX_URL_BYTES));
    assert_eq!(Canonical::parse(&long), Err(UrlError::TooLong));
}

#[test]
fn the_host_and_its_domain() {
    for (url, host, domain) in [
        ("https://www.example.co.uk:8/", "www.example.co.uk", "example.co.uk"),
        ("https://me.github.io/", "me.github.io", "me.github.io"),
        ("http://u:p@127.0.0.1:80/", "127.0.0.1", "127.0.0.1"),
        ("http://[::1]/", "[::1]", "[::1]"),
        ("http://localhost/", "localhost", "localhost"),
        ("http://example.com./", "example.com.", "example.com"),
    ] {
        let one = Canonical::parse(url).expect("a valid URL");
        assert_eq!((one.host(), one.registrable_domain()), (host, domain), "{url}");
    }
}

#[test]
fn only_a_rewritten_url_needs_its_alternate() {
    for (url, needs) in [
        ("https://e.com/a", false),
        ("https://e.com/a?b=%20&c", false),
        ("https://e.com/a?", true),
        ("https://e.com./a", true),
        ("https://e.com/%7ea", true),
        ("https://e.com/?utm_source=x", true),
    ] {
        let one = Canonical::parse(url).expect("a valid URL");
        assert_eq!(one.alternate(), needs.then_some(url));
        assert_eq!(one.url(), url);
    }
}

#[test]
fn by_default_only_spelling_and_noise_are_folded() {
    check_twins(
        &Rules::default(),
        &[
            &[
                "https://e.com",
                "HTTPS://E.COM:443/#x",
                "https://e.com./?",
                "https://e.com/./",
                "https://e.com/?utm_source=a&fbclid=b",
            ],
            &["http://e.com/"],
            &["https://www.e.com/"],
            &["https://user@e.com/"],
            &["https://e.com:8443/"],
            &[
                "https://e.com/a?b=1&c=2",
                "https://e.com/%61?b=1&c=2&b=1&gclid=x",
                "https://e.com/a;jsessionid=0?b=1&c=2",
            ],
            &["https://e.com/a?c=2&b=1"],
            &["https://e.com/a/?b=1&c=2"],
            &["https://e.com/A?b=1&c=2"],
            &["https://e.com//a?b=1&c=2"],
            &[
                "https://e.com/index.html",
                "https://e.com/index.html;jsessionid=1",
                "https://e.com/index.html?PHPSESSID=1",
            ],
            &["https://e.com/a%2fb", "https://e.com/a%2Fb"],
            &["https://e.com/a/b"],
            &["https://e.com/100%"],
            &["https://e.com/100%25"],
        ],
    );
}

#[test]
fn each_rule_that_is_off_can_be_switched_on() {
    type Switch = fn(&mut RuleOptions);
    let switches: [(Switch, &str, &str); 11] = [
        (|o| o.fold_scheme = true, "http://e.com/", "https://e.com/"),
        (|o| o.drop_userinfo = true, "https://a:b@e.com/", "https://e.com/"),
        (|o| o.fold_www = true, "https://www.www.e.com/", "https://e.com/"),
        (|o| o.fold_path_case = true, "https://e.com/A/%2Fb?C", "https://e.com/a/%2fB?C"),
        (|o| o.fold_slashes = true, "https://e.com//a///b", "https://e.com/a/b"),
        (|o| o.fold_trailing_slash = true, "https://e.com/a/?b/", "https://e.com/a?b/"),
        (|o| o.drop_index_pages = true, "https://e.com/a/Index.html?b", "https://e.com/a/?b"),
        (|o| o.drop_parameters = vec!["Ref".into(), "x_*".into()], "https://e.com/?ref=1&x_y=2&z", "https://e.com/?z"),
        (|o| o.sort_query = true, "https://e.com/?b&a=2&a=1", "https://e.com/?a=2&a=1&b"),
        (|o| o.rewrites = vec![rewrite(None, r"/v\d+/", "/")], "https://e.com/v12/a", "https://e.com/a"),
        (|o| o.rewrites = vec![rewrite(None, r"id=(\d+).*", "$1")], "https://e.com/?id=12&x", "https://e.com/?12"),
    ];
    for (switch, one, other) in switches {
        assert_ne!(key_of(&Rules::default(), one), key_of(&Rules::default(), other), "{one}");
        assert_eq!(key_of(&rules(switch), one), key_of(&rules(switch), other), "{one}");
    }
}

#[test]
fn each_rule_that_is_on_can_be_switched_off() {
    type Switch = fn(&mut RuleOptions);
    let switches: [(Switch, &str, &str); 6] = [
        (|o| o.fold_trailing_dot = false, "https://e.com./", "https://e.com/"),
        (|o| o.fold_percent_encoding = false, "https://e.com/%7e", "https://e.com/~"),
        (|o| o.drop_session_ids = false, "https://e.com/a;jsessionid=1", "https://e.com/a"),
        (|o| o.drop_tracking_parameters = false, "https://e.com/?gclid=1", "https://e.com/"),
        (|o| o.drop_repeated_parameters = false, "https://e.com/?q=&q=", "https://e.com/?q="),
        (|o| o.fold_empty_query = false, "https://e.com/?", "https://e.com/"),
    ];
    for (switch, one, other) in switches {
        assert_eq!(key_of(&Rules::default(), one), key_of(&Rules::default(), other), "{one}");
        assert_ne!(key_of(&rules(switch), one), key_of(&rules(switch), other), "{one}");
    }
}

#[test]
fn www_is_kept_where_it_is_the_domain() {
    let rules = rules(|o| o.fold_www = true);
    for url in ["https://www.com/", "https://www.co.uk/", "https://www.localhost/", "https://www.github.io/"] {
        assert_eq!(rules.parse(url).expect("a URL").alternate(), None, "{url}");
    }
}

fn rewrite(host: Option<&str>, pattern: &str, replacement: &str) -> Rewrite {
    Rewrite::new(host, pattern, replacement).expect("a valid rewrite")
}

#[test]
fn a_rewrite_cannot_leave_its_place_in_the_key() {
    let key = |pattern, replacement| {
        key_of(&rules(|o| o.rewrites = vec![rewrite(None, pattern, replacement)]), "https://e.com/a?b")
    };
    assert_eq!(key(".*", ""), "com,e)/");
    assert_eq!(key("^/a", "http:80@x"), "com,e)/http:80@x?b");
    assert_eq!(key("[?]b", "?"), "com,e)/a");
    let grows = rules(|o| o.rewrites = vec![rewrite(None, "a", &"a".repeat(100))]);
    let url = format!("https://e.com/{}", "a".repeat(1000));
    assert_eq!(grows.parse(&url).expect("a URL").alternate(), None, "what is no URL any more is not taken");
}

#[test]
fn explaining_names_each_rule_that_changed_something() {
    let explained = Rules::default().explain("HTTPS://E.com:443/%7ea;jsessionid=1?utm_id=2#f").expect("a URL");
    let steps: Vec<(&str, &str)> = explained.steps.iter().map(|step| (step.rule, step.after.as_str())).collect();
    let expected = [
        ("whatwg", "https://e.com/%7ea;jsessionid=1?utm_id=2#f"),
        ("drop_fragment", "https://e.com/%7ea;jsessionid=1?utm_id=2"),
        ("fold_percent_encoding", "https://e.com/~a;jsessionid=1?utm_id=2"),
        ("drop_session_ids", "https://e.com/~a?utm_id=2"),
        ("drop_tracking_parameters", "https://e.com/~a"),
    ];
    assert_eq!(steps, expected);
    assert_eq!(explained.steps[0].before, "HTTPS://E.com:443/%7ea;jsessionid=1?utm_id=2#f");
    assert_eq!(explained.canonical.key(), "com,e)/~a");
    assert_eq!(explained.canonical.url(), "https://e.com/%7ea;jsessionid=1?utm_id=2");
    assert_eq!(Rules::default().explain("https://e.com/").map(|e| e.steps), Ok(vec![]));
}

#[test]
fn rules_bear_the_names_of_their_switches() {
    let options = serde_json::to_value(RuleOptions::default()).expect("writes");
    let names = rules::switches(&RuleOptions::default()).map(|(_, name, _)| name);
    for name in names {
        assert!(options.get(name).is_some(), "{name}");
    }
    assert_eq!(names.len(), options.as_object().map_or(0, serde_json::Map::len));
}
