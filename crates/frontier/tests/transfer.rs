//! A whole frontier out and in again: the file is the same, whatever history made it; and what a bad file comes to.

mod histories;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use frontier::transfer::{ImportError, Imported, ListedAs, MAX_LINE_BYTES};
use frontier::{
    BlockReason, Budget, Canonical, Completion, FilterKind, FilterOptions, Found, FoundUrl, Frontier, Grant, Health,
    HostReport, Lease, Millis, Next, Options, Outcome, Recrawl, RuleOptions, Rules, Tally, Visit,
};
use proptest::prelude::*;

const NOW: Millis = 1_800_000_000_000;
const DELAY_MS: u64 = 100;

fn open(dir: &Path, partitions: u16, kind: FilterKind, recent_bytes: u64) -> Frontier {
    open_with(dir, partitions, kind, recent_bytes, None)
}

fn open_with(dir: &Path, partitions: u16, kind: FilterKind, recent_bytes: u64, recrawl: Option<Recrawl>) -> Frontier {
    let filter = FilterOptions { kind, false_positive_rate: 0.2, initial_capacity: 16, ..FilterOptions::default() };
    let options = Options {
        partitions,
        hot_cache_entries: 64,
        recent_bytes,
        commit_interval: Duration::ZERO,
        filter,
        // Some of the URLs below are parked.
        budget: Budget { urls_per_host: 4, park: true, ..Budget::default() },
        delay_ms: DELAY_MS,
        recrawl,
        ..Options::new(dir)
    };
    Frontier::open(options, NOW, || {}).expect("opens")
}

fn fresh(dir: &Path) -> Frontier {
    open(dir, 2, FilterKind::ScalableBloom, 1 << 24)
}

fn export(frontier: &Frontier) -> String {
    let mut out = Vec::new();
    let totals = frontier.export(&mut out).expect("exports");
    let text = String::from_utf8(out).expect("UTF-8");
    let lines = text.lines().count() as u64;
    assert_eq!(lines, totals.hosts + totals.urls() + 2, "{text}");
    text
}

fn import(frontier: &Frontier, text: &str) -> Result<Imported, ImportError> {
    let imported = frontier.import(&mut text.as_bytes(), NOW);
    assert_eq!(frontier.statistics().expect("answers").books.check(), Ok(()));
    imported
}

/// URL number `n` of a small web; some are fetched otherwise than their keys say.
fn url(n: u16) -> Canonical {
    let host = ["a.example.com", "b.example.com", "example.org", "127.0.0.1:81", "example.org."][usize::from(n % 5)];
    let query = if n.is_multiple_of(7) { "?" } else { "" };
    Canonical::parse(&format!("http://{host}/{n}{query}")).expect("a URL")
}

fn urls(numbers: &[u16]) -> Vec<Canonical> {
    numbers.iter().copied().map(url).collect()
}

fn found(numbers: &[u16]) -> Found {
    let urls = urls(numbers).into_iter().zip(0..).map(|(canonical, depth)| FoundUrl::new(canonical, depth));
    Found { urls: urls.collect(), ..Found::default() }
}

#[derive(Debug, Clone)]
enum Op {
    Offer(Vec<u16>),
    Lease,
    Complete(u8, Vec<u16>),
    Forget(Vec<u16>),
    Import(Vec<u16>, bool),
    Grant(u16, u32),
    Pass(u64),
    Restart,
    Export,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let urls = || proptest::collection::vec(0u16..200, 0..12);
    let op = prop_oneof![
        3 => urls().prop_map(Op::Offer),
        8 => Just(Op::Lease),
        6 => (any::<u8>(), urls()).prop_map(|(end, urls)| Op::Complete(end, urls)),
        2 => urls().prop_map(Op::Forget),
        1 => (urls(), any::<bool>()).prop_map(|(urls, seen)| Op::Import(urls, seen)),
        1 => (0u16..5, 0u32..9).prop_map(|(host, more)| Op::Grant(host, more)),
        6 => (0u64..200).prop_map(Op::Pass),
        1 => Just(Op::Restart),
        1 => Just(Op::Export),
    ];
    proptest::collection::vec(op, 1..80)
}

