//! The interval rule, line by line of its table.

use super::*;

const RECRAWL: Recrawl = Recrawl { initial_secs: 100, min_secs: 30, max_secs: 1000, growth: 1.5, shrink: 0.5 };
const NOW: u32 = 1_000_000;

/// A page that was visited before, after this interval.
fn before(interval_secs: u32) -> Record {
    Record { interval_secs, due_secs: NOW - 5, ..Record::new(State::Queued, 1, 7) }
}

fn trace(digest: u64) -> Option<Box<str>> {
    Trace { learnt: true, digest: Some(digest), etag: Some("\"e\""), last_modified: None }.text()
}

fn visit(digest: u64) -> Visit<'static> {
    Visit { digest: Some(digest), etag: Some("\"f\""), ..Visit::default() }
}

const NOT_MODIFIED: Visit<'_> = Visit { not_modified: true, digest: None, etag: None, last_modified: None };

#[test]
fn an_interval_shrinks_when_the_page_had_changed_and_grows_when_not() {
    let check = |interval_secs, status, visit: &Visit<'_>, expected| {
        let trace = trace(1);
        let past = (&before(interval_secs), trace.as_deref());
        let plan = plan(Some(&RECRAWL), past, (State::Fetched, status), visit, NOW);
        assert_eq!((plan.state, plan.interval_secs), (State::Fetched, expected), "{status} {visit:?}");
        assert_eq!(plan.due_secs, NOW + expected);
    };
    check(100, 200, &visit(1), 150);
    check(100, 200, &visit(2), 50);
    check(100, 304, &NOT_MODIFIED, 150);
    check(100, 404, &Visit::default(), 150);
    check(100, 410, &visit(2), 150);
    check(100, 503, &visit(2), 100);
    check(100, 429, &Visit::default(), 100);
    // The bounds hold, also for what was known under others.
    check(40, 200, &visit(2), 30);
    check(900, 200, &visit(1), 1000);
    check(1, 200, &visit(1), 30);
    check(u32::MAX, 304, &NOT_MODIFIED, 1000);
}

/// It made the interval half as long, as if another page had come, and what was known of the page was lost.
#[test]
fn a_304_that_nobody_asked_for_says_nothing_of_the_page() {
    let past = trace(1);
    let plan = plan(Some(&RECRAWL), (&before(100), past.as_deref()), (State::Fetched, 304), &Visit::default(), NOW);
    assert_eq!((plan.interval_secs, plan.due_secs, plan.trace), (100, NOW + 100, past));
}

#[test]
fn a_second_can_grow() {
    let recrawl = Recrawl { min_secs: 1, growth: 1.1, ..RECRAWL };
    assert_eq!([1, 2, 3].map(|secs| recrawl.after(secs, Change::Same)), [2, 3, 4]);
}

#[test]
fn without_a_digest_the_validators_are_compared() {
    let check = |past: Trace<'_>, visit: Visit<'_>, expected| {
        assert_eq!(change(&past, 200, &visit), expected, "{past:?} {visit:?}");
    };
    let (etag, other) = (Some("\"1\""), Some("\"2\""));
    check(Trace { etag, ..Trace::default() }, Visit { etag, ..Visit::default() }, Change::Same);
    check(Trace { etag, ..Trace::default() }, Visit { etag: other, ..Visit::default() }, Change::Changed);
    check(Trace { etag, ..Trace::default() }, Visit { last_modified: other, ..Visit::default() }, Change::Unknown);
    let last_modified = Some("Thu, 01 Jan 1970 00:00:00 GMT");
    check(Trace { last_modified, ..Trace::default() }, Visit { last_modified, ..Visit::default() }, Change::Same);
    check(Trace::default(), Visit::default(), Change::Unknown);
    check(Trace::default(), visit(1), Change::Changed);
}

#[test]
fn the_first_visit_has_the_initial_interval_or_what_was_hinted() {
    let first =
        |record: Record| plan(Some(&RECRAWL), (&record, None), (State::Fetched, 200), &visit(1), NOW).interval_secs;
    let new = Record::new(State::Queued, 1, 7);
    assert_eq!(first(new), 100);
    assert_eq!(first(Record { interval_secs: 77, ..new }), 77);
    assert_eq!(first(Record { interval_secs: 7, ..new }), 30);
}

#[test]
fn what_is_remembered_is_what_the_last_good_answer_said() {
    let after = |status, visit: &Visit<'_>| {
        let past = trace(1);
        plan(Some(&RECRAWL), (&before(100), past.as_deref()), (State::Fetched, status), visit, NOW).trace
    };
    let text = |etag, digest| Trace { learnt: true, digest, etag, last_modified: None }.text();
    assert_eq!(after(200, &visit(2)), text(Some("\"f\""), Some(2)));
    assert_eq!(after(304, &NOT_MODIFIED), text(Some("\"e\""), Some(1)));
    assert_eq!(after(304, &Visit { etag: Some("\"g\""), ..NOT_MODIFIED }), text(Some("\"g\""), Some(1)));
    assert_eq!(after(503, &visit(2)), text(Some("\"e\""), Some(1)));
    assert_eq!(after(404, &visit(2)), text(None, None));
}

#[test]
fn a_page_that_was_fetched_stays_fetched_when_it_cannot_be_had_again() {
    let past = trace(1);
    let known = (&before(100), past.as_deref());
    let end = |known, end| plan(Some(&RECRAWL), known, (end, -2), &Visit::default(), NOW);
    let (state, due_secs, interval_secs) = (State::Fetched, NOW + 100, 100);
    assert_eq!(end(known, State::Failed), Plan { state, due_secs, interval_secs, trace: past.clone() });
    let retried = end(known, State::Queued);
    assert_eq!((retried.due_secs, retried.interval_secs, retried.trace), (NOW - 5, 100, past.clone()));
    for gone in [State::RobotsDenied, State::Excluded] {
        assert_eq!(end(known, gone), Plan { state: gone, due_secs: 0, interval_secs: 0, trace: None });
    }
    let never_had = Record::new(State::Queued, 1, 7);
    let failed = end((&never_had, None), State::Failed);
    assert_eq!(failed, Plan { state: State::Failed, due_secs: 0, interval_secs: 0, trace: None });
}

#[test]
fn switched_off_it_gives_no_page_an_interval_and_takes_none_away() {
    let fetched = |known| plan(None, known, (State::Fetched, 200), &visit(2), NOW);
    let new = Record::new(State::Queued, 1, 7);
    assert_eq!(fetched((&new, None)), Plan { state: State::Fetched, due_secs: 0, interval_secs: 0, trace: None });
    let past = trace(1);
    let kept = fetched((&before(100), past.as_deref()));
    assert_eq!((kept.interval_secs, kept.due_secs), (100, NOW + 100));
    assert!(kept.trace.is_some());
}
