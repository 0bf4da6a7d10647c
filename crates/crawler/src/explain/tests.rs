//! What is said of a URL: sentence, JSON and text; and what a hostile one can do.

use frontier::{Budget, Found, FoundUrl, Options, Rules, registrable_domain};
use url::Url;

use super::*;
use crate::config::{Address, Mode};
use crate::robots::Robots;

struct World {
    _dir: tempfile::TempDir,
    frontier: Frontier,
    config: Config,
    scope: Scope,
    robots: RobotsCache,
    pages: u64,
}

fn world(mode: Mode, rules: Rules) -> World {
    let dir = tempfile::tempdir().expect("a directory");
    let budget = Budget { urls_per_host: 2, park: true, ..Budget::default() };
    let options = Options { partitions: 2, budget, rules, ..Options::new(dir.path()) };
    let frontier = Frontier::open(options, 0, || {}).expect("opens");
    let mut config = Config::default();
    config.scope.mode = mode;
    let seeds = [Url::parse("http://a.test/").expect("a URL")];
    let scope = Scope::new(&config.scope, &seeds, registrable_domain);
    World { _dir: dir, frontier, config, scope, robots: RobotsCache::new(10, 1 << 20), pages: 0 }
}

impl World {
    fn offer(&self, urls: &[&str]) {
        let url = |url: &&str| FoundUrl::new(self.frontier.rules().parse(url).expect("a URL"), 4);
        let found = Found { urls: urls.iter().map(url).collect(), ..Found::default() };
        self.frontier.offer(&found, Some("http://a.test/"), 5_000).expect("offers");
    }

    fn ask(&self, url: &str) -> Explained {
        let judges = Judges { config: &self.config, scope: &self.scope, robots: Some(&self.robots), pages: self.pages };
        explain(&self.frontier, &judges, url, 6_000).expect("a URL")
    }

    fn verdict(&self, url: &str) -> (String, String) {
        let all = self.ask(url);
        (all.outcome, all.verdict)
    }
}

#[test]
fn each_outcome_has_its_sentence() {
    let world = world(Mode::Host, Rules::default());
    let check = |url: &str, outcome: &str, says: &str| {
        let (word, sentence) = world.verdict(url);
        assert!(word == outcome && sentence.contains(says), "{url}: {word}: {sentence}");
    };
    check(
        "http://b.test/",
        "out_of_scope",
        "out of scope: scope.mode = \"host\": the host is none of the seeds' hosts",
    );
    check("http://a.test/1", "new", "new: would be queued at depth 0 as a seed, one deeper than its page as a link");
    check("http://a.test/x/x/x/x/x", "refused", "more than traps.max_repeated_segments = 3");
    world.offer(&["http://a.test/1", "http://a.test/2", "http://a.test/3"]);
    check("http://a.test/1", "seen", "seen: queued at depth 4");
    check("http://a.test/3", "seen", "seen: parked: held back by a budget");
    check("http://a.test/4", "over_budget", "held back by budget.max_urls_per_host: would be parked");
    let none = Judges { config: &Config::default(), scope: &world.scope, robots: None, pages: 0 };
    let error = explain(&world.frontier, &none, "mailto:x@y", 0).expect_err("no URL to crawl");
    assert_eq!(error.to_string(), "scheme is neither http nor https");
}

