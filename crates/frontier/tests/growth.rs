//! The growth guard through the public API: traps are slowed and reported, nothing is lost, and the word outlives a crash,
//! a restart and an export.

use std::path::Path;
use std::time::Duration;

use frontier::{
    Completion, Found, FoundUrl, Frontier, GrowthGuard, Health, HostReport, Millis, Next, Options, Outcome, Slowed,
    Tally, TextSketch,
};

const NOW: Millis = 1_800_000_000_000;
const DELAY_MS: u64 = 100;
const GUARD: GrowthGuard =
    GrowthGuard { enabled: true, max_similar_pages: 40, max_query_urls: 300, slow_factor: 20, max_delay_ms: 30_000 };

fn open(dir: &Path, now: Millis) -> Frontier {
    let options = Options {
        partitions: 2,
        commit_interval: Duration::ZERO,
        delay_ms: DELAY_MS,
        growth_guard: GUARD,
        ..Options::new(dir)
    };
    Frontier::open(options, now, || {}).expect("opens")
}

fn found(frontier: &Frontier, urls: &[String], sketch: u32) -> Found {
    let url = |url: &String| FoundUrl::new(frontier.rules().parse(url).expect("a URL"), 0);
    Found { urls: urls.iter().map(url).collect(), sketch: Some(TextSketch(sketch)), ..Found::default() }
}

/// Crawls until nothing is queued, or so many pages; `page` gives sketch and links. Gives when each page was asked for.
fn crawl(frontier: &Frontier, most: usize, page: impl Fn(usize) -> (u32, Vec<String>)) -> Vec<Millis> {
    let (mut now, mut asked) = (NOW, Vec::new());
    while asked.len() < most {
        frontier.commit().expect("commits");
        match frontier.lease(now).expect("leases") {
            Next::Lease(lease) => {
                let (sketch, urls) = page(asked.len());
                asked.push(now);
                let report = HostReport { ended: now, delay_ms: DELAY_MS, health: Health::Answered };
                let found = found(frontier, &urls, sketch);
                let outcome = Outcome::Fetched { status: 200 };
                let completion = Completion {
                    outcome,
                    host: Some(report),
                    tally: Tally::default(),
                    visit: frontier::Visit::default(),
                    found: &found,
                };
                frontier.complete(lease, &completion, now).expect("completes");
            }
            Next::Wait { until: Some(until) } => now = now.max(until),
            Next::Wait { until: None } => break,
        }
    }
    asked
}

fn seed(frontier: &Frontier, url: &str) {
    frontier.offer(&found(frontier, &[url.to_owned()], 0), None, NOW).expect("offers");
}

fn slowed(frontier: &Frontier) -> (Option<Slowed>, bool, i64) {
    let host = frontier.usage(&frontier.rules().parse("http://a.test/").expect("a URL")).expect("answers");
    let statistics = frontier.statistics().expect("answers");
    assert_eq!(statistics.books.check(), Ok(()));
    (host.slowed, host.trusted, statistics.books.hosts_slowed)
}

fn export(frontier: &Frontier) -> String {
    let mut out = Vec::new();
    frontier.export(&mut out).expect("exports");
    String::from_utf8(out).expect("UTF-8")
}

/// A page of a calendar, which says the same twelve things for ever.
fn month(n: usize) -> (u32, Vec<String>) {
    ((0x0101_0101 << (n % 12 % 8)) ^ ((n % 12) as u32 * 0x0900_0000), vec![format!("http://a.test/calendar/{}", n + 1)])
}

#[test]
fn a_trap_is_slowed_and_stays_slowed_until_an_operator_trusts_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), NOW);
    seed(&frontier, "http://a.test/calendar/0");
    let asked = crawl(&frontier, 80, month);
    assert_eq!(slowed(&frontier), (Some(Slowed::SimilarPages), false, 1));
    let gaps: Vec<u64> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!((gaps[0], gaps.last()), (DELAY_MS, Some(&20_000)), "one second times twenty");
    assert_eq!(frontier.statistics().expect("answers").books.discovered, 81, "nothing it finds is lost");
    assert_eq!(frontier.held_back().expect("answers").len(), 1);

    // As after kill -9, and from its stores.
    drop(frontier);
    let frontier = open(dir.path(), NOW);
    assert_eq!(slowed(&frontier), (Some(Slowed::SimilarPages), false, 1));
    assert!(matches!(frontier.lease(NOW + 19_999).expect("leases"), Next::Wait { .. }), "nor is it asked sooner");
    let exported = export(&frontier);
    frontier.close().expect("closes");
    let frontier = open(dir.path(), NOW);
    assert_eq!(slowed(&frontier), (Some(Slowed::SimilarPages), false, 1));

    // Elsewhere; a second time changes nothing.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let moved = open(elsewhere.path(), NOW);
    for _ in 0..2 {
        moved.import(&mut exported.as_bytes(), NOW).expect("imports");
        assert_eq!(slowed(&moved), (Some(Slowed::SimilarPages), false, 1));
    }
    let again = export(&moved);
    assert!(again.contains("\"growth\":\"01") && again.lines().count() == exported.lines().count(), "{again}");

    let host = frontier.rules().parse("http://a.test/").expect("a URL");
    assert!(frontier.unslow(&host).expect("answers").trusted);
    assert_eq!(slowed(&frontier), (None, true, 0));
    drop(frontier);
    let frontier = open(dir.path(), NOW);
    let asked = crawl(&frontier, 100, |n| month(n + 100));
    assert_eq!(asked.last().map(|last| last - asked[1]), Some(98 * DELAY_MS));
    assert_eq!(slowed(&frontier), (None, true, 0), "for good");
}

#[test]
fn session_ids_are_caught_by_their_parameter() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), NOW);
    seed(&frontier, "http://a.test/");
    // Each page has another text, and links to all pages under a new id.
    let page = |n: usize| {
        let links = (0..20).map(|i| format!("http://a.test/{i}?mysession={n}"));
        ((n as u32).wrapping_mul(0x9e37_79b9), links.collect())
    };
    crawl(&frontier, 40, page);
    assert_eq!(slowed(&frontier), (Some(Slowed::QueryStrings), false, 1));
}

#[test]
fn evidence_is_kept_over_restarts() {
    let dir = tempfile::tempdir().expect("a directory");
    seed(&open(dir.path(), NOW), "http://a.test/calendar/0");
    for run in 0..6 {
        let frontier = open(dir.path(), NOW);
        crawl(&frontier, 10, |n| month(run * 10 + n));
        match run % 2 {
            0 => drop(frontier),
            _ => frontier.close().expect("closes"),
        }
    }
    assert_eq!(slowed(&open(dir.path(), NOW)).0, Some(Slowed::SimilarPages));
}

#[test]
fn a_site_of_2000_different_pages_is_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), NOW);
    seed(&frontier, "http://a.test/0");
    let page = |n: usize| ((n as u32).wrapping_mul(0x9e37_79b9), vec![format!("http://a.test/{}", n + 1)]);
    assert_eq!(crawl(&frontier, 2000, page).len(), 2000);
    assert_eq!(slowed(&frontier), (None, false, 0));
}
