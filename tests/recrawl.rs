//! `[recrawl]`: pages are visited again, on a condition where they have said how; what has changed comes back sooner, what
//! has not comes later, also across a `kill -9`; and nothing is visited twice unless that was asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Crawl, DEADLINE, crawl_log, crawld, resolve, statistics};
use crate::web::{Asked, Hit, Page, Web};

const HOST: &str = "site.test";
const ETAG: &str = "\"v1\"";
const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
const PAGES: [&str; 5] = ["/", "/tagged", "/dated", "/plain", "/moving"];

/// A site with a page for each way to tell whether it has changed.
fn site() -> Web {
    let visits = AtomicU64::new(0);
    Web::start(move |_, path| match path {
        "/" => Page::html("<title>home</title><a href=tagged><a href=dated><a href=plain><a href=moving>"),
        "/tagged" => Page { etag: Some(ETAG.to_owned()), ..Page::html("<title>tagged</title><a href=plain>") },
        "/dated" => Page { last_modified: Some(DATE.to_owned()), ..Page::html("<title>dated</title>") },
        "/plain" => Page::html("<title>plain</title>"),
        "/moving" => Page::html(format!("<title>visit {}</title>", visits.fetch_add(1, Ordering::Relaxed))),
        _ => Page::missing(),
    })
}

fn crawl(web: &Web, sets: &[&str]) -> Crawl {
    let mut crawl = Crawl::new(sets, &[format!("http://{HOST}/")]);
    let fields = "[[fields]]\nname = \"title\"\nselector = \"title\"\n";
    crawl.config = fields.to_owned() + &resolve(&[HOST.to_owned()], web.address);
    crawl
}

fn hits(web: &Web, path: &str) -> Vec<Hit> {
    web.hits().into_iter().filter(|hit| hit.path == path && hit.answered.is_some()).collect()
}

/// What an export says of each page.
fn exported(crawl: &Crawl) -> BTreeMap<String, Value> {
    let output = crawld(&["export", "--data", &crawl.data().to_string_lossy()], "");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"));
    let path = |line: &Value| Some(line["url"].as_str()?.trim_start_matches("http://site.test").to_owned());
    lines.filter_map(|line| Some((path(&line)?, line))).collect()
}

#[test]
fn pages_are_visited_again_on_a_condition_and_as_often_as_they_change() {
    let web = site();
    let sets = [
        "recrawl.enabled=true",
        "recrawl.initial_interval_secs=2",
        "recrawl.min_interval_secs=1",
        "recrawl.max_interval_secs=60",
        "recrawl.growth=2.0",
        "recrawl.shrink=0.5",
    ];
    let mut crawl = crawl(&web, &sets);
    crawl.exit_when_done = false;
    let mut run = crawl.start();
    run.until("the second visits", || PAGES.iter().all(|path| hits(&web, path).len() >= 2));
    // Until what they came to is durable.
    run.until("their lines", || PAGES.iter().all(|path| visits_logged(&crawl, path) >= 2));
    assert!(run.kill(), "it was running");
    web.settle();

    let mut run = crawl.start();
    run.until("the third visits", || PAGES.iter().all(|path| hits(&web, path).len() >= 3));
    run.until("their lines", || PAGES.iter().all(|path| visits_logged(&crawl, path) >= 3));
    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());

    conditions_are_those_that_the_page_named(&web);
    for path in ["/", "/tagged", "/dated", "/plain"] {
        let hits = hits(&web, path);
        let gap = hits[2].arrived - hits[1].arrived;
        // Due times are whole seconds.
        assert!(gap >= Duration::from_secs(3), "{path} came back after {gap:?}, unchanged");
    }
    let explained = |more: &[&str]| {
        let data = crawl.data().to_string_lossy().into_owned();
        let url = format!("http://{HOST}/tagged");
        let output = crawld(&[&["explain", &url, "--json", "--data", &data], more].concat(), "");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let (on, off) = (explained(&["--set", "recrawl.enabled=true"]), explained(&[]));
    if on["record"]["state"] == "fetched" {
        assert!(on["verdict"].as_str().is_some_and(|said| said.contains("it is due again")), "{on}");
        assert!(on["record"]["next_due"].is_string(), "{on}");
        assert!(off["verdict"].as_str().is_some_and(|said| said.contains("it is not fetched again")), "{off}");
        assert!(off["record"]["next_due"].is_null(), "{off}");
    }
    let known = exported(&crawl);
    for (path, line) in &known {
        assert!(matches!(line["state"].as_str(), Some("fetched" | "queued")), "{line}");
        let interval_secs = line["interval_secs"].as_u64().expect("an interval");
        let fits = if path == "/moving" { interval_secs == 1 } else { interval_secs >= 8 };
        assert!(fits && line["due_secs"].as_u64() > Some(0), "{line}");
    }
    assert_eq!(known.len(), PAGES.len());
    assert_eq!(
        (known["/tagged"]["etag"].as_str(), known["/dated"]["last_modified"].as_str()),
        (Some(ETAG), Some(DATE))
    );

    let last = statistics(&crawl, 1).pop().expect("a line");
    let not_modified = hits(&web, "/tagged").len() + hits(&web, "/dated").len() - 2;
    assert_eq!(last["not_modified"].as_u64(), Some(not_modified as u64), "{last}");
    assert!(last["revisits"].as_u64() >= Some(10), "{last}");
    assert_eq!(last["discovered"].as_u64(), Some(5), "{last}");
    let fields = crawl.log("fields.jsonl");
    assert!(fields.lines().all(|line| line.contains("title\":")) && fields.matches("/tagged").count() == 1, "{fields}");
}