fn complete(frontier: &Frontier, lease: Lease, end: u8, brought: &[u16], now: Millis) {
    let (outcome, health) = match end % 6 {
        0 => (Outcome::TryAgain { status: 503 }, Health::RetryAfter(BlockReason::Unavailable, 70)),
        1 => (Outcome::Failed { code: -2, transient: end.is_multiple_of(2) }, Health::Failing(BlockReason::Timeout)),
        2 => (Outcome::RobotsDenied, Health::Answered),
        3 => (Outcome::Excluded { code: -12 }, Health::Answered),
        _ => (Outcome::Fetched { status: 200 + u16::from(end) }, Health::Answered),
    };
    let host = Some(HostReport { ended: now, delay_ms: DELAY_MS + u64::from(end), health });
    let visit = Visit {
        not_modified: false,
        digest: (end > 20).then_some(u64::from(end)),
        etag: end.is_multiple_of(4).then_some("W/\"a \\ b\""),
        last_modified: end.is_multiple_of(8).then_some("Thu, 01 Jan 2026 00:00:00 GMT"),
    };
    let completion = Completion { outcome, host, tally: Tally::default(), visit, found: &found(brought) };
    frontier.complete(lease, &completion, now).expect("completes");
}

/// A frontier with this past, still open, some URLs in flight.
fn live(dir: &Path, ops: &[Op]) -> (Frontier, Vec<Lease>) {
    // So short that pages come due again within a history.
    let recrawl = Recrawl { initial_secs: 1, min_secs: 1, max_secs: 3, growth: 2.0, shrink: 0.5 };
    let reopen = || open_with(dir, 2, FilterKind::ScalableBloom, 3000, Some(recrawl));
    let (mut frontier, mut leases, mut now) = (reopen(), Vec::new(), NOW);
    for op in ops {
        frontier.commit().expect("commits");
        match op {
            Op::Offer(numbers) => drop(frontier.offer(&found(numbers), Some(url(3).url()), now).expect("offers")),
            Op::Lease => {
                if let Next::Lease(lease) = frontier.lease(now).expect("answers") {
                    leases.push(lease);
                }
            }
            Op::Complete(end, brought) => {
                if let Some(lease) = leases.pop() {
                    complete(&frontier, lease, *end, brought, now);
                }
            }
            Op::Forget(numbers) => drop(frontier.forget(&urls(numbers)).expect("forgets")),
            Op::Import(numbers, seen) => {
                let listed = if *seen { ListedAs::Seen } else { ListedAs::Queued };
                frontier.import_urls(urls(numbers), listed, now).expect("imports");
            }
            Op::Grant(host, 8) => drop(frontier.grant(&url(*host), Grant::Lifted).expect("grants")),
            Op::Grant(host, more) => drop(frontier.grant(&url(*host), Grant::More(*more)).expect("grants")),
            Op::Pass(ms) => now += ms,
            Op::Restart => {
                leases.clear();
                frontier.close().expect("closes");
                frontier = reopen();
            }
            Op::Export => drop(export(&frontier)),
        }
    }
    (frontier, leases)
}

proptest! {
    #![proptest_config(histories::config(12))]

    #[test]
    fn whatever_its_history_a_frontier_comes_back_as_it_was(ops in ops(), partitions in 1u16..5, kind in 0usize..3) {
        let [old, new] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let (frontier, leases) = live(old.path(), &ops);
        let before = frontier.statistics().expect("answers").books;
        let exported = export(&frontier);
        prop_assert_eq!(&export(&frontier), &exported, "an export changes nothing");
        drop((leases, frontier));

        let kind = FilterKind::ALL[kind];
        let frontier = open(new.path(), partitions, kind, 3000);
        let imported = import(&frontier, &exported).expect("imports");
        prop_assert_eq!(imported.known, 0);
        prop_assert_eq!(&export(&frontier), &exported);
        let books = frontier.statistics().expect("answers").books;
        prop_assert_eq!(books.imported, imported.imported as i64);
        let present = |b: frontier::Books| {
            [b.queued, b.fetched, b.failed, b.robots_denied, b.excluded, b.imported_seen, b.parked, b.due_again]
        };
        prop_assert_eq!(present(books), present(before));

        let again = import(&frontier, &exported).expect("imports again");
        prop_assert_eq!((again.imported, again.known), (0, imported.imported));
        frontier.close().expect("closes");
        let stopped = Frontier::open_existing(new.path(), None, NOW + 1_000_000).expect("opens");
        prop_assert_eq!(&export(&stopped), &exported, "stopped, and imported twice");
        for n in 0..200 {
            let line = format!("{{\"url\":\"{}\",", url(n).url());
            let known = exported.contains(&line);
            // Two fetch URLs of one key: the file has one of them.
            let seen = stopped.seen(&url(n)).expect("answers");
            prop_assert!(seen || !known, "{} is lost", line);
        }
    }
}

