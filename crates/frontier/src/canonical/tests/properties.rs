//! What holds for every URL, under any set of built-in rules.

use proptest::prelude::*;

use super::*;

fn hosts() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "(www\\.){0,2}[a-c,)*+!]{1,2}(\\.[a-c]{1,2}){0,2}\\.(com|co\\.uk|github\\.io|test)\\.?",
        1 => Just("10.0.0.1".to_owned()),
        1 => Just("[::1]".to_owned()),
        1 => "[a-z.]{1,3}",
    ]
}

/// Pieces that rules look for, and what may stand beside them.
fn texts(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => "[ -~é]{0,3}"];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn paths() -> impl Strategy<Value = String> {
    texts(&[
        "/",
        "//",
        "a",
        "B",
        ".",
        "..",
        "%2e",
        "%2E",
        "%",
        "%4",
        "%41",
        "%61",
        "%2f",
        "%C3",
        "%c3",
        "index.html",
        "Default.asp",
        ";jsessionid=0",
        ";JSESSIONID=",
        ";v=1",
        ";sid=0123456789abcdef0123456789abcdef",
        "(S(lit3py55t21z5v55vlm25s55))",
        "(",
    ])
}

fn queries() -> impl Strategy<Value = String> {
    texts(&[
        "&",
        "&&",
        "=",
        "a",
        "a=1",
        "&b",
        "b=2",
        "utm_source=",
        "%75tm_x",
        "&gclid=1",
        "PHPSESSID=1",
        "&sid=0123456789abcdef0123456789abcdef",
        "cfid=1&cftoken=2",
        "%26",
        "%",
        "%3d",
        "q=&q=",
        "+",
        "?",
        "/",
        "|",
        "^",
    ])
}

fn urls() -> impl Strategy<Value = String> {
    let user = prop_oneof![4 => Just(String::new()), 1 => "[a@:/%2]{1,3}(:[a@:%]{0,2})?@"];
    let port = prop_oneof![4 => Just(String::new()), 1 => "(:[0-9]{1,3})?"];
    let query = prop_oneof![1 => Just(String::new()), 2 => queries().prop_map(|q| format!("?{q}"))];
    ("https?", user, hosts(), port, paths(), query, "(#x)?").prop_map(
        |(scheme, user, host, port, path, query, rest)| format!("{scheme}://{user}{host}{port}/{path}{query}{rest}"),
    )
}

/// Any set of rules but rewrites.
fn any_rules() -> impl Strategy<Value = Rules> {
    let name = |n: u32| move |bits: u32| bits >> n & 1 == 1;
    any::<u32>().prop_map(move |bits| {
        Rules::new(RuleOptions {
            fold_scheme: name(0)(bits),
            drop_userinfo: name(1)(bits),
            fold_trailing_dot: name(2)(bits),
            fold_www: name(3)(bits),
            fold_percent_encoding: name(4)(bits),
            drop_session_ids: name(5)(bits),
            fold_path_case: name(6)(bits),
            fold_slashes: name(7)(bits),
            fold_trailing_slash: name(8)(bits),
            drop_index_pages: name(9)(bits),
            drop_tracking_parameters: name(10)(bits),
            drop_parameters: if name(11)(bits) { vec!["a".into(), "B*".into()] } else { Vec::new() },
            drop_repeated_parameters: name(12)(bits),
            sort_query: name(13)(bits),
            fold_empty_query: name(14)(bits),
            rewrites: Vec::new(),
        })
    })
}

/// Where the keys that satisfy `is_in` stand together in a sorted list.
fn stand_together(keys: &[String], is_in: impl Fn(&str) -> bool) -> bool {
    let first = keys.iter().position(|key| is_in(key)).unwrap_or_default();
    let count = keys.iter().filter(|key| is_in(key)).count();
    keys[first..first + count].iter().all(|key| is_in(key))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1000), ..ProptestConfig::default() })]

    #[test]
    fn every_url_has_a_key_and_the_key_is_its_own(rules in any_rules(), input in urls()) {
        let Ok(url) = url::Url::parse(&input) else { return Ok(()) };
        let one = rules.canonical(url).expect("a URL of moderate length has a key");
        if one.alternate().is_none() {
            prop_assert_eq!(url_of_key(one.key()), one.url());
        }
        let of_key = url_of_key(one.key());
        let again = rules.parse(&of_key).expect("the key's URL is a URL");
        prop_assert_eq!(again.key(), one.key());
        prop_assert_eq!(again.alternate(), None, "the key's URL is in its normal form");
        prop_assert_eq!(again.url(), of_key);
        prop_assert_eq!(again.registrable_domain(), one.registrable_domain(), "its partition is found by it");
    }

    #[test]
    fn without_rules_keys_are_equal_only_of_equal_urls(one in urls(), other in urls()) {
        let rules = Rules::new(RuleOptions::none());
        if let (Ok(one), Ok(other)) = (rules.parse(&one), rules.parse(&other)) {
            prop_assert_eq!(one.key() == other.key(), one.url() == other.url());
            prop_assert_eq!(url_of_key(one.key()), one.url());
        }
    }

    #[test]
    fn keys_are_equal_only_through_named_rules(rules in any_rules(), input in urls()) {
        let Ok(explained) = rules.explain(&input) else { return Ok(()) };
        let mut text = input;
        for step in &explained.steps {
            prop_assert_eq!(&step.before, &text);
            prop_assert_ne!(&step.before, &step.after, "{} did nothing", step.rule);
            text.clone_from(&step.after);
        }
        prop_assert_eq!(url_of_key(explained.canonical.key()), text, "the steps lead to the key and no further");
        prop_assert_eq!(rules.parse(explained.canonical.url()), Ok(explained.canonical));
    }

    #[test]
    fn keys_stand_by_domain_then_host_then_path(inputs in prop::collection::vec(urls(), 2..30)) {
        let urls: Vec<Canonical> = inputs.iter().filter_map(|input| Canonical::parse(input).ok()).collect();
        let mut keys: Vec<String> = urls.iter().map(|url| url.key().to_owned()).collect();
        keys.sort();
        for url in &urls {
            let (host, domain) = (host_of_key(url.key()), url.registrable_domain());
            prop_assert!(stand_together(&keys, |key| host_of_key(key) == host), "{host}: {keys:?}");
            let in_domain = |key: &str| registrable_domain(&host_name(host_of_key(key))) == domain;
            prop_assert!(stand_together(&keys, in_domain), "{domain}: {keys:?}");
        }
        for pair in keys.windows(2) {
            let [(origin, path), (next_origin, next_path)] = [&pair[0], &pair[1]].map(|key| key.split_at(key.find('/').expect("a path")));
            prop_assert!(origin != next_origin || path <= next_path);
        }
    }

    #[test]
    fn rewrites_never_fail(pattern in "[a/?%.*+]{1,3}", replacement in "[a/?@):]{0,3}", input in urls()) {
        let Ok(rewrite) = Rewrite::new(None, &pattern, &replacement) else { return Ok(()) };
        let rules = Rules::new(RuleOptions { rewrites: vec![rewrite], ..RuleOptions::default() });
        if let (Ok(one), Ok(url)) = (rules.parse(&input), Rules::new(RuleOptions::none()).parse(&input)) {
            prop_assert_eq!(one.url(), url.url());
            prop_assert_eq!(host_name(host_of_key(one.key())), without_trailing_dots(one.host()));
            prop_assert!(one.alternate().is_some() || url_of_key(one.key()) == one.url());
        }
    }
}
