//! What users of other crawlers complained of, each by its name: it must not happen here.

use super::*;

fn fetched(url: &str) -> String {
    Rules::default().parse(url).expect("a URL").url().to_owned()
}

#[test]
fn scrapy_1941_canonicalising_breaks_links() {
    for url in [
        "http://example.com/index.php?/a/=/o/",
        "http://example.com/index.php?a",
        "http://example.com/index.php?/topic/57339-%D0%BB%D0%B0/&do=findComment&comment=221153",
        "https://example.com/?utm_source=x&b=%7e&a=1&",
    ] {
        assert_eq!(fetched(url), url, "is fetched as the page said");
    }
    check_twins(
        &Rules::default(),
        &[
            &["http://e.com/?a"],
            &["http://e.com/?a="],
            &["http://e.com/?/a"],
            &["http://e.com/?%2Fa", "http://e.com/?%2fa"],
        ],
    );
}

#[test]
fn norconex_163_slashes_are_folded_in_the_path_only() {
    let rules = rules(|o| (o.fold_slashes, o.fold_trailing_slash) = (true, true));
    check_twins(
        &rules,
        &[&["http://example.com", "http://example.com/", "http://example.com///"], &["http://example.com/a/?b=//c/"]],
    );
    let one = rules.parse("http://example.com//sitemap.xml").expect("a URL");
    assert_eq!((one.url(), one.key()), ("http://example.com//sitemap.xml", "com,example)http/sitemap.xml"));
}

#[test]
fn stormcrawler_118_escapes_are_not_encoded_again() {
    let url = "http://www.example.com/product/LiteShow%E2%84%A2-Running-Shoes_301_-1_301?how=are&you=doing%25";
    let one = Canonical::parse(url).expect("a URL");
    assert_eq!(one.url(), url);
    assert_eq!(url_of_key(one.key()), url);
}

#[test]
fn scrapy_137_a_parameter_that_is_added_again_and_again_makes_one_page() {
    let keys: std::collections::BTreeSet<String> = (1..200)
        .map(|n| key_of(&Rules::default(), &format!("http://www.example.com/?q={}", "&q=".repeat(n))))
        .collect();
    assert_eq!(keys.into_iter().collect::<Vec<_>>(), ["com,example,www)http/?q="]);
}

#[test]
fn norconex_574_dot_segments_make_no_twins() {
    check_twins(
        &Rules::default(),
        &[&[
            "https://www.example.com/",
            "https://www.example.com/./",
            "https://www.example.com/./././",
            "https://www.example.com/%2e/a/%2E./",
        ]],
    );
}

#[test]
fn crawler_commons_587_ipv6_hosts_are_hosts() {
    check_twins(
        &Rules::default(),
        &[
            &["http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80", "http://[::0001]/?"],
            &["http://[::1]:8080/"],
            &["http://[::]/"],
            &["http://[::ffff:127.0.0.1]/"],
        ],
    );
    let one = Canonical::parse("http://[2001:DB8::1]:8080/a").expect("a URL");
    assert_eq!((one.host(), one.key()), ("[2001:db8::1]", "[2001:db8::1])http:8080/a"));
}

#[test]
fn spider_172_an_encoded_twin_is_not_crawled_twice() {
    check_twins(
        &Rules::default(),
        &[
            &["https://e.com/%22https:////e.com//x///%22", "https://e.com/\"https:////e.com//x///\""],
            &["https://e.com/~a/é", "https://e.com/%7Ea/%c3%a9", "https://e.com/%7e%61/%C3%A9"],
            &["https://e.com/?q=a|b^{c}", "https://e.com/?q=a%7cb%5E%7Bc%7D"],
            &["https://e.com/?q=%7eé", "https://e.com/?q=~%c3%A9"],
        ],
    );
}

#[test]
fn a_story_whose_id_is_called_sid_is_no_session() {
    let url = |id: &str| format!("https://slashdot.org/article.pl?sid={id}");
    assert_eq!(Canonical::parse(&url("8becbad916e8b134")).expect("a URL").alternate(), None);
}

#[test]
fn spider_paths_that_differ_in_case_are_two() {
    check_twins(
        &Rules::default(),
        &[&["https://e.com/wiki/US"], &["https://e.com/wiki/us"], &["https://e.com/?Q"], &["https://e.com/?q"]],
    );
}

#[test]
fn urlfrontier_a_colon_cuts_no_key() {
    check_twins(
        &Rules::default(),
        &[
            &["https://e.com/a:b"],
            &["https://e.com/a:c"],
            &["https://e.com/a"],
            &["https://e.com:8080/a"],
            &["https://u:p@e.com/a"],
            &["https://u:q@e.com/a"],
        ],
    );
    let host = |url: &str| host_of_key(&key_of(&Rules::default(), url)).to_owned();
    assert_eq!(host("https://u:p@e.com:80/a:b)c"), host("http://e.com/"));
}