/// What is written of a frontier that this was read into.
fn written_after(text: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = fresh(dir.path());
    let imported = import(&frontier, text).expect("imports");
    let urls = text.matches("{\"url\":").count() as u64;
    assert_eq!(imported, Imported { imported: urls, known: 0, hosts: text.lines().count() as u64 - urls - 2 });
    export(&frontier)
}

#[test]
fn the_format_is_read_and_written() {
    let text = include_str!("fixtures/export-v2.jsonl");
    // Not ASCII in the file by hand; as everything that is fetched, it is written percent-encoded.
    assert_eq!(written_after(text), text.replace('ü', "%C3%BC"));
}

#[test]
fn the_first_version_of_the_format_is_read() {
    let text = include_str!("fixtures/export-v1.jsonl");
    let written = written_after(text);
    let between = |text: &str| text.lines().filter(|line| !line.contains("version") && !line.contains("end")).collect();
    let (of_v1, of_v2): (String, String) = (between(text), between(&written));
    assert_eq!(of_v2, of_v1.replace('ü', "%C3%BC"));
}

#[test]
fn a_file_from_the_future_or_from_elsewhere_is_refused_by_name() {
    for (head, said) in [
        (r#"{"format":"crawld frontier","version":3}"#, "reads versions 1 to 2: use a newer one"),
        (r#"{"format":"crawld frontier","version":0}"#, "reads versions 1 to 2"),
        (r#"{"format":"something","version":1}"#, "a file of \"something\""),
        (
            r#"{"host":"example.com","delay_ms":1}"#,
            "not the first line of an export: format is missing from it; nothing is imported",
        ),
        ("https://example.com/", "not the first line of an export"),
        ("", "the file is empty"),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let error = import(&fresh(dir.path()), head).expect_err(head).to_string();
        assert!(error.starts_with("line 1: ") && error.contains(said), "{head}: {error}");
    }
}

const HEAD: &str = "{\"format\":\"crawld frontier\",\"version\":2}\n";
const HOST: &str = "{\"host\":\"example.com\",\"delay_ms\":1}\n";

fn line(n: u32) -> String {
    format!("{{\"url\":\"https://example.com/{n}\",\"state\":\"fetched\",\"status\":200,\"first_seen_secs\":1}}\n")
}

/// Imports a file whose line 4 is this, and gives what is said of it. The line before it must be in, the one after not.
fn said_of(bad: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = fresh(dir.path());
    let text = format!("{HEAD}{HOST}{}{bad}{}", line(1), line(2));
    let error = import(&frontier, &text).expect_err(bad).to_string();
    let seen = |n| frontier.seen(&Canonical::parse(&format!("https://example.com/{n}")).expect("a URL"));
    assert_eq!((seen(1).expect("answers"), seen(2).expect("answers")), (true, false), "{error}");
    assert!(error.ends_with("; the lines before it are imported"), "{error}");
    let number: String =
        error.strip_prefix("line ").expect("a line").chars().take_while(char::is_ascii_digit).collect();
    assert_eq!(number, "4", "{error}");
    error
}

#[test]
fn a_bad_line_is_named_and_the_lines_before_it_are_in() {
    let url = |rest: &str| format!("{{\"url\":\"https://example.com/x\",{rest}}}\n");
    let long = format!("{{\"url\":\"https://example.com/{}\"", "x".repeat(MAX_LINE_BYTES));
    for (bad, what) in [
        ("nonsense\n".to_owned(), "not JSON at column 2"),
        ("\n".to_owned(), "an empty line"),
        ("[1]\n".to_owned(), "not a JSON object"),
        ("{}\n".to_owned(), "neither a host nor a URL nor the end"),
        ("{\"url\":7}\n".to_owned(), "url is 7, not a text"),
        ("\u{0}\n".to_owned(), "not JSON at column 1"),
        (url("\"state\":\"fetched\""), "first_seen_secs is missing from a URL"),
        (url("\"state\":\"lost\",\"first_seen_secs\":1"), "state: \"lost\" is no state"),
        (url("\"state\":\"forgotten\",\"first_seen_secs\":1"), "state: \"forgotten\" is no state"),
        (url("\"state\":\"fetched\",\"first_seen_secs\":1,\"colour\":2"), "\"colour\" is no field of a URL"),
        (url("\"state\":\"fetched\",\"first_seen_secs\":-1"), "first_seen_secs is -1, not a whole number from 0 to"),
        (
            url("\"state\":\"fetched\",\"first_seen_secs\":1,\"depth\":70000"),
            "depth is 70000, not a whole number from 0 to 65535",
        ),
        (url("\"state\":\"queued\",\"first_seen_secs\":1,\"referrer\":\"a b\\n\""), "referrer: not a URL"),
        ("{\"url\":\"mailto:a@b\",\"state\":\"fetched\",\"first_seen_secs\":1}\n".to_owned(), "neither http nor https"),
        ("{\"host\":\"a/b\",\"delay_ms\":1}\n".to_owned(), "host: \"a/b\" is not the name of a host"),
        ("{\"host\":\"a.test\",\"delay_ms\":1,\"blocked_by\":\"rain\"}\n".to_owned(), "blocked_by: \"rain\" is no"),
        ("{\"host\":\"a.test:80\",\"delay_ms\":1}\n".to_owned(), "is not the name of a host"),
        ("{\"host\":\"a.test\",\"delay_ms\":18446744073709551615}\n".to_owned(), "delay_ms is over"),
        (long, "longer than"),
    ] {
        let error = said_of(&bad);
        assert!(error.contains(what), "{what}: {error}");
    }
    let not_text = [HEAD.as_bytes(), b"{\"host\":\"\xff\",\"delay_ms\":1}\n"].concat();
    let dir = tempfile::tempdir().expect("a directory");
    let error = fresh(dir.path()).import(&mut &*not_text, NOW).expect_err("is no UTF-8");
    assert_eq!(error.to_string(), "line 2: not UTF-8 at byte 10; nothing is imported");
}

#[test]
fn a_file_that_does_not_add_up_is_not_taken_for_whole() {
    let end = |fetched: u32| {
        format!(
            "{{\"end\":{{\"hosts\":1,\"queued\":0,\"fetched\":{fetched},\"failed\":0,\"robots_denied\":0,\"excluded\":0,\
             \"imported_seen\":0}}}}\n"
        )
    };
    let good = format!("{HEAD}{HOST}{}{}{}", line(1), line(2), end(2));
    for (text, said) in [
        (good.replace(&end(2), ""), "line 5: the file is cut off here"),
        (good[..good.len() - 20].to_owned(), "line 5: cut off in the middle of its JSON"),
        (good.replace(&end(2), &end(3)), "line 5: does not add up: it counts {\"hosts\":1,\"queued\":0,\"fetched\":3,"),
        (good.replace(&line(2), ""), "line 4: does not add up"),
        (good.clone() + "\n", "line 6: there is something after the last line"),
        (good.clone() + &good, "line 6: there is something after the last line"),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let frontier = fresh(dir.path());
        let error = import(&frontier, &text).expect_err(said).to_string();
        assert!(error.starts_with(said), "{error}");
        // What was cut off or changed is put right by the whole file.
        import(&frontier, &good).expect("imports");
        assert_eq!(frontier.statistics().expect("answers").books.fetched, 2);
    }
}

#[test]
fn two_frontiers_become_one_and_the_more_patient_word_on_a_host_counts() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = fresh(dir.path());
    let host = |slot: u64, delay: u64| {
        format!("{{\"host\":\"example.com\",\"next_slot_ms\":{slot},\"delay_ms\":{delay},\"failures\":1}}\n")
    };
    let end = "{\"end\":{\"hosts\":1,\"queued\":0,\"fetched\":1,\"failed\":0,\"robots_denied\":0,\"excluded\":0,\
               \"imported_seen\":0}}\n";
    import(&frontier, &format!("{HEAD}{}{}{end}", host(NOW + 50, 10), line(1))).expect("imports");
    import(&frontier, &format!("{HEAD}{}{}{end}", host(NOW + 20, 900), line(2))).expect("imports");
    // A host that would never be asked again.
    import(&frontier, &format!("{HEAD}{}{}{end}", host(u64::MAX, 1), line(2))).expect("imports");
    let exported = export(&frontier);
    let longest = NOW + Options::new("x").max_retry_delay_ms;
    let expected = format!(
        "{{\"host\":\"example.com\",\"next_slot_ms\":{longest},\"delay_ms\":900,\"failures\":1}}\n{}{}",
        line(1),
        line(2)
    );
    assert!(exported.contains(&expected), "{exported}");
}

#[test]
fn what_is_imported_is_not_found_again_and_what_is_queued_is_crawled() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = fresh(dir.path());
    frontier.offer(&found(&[1]), None, NOW).expect("offers");
    let seen = frontier.import_urls(urls(&[1, 2, 2, 3]), ListedAs::Seen, NOW).expect("imports");
    assert_eq!((seen.imported, seen.known), (2, 2));
    let queued = frontier.import_urls(urls(&[3, 4]), ListedAs::Queued, NOW).expect("imports");
    assert_eq!((queued.imported, queued.known), (1, 1));
    assert_eq!(frontier.offer(&found(&[2, 3, 4, 5]), None, NOW).expect("offers").discovered, 1);
    frontier.commit().expect("commits");
    let mut crawled = BTreeSet::new();
    let mut now = NOW;
    while crawled.len() < 3 && now < NOW + 100 * DELAY_MS {
        now += DELAY_MS;
        if let Next::Lease(lease) = frontier.lease(now).expect("answers") {
            crawled.insert(lease.url().to_owned());
            complete(&frontier, lease, 5, &[], now);
        }
    }
    assert_eq!(crawled, [1, 4, 5].map(|n| url(n).url().to_owned()).into());
    let books = frontier.statistics().expect("answers").books;
    assert_eq!((books.discovered, books.imported, books.imported_seen, books.fetched), (2, 3, 2, 3));
    assert_eq!(books.check(), Ok(()));
}

/// A file of these lines.
fn file(lines: &[&str]) -> String {
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    let states = ["queued", "fetched", "failed", "robots_denied", "excluded", "imported_seen", "parked"];
    let of = |state: &&str| format!("\"{state}\":{}", count(&format!("\"state\":\"{state}\"")));
    let counts: Vec<String> = states.iter().map(of).collect();
    let hosts = count("{\"host\"");
    format!("{HEAD}{}\n{{\"end\":{{\"hosts\":{hosts},{}}}}}\n", lines.join("\n"), counts.join(","))
}

fn without_first_and_last(text: &str) -> Vec<String> {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[1..lines.len() - 1].to_vec()
}

const APART: [&str; 11] = [
    r#"{"host":"example.com","delay_ms":100,"granted":7}"#,
    r#"{"url":"https://example.com/done/","state":"parked","depth":1,"first_seen_secs":5}"#,
    r#"{"url":"https://example.com/held","state":"parked","depth":9,"first_seen_secs":5}"#,
    r#"{"url":"https://example.com/q?a=1&b=2","state":"queued","depth":4,"first_seen_secs":1}"#,
    r#"{"url":"https://example.com/done","state":"queued","depth":1,"first_seen_secs":2}"#,
    r#"{"host":"www.example.com","delay_ms":900,"failures":2,"blocked_until_ms":1700000060000,"blocked_by":"timeout"}"#,
    r#"{"url":"https://www.example.com/done","state":"fetched","status":200,"depth":3,"first_seen_secs":3}"#,
    r#"{"url":"https://www.example.com/none","state":"failed","status":-2,"first_seen_secs":4}"#,
    r#"{"url":"https://www.example.com/none/","state":"imported_seen","first_seen_secs":4}"#,
    r#"{"url":"https://www.example.com/held","state":"queued","depth":2,"first_seen_secs":5}"#,
    r#"{"url":"https://www.example.com/q?b=2&a=1","state":"queued","depth":2,"first_seen_secs":6}"#,
];

const TOGETHER: [&str; 5] = [
    r#"{"host":"example.com","delay_ms":900,"failures":2,"blocked_until_ms":1700000060000,"blocked_by":"timeout","granted":7}"#,
    r#"{"url":"https://www.example.com/done","state":"fetched","status":200,"depth":3,"first_seen_secs":3}"#,
    r#"{"url":"https://www.example.com/none","state":"failed","status":-2,"first_seen_secs":4}"#,
    r#"{"url":"https://www.example.com/held","state":"queued","depth":2,"first_seen_secs":5}"#,
    r#"{"url":"https://example.com/q?a=1&b=2","state":"queued","depth":2,"first_seen_secs":1}"#,
];

/// How an import is cut, and what happens in between.
#[derive(Debug, Clone, Copy)]
enum Between {
    /// One file.
    Nothing,
    /// A file for each line; what is known is in memory.
    Imports,
    /// … and read again from the store.
    Restarts,
    /// … and from the journal.
    Crashes,
}

#[test]
fn under_other_rules_what_becomes_one_is_as_far_as_the_furthest_of_them() {
    let rules = RuleOptions { fold_www: true, fold_trailing_slash: true, sort_query: true, ..RuleOptions::default() };
    for between in [Between::Nothing, Between::Imports, Between::Restarts, Between::Crashes] {
        let dir = tempfile::tempdir().expect("a directory");
        let open = || {
            let options = Options { rules: Rules::new(rules.clone()), partitions: 2, ..Options::new(dir.path()) };
            Frontier::open(options, NOW, || {}).expect("opens")
        };
        let mut frontier = open();
        if matches!(between, Between::Nothing) {
            let imported = import(&frontier, &file(&APART)).expect("imports");
            assert_eq!(imported, Imported { imported: 4, known: 5, hosts: 2 });
        } else {
            for line in APART {
                import(&frontier, &file(&[line])).expect("imports");
                match between {
                    Between::Restarts => frontier.close().expect("closes"),
                    Between::Crashes => drop(frontier),
                    Between::Nothing | Between::Imports => continue,
                }
                frontier = open();
            }
        }
        let exported = export(&frontier);
        let mut lines = without_first_and_last(&exported);
        // A host that was known waits its full delay after a start.
        lines[0] = lines[0].replace(&format!("\"next_slot_ms\":{},", NOW + 1000), "");
        lines.sort();
        let mut expected = TOGETHER.map(str::to_owned);
        expected.sort();
        assert_eq!(lines, expected, "{between:?}");
        import(&frontier, &file(&APART)).expect("imports again");
        assert_eq!(export(&frontier), exported, "{between:?}: nothing new the second time");
        let usage = frontier.usage(&frontier.rules().parse("https://example.com/").expect("a URL")).expect("answers");
        assert_eq!((usage.urls, usage.queued, usage.pages, usage.parked), (4, 2, 1, 0), "{between:?}");
        assert_eq!(usage.granted, Grant::More(7));
    }
}

#[test]
fn a_page_that_is_imported_comes_due_as_it_was_and_bad_words_on_its_visits_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let recrawl = Recrawl { initial_secs: 10, min_secs: 1, max_secs: 1000, growth: 2.0, shrink: 0.5 };
    let frontier = open_with(dir.path(), 2, FilterKind::ScalableBloom, 1 << 24, Some(recrawl));
    let now_secs = NOW / 1000;
    let host = r#"{"host":"example.com","delay_ms":1}"#;
    let page = |more: &str| {
        format!(r#"{{"url":"https://example.com/","state":"fetched","status":200,"first_seen_secs":1,{more}}}"#)
    };
    let too_long = format!(r#""last_modified":"{}""#, "x".repeat(300));
    let no_interval = r#""due_secs":5"#;
    let bad = [no_interval, r#""due_secs":-1,"interval_secs":5"#, r#""digest":"xyz""#, r#""etag":"a\nb""#, &too_long];
    for bad in bad {
        let refused = import(&frontier, &file(&[host, &page(bad)]));
        assert!(matches!(refused, Err(ImportError::Line { line: 3, .. })), "{bad}: {refused:?}");
    }
    let validators = r#""digest":"00000000000000ff","etag":"\"e\"""#;
    let said = format!(r#""due_secs":{},"interval_secs":80,{validators}"#, now_secs + 7);
    import(&frontier, &file(&[host, &page(&said)])).expect("imports");
    frontier.commit().expect("commits");
    let due = (now_secs + 7) * 1000;
    for now in [NOW, due - 1] {
        assert!(matches!(frontier.lease(now).expect("answers"), Next::Wait { until: Some(until) } if until == due));
    }
    // The look that puts it back into its queue may come before that is durable.
    let lease = (0..2).find_map(|_| {
        frontier.commit().expect("commits");
        if let Next::Lease(lease) = frontier.lease(due).expect("answers") { Some(lease) } else { None }
    });
    let lease = lease.expect("is due");
    assert_eq!((lease.is_revisit(), lease.etag()), (true, Some("\"e\"")));
    let visit = Visit { digest: Some(0xff), ..Visit::default() };
    let host = Some(HostReport { ended: due, delay_ms: 1, health: Health::Answered });
    let (outcome, tally, found) = (Outcome::Fetched { status: 200 }, Tally::default(), Found::default());
    let completion = Completion { outcome, host, tally, visit, found: &found };
    frontier.complete(lease, &completion, due).expect("completes");
    let exported = export(&frontier);
    let again = format!(r#""due_secs":{},"interval_secs":160,"interval_learnt":true"#, now_secs + 7 + 160);
    assert!(exported.contains(&again), "{exported}");
}

#[test]
fn what_is_imported_counts_for_the_budgets_and_what_was_parked_can_be_released() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = fresh(dir.path());
    let parked = r#"{"url":"https://example.com/p","state":"parked","depth":2,"first_seen_secs":1}"#;
    let gone = r#"{"url":"https://example.com/gone","state":"parked","depth":2,"first_seen_secs":1}"#;
    let host = r#"{"host":"example.com","delay_ms":1,"granted":1}"#;
    import(&frontier, &file(&[host, parked, gone])).expect("imports");
    let url = |path: &str| Canonical::parse(&format!("https://example.com/{path}")).expect("a URL");
    frontier.import_urls((0..3).map(|n| url(&n.to_string())).collect(), ListedAs::Seen, NOW).expect("imports");
    let found =
        |paths: [&str; 3]| Found { urls: paths.map(|path| FoundUrl::new(url(path), 1)).into(), ..Found::default() };
    // 4 by the budget and 1 granted: two are within.
    frontier.offer(&found(["a", "b", "c"]), None, NOW).expect("offers");
    let books = || frontier.statistics().expect("answers").books;
    assert_eq!((books().parked, books().queued, books().imported_seen), (3, 2, 3));
    assert_eq!(frontier.forget(&[url("gone")]).expect("forgets").forgotten, 1);
    let usage = || frontier.usage(&url("")).expect("answers");
    assert_eq!((usage().parked, usage().urls, books().parked), (2, 5, 2));
    frontier.grant(&url(""), Grant::Lifted).expect("grants");
    assert_eq!(frontier.release(&url("")).expect("releases").released, 2);
    let exported = export(&frontier);
    assert!(
        exported.contains("\"lifted\":true") && exported.contains(&parked.replace("parked", "queued")),
        "{exported}"
    );
    assert_eq!((usage().parked, usage().queued, books().check()), (0, 4, Ok(())));
}
