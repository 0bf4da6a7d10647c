//! Tests of the parent module: what each mode admits, and who has the last word.

use super::*;

/// The last two labels; enough of a public-suffix list for these tests.
fn last_two_labels(host: &str) -> &str {
    let dots = host.rmatch_indices('.').nth(1);
    dots.map_or(host, |(dot, _)| &host[dot + 1..])
}

fn scope(mode: Mode, include: &[&str], exclude: &[&str], seeds: &[&str]) -> Scope {
    let patterns = |texts: &[&str]| {
        let compile = |text: &&str| Pattern::new(text).expect("a valid pattern");
        texts.iter().map(compile).collect()
    };
    let rules = ScopeRules { mode, include: patterns(include), exclude: patterns(exclude) };
    let parse = |seed: &&str| Url::parse(seed).expect("a valid URL");
    let seeds: Vec<Url> = seeds.iter().map(parse).collect();
    Scope::new(&rules, &seeds, last_two_labels)
}

fn check(scope: &Scope, url: &str, expect: Verdict) {
    let parsed = Url::parse(url).expect("a valid URL");
    let host = parsed.host_str().expect("a host");
    let verdict = scope.judge(parsed.as_str(), host, last_two_labels(host));
    assert_eq!(verdict, expect, "{url}");
}

#[test]
fn mode_host_ignores_scheme_port_and_userinfo() {
    let scope = scope(Mode::Host, &[], &[], &["http://a.test/x", "http://[::1]:8080/"]);
    check(&scope, "http://a.test/", Verdict::In);
    check(&scope, "https://A.test:8443/y?z", Verdict::In);
    check(&scope, "http://user:pw@a.test/", Verdict::In);
    check(&scope, "http://a.test./", Verdict::In);
    check(&scope, "http://[::1]/", Verdict::In);
    check(&scope, "http://www.a.test/", Verdict::Out(Rule::Host));
    check(&scope, "http://b.test/http://a.test/", Verdict::Out(Rule::Host));
    check(&scope, "http://a.test.evil.test/", Verdict::Out(Rule::Host));
}

#[test]
fn what_decided_is_told() {
    let scope = scope(Mode::Host, &["extra"], &["x{2}", "private"], &["http://a.test/"]);
    let by = |url: &str| {
        let host = Url::parse(url).expect("a valid URL").host_str().expect("a host").to_owned();
        match scope.decide(url, &host, &host).1 {
            By::Exclude(pattern) => format!("exclude {}", pattern.as_str()),
            By::Include(pattern) => format!("include {}", pattern.as_str()),
            By::Mode(mode) => format!("mode {}", mode.name()),
        }
    };
    assert_eq!(by("http://a.test/"), "mode host");
    assert_eq!(by("http://b.test/"), "mode host");
    assert_eq!(by("http://a.test/private"), "exclude private");
    assert_eq!(by("http://b.test/extra"), "include extra");
    assert_eq!(by("http://a.test/extra"), "mode host", "it needs no further rule");
}

#[test]
fn mode_domain_takes_every_sub_domain() {
    let scope = scope(Mode::Domain, &[], &[], &["http://www.a.test/"]);
    check(&scope, "http://a.test/", Verdict::In);
    check(&scope, "http://deep.down.a.test/", Verdict::In);
    check(&scope, "http://not-a.test/", Verdict::Out(Rule::Domain));
    check(&scope, "http://a.test.b.test/", Verdict::Out(Rule::Domain));
}

#[test]
fn mode_prefix_cuts_the_seed_after_its_last_slash() {
    let seeds = [
        "http://a.test/docs/index.html?from=/x/y",
        "http://a.test/docs/inner/",
        "http://b.test:8080/",
        "http://c.test/deep/a/b",
    ];
    let scope = scope(Mode::Prefix, &[], &[], &seeds);
    check(&scope, "http://a.test/docs/", Verdict::In);
    check(&scope, "http://a.test/docs/other/page?q", Verdict::In);
    check(&scope, "https://a.test/docs/inner/page", Verdict::In);
    check(&scope, "http://user@a.test/docs/", Verdict::In);
    check(&scope, "http://b.test:8080/any/where", Verdict::In);
    check(&scope, "http://c.test/deep/a/", Verdict::In);
    check(&scope, "http://a.test/docs", Verdict::Out(Rule::Prefix));
    check(&scope, "http://a.test/docsx/", Verdict::Out(Rule::Prefix));
    check(&scope, "http://a.test:8080/docs/", Verdict::Out(Rule::Prefix));
    check(&scope, "http://b.test/", Verdict::Out(Rule::Prefix));
    check(&scope, "http://c.test/deep/", Verdict::Out(Rule::Prefix));
    check(&scope, "http://z.test/?u=@a.test/docs/", Verdict::Out(Rule::Prefix));
}

#[test]
fn mode_any_knows_only_exclude() {
    let scope = scope(Mode::Any, &[], &[r"\.pdf$"], &[]);
    check(&scope, "http://anywhere.test/", Verdict::In);
    check(&scope, "http://anywhere.test/a.pdf", Verdict::Out(Rule::Exclude));
    check(&scope, "http://anywhere.test/a.pdf?x", Verdict::In);
}

#[test]
fn include_adds_and_exclude_has_the_last_word() {
    let include = ["^https?://cdn\\.test/pub/"];
    let exclude = ["/private/", "^http://a\\.test/$"];
    let scope = scope(Mode::Host, &include, &exclude, &["http://a.test/"]);
    check(&scope, "http://a.test/not-in-include", Verdict::In);
    check(&scope, "http://cdn.test/pub/x", Verdict::In);
    check(&scope, "http://cdn.test/x", Verdict::Out(Rule::Host));
    check(&scope, "http://cdn.test/pub/private/x", Verdict::Out(Rule::Exclude));
    check(&scope, "http://a.test/private/", Verdict::Out(Rule::Exclude));
    check(&scope, "http://a.test/", Verdict::Out(Rule::Exclude));
}

#[test]
fn without_seeds_only_any_admits() {
    check(&scope(Mode::Host, &[], &[], &[]), "http://a.test/", Verdict::Out(Rule::Host));
    check(&scope(Mode::Domain, &[], &[], &[]), "http://a.test/", Verdict::Out(Rule::Domain));
    check(&scope(Mode::Prefix, &[], &[], &[]), "http://a.test/", Verdict::Out(Rule::Prefix));
}

#[test]
fn many_prefixes_agree_with_the_plain_definition() {
    let seeds: Vec<Url> = (0..300)
        .map(|i| format!("http://h{}.test/{}/{}", i % 7, "d/".repeat(i % 5), i))
        .map(|text| Url::parse(&text).expect("a valid URL"))
        .collect();
    let prefixes = Prefixes::new(&seeds);
    for i in 0..1000 {
        let url = format!("http://h{}.test/{}{}", i % 11, "d/".repeat(i % 4), i % 13);
        let plain = seeds.iter().any(|seed| from_host(&url).starts_with(prefix(seed)));
        assert_eq!(prefixes.admit(&url), plain, "{url}");
    }
}