#[test]
fn what_keeps_a_queued_url_from_being_fetched_is_named() {
    let mut world = world(Mode::Any, Rules::default());
    world.offer(&["http://a.test/1"]);
    let (private, metadata) = ("http://127.0.0.1:8080/", "http://[::ffff:169.254.169.254]/");
    let check = |world: &World, url: &str, says: &str| {
        let sentence = world.verdict(url).1;
        assert!(if says.is_empty() { !sentence.contains("but") } else { sentence.contains(says) }, "{url}: {sentence}");
    };
    let refused = ", but not fetched: 127.0.0.1 is not a public address, and fetch.allow_private_networks = false";
    check(&world, private, refused);
    check(&world, "http://[::1]/", ", but not fetched: ::1 is not a public address");
    check(&world, "http://1.1.1.1/", "");
    assert!(to_text(&world.ask(private)).contains("\n  refused         127.0.0.1 is not a public address"));
    world.config.fetch.resolve.insert("inside.test".into(), Address::parse("10.0.0.1:80").expect("an address"));
    check(&world, "http://inside.test/", ", but not fetched: 10.0.0.1 is not a public address");
    world.config.fetch.allow_private_networks = true;
    check(&world, private, "");
    check(&world, metadata, "serves a machine's credentials and settings, and is never connected to");

    world.config.crawl.max_pages = 3;
    world.pages = 2;
    check(&world, "http://a.test/1", "");
    world.pages = 3;
    let enough = ", but nothing more is fetched: crawl.max_pages = 3 is reached";
    check(&world, "http://a.test/1", enough);
    check(&world, "http://b.test/", enough);
    assert!(
        to_text(&world.ask("http://b.test/")).ends_with("Whole crawl\n  pages           3 of 3 (crawl.max_pages)\n")
    );
}

/// The one told was that of the last response, of whatever run; a run with this config has its own.
#[test]
fn the_delay_is_that_of_a_run_with_this_config() {
    let mut world = world(Mode::Any, Rules::default());
    world.offer(&["http://a.test/1"]);
    let delays = |world: &World| {
        let host = world.ask("http://a.test/1").host;
        (host.delay_ms, host.last_delay_ms)
    };
    assert_eq!(delays(&world), (1000, 1000));
    assert!(to_text(&world.ask("http://a.test/1")).contains("delay           1000 ms from the end of a response\n"));
    world.config.politeness.delay_ms = 5000;
    assert_eq!(delays(&world), (5000, 1000));
    let line = "delay           5000 ms from the end of a response; 1000 ms after the last one\n";
    assert!(to_text(&world.ask("http://a.test/1")).contains(line));
    let rules = Some(Arc::new(Robots::parse("crawld", b"user-agent: *\ncrawl-delay: 7\n")));
    world.robots.cell("http://a.test", 0).set(Answer { rules, expires: 7_000 }).expect("set once");
    assert_eq!(delays(&world).0, 7000);
    world.config.politeness.max_crawl_delay_secs = 6;
    assert_eq!(delays(&world).0, 6000);
    world.config.politeness.obey_robots = false;
    assert_eq!(delays(&world).0, 5000);
}

#[test]
fn where_a_finished_url_was_found_is_said_to_be_in_the_crawl_log() {
    let world = world(Mode::Any, Rules::default());
    world.offer(&["http://a.test/1"]);
    world.frontier.commit().expect("commits");
    assert_eq!(world.ask("http://a.test/1").record.expect("is known").found_on_kept, "page");
    let frontier::Next::Lease(lease) = world.frontier.lease(6_000).expect("answers") else { panic!("it is due") };
    let completion = frontier::Completion {
        outcome: frontier::Outcome::Fetched { status: 200 },
        host: None,
        tally: frontier::Tally::default(),
        visit: frontier::Visit::default(),
        found: &Found::default(),
    };
    world.frontier.complete(lease, &completion, 6_000).expect("completes");
    assert_eq!(world.ask("http://a.test/1").record.expect("is known").found_on_kept, "in_crawl_log");
    let text = to_text(&world.ask("http://a.test/1"));
    assert!(text.contains("its line in log/crawl.log has it, in the sixth column"), "{text}");
}

