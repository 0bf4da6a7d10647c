//! A crawl of a server that does everything wrong, by the real binary.

use std::collections::BTreeMap;

use crate::harness::{Crawl, crawl_log, statistics};
use crate::hostile_server::{HostileServer, PATHS};

/// The most memory that the process may have had, in bytes.
const MAX_BYTES: u64 = 400 << 20;

/// What is left of each page in `crawl.log` in the end: status and, where it does not say everything, a word.
const OUTCOMES: &[(&str, i32, &str)] = &[
    ("/endless", 200, "truncated"),
    ("/drip", -4, "timeout"),
    ("/silent", -4, "timeout"),
    ("/short", -3, "connection_lost"),
    ("/long", 200, ""),
    ("/broken-chunks", -10, "malformed_response"),
    ("/cut-chunks", -3, "connection_lost"),
    ("/gzip-bomb", 200, "truncated"),
    ("/broken-gzip", -12, "bad_encoding"),
    ("/big-header", -11, "headers_too_large"),
    ("/many-headers", -11, "headers_too_large"),
    ("/loop", -4003, "redirect_loop"),
    ("/loop-a", 302, ""),
    ("/loop-b", 302, ""),
    ("/to-metadata", 302, ""),
    ("/to-file", 302, ""),
    ("/to-private", 302, ""),
    ("/bad-utf8", 200, ""),
    ("/mislabelled", 200, ""),
    ("/huge-href", 200, ""),
    ("/million-links", 200, "truncated"),
    ("/reset", -3, "connection_lost"),
    ("/empty-reply", -3, "connection_lost"),
    ("/garbage-status-line", -10, "malformed_response"),
    ("/half-a-head", -3, "connection_lost"),
    ("/bad-length", -10, "malformed_response"),
    ("/no-body-204-with-body", 204, ""),
];

#[test]
fn each_hostile_answer_has_a_named_outcome_and_the_crawl_goes_on() {
    let server = HostileServer::start();
    let sets = [
        "crawl.max_depth=1",
        "crawl.idle_exit_secs=20",
        "politeness.connections_per_host=8",
        "politeness.retry_delay_secs=1",
        "politeness.max_retry_delay_secs=1",
        "fetch.timeout_secs=6",
        "fetch.connect_timeout_secs=1",
        "fetch.idle_timeout_secs=2",
        "fetch.max_attempts=2",
    ];
    let crawl = Crawl::new(&sets, &[server.url("/")]);
    let peak_bytes = crawl.finish();
    println!("peak memory {} MiB", peak_bytes >> 20);

    // The last line of a page is what became of it.
    let log = crawl_log(&crawl);
    let ends: BTreeMap<&str, _> = log.iter().map(|line| (line.url.as_str(), line)).collect();
    let mut wrong = Vec::new();
    for (path, _) in PATHS {
        let end = ends.get(server.url(path).as_str()).map(|line| (line.status, line.notes.clone()));
        let expected = OUTCOMES.iter().find(|(name, ..)| name == path);
        let (_, status, note) = expected.unwrap_or_else(|| panic!("{path} has no outcome in the table"));
        let good = end
            .as_ref()
            .is_some_and(|(got, notes)| got == status && (note.is_empty() || notes.iter().any(|word| word == note)));
        if !good {
            wrong.push(format!("{path}: {end:?}, expected {status} {note}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for n in 1..=5 {
        let end = ends.get(server.url(&format!("/ok/{n}")).as_str()).map(|line| line.status);
        assert_eq!(end, Some(200), "/ok/{n}");
    }
    assert!(peak_bytes > 0 && peak_bytes < MAX_BYTES, "{peak_bytes} bytes");
    let lines = statistics(&crawl, 0);
    let last = lines.last().expect("a last line");
    assert_eq!((&last["queued"], &last["in_flight"]), (&0.into(), &0.into()), "{last}");
    assert_eq!(last["fetches"], server.requests().len(), "{last}");
}

#[test]
fn a_private_address_is_not_even_connected_to() {
    let server = HostileServer::start();
    let crawl = Crawl::new(&["fetch.allow_private_networks=false"], &[server.url("/ok/1")]);
    crawl.finish();
    let log = crawl_log(&crawl);
    let ends: Vec<_> = log.iter().map(|line| (line.status, line.notes.join(","))).collect();
    assert_eq!(ends, [(-5001, "private_address".to_owned())]);
    assert_eq!(server.connections(), 0);
    let lines = statistics(&crawl, 0);
    assert_eq!(lines.last().map(|line| (&line["excluded"], &line["fetches"])), Some((&1.into(), &0.into())));
}
