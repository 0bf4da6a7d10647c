//! Sites that grow without end are slowed, named in the log and released by an operator; others are left alone.

use crate::harness::{Crawl, DEADLINE, crawld, resolve, statistics};
use crate::web::{Page, Web};

/// Few pages, so that the tests are short; the factor is 1 because a delay of nothing counts as a second.
const SETS: &[&str] = &[
    "growth_guard.max_similar_pages=30",
    "growth_guard.max_query_urls=200",
    "growth_guard.slow_factor=1",
    // Each page of a calendar is one deeper.
    "crawl.max_depth=60000",
];
const MENU: &str = "Home Products Support About us Contact Terms and conditions Privacy policy Imprint";
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn number(path: &str) -> usize {
    path.rsplit(['/', '=']).next().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Months, for ever.
fn calendar(path: &str) -> String {
    let n = number(path);
    let days: String = (1..=31).map(|day| format!("<td>{day}</td>")).collect();
    let month = MONTHS[n % 12];
    format!("<p>{MENU}</p><h1>{month} {}</h1><table>{days}</table><a href='/cal/{}'>next</a>", 2026 + n / 12, n + 1)
}

/// Thirty pages, each of which links to all under a new id.
fn sessions(path: &str) -> String {
    let seed = path.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let links: String =
        (0..30).map(|n| format!("<a href='/page{n}?visit={}'>page</a> ", seed % 1_000_000_007)).collect();
    format!("<p>{MENU}</p>{links}")
}

/// Products from one template, each with words of its own, found one after another.
fn product(path: &str) -> String {
    let n = number(path);
    let words: String = (0..24)
        .map(|i| {
            (0..6).map(|k| char::from(b'a' + ((n * 24 + i) * 7919 / 26usize.pow(k) % 26) as u8)).collect::<String>()
                + " "
        })
        .collect();
    let next = if n < 400 { format!("<a href='/product/{}'>next product</a>", n + 1) } else { String::new() };
    format!("<p>{MENU}</p><h1>Product {n}</h1><p>{words}</p><p>Price {n} EUR, in stock, add to basket</p>{next}")
}

fn site(host: &str, path: &str) -> Page {
    match host {
        _ if path == "/robots.txt" => Page::missing(),
        "calendar.test" => Page::html(calendar(path)),
        "sessions.test" => Page::html(sessions(path)),
        _ => Page::html(product(path)),
    }
}

#[test]
fn traps_are_slowed_and_named_and_an_ordinary_site_is_not() {
    let web = Web::start(site);
    let names = ["calendar.test", "sessions.test", "products.test"].map(str::to_owned);
    let mut crawl = Crawl::new(SETS, &names.each_ref().map(|name| format!("http://{name}/0")));
    crawl.config = resolve(&names, web.address);
    crawl.exit_when_done = false;
    let mut run = crawl.start();
    run.until_started();
    run.until("the traps to be slowed", || crawl.stats()["hosts_slowed"] == 2);
    let done = || web.hits().iter().any(|hit| hit.host == "products.test" && hit.path == "/product/400");
    run.until("the end of the ordinary site", done);
    let said = run.stderr();
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("grows without end")).collect();
    for (host, reason) in [("calendar.test", "similar_pages"), ("sessions.test", "query_strings")] {
        let of_host: Vec<_> = warnings.iter().filter(|line| line.contains(host) && line.contains(reason)).collect();
        assert_eq!(of_host.len(), 1, "once: {warnings:?}");
        assert!(of_host[0].contains("WARN") && of_host[0].contains(&format!("http://{host}/")), "{of_host:?}");
    }
    assert_eq!(warnings.len(), 2);

    let data = crawl.data().to_string_lossy().into_owned();
    let budget = |words: &[&str]| {
        let output = crawld(&[&["budget"], words, &["--data", &data]].concat(), "");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let shown = budget(&["show"]);
    assert!(shown.contains("slowed: similar_pages") && shown.contains("slowed: query_strings"), "{shown}");
    assert!(!shown.contains("products.test"), "{shown}");
    let pages = || web.hits().iter().filter(|hit| hit.host == "calendar.test").count();
    assert!(pages() < 60, "{} pages of the calendar", pages());

    assert!(run.kill(), "it was at work");
    let mut run = crawl.start();
    run.until_started();
    assert_eq!(crawl.stats()["hosts_slowed"], 2, "also after a kill");
    let before = pages();
    assert!(budget(&["unslow", "calendar.test"]).contains("trusted to grow"));
    run.until("the calendar at full speed", || pages() > before + 100);
    assert_eq!(crawl.stats()["hosts_slowed"], 1);
    run.term();
    run.wait(DEADLINE);
    statistics(&crawl, 1);
}