#[test]
fn the_line_of_robots_txt_is_told() {
    let world = world(Mode::Any, Rules::default());
    assert_eq!(world.ask("http://b.test/a").robots.verdict, "not_known");
    let rules = Robots::parse("crawld", b"user-agent: *\nallow: /a/b\ndisallow: /a\n");
    let answer = |rules| Answer { rules, expires: 7_000 };
    world.robots.cell("http://b.test", 0).set(answer(Some(Arc::new(rules)))).expect("set once");
    world.robots.cell("http://c.test", 0).set(answer(None)).expect("set once");
    let says = |url: &str| {
        let robots = world.ask(url).robots;
        (robots.verdict, robots.line, robots.rule.unwrap_or_default())
    };
    assert_eq!(says("http://b.test/a"), ("denied".into(), Some(3), "Disallow: /a".into()));
    assert_eq!(says("http://b.test/a/b"), ("allowed".into(), Some(2), "Allow: /a/b".into()));
    assert_eq!(says("http://b.test/c"), ("allowed".into(), None, String::new()));
    assert_eq!(says("http://c.test/").0, "unreachable");
    let sentence = world.verdict("http://b.test/a").1;
    assert!(sentence.ends_with("but robots.txt forbids it (line 3)"), "{sentence}");
    assert!(
        to_text(&world.ask("http://b.test/a"))
            .contains("denied by line 3: Disallow: /a (known until 1970-01-01T00:00:07.000Z)")
    );
}

#[test]
fn people_and_programs_read_the_same() {
    let world = world(Mode::Host, Rules::default());
    world.offer(&["http://a.test/x?utm_source=1"]);
    let all = world.ask("HTTP://A.test:80/x?utm_source=2#f");
    let read: Explained = serde_json::from_str(&to_json(&all)).expect("JSON");
    assert_eq!(read, all);
    let text = to_text(&all);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for line in [
        "HTTP://A.test:80/x?utm_source=2#f",
        "seen: queued at depth 4",
        "changed by      whatwg                     http://a.test/x?utm_source=2#f",
        "changed by      drop_fragment              http://a.test/x?utm_source=2",
        "changed by      drop_tracking_parameters   http://a.test/x",
        "key             test,a)http/x",
        "first found as  http://a.test/x?utm_source=1",
        "found on        http://a.test/",
        "first seen      1970-01-01T00:00:05.000Z",
        "budget.max_urls_per_host      1 of 2",
    ] {
        assert!(lines.contains(&line), "{line} is missing:\n{text}");
    }
}

#[test]
fn no_control_character_of_a_url_reaches_the_terminal() {
    let world = world(Mode::Any, Rules::default());
    let hostile = "http://a.test/\u{1b}[2J\u{9b}31m\r\u{202e}\u{7}?q='\\#\u{1b}]0;x\u{7}";
    let all = world.ask(hostile);
    for text in [to_text(&all), to_json(&all), quoted(hostile)] {
        let bad: Vec<char> = text.chars().filter(|c| *c != '\n' && (c.is_control() || *c == '\u{202e}')).collect();
        assert!(bad.is_empty(), "{bad:?} in {text}");
    }
    assert!(to_json(&all).is_ascii() && to_json(&all).matches('\n').count() == 1);
    let read: Explained = serde_json::from_str(&to_json(&all)).expect("JSON");
    assert_eq!(read.url.input, hostile);
}

#[test]
fn the_longest_answer_fits_a_line_of_the_control_socket() {
    let everything = frontier::RuleOptions {
        fold_scheme: true,
        drop_userinfo: true,
        fold_www: true,
        fold_path_case: true,
        fold_slashes: true,
        fold_trailing_slash: true,
        drop_index_pages: true,
        drop_parameters: vec!["gone".into()],
        sort_query: true,
        ..frontier::RuleOptions::default()
    };
    let world = world(Mode::Any, Rules::new(everything));
    let start = "http://u:p@www.a.test.:8080//A;jsessionid=1/%7e/index.html?z&utm_x=1&gone=1&q=&q=&utm_source=1&";
    let mut url = format!("{start}{}", "\\".repeat(frontier::canonical::MAX_URL_BYTES - start.len()));
    world.offer(&[&url]);
    url.push_str("#\u{1}\u{1}");
    let all = world.ask(&url);
    assert!(all.url.steps.len() >= 10 && all.record.is_some(), "{:?}", all.url.steps);
    let line = serde_json::to_string(&all).expect("JSON").len();
    assert!((60_000 - 25_000..control::MAX_LINE_BYTES).contains(&line), "{line} bytes");
}
