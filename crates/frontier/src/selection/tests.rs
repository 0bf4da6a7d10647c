//! What is selected, whatever part of it lies in memory and what in the store.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::{Completion, Found, FoundUrl, Health, HostReport, Next, Options, Outcome, Tally};

const URLS: &[&str] = &[
    "https://example.com/docs/a",
    "https://example.com/docs/b?x=1",
    "https://example.com/docs2",
    "http://example.com/docs/a",
    "https://example.com:81/docs/a",
    "https://www.example.com/docs/a",
    "https://example.com./docs/c?",
    "https://example.org/docs/a",
];

fn open(dir: &Path) -> Frontier {
    // So much memory that nothing merges by itself.
    let options = Options {
        partitions: 3,
        recent_bytes: 1 << 30,
        commit_interval: Duration::ZERO,
        delay_ms: 1,
        ..Options::new(dir)
    };
    Frontier::open(options, 1_000_000, || {}).expect("opens")
}

fn offer(frontier: &Frontier, urls: &[&str], now: crate::Millis) {
    let url = |url: &&str| FoundUrl::new(Canonical::parse(url).expect("a URL"), 0);
    let found = Found { urls: urls.iter().map(url).collect(), ..Found::default() };
    frontier.offer(&found, None, now).expect("offers");
    frontier.commit().expect("commits");
}

/// Half of the URLs in the store, half in memory.
fn filled(dir: &Path) -> Frontier {
    let frontier = open(dir);
    offer(&frontier, &URLS[..4], 1_000_000);
    frontier.close().expect("closes");
    let frontier = open(dir);
    offer(&frontier, &URLS[4..], 2_000_000);
    frontier
}

fn list(frontier: &Frontier, selection: &Selection) -> Vec<String> {
    let mut urls = Vec::new();
    let listed = frontier.list(selection, |url| {
        urls.push(url.to_owned());
        Ok(())
    });
    assert_eq!(listed.expect("lists"), urls.len() as u64);
    urls.sort();
    urls
}

fn sorted(urls: &[&str]) -> Vec<String> {
    let mut urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
    urls.sort();
    urls
}

#[test]
fn hosts_and_prefixes_are_stretches_of_keys() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = filled(dir.path());
    let of = |chosen: &[usize]| sorted(&chosen.iter().map(|i| URLS[*i]).collect::<Vec<_>>());
    let host = |name| list(&frontier, &Selection::of_host(frontier.rules(), name).expect("a host"));
    let prefix = |url| list(&frontier, &Selection::of_prefix(frontier.rules(), url).expect("a URL"));
    assert_eq!(list(&frontier, &Selection::everything()), sorted(URLS));
    assert_eq!(host("example.com"), of(&[0, 1, 2, 3, 4, 6]));
    assert_eq!(host("EXAMPLE.com."), host("example.com"));
    assert_eq!(host("www.example.com"), of(&[5]));
    assert_eq!(host("com"), of(&[]));
    assert_eq!(prefix("https://example.com"), of(&[0, 1, 2, 6]));
    assert_eq!(prefix("https://example.com/docs"), of(&[0, 1, 2, 6]));
    assert_eq!(prefix("https://example.com/docs/"), of(&[0, 1, 6]));
    assert_eq!(prefix("https://example.com/docs/b?"), of(&[1]));
    assert_eq!(prefix("https://example.com/docs/a?"), of(&[]));
    assert_eq!(prefix("http://example.com/"), of(&[3]));
    assert_eq!(prefix("https://example.com:81/"), of(&[4]));
    for bad in ["", "a b", "example.com/x", "example.com:81", "user@example.com", "a\\b"] {
        assert!(Selection::of_host(frontier.rules(), bad).is_err(), "{bad}");
    }
    assert!(Selection::of_prefix(frontier.rules(), "example.com/docs").is_err());
    assert_eq!(Selection::everything().in_state("forgotten"), None);
}

/// Brackets are what a URL needs, not the name of a host.
#[test]
fn an_ipv6_host_is_named_with_or_without_brackets() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path());
    let urls = ["http://[::1]/a", "https://[::1]:8443/b", "http://[2001:db8::1]/"];
    offer(&frontier, &urls, 0);
    for name in ["::1", "[::1]", "0:0:0:0:0:0:0:1"] {
        let selection = Selection::of_host(frontier.rules(), name).expect("a host");
        assert_eq!(list(&frontier, &selection), sorted(&urls[..2]), "{name}");
    }
    for bad in ["::1:", "[::1", "::1]", "[::1]:80", "::g", "fe80::1%eth0"] {
        assert!(Selection::of_host(frontier.rules(), bad).is_err(), "{bad}");
    }
}