/// Lines of a page in `crawl.log`, each of them right.
fn visits_logged(crawl: &Crawl, path: &str) -> usize {
    let lines: Vec<_> =
        crawl_log(crawl).into_iter().filter(|line| line.url == format!("http://{HOST}{path}")).collect();
    for (visit, line) in lines.iter().enumerate() {
        let is_conditional = visit > 0 && matches!(path, "/tagged" | "/dated");
        let expected = if is_conditional { (304, 0) } else { (200, line.bytes.max(1)) };
        assert_eq!((line.status, line.bytes), expected, "{line:?}");
        assert_eq!(line.notes.iter().any(|note| note == "revisit"), visit > 0, "{line:?}");
    }
    lines.len()
}

fn conditions_are_those_that_the_page_named(web: &Web) {
    let etag = Asked { if_none_match: Some(ETAG.to_owned()), ..Asked::default() };
    let date = Asked { if_modified_since: Some(DATE.to_owned()), ..Asked::default() };
    for (path, expected) in
        [("/", Asked::default()), ("/tagged", etag), ("/dated", date), ("/moving", Asked::default())]
    {
        let hits = hits(web, path);
        assert_eq!((&hits[0].asked, hits[0].status), (&Asked::default(), 200), "nothing is known of {path} yet");
        for hit in &hits[1..] {
            let status = if expected == Asked::default() { 200 } else { 304 };
            assert_eq!((&hit.asked, hit.status), (&expected, status), "{hit:?}");
        }
    }
}

#[test]
fn no_page_is_visited_twice_unless_that_is_asked_for() {
    let web = site();
    let crawl = crawl(&web, &[]);
    crawl.finish();
    crawl.finish();
    for path in PAGES {
        assert_eq!(hits(&web, path).len(), 1, "{path}");
    }
    for (_, line) in exported(&crawl) {
        let more = ["due_secs", "interval_secs", "etag", "last_modified", "digest"].map(|name| line.get(name));
        assert!(more.iter().all(Option::is_none), "{line}");
    }
    let last = statistics(&crawl, 0).pop().expect("a line");
    assert_eq!(["revisits", "not_modified", "due_again"].map(|name| last[name].as_u64()), [Some(0); 3], "{last}");
    assert_eq!(last["reason"].as_str(), Some("every URL found is finished"));
}

#[test]
fn a_crawl_that_ends_when_done_says_what_is_due_later() {
    let web = site();
    let crawl = crawl(&web, &["recrawl.enabled=true"]);
    crawl.finish();
    assert!(PAGES.iter().all(|path| hits(&web, path).len() == 1));
    let last = statistics(&crawl, 0).pop().expect("a line");
    let reason = last["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("every URL found is finished; 5 pages are due again later, the first in "), "{reason}");
}
