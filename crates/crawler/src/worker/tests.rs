//! Journeys through scripted sites, with a real frontier in a temporary directory and time that stands still.

mod link_kinds;
mod sitemaps;

use std::future::poll_fn;
use std::task::Poll;
mod duplicates;
mod outputs;

use std::time::Duration;

use frontier::{FoundUrl, Next, Statistics};
use tokio::sync::mpsc;

use super::*;
use crate::config::{Field, Traps};
use crate::daemon;
use crate::fetch::scripted::{Scripted, Step};
use crate::fetch::{FetchError, Head};
use crate::politeness;

mod robots;

const HOME: &str = "http://a.test/";
const ROBOTS: &str = "http://a.test/robots.txt";

/// A crawl whose workers are driven one at a time.
struct Bench {
    crawl: Crawl<Scripted>,
    lines: mpsc::Receiver<Entry>,
    orders: watch::Sender<Orders>,
    _dir: tempfile::TempDir,
}

impl Bench {
    /// A crawl of `seeds` without delay.
    fn new(script: Scripted, seeds: &[&str], change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let mut config = Config::default();
        config.politeness.delay_ms = 0;
        config.journal.commit_interval_ms = 0;
        config.frontier.partitions = 1;
        config.filter.initial_capacity = 1000;
        config.sitemap.enabled = false;
        change(&mut config);
        let clock = Clock::start();
        let options = daemon::options(&config, dir.path());
        let frontier = Arc::new(Frontier::open(options, clock.now(), || ()).expect("opened"));
        let urls: Vec<Url> = seeds.iter().map(|seed| Url::parse(seed).expect("a URL")).collect();
        let canonical = |url: &Url| frontier.rules().canonical(url.clone()).expect("a seed");
        let seed = |url| FoundUrl::new(canonical(url), 0);
        let found = Found { urls: urls.iter().map(seed).collect(), ..Found::default() };
        frontier.offer(&found, None, clock.now()).expect("offered");
        let (log, lines) = mpsc::channel(1000);
        let (orders, ordered) = watch::channel(Orders::Work);
        let crawl = Crawl {
            frontier,
            fetch: script,
            scope: Scope::new(&config.scope, &urls, frontier::registrable_domain),
            fields: daemon::fields(&config).expect("valid selectors"),
            robots: RobotsCache::new(100, 1 << 20),
            addresses: daemon::addresses(&config, clock, false),
            limiter: politeness::limiter(0),
            clock,
            log,
            duplicates: Arc::new(Duplicates::new(&config.duplicates)),
            outputs: None,
            fetched: AtomicU64::new(0),
            orders: ordered,
            config,
        };
        Self { crawl, lines, orders, _dir: dir }
    }

    fn next(&self) -> Next {
        self.crawl.frontier.commit().expect("committed");
        self.crawl.frontier.lease(self.crawl.clock.now()).expect("leased")
    }

    /// A page that is due: the look that puts it back into its queue may come before that is durable.
    fn due(&self) -> Lease {
        let lease = (0..2).find_map(|_| if let Next::Lease(lease) = self.next() { Some(lease) } else { None });
        lease.expect("is due")
    }

    /// Works until nothing is queued, or for so many leases. Gives `status url notes` of each line of the log.
    async fn run(&mut self, max_leases: usize) -> Vec<String> {
        let mut leases = 0;
        while leases < max_leases {
            match self.next() {
                Next::Lease(lease) => {
                    leases += 1;
                    journey(&self.crawl, lease).await.expect("the frontier works");
                }
                Next::Wait { until: None } => break,
                Next::Wait { until: Some(until) } => {
                    let wait_ms = until.saturating_sub(self.crawl.clock.now()).max(1);
                    tokio::time::advance(Duration::from_millis(wait_ms)).await;
                }
            }
        }
        self.logged()
    }

    /// Works as the daemon does: everything that may be asked for at the same time is.
    async fn run_together(&mut self) -> Vec<String> {
        let mut journeys = Vec::new();
        loop {
            let until = loop {
                match self.next() {
                    Next::Lease(lease) => journeys.push(Box::pin(journey(&self.crawl, lease))),
                    Next::Wait { until } => break until,
                }
            };
            if until.is_none() && journeys.is_empty() {
                break;
            }
            let wait_ms = until.map_or(60_000, |until| until.saturating_sub(self.crawl.clock.now()).max(1));
            let one_ends = poll_fn(|context| {
                let before = journeys.len();
                journeys.retain_mut(|journey| match journey.as_mut().poll(context) {
                    Poll::Ready(ended) => {
                        ended.expect("the frontier works");
                        false
                    }
                    Poll::Pending => true,
                });
                if journeys.len() < before { Poll::Ready(()) } else { Poll::Pending }
            });
            // Either way there may be more to do.
            let _ = tokio::time::timeout(Duration::from_millis(wait_ms), one_ends).await;
        }
        drop(journeys);
        self.logged()
    }

