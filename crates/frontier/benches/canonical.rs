//! What it costs to make a URL canonical: once for every link that page dedup leaves.
//!
//! `cargo bench -p frontier --bench canonical` prints the median time for 1,000 URLs and what they allocate: parsing alone
//! (which every way of comparing URLs needs), the grammar of keys without rules, the default rules, and all built-in rules.

use divan::{AllocProfiler, Bencher};
use frontier::{RuleOptions, Rules};
use url::Url;

/// As the daemon has it, and counted.
#[global_allocator]
static ALLOCATOR: AllocProfiler<mimalloc::MiMalloc> = AllocProfiler::new(mimalloc::MiMalloc);

fn main() {
    divan::main();
}

/// Kinds of URLs: paths only, as on most pages; with queries; and such that the default rules change every one.
const KINDS: [&str; 3] = ["paths", "queries", "changed"];

fn urls(kind: &str) -> Vec<Url> {
    let url = |n: usize| {
        let page = format!("https://www.site-{}.example.co.uk/documents/section-{}/page-{n}.html", n % 50, n % 7);
        let text = match kind {
            "paths" => page,
            "queries" => format!("{page}?id={n}&lang=en&sort=title&page={}", n % 9),
            _ => format!("{page};jsessionid=1E6FEC0D14D0445?id=%7e{n}&utm_source=feed&utm_medium=rss"),
        };
        Url::parse(&text).expect("a URL")
    };
    (0..1000).map(url).collect()
}

fn make(bencher: Bencher<'_, '_>, kind: &str, options: RuleOptions) {
    let rules = Rules::new(options);
    bencher.with_inputs(|| urls(kind)).bench_local_values(|urls| {
        urls.into_iter().map(|url| rules.canonical(url).expect("a short URL")).collect::<Vec<_>>()
    });
}

#[divan::bench(args = KINDS)]
fn parse_only(bencher: Bencher<'_, '_>, kind: &str) {
    let texts: Vec<String> = urls(kind).into_iter().map(String::from).collect();
    bencher.bench_local(|| texts.iter().map(|text| Url::parse(text).expect("a URL")).collect::<Vec<_>>());
}

#[divan::bench(args = KINDS)]
fn no_rules(bencher: Bencher<'_, '_>, kind: &str) {
    make(bencher, kind, RuleOptions::none());
}

#[divan::bench(args = KINDS)]
fn default_rules(bencher: Bencher<'_, '_>, kind: &str) {
    make(bencher, kind, RuleOptions::default());
}

#[divan::bench(args = KINDS)]
fn all_rules(bencher: Bencher<'_, '_>, kind: &str) {
    let options = RuleOptions {
        fold_scheme: true,
        drop_userinfo: true,
        fold_www: true,
        fold_path_case: true,
        fold_slashes: true,
        fold_trailing_slash: true,
        drop_index_pages: true,
        drop_parameters: vec!["ref".into(), "trk_*".into()],
        sort_query: true,
        ..RuleOptions::default()
    };
    make(bencher, kind, options);
}