#[test]
fn age_status_and_state_are_those_of_the_present_record() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = filled(dir.path());
    let mut now = 3_000_000;
    for status in [200, 404, 503] {
        let Next::Lease(lease) = frontier.lease(now).expect("answers") else { panic!("nothing is due") };
        let host = Some(HostReport { ended: now, delay_ms: 1, health: Health::Answered });
        let none = Found::default();
        let completion = Completion {
            outcome: Outcome::Fetched { status },
            host,
            tally: Tally::default(),
            visit: Default::default(),
            found: &none,
        };
        frontier.complete(lease, &completion, now).expect("completes");
        now += 10;
    }
    let count = |selection: &Selection| list(&frontier, selection).len();
    let everything = Selection::everything;
    let of_status = |status| Selection { status: Some(status), ..everything() };
    assert_eq!([count(&of_status(404..=404)), count(&of_status(200..=599)), count(&of_status(400..=499))], [1, 3, 1]);
    let in_state = |word| everything().in_state(word).expect("a state");
    assert_eq!([count(&in_state("queued")), count(&in_state("fetched")), count(&in_state("failed"))], [5, 3, 0]);
    let before = |secs| Selection { first_seen_before_secs: Some(secs), ..everything() };
    assert_eq!([1000, 1001, 2000, 2001].map(|secs| count(&before(secs))), [0, 4, 4, 8]);
    let both = Selection { first_seen_before_secs: Some(1001), ..in_state("fetched") };
    assert_eq!(count(&both) + count(&Selection { first_seen_before_secs: Some(1001), ..in_state("queued") }), 4);
}

#[test]
fn what_is_selected_is_forgotten_once_and_can_be_found_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = filled(dir.path());
    let Next::Lease(lease) = frontier.lease(3_000_000).expect("answers") else { panic!("nothing is due") };
    let go_on = || true;
    let would = frontier.would_forget_selected(&Selection::everything(), &go_on).expect("counts");
    assert_eq!((would.forgotten, would.in_flight, would.sequence), (8, 1, 0));
    assert_eq!(list(&frontier, &Selection::everything()), sorted(URLS), "it was only asked");

    let host = Selection::of_host(frontier.rules(), "www.example.com").expect("a host");
    assert_eq!(frontier.forget_selected(&host, &go_on).expect("forgets").forgotten, 1);
    let all = frontier.forget_selected(&Selection::everything(), &go_on).expect("forgets");
    assert_eq!(all.forgotten, 7);
    assert_eq!(frontier.forget_selected(&Selection::everything(), &go_on).expect("forgets").forgotten, 0);
    assert_eq!(list(&frontier, &Selection::everything()), sorted(&[]));
    drop(lease);
    frontier.close().expect("closes");

    let frontier = open(dir.path());
    assert_eq!(list(&frontier, &Selection::everything()), sorted(&[]));
    offer(&frontier, URLS, 4_000_000);
    let books = frontier.statistics().expect("answers").books;
    assert_eq!((books.discovered, books.forgotten, books.queued), (16, 8, 8));
    assert!(books.stale_positives > 0, "the filter still knew them");
    assert_eq!(books.check(), Ok(()));
}

#[test]
fn a_prefix_is_no_wider_than_it_is_written_whatever_the_rules() {
    let dir = tempfile::tempdir().expect("a directory");
    let rules = crate::RuleOptions {
        fold_www: true,
        fold_trailing_slash: true,
        drop_index_pages: true,
        ..crate::RuleOptions::default()
    };
    let options = Options { rules: Rules::new(rules), partitions: 2, ..Options::new(dir.path()) };
    let frontier = Frontier::open(options, 1_000_000, || {}).expect("opens");
    let urls = ["https://www.example.com/docs/a/", "https://example.com/docs2", "https://example.com/docs/b?x=1"];
    let url = |url: &&str| FoundUrl::new(frontier.rules().parse(url).expect("a URL"), 0);
    let found = Found { urls: urls.iter().map(url).collect(), ..Found::default() };
    frontier.offer(&found, None, 1_000_000).expect("offers");
    let prefix = |url| list(&frontier, &Selection::of_prefix(frontier.rules(), url).expect("a URL"));
    assert_eq!(prefix("https://example.com/docs/"), sorted(&[urls[0], urls[2]]));
    assert_eq!(prefix("https://example.com/docs"), sorted(&urls));
    assert_eq!(prefix("https://example.com/docs/index.html"), sorted(&[]));
    assert_eq!(prefix("https://example.com/docs/b?utm_"), sorted(&[]));
    let host = |name| list(&frontier, &Selection::of_host(frontier.rules(), name).expect("a host"));
    assert_eq!(host("www.example.com"), sorted(&urls));
}

#[test]
fn what_is_told_to_stop_stops() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = filled(dir.path());
    assert_eq!(frontier.forget_selected(&Selection::everything(), &|| false).expect("forgets").forgotten, 0);
}

#[test]
fn a_stopped_directory_forgets_more_than_memory_holds() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = |recent_bytes| Options {
        partitions: 1,
        recent_bytes,
        commit_interval: Duration::ZERO,
        ..Options::new(dir.path())
    };
    let urls: Vec<String> = (0..5000).map(|n| format!("https://example.com/{n}")).collect();
    let frontier = Frontier::open(options(1 << 24), 1000, || {}).expect("opens");
    offer(&frontier, &urls.iter().map(String::as_str).collect::<Vec<_>>(), 1000);
    frontier.close().expect("closes");

    let mut frontier = Frontier::open_existing(dir.path(), None, 2000).expect("opens");
    std::sync::Arc::get_mut(&mut frontier.shared).expect("nobody else has it").room.generation = 50_000;
    let forgotten = frontier.forget_selected(&Selection::everything(), &|| true).expect("forgets");
    assert_eq!(forgotten.forgotten, 5000);
    assert!(frontier.shared.partitions[0].state.lock().active.bytes() < 300_000, "it has merged on the way");
    assert_eq!(frontier.statistics().expect("answers").books.check(), Ok(()));
    assert_eq!(list(&frontier, &Selection::everything()), sorted(&[]));
}
