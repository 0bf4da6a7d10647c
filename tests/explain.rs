//! What `crawld explain` tells of a URL, whatever has become of it: from a running crawl and from a stopped one.

use serde_json::Value;

use crate::harness::{Crawl, DEADLINE, Run, crawld, resolve, statistics};
use crate::web::{Page, Web};

const ROBOTS: &str = "# all\nuser-agent: *\nallow: /private/open\ndisallow: /private\n";
const HOME: &str = "<a href=/a>a</a> <a href=/private/b>b</a> <a href=/private/open>c</a> <a href=/late>d</a>";

/// A host with rules and more pages than its budget, and one that is down.
fn page(host: &str, path: &str) -> Page {
    match (host, path) {
        ("up.test", "/robots.txt") => Page { content_type: "text/plain", ..Page::html(ROBOTS) },
        ("up.test", "/") => Page::html(HOME),
        ("up.test", "/a" | "/private/open") => Page::html("a"),
        ("down.test", "/") => Page { status: 503, ..Page::missing() },
        _ => Page::missing(),
    }
}

const SETS: [&str; 3] = ["crawl.idle_exit_secs=0", "budget.max_urls_per_host=4", "politeness.delay_ms=0"];

fn idle() -> (Web, Crawl, Run) {
    let web = Web::start(page);
    let mut crawl = Crawl::new(&SETS, &["http://up.test/".into(), "http://down.test/".into()]);
    crawl.config = resolve(&["up.test".into(), "down.test".into()], web.address);
    crawl.exit_when_done = false;
    let mut run = crawl.start();
    run.until("the end of the work", || crawl.log("crawl-statistics.jsonl").contains("\"event\":\"idle\""));
    (web, crawl, run)
}

/// Exit code, standard output and standard error.
fn explain(crawl: &Crawl, url: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let data = crawl.data().to_string_lossy().into_owned();
    let mut words = vec!["explain", "--data", &data];
    SETS.iter().for_each(|set| words.extend(["--set", set]));
    words.extend(more);
    words.extend(["--", url]);
    let output = crawld(&words, "");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    (output.status.code(), out, err)
}

fn ask(crawl: &Crawl, url: &str) -> Value {
    let (code, out, err) = explain(crawl, url, &["--json"]);
    assert_eq!(code, Some(0), "{url}: {out}{err}");
    serde_json::from_str(&out).expect("one JSON object")
}

/// Without what differs between a running crawl and a stopped one by its nature.
fn lasting(mut told: Value) -> Value {
    told["seen"]["hot_cache"].take();
    for name in ["next_slot", "next_slot_in_ms"] {
        told["host"][name].take();
    }
    told["robots"].take();
    told["verdict"].take();
    if told["record"].is_object() {
        for name in ["kept_in", "next_due", "next_due_in_ms", "found_on", "found_on_kept"] {
            told["record"][name].take();
        }
    }
    told
}

const URLS: [&str; 7] = [
    "http://up.test/?utm_source=x#top",
    "http://up.test/private/b",
    "http://up.test/private/open",
    "http://up.test/late",
    "http://up.test/never",
    "http://else.test/",
    "http://down.test/",
];

#[test]
fn whatever_has_become_of_a_url_is_told_running_and_stopped() {
    let (_web, crawl, mut run) = idle();
    let before = crawl.stats()["discovered"].clone();
    let running = URLS.map(|url| ask(&crawl, url));
    let says = |n: usize, outcome: &str, text: &str| {
        let (word, verdict) = (&running[n]["outcome"], running[n]["verdict"].as_str().unwrap_or_default());
        assert!(word == outcome && verdict.contains(text), "{}", running[n]);
    };
    says(0, "seen", "fetched, with 200 (OK)");
    says(1, "seen", "not fetched, because robots.txt forbade it");
    says(2, "seen", "fetched");
    says(3, "seen", "parked: held back by a budget");
    says(4, "over_budget", "new: held back by budget.max_urls_per_host: would be parked");
    says(5, "out_of_scope", "the host is none of the seeds' hosts");
    says(6, "seen", "queued at depth 0");
    let rules: Vec<_> =
        running[0]["url"]["steps"].as_array().expect("steps").iter().map(|step| &step["rule"]).collect();
    assert_eq!(rules, ["drop_fragment", "drop_tracking_parameters"]);
    let robots = |n: usize| (running[n]["robots"]["verdict"].clone(), running[n]["robots"]["line"].clone());
    assert_eq!(robots(1), ("denied".into(), 4.into()));
    assert_eq!(robots(2), ("allowed".into(), 3.into()));
    assert_eq!(robots(5), ("not_known".into(), Value::Null));
    assert_eq!((&running[3]["host"]["urls"], &running[3]["host"]["parked"]), (&4.into(), &1.into()));
    assert_eq!(running[6]["host"]["blocked_by"], "unavailable", "{}", running[6]);
    assert!(running[6]["record"]["next_due_in_ms"].as_u64().is_some_and(|ms| ms > 0), "{}", running[6]);
    assert_eq!(crawl.stats()["discovered"], before, "asking records nothing");

    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    let stopped = URLS.map(|url| ask(&crawl, url));
    for (url, (running, stopped)) in URLS.iter().zip(running.into_iter().zip(stopped)) {
        let stopped = lasting(stopped);
        assert_eq!(stopped, lasting(running), "{url}");
        assert_eq!(lasting(ask(&crawl, url)), stopped, "{url}: asking twice is asking once");
    }
    statistics(&crawl, 0);
}

/// Else one word forgotten on the command line would put all that a budget holds back into the queue.
#[test]
fn a_release_without_the_budgets_of_the_crawl_is_refused() {
    let (_web, crawl, mut run) = idle();
    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    let data = crawl.data().to_string_lossy().into_owned();
    let release = |more: &[&str]| {
        let output = crawld(&[&["budget", "release", "up.test", "--data", &data], more].concat(), "");
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
        (output.status.code(), out + &err)
    };
    let (code, said) = release(&[]);
    assert!(code == Some(2) && said.contains("this config sets no budget"), "{code:?}: {said}");
    let (code, said) = release(&["--set", "budget.max_urls_per_host=5"]);
    assert!(code == Some(0) && said.contains("1 URLs released"), "{code:?}: {said}");
}

#[test]
fn people_get_text_without_control_characters_and_no_url_is_an_error() {
    let (_web, crawl, mut run) = idle();
    let (code, text, err) = explain(&crawl, "http://up.test/private/\u{1b}[2J\u{202e}", &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(text.contains("denied by line 4: Disallow: /private"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    for stopped in [false, true] {
        for bad in ["mailto:x@y", "no url", "http://\u{1b}[31m/"] {
            let (code, out, err) = explain(&crawl, bad, &[]);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{bad}, stopped: {stopped}: {err}");
            assert!(!err.contains('\u{1b}') && err.lines().count() == 1, "{err:?}");
        }
        if !stopped {
            run.term();
            assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
        }
    }
    statistics(&crawl, 0);
}
