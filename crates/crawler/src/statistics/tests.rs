//! Snapshots of balanced books, and the contract of their field names.

use frontier::Books;

use super::rates::resident_bytes;
use super::*;

/// Balanced books with something in every line, as a snapshot.
pub(super) fn snapshot(event: Event) -> Snapshot {
    let (statistics, books) = statistics();
    let mut rates = Rates::start(1_000, &Books::default());
    rates.mark(1_500, &Books { fetched: 3, bytes_downloaded: 1_000, ..Books::default() });
    let mut snapshot = Snapshot::new(2_000, event, &statistics, &rates.gauges(2_000, &books, 2));
    snapshot.resident_bytes = 1 << 24;
    snapshot.reason = (event == Event::Done).then(|| "why it ended".to_owned());
    snapshot
}

fn statistics() -> (Statistics, Books) {
    let books = Books {
        urls_found: 100,
        page_duplicates: 30,
        invalid: 5,
        refused: 6,
        refused_depth: 4,
        refused_query_bytes: 2,
        out_of_scope: 9,
        offered: 50,
        hot_cache_seen: 22,
        filter_absent: 18,
        filter_maybe: 10,
        confirmed_seen: 8,
        false_positives: 2,
        discovered: 20,
        queued: 6,
        fetched: 10,
        failed: 1,
        robots_denied: 2,
        excluded: 1,
        fetches: 12,
        bytes_downloaded: 5_000,
        status_2xx: 9,
        status_3xx: 1,
        status_4xx: 1,
        ..Books::default()
    };
    assert_eq!(books.check(), Ok(()));
    let statistics = Statistics {
        books,
        in_flight: 3,
        hosts: 4,
        hosts_waiting: 1,
        filter_layers: 16,
        filter_bytes: 1 << 20,
        filter_stale_keys: 0,
        false_positive_rate_predicted: 0.001,
        store_bytes: 0,
        journal_bytes: 10_000,
        offer_waits: 0,
        merges: 0,
        filter_rebuilds: 0,
    };
    (statistics, books)
}

#[test]
fn the_promised_fields_come_first_and_in_order() {
    let promised = "timestamp, event, elapsed_secs, urls_found, page_duplicates, invalid, refused, out_of_scope, offered, \
        hot_cache_seen, filter_absent, filter_maybe, confirmed_seen, false_positives, stale_positives, filter_bypassed, \
        over_budget, imported, forgotten, parked, imported_seen, fetches, false_positive_rate_measured, \
        false_positive_rate_predicted, filter_layers, filter_bytes, store_reads, store_bytes, discovered, queued, \
        in_flight, fetched, failed, robots_denied, excluded, bytes_downloaded, pages_per_sec, pages_per_sec_average, \
        hosts, hosts_waiting, status_2xx, status_3xx, status_4xx, status_5xx, resident_bytes";
    let json = serde_json::to_string(&snapshot(Event::Start)).expect("JSON");
    let mut rest = json.as_str();
    for name in promised.split(',').map(str::trim) {
        let key = format!("\"{name}\":");
        let at = rest.find(&key).unwrap_or_else(|| panic!("{name} is missing or out of order in {json}"));
        rest = &rest[at + key.len()..];
    }
}

#[test]
fn in_flight_urls_are_counted_once_and_rates_are_since_last_line_and_start() {
    let s = snapshot(Event::Interval);
    assert_eq!((s.queued, s.in_flight), (3, 3));
    assert_eq!((s.elapsed_secs, s.pages_per_sec, s.pages_per_sec_average), (1.0, 14.0, 10.0));
    assert_eq!((s.bytes_per_sec, s.bytes_per_sec_average), (8000.0, 5000.0));
    assert_eq!(s.false_positive_rate_measured, Some(0.1));
    let empty = Rates::start(5, &Books::default()).gauges(5, &Books::default(), 0);
    assert_eq!((empty.pages_per_sec, empty.pages_per_sec_average), (0.0, 0.0), "no time, no rate");
}

#[test]
fn the_process_knows_its_memory() {
    assert!(resident_bytes().expect("a number from /proc") > 100_000);
}