    fn logged(&mut self) -> Vec<String> {
        let mut logged = Vec::new();
        while let Ok(entry) = self.lines.try_recv() {
            let columns: Vec<_> = entry.line.split_whitespace().collect();
            assert_eq!(columns.len(), 9, "{}", entry.line);
            logged.push(format!("{} {} {}", columns[1], columns[3], columns[8]));
        }
        logged
    }

    fn statistics(&self) -> Statistics {
        let statistics = self.crawl.frontier.statistics().expect("counted");
        assert_eq!(statistics.books.check(), Ok(()));
        statistics
    }
}

fn status(status: u16) -> Head {
    Head { status, ..Head::default() }
}

/// A site at [`HOME`] without a robots.txt.
fn site() -> Scripted {
    let mut script = Scripted::new();
    script.answer(ROBOTS, status(404), vec![]);
    script
}

#[tokio::test(start_paused = true)]
async fn links_are_found_counted_and_followed() {
    let mut script = site();
    script.page(
        HOME,
        "<a href=/b>1</a> <a href=/b>2</a> <a href=/b#x>3</a> <a href=mailto:x@y>4</a> <a href=http://b.test/>5</a> \
         <a href='http://['>6</a> <a href='/'>7</a>",
    );
    script.page("http://a.test/b", "<a href=/c>1</a>");
    script.answer("http://a.test/c", status(404), vec![Step::bytes("no")]);
    let mut bench = Bench::new(script, &[HOME], |_| ());
    let logged = bench.run(100).await;
    assert_eq!(logged, ["200 http://a.test/ new_1", "200 http://a.test/b new_1", "404 http://a.test/c -"]);
    assert_eq!(bench.crawl.fetch.asked(), [ROBOTS, HOME, "http://a.test/b", "http://a.test/c"]);
    let books = bench.statistics().books;
    let counts = (books.urls_found, books.page_duplicates, books.invalid, books.out_of_scope, books.discovered);
    assert_eq!(counts, (9, 2, 2, 1, 3), "the seed, seven links, one link");
    assert_eq!((books.fetches, books.status_2xx, books.status_4xx, books.fetched), (4, 2, 2, 3));
    assert_eq!(bench.crawl.fetched.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn with_a_delay_the_page_waits_after_robots() {
    let mut script = Scripted::new();
    script.answer(ROBOTS, status(200), vec![Step::bytes("User-agent: *\nCrawl-delay: 2\n")]);
    script.page(HOME, "");
    let mut bench = Bench::new(script, &[HOME], |config| config.politeness.delay_ms = 1000);
    let began = bench.crawl.clock.now();
    assert_eq!(bench.run(1).await, [""; 0], "the first lease only asked for robots.txt");
    assert!(matches!(bench.next(), Next::Wait { until: Some(until) } if until == began + 2001), "Crawl-delay counts");
    assert_eq!(bench.run(100).await, ["200 http://a.test/ -"], "and it is no second attempt");
    assert_eq!(bench.crawl.fetch.asked(), [ROBOTS, HOME]);
}

#[tokio::test(start_paused = true)]
async fn robots_decide() {
    async fn check(answer: Head, body: &str, logged: &[&str]) {
        let mut script = Scripted::new();
        script.answer(ROBOTS, answer.clone(), vec![Step::bytes(body)]);
        script.page("http://a.test/x", "");
        let mut bench = Bench::new(script, &["http://a.test/x"], |_| ());
        assert_eq!(bench.run(5).await, logged, "{answer:?} {body}");
        let statistics = bench.statistics();
        assert_eq!(statistics.books.queued, i64::from(logged.is_empty()), "{answer:?}");
    }
    let fetched = ["200 http://a.test/x -"];
    check(status(200), "User-agent: *\nDisallow: /y", &fetched).await;
    check(status(200), "User-agent: *\nDisallow: /x", &["-9998 http://a.test/x robots_denied"]).await;
    check(status(404), "User-agent: *\nDisallow: /x", &fetched).await;
    check(status(429), "", &fetched).await;
    check(status(500), "", &[]).await;
    check(Head { retry_after: Some("7".to_owned()), ..status(503) }, "", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn redirects_of_robots_are_followed_five_times() {
    async fn check(hops: u32, last: &str, logged: &[&str]) {
        let mut script = Scripted::new();
        script.redirect(ROBOTS, "/r1");
        for hop in 1..=hops {
            script.redirect(&format!("http://a.test/r{hop}"), &format!("/r{}", hop + 1));
        }
        script.answer(&format!("http://a.test/r{}", hops + 1), status(200), vec![Step::bytes(last)]);
        script.page(HOME, "");
        let mut bench = Bench::new(script, &[HOME], |_| ());
        assert_eq!(bench.run(5).await, logged, "{hops}");
    }
    check(4, "User-agent: *\nDisallow: /", &["-9998 http://a.test/ robots_denied"]).await;
    check(5, "User-agent: *\nDisallow: /", &["200 http://a.test/ -"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_to_which_many_redirect_their_robots_is_asked_once() {
    let hosts: Vec<String> = (0..5).map(|n| format!("http://r{n}.test/")).collect();
    let mut script = Scripted::new();
    for host in &hosts {
        script.redirect(&format!("{host}robots.txt"), "http://hub.test/robots.txt");
    }
    script.answer("http://hub.test/robots.txt", status(200), vec![Step::bytes("User-agent: *\nDisallow: /")]);
    let seeds: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let mut bench = Bench::new(script, &seeds, |_| ());
    assert_eq!(bench.run(20).await.len(), 5);
    let asked = bench.crawl.fetch.asked();
    assert_eq!(asked.iter().filter(|url| url.contains("hub.test")).count(), 1, "{asked:?}");
    assert_eq!(bench.statistics().books.robots_denied, 5);
}

#[tokio::test(start_paused = true)]
async fn a_host_to_which_robots_redirect_is_asked_in_its_own_turn() {
    let mut script = site();
    script.page(HOME, "");
    script.page("http://a.test/2", "");
    script.redirect("http://b.test/robots.txt", "http://a.test/rules.txt");
    script.answer("http://a.test/rules.txt", status(200), vec![Step::bytes("User-agent: *\nDisallow: /")]);
    let mut bench = Bench::new(script, &[HOME, "http://a.test/2", "http://b.test/"], |config| {
        config.politeness.delay_ms = 1000;
    });
    bench.run(100).await;
    let times = bench.crawl.fetch.times("a.test");
    assert_eq!(times.len(), 4, "robots.txt, two pages and the rules of another host");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1)), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn links_that_look_like_traps_are_refused_by_rule_and_seeds_are_not() {
    let seed = "http://a.test/a/a/a/a/";
    let mut script = site();
    script.page(seed, "<a href=a/>1</a> <a href=/1/2/3/4/5/6>2</a> <a href='/?a&b&c'>3</a> <a href='/?123456'>4</a>");
    let mut bench = Bench::new(script, &[seed], |config| {
        config.traps =
            Traps { max_path_segments: 5, max_repeated_segments: 3, max_query_bytes: 5, max_query_parameters: 2 };
    });
    bench.run(10).await;
    let books = bench.statistics().books;
    assert_eq!((books.discovered, books.fetched, books.refused), (1, 1, 4));
    assert_eq!(books.refused_by_rule(), [0, 0, 1, 1, 1, 1, 0, 0]);
}

/// scrapy#4424: a server that answered 429 at once made AutoThrottle faster.
#[tokio::test(start_paused = true)]
async fn fast_429s_slow_a_crawl_and_answers_bring_it_back_step_by_step() {
    let mut script = site();
    script.page(HOME, "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/4>4</a>");
    for n in 1..=4 {
        script.page(&format!("http://a.test/{n}"), "");
    }
    for n in 5..=7 {
        script.answer(&format!("http://a.test/{n}"), status(429), vec![]);
    }
    let seeds = ["http://a.test/5", "http://a.test/6", "http://a.test/7", HOME];
    let mut bench = Bench::new(script, &seeds, |config| {
        config.politeness.delay_ms = 1000;
        config.fetch.max_attempts = 1;
    });
    bench.run(100).await;
    let times = bench.crawl.fetch.times("a.test");
    let gaps: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    // The pace after robots.txt; the back-off after each 429; then an answer takes one doubling back at a time.
    assert_eq!(gaps, [1, 30, 60, 120, 4, 2, 1, 1], "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_host_is_asked_less_often() {
    let mut script = site();
    let html = || Head { content_type: Some("text/html".to_owned()), ..status(200) };
    script.answer(HOME, html(), vec![Step::Wait(Duration::from_secs(2)), Step::bytes("<a href=/b>b</a>")]);
    script.page("http://a.test/b", "<a href=/c>c</a>");
    script.page("http://a.test/c", "");
    let mut bench = Bench::new(script, &[HOME], |config| config.politeness.delay_ms = 1000);
    bench.run(100).await;
    let times = bench.crawl.fetch.times("a.test");
    let gaps: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(gaps, [1, 12, 1], "two seconds of answer, and five times that");
}

#[tokio::test(start_paused = true)]
async fn hosts_at_one_address_count_as_one() {
    async fn check(per_ip: bool, together: bool) {
        let hosts: Vec<String> = (0..4).map(|n| format!("http://s{n}.test/")).collect();
        let mut script = Scripted::new();
        for (n, host) in hosts.iter().enumerate() {
            script.answer(&format!("{host}robots.txt"), status(404), vec![]);
            script.page(host, "");
            script.resolve(&format!("s{n}.test"), [192, 0, 2, u8::from(!together) * n as u8].into());
        }
        let seeds: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let mut bench = Bench::new(script, &seeds, |config| {
            config.politeness.delay_ms = 1000;
            config.politeness.per_ip = per_ip;
        });
        assert_eq!(bench.run(1000).await.len(), 4, "every page is fetched");
        let times = bench.crawl.fetch.times("");
        let apart = times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1));
        assert_eq!(apart, per_ip && together, "{times:?}");
    }
    check(true, true).await;
    check(true, false).await;
    check(false, true).await;
}

/// A change of host at an address cost two: its place had come a moment too early, and it was sent behind all others.
#[tokio::test(start_paused = true)]
async fn a_change_of_host_at_one_address_costs_one_delay() {
    for (pages, response_ms) in [(1, 0), (3, 0), (1, 150), (3, 150)] {
        let mut script = Scripted::new();
        let mut seeds = Vec::new();
        for host in (0..5).map(|n| format!("s{n}.test")) {
            script.answer(
                &format!("http://{host}/robots.txt"),
                status(404),
                vec![Step::Wait(Duration::from_millis(response_ms))],
            );
            script.resolve(&host, [192, 0, 2, 1].into());
            for page in 0..pages {
                seeds.push(format!("http://{host}/{page}"));
                let answer = vec![Step::Wait(Duration::from_millis(response_ms)), Step::bytes("x")];
                script.answer(&format!("http://{host}/{page}"), status(200), answer);
            }
        }
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let mut bench = Bench::new(script, &seeds, |config| {
            config.politeness.delay_ms = 1000;
            config.politeness.per_ip = true;
        });
        assert_eq!(bench.run_together().await.len(), 5 * pages, "every page is fetched");
        let times = bench.crawl.fetch.times("");
        assert_eq!(times.len(), 5 * (pages + 1));
        let gaps: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis() as u64).collect();
        // A millisecond is what the clock cuts off.
        let expected = 1000 + response_ms..=1002 + response_ms;
        assert!(gaps.iter().all(|gap| expected.contains(gap)), "{pages} pages, {response_ms} ms: {gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_be_reached_fails_its_pages_with_the_reason() {
    for (error, code) in [(FetchError::Dns, -1), (FetchError::Connect, -2), (FetchError::Lost, -3)] {
        let mut script = Scripted::new();
        script.failure(ROBOTS, error);
        let mut bench = Bench::new(script, &[HOME], |_| ());
        let began = bench.crawl.clock.now();
        let line = |notes: &str| format!("{code} http://a.test/ robots_unreachable{notes}");
        assert_eq!(bench.run(9).await, [line(",requeued"), line(",retry_1,requeued"), line(",retry_2")], "{error}");
        let rest_ms = bench.crawl.clock.now() - began;
        assert!(rest_ms >= 30_000 + 60_000, "asked three times, with a back-off that doubles, in {rest_ms} ms");
        let books = bench.statistics().books;
        assert_eq!((books.queued, books.failed, books.fetches), (0, 1, 3), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_robots_fail_at_the_server_keeps_its_urls() {
    let mut script = Scripted::new();
    script.answer(ROBOTS, status(500), vec![]);
    let mut bench = Bench::new(script, &[HOME], |_| ());
    assert_eq!(bench.run(5).await, [""; 0]);
    let books = bench.statistics().books;
    assert_eq!((books.queued, books.failed, books.fetches), (1, 0, 5));
}

#[tokio::test(start_paused = true)]
async fn a_broken_robots_rests_the_host_and_a_forbidden_redirect_means_no_rules() {
    for error in [FetchError::Malformed, FetchError::Tls, FetchError::HeadersTooLarge] {
        let mut script = Scripted::new();
        script.failure(ROBOTS, error);
        let mut bench = Bench::new(script, &[HOME], |_| ());
        let began = bench.crawl.clock.now();
        assert_eq!(bench.run(3).await, [""; 0], "{error}");
        assert!(bench.crawl.clock.now() - began >= 90_000, "{error} is no reason to ask again and again");
    }
    let mut script = Scripted::new();
    script.redirect(ROBOTS, "http://10.0.0.1/robots.txt");
    script.failure("http://10.0.0.1/robots.txt", FetchError::PrivateAddress);
    script.page(HOME, "");
    let mut bench = Bench::new(script, &[HOME], |config| config.politeness.delay_ms = 1000);
    assert_eq!(bench.run(2).await, ["200 http://a.test/ -"]);
}

#[tokio::test(start_paused = true)]
async fn a_crawl_that_is_being_stopped_starts_no_second_request() {
    let mut script = site();
    script.page(HOME, "");
    let mut bench = Bench::new(script, &[HOME], |_| ());
    bench.orders.send_replace(Orders::Finish);
    assert_eq!(bench.run(1).await, [""; 0]);
    assert_eq!(bench.crawl.fetch.asked(), [ROBOTS]);
    assert_eq!(bench.statistics().books.queued, 1);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_elsewhere_is_a_url_found() {
    async fn check(location: &str, logged: &[&str], found: (i64, i64, i64)) {
        let mut script = site();
        script.redirect(HOME, location);
        script.page("http://a.test/b", "");
        let mut bench = Bench::new(script, &[HOME], |_| ());
        assert_eq!(bench.run(10).await, logged, "{location}");
        let books = bench.statistics().books;
        assert_eq!((books.discovered, books.out_of_scope, books.invalid), found, "{location}");
        assert_eq!(books.status_3xx, 1);
    }
    check("b", &["302 http://a.test/ new_1", "200 http://a.test/b -"], (2, 0, 0)).await;
    check("http://169.254.169.254/", &["302 http://a.test/ -"], (1, 1, 0)).await;
    check("file:///etc/passwd", &["302 http://a.test/ -"], (1, 0, 1)).await;
    check("http://[", &["302 http://a.test/ -"], (1, 0, 1)).await;
}

#[tokio::test(start_paused = true)]
async fn another_spelling_is_followed_and_a_loop_is_named() {
    async fn check(redirects: &[(&str, &str)], logged: &str) {
        let mut script = site();
        script.page("http://a.test/b?", "");
        for (from, to) in redirects {
            script.redirect(from, to);
        }
        let mut bench = Bench::new(script, &["http://a.test/b"], |_| ());
        assert_eq!(bench.run(10).await, [logged], "{redirects:?}");
        assert_eq!(bench.statistics().books.discovered, 1);
    }
    let (plain, empty) = ("http://a.test/b", "http://a.test/b?");
    check(&[(plain, "?")], "200 http://a.test/b? redirects_1").await;
    check(&[(plain, "b")], "-4003 http://a.test/b redirect_loop").await;
    check(&[(plain, "#x")], "-4003 http://a.test/b redirect_loop").await;
    check(&[(plain, empty), (empty, plain)], "-4003 http://a.test/b? redirect_limit,redirects_5").await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_zero_or_of_the_past_does_not_speed_a_crawl_up() {
    for value in ["0", "Thu, 01 Jan 1970 00:00:00 GMT"] {
        let mut script = site();
        script.answer(HOME, Head { retry_after: Some(value.to_owned()), ..status(429) }, vec![]);
        let mut bench = Bench::new(script, &[HOME], |_| ());
        let began = bench.crawl.clock.now();
        assert_eq!(bench.run(10).await.len(), 3, "{value}");
        // the first rest, and twice that
        let rested = bench.crawl.clock.now() - began;
        assert!(rested >= 3 * bench.crawl.config.politeness.retry_delay_secs * 1000, "{value}: {rested} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_asks_for_rest_gets_it() {
    let mut script = site();
    script.answer(HOME, Head { retry_after: Some("100".to_owned()), ..status(429) }, vec![]);
    let mut bench = Bench::new(script, &[HOME], |_| ());
    let began = bench.crawl.clock.now();
    let logged = bench.run(10).await;
    assert_eq!(
        logged,
        ["429 http://a.test/ requeued", "429 http://a.test/ retry_1,requeued", "429 http://a.test/ retry_2"]
    );
    assert!(bench.crawl.clock.now() - began >= 200_000);
    assert_eq!(bench.statistics().books.fetched, 1, "a final response after all");
    assert_eq!(bench.crawl.fetched.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn every_failure_has_a_name() {
    async fn check(error: FetchError, logged: &[&str], failed: i64, excluded: i64) {
        let mut script = site();
        script.failure(HOME, error);
        let mut bench = Bench::new(script, &[HOME], |_| ());
        assert_eq!(bench.run(10).await, logged, "{error}");
        let books = bench.statistics().books;
        assert_eq!((books.failed, books.excluded, books.queued), (failed, excluded, 0), "{error}");
        let requests = if error == FetchError::PrivateAddress { 0 } else { logged.len() as i64 };
        assert_eq!(books.fetches, 1 + requests, "{error}");
    }
    check(
        FetchError::Timeout,
        &[
            "-4 http://a.test/ timeout,requeued",
            "-4 http://a.test/ timeout,retry_1,requeued",
            "-4 http://a.test/ timeout,retry_2",
        ],
        1,
        0,
    )
    .await;
    check(FetchError::HeadersTooLarge, &["-11 http://a.test/ headers_too_large"], 1, 0).await;
    check(FetchError::PrivateAddress, &["-5001 http://a.test/ private_address"], 0, 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_refused_is_refused_for_robots_too() {
    let mut script = Scripted::new();
    script.failure(ROBOTS, FetchError::PrivateAddress);
    script.failure(HOME, FetchError::PrivateAddress);
    let mut bench = Bench::new(script, &[HOME], |config| config.politeness.delay_ms = 1000);
    assert_eq!(bench.run(10).await, ["-5001 http://a.test/ private_address"]);
    let books = bench.statistics().books;
    assert_eq!((books.excluded, books.fetches), (1, 0), "no request left");
}

#[tokio::test(start_paused = true)]
async fn what_a_broken_page_had_is_kept() {
    let mut script = site();
    let html = Head { content_type: Some("text/html".to_owned()), ..status(200) };
    script.answer(HOME, html, vec![Step::bytes("<a href=/b>b</a>"), Step::Fail(FetchError::Malformed)]);
    script.page("http://a.test/b", "");
    let mut bench = Bench::new(script, &[HOME], |_| ());
    assert_eq!(bench.run(10).await, ["-10 http://a.test/ malformed_response,new_1", "200 http://a.test/b -"]);
}

#[tokio::test(start_paused = true)]
async fn a_page_longer_than_its_cap_is_cut_there() {
    let mut script = site();
    script.max_body_bytes = 20;
    script.page(HOME, "<a href=/b>b</a>.......<a href=/c>c</a>");
    script.page("http://a.test/b", "");
    let mut bench = Bench::new(script, &[HOME], |_| ());
    assert_eq!(bench.run(10).await, ["200 http://a.test/ truncated,new_1", "200 http://a.test/b -"]);
}

#[tokio::test(start_paused = true)]
async fn links_beyond_the_depth_are_refused() {
    let mut script = site();
    script.page(HOME, "<a href=/b>b</a><a href=/c>c</a><a href=http://b.test/>d</a>");
    let mut bench = Bench::new(script, &[HOME], |config| config.crawl.max_depth = 0);
    assert_eq!(bench.run(10).await, ["200 http://a.test/ -"]);
    let books = bench.statistics().books;
    assert_eq!((books.refused_depth, books.out_of_scope, books.discovered), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn fields_go_with_the_page() {
    let mut script = site();
    script.page(HOME, "<title>T</title><h1>\u{e9}</h1>");
    let field = Field { name: "heading".to_owned(), selector: "h1".to_owned(), attribute: None };
    let mut bench = Bench::new(script, &[HOME], |config| config.fields = vec![field]);
    let Next::Lease(lease) = bench.next() else { panic!("the seed can be leased") };
    journey(&bench.crawl, lease).await.expect("the frontier works");
    let line = bench.lines.try_recv().expect("a line").fields.expect("fields");
    let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert!(line.ends_with('\n') && value["url"] == HOME && value["heading"].to_string().contains('\u{e9}'), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_given_up_goes_back_and_its_requests_are_counted() {
    let mut script = site();
    script.answer(HOME, Head { content_type: Some("text/html".to_owned()), ..status(200) }, vec![Step::Hang]);
    let mut bench = Bench::new(script, &[HOME], |_| ());
    let Next::Lease(lease) = bench.next() else { panic!("the seed can be leased") };
    let give_up = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        bench.orders.send_replace(Orders::GiveUp);
    };
    let (ended, ()) = tokio::join!(journey(&bench.crawl, lease), give_up);
    ended.expect("the frontier works");
    assert_eq!(bench.logged(), [""; 0]);
    let statistics = bench.statistics();
    assert_eq!((statistics.books.queued, statistics.in_flight, statistics.books.fetches), (1, 0, 2));
}

/// A page with an `ETag`.
fn tagged(script: &mut Scripted, url: &str, etag: &str, html: &str) {
    let content_type = Some("text/html".to_owned());
    let head = Head { content_type, etag: Some(etag.to_owned()), ..status(200) };
    script.answer(url, head, vec![Step::bytes(html)]);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_has_not_changed_is_not_read_again() {
    let mut script = site();
    tagged(&mut script, HOME, "\"1\"", "<title>t</title><a href=http://b.test/>");
    let mut bench = Bench::new(script, &[HOME], |config| {
        config.recrawl.enabled = true;
        config.fields.push(Field { name: "title".into(), selector: "title".into(), attribute: None });
    });
    assert_eq!(bench.run(1).await, ["200 http://a.test/ -"]);
    tokio::time::advance(Duration::from_secs(86_401)).await;
    let lease = bench.due();
    assert_eq!((lease.url(), lease.etag()), (HOME, Some("\"1\"")));
    journey(&bench.crawl, lease).await.expect("the frontier works");
    let entry = bench.lines.try_recv().expect("a line");
    assert!(entry.fields.is_none() && entry.line.contains(" 304 "), "{entry:?}");
    let books = bench.statistics().books;
    assert_eq!((books.not_modified, books.revisits, books.urls_found), (1, 1, 2), "its links are not found again");
    assert_eq!(bench.crawl.fetched.load(Ordering::Relaxed), 1, "a page counts once");
}

#[tokio::test(start_paused = true)]
async fn the_validators_of_a_redirect_s_target_are_not_sent_to_its_source() {
    let mut script = site();
    script.redirect("http://a.test/?", "http://a.test/");
    tagged(&mut script, HOME, "\"1\"", "");
    let mut bench = Bench::new(script, &["http://a.test/?"], |config| config.recrawl.enabled = true);
    let logged = bench.run(1).await;
    assert_eq!(logged, ["200 http://a.test/ redirects_1"]);
    tokio::time::advance(Duration::from_secs(86_401)).await;
    let lease = bench.due();
    assert_eq!((lease.is_revisit(), lease.etag()), (true, None));
    journey(&bench.crawl, lease).await.expect("the frontier works");
    assert_eq!(bench.logged(), ["200 http://a.test/ redirects_1,revisit"]);
    assert_eq!(bench.statistics().books.not_modified, 0);
}

#[tokio::test(start_paused = true)]
async fn a_304_that_nobody_asked_for_is_named_and_not_believed() {
    let mut script = site();
    script.answer(HOME, Head { etag: Some("\"1\"".to_owned()), ..status(304) }, vec![]);
    let mut bench = Bench::new(script, &[HOME], |config| config.recrawl.enabled = true);
    assert_eq!(bench.run(1).await, ["304 http://a.test/ unasked_304"]);
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(86_401)).await;
        let lease = bench.due();
        assert_eq!(lease.etag(), None, "it is asked for whole again, and no later than before");
        journey(&bench.crawl, lease).await.expect("the frontier works");
        assert_eq!(bench.logged(), ["304 http://a.test/ unasked_304,revisit"]);
    }
    assert_eq!(bench.statistics().books.not_modified, 0);
}
