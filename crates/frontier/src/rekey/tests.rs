//! What a rekey comes to, and what a crash at each of its steps leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::{Budget, Completion, Found, FoundUrl, Grant, Health, HostReport, Next, Outcome, RuleOptions, Rules, Tally};

const NOW: Millis = 1_800_000_000_000;

fn options(dir: &Path, fold_www: bool) -> Options {
    let rules = Rules::new(RuleOptions { fold_www, ..RuleOptions::default() });
    let budget = Budget { urls_per_host: 1000, park: true, ..Budget::default() };
    let commit_interval = Duration::ZERO;
    Options {
        partitions: 2,
        rules,
        commit_interval,
        connections_per_host: 1000,
        delay_ms: 0,
        budget,
        ..Options::new(dir)
    }
}

fn home() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path().join("data");
    (home, dir)
}

fn offer(frontier: &Frontier, url: &str, depth: u16) {
    let canonical = frontier.rules().parse(url).expect("a URL");
    let found = Found { urls: vec![FoundUrl::new(canonical, depth)], ..Found::default() };
    frontier.offer(&found, None, NOW).expect("offers");
}

/// Offers a URL and ends it so; `None` leaves it queued.
fn put(frontier: &Frontier, url: &str, depth: u16, outcome: Option<Outcome>) {
    offer(frontier, url, depth);
    let Some(outcome) = outcome else { return };
    frontier.commit().expect("commits");
    let mut others = Vec::new();
    loop {
        let Next::Lease(lease) = frontier.lease(NOW).expect("leases") else { panic!("{url} is queued") };
        if lease.url != url {
            others.push(lease);
            continue;
        }
        let host = Some(HostReport { ended: NOW, delay_ms: 0, health: Health::Answered });
        let completion = Completion {
            outcome,
            host,
            tally: Tally::default(),
            visit: crate::Visit::default(),
            found: &Found::default(),
        };
        frontier.complete(lease, &completion, NOW).expect("completes");
        break;
    }
}

fn lines(dir: &Path) -> Vec<String> {
    let frontier = Frontier::open_existing(dir, None, NOW).expect("opens");
    let mut out = Vec::new();
    frontier.export(&mut out).expect("exports");
    let text = String::from_utf8(out).expect("UTF-8");
    text.lines().filter(|line| line.starts_with("{\"url\"")).map(str::to_owned).collect()
}

/// A stopped crawl with what else its directory holds.
fn crawl(dir: &Path) {
    let frontier = Frontier::open(options(dir, false), NOW, || {}).expect("opens");
    for n in 0..30 {
        let outcome = (n % 3 == 0).then_some(Outcome::Fetched { status: 200 });
        put(&frontier, &format!("http://www.a.test/{n}"), 2, outcome);
        offer(&frontier, &format!("http://b.test/{n}"), 1);
        offer(&frontier, &format!("http://a.test/{}", n * 2), 1);
    }
    frontier.grant(&frontier.rules().parse("http://b.test/").expect("a URL"), Grant::More(7)).expect("grants");
    frontier.close().expect("closes");
    fs::create_dir(dir.join("log")).expect("made");
    fs::write(dir.join("log/crawl.log"), "a line\n").expect("written");
    fs::write(dir.join("seeds.txt"), "http://a.test/\n").expect("written");
}

fn begin(dir: &Path, replaced: Replaced) -> Option<Rekey> {
    Rekey::begin(&options(dir, true), replaced, NOW).expect("begins")
}

fn build(dir: &Path, replaced: Replaced) -> Built {
    begin(dir, replaced).expect("is due").build(&mut |_| Ok(())).expect("builds")
}

/// The directory is under the new rules and holds each URL once.
fn check_new(dir: &Path) {
    Frontier::open(options(dir, true), NOW, || {}).expect("opens").close().expect("closes");
    // 30 of www.a.test and of b.test; of the 30 of a.test, 15 are twins.
    assert_eq!(lines(dir).len(), 75);
    assert_eq!(lines(dir).iter().filter(|line| line.contains("\"fetched\"")).count(), 10);
    let frontier = Frontier::open_existing(dir, None, NOW).expect("opens");
    assert_eq!(frontier.held_back().expect("answers")[0].granted, Grant::More(7));
    assert_eq!(fs::read_to_string(dir.join("log/crawl.log")).expect("is there"), "a line\n");
    assert_eq!(fs::read_to_string(dir.join("seeds.txt")).expect("is there"), "http://a.test/\n");
    assert!(!dir.join(beside::MARK).exists());
}

fn check_old(dir: &Path) {
    Frontier::open(options(dir, false), NOW, || {}).expect("opens").close().expect("closes");
    assert_eq!(lines(dir).len(), 90);
}

/// What lies beside the directory.
fn names(home: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(home.path()).expect("is there");
    let mut names: Vec<_> = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn everything_moves_and_the_counts_go_on() {
    let (home, dir) = home();
    crawl(&dir);
    let before = Frontier::open_existing(&dir, None, NOW).expect("opens").statistics().expect("answers").books;
    let rekey = begin(&dir, Replaced::Kept).expect("is due");
    assert_eq!(rekey.urls(), 90);
    assert!(rekey.bytes_needed() > 16 << 20);
    let built = rekey.build(&mut |_| Ok(())).expect("builds");
    let rekeyed = built.rekeyed;
    assert_eq!((rekeyed.read.urls(), rekeyed.read.hosts, rekeyed.joined), (90, 3, 15));
    let kept = built.swap().expect("swaps").expect("is kept");
    assert_eq!(
        (kept.file_name(), names(&home)),
        (Some("data.before-rekey".as_ref()), vec!["data".into(), "data.before-rekey".into()])
    );
    check_new(&dir);
    check_old(&kept);
    let after = Frontier::open_existing(&dir, None, NOW).expect("opens").statistics().expect("answers").books;
    assert_eq!(after, rekeyed.books);
    assert_eq!(after.check(), Ok(()));
    assert_eq!((after.discovered, after.fetched, after.forgotten, after.imported), (90, 10, 15, 0));
    assert_eq!((after.urls_found, after.filter_absent), (before.urls_found, before.filter_absent));
    assert!(begin(&dir, Replaced::Kept).is_none(), "it is done");
    let secret = |dir: &Path| fs::read_to_string(dir.join("frontier.meta")).expect("is there");
    assert_ne!(secret(&dir).lines().last(), secret(&kept).lines().last());
}

#[test]
fn of_two_urls_that_become_one_the_further_counts() {
    let (_home, dir) = home();
    let failed = || Some(Outcome::Failed { code: -4, transient: false });
    let fetched = || Some(Outcome::Fetched { status: 200 });
    let pairs = [
        ("1", None, fetched(), "fetched"),
        ("2", fetched(), None, "fetched"),
        ("3", failed(), None, "failed"),
        ("4", failed(), fetched(), "fetched"),
        ("5", Some(Outcome::RobotsDenied), failed(), "failed"),
        ("6", None, Some(Outcome::Excluded { code: -9 }), "excluded"),
        ("7", None, None, "queued"),
    ];
    let frontier = Frontier::open(options(&dir, false), NOW, || {}).expect("opens");
    for (path, one, other, _) in pairs {
        put(&frontier, &format!("http://a.test/{path}"), 5, one);
        put(&frontier, &format!("http://www.a.test/{path}"), 3, other);
    }
    frontier.close().expect("closes");
    let built = build(&dir, Replaced::Deleted);
    assert_eq!((built.rekeyed.read.urls(), built.rekeyed.joined), (14, 7));
    assert_eq!(built.swap().expect("swaps"), None);
    let lines = lines(&dir);
    assert_eq!(lines.len(), pairs.len());
    for (path, _, _, state) in pairs {
        let line = lines.iter().find(|line| line.contains(&format!("a.test/{path}\""))).expect("is there");
        assert!(line.contains(&format!("\"state\":\"{state}\"")), "{path}: {line}");
    }
    let queued = lines.iter().find(|line| line.contains("\"queued\"")).expect("is there");
    assert!(queued.contains("\"depth\":3"), "the lesser depth: {queued}");
}

#[test]
fn a_crash_at_any_step_leaves_a_whole_directory_and_the_next_run_ends_well() {
    // What becomes of the old one matters from the exchange on.
    for (replaced, steps) in [(Replaced::Kept, 0..6), (Replaced::Deleted, 4..6)] {
        for step in steps {
            let (home, dir) = home();
            crawl(&dir);
            match step {
                // Opened; an empty directory made; half a new one; a whole one.
                0 => drop(begin(&dir, replaced)),
                1 => fs::create_dir(dir.with_extension("rekey")).expect("made"),
                2 => {
                    let rekey = begin(&dir, replaced).expect("is due");
                    rekey.places.make().expect("makes");
                    let new = Frontier::open(rekey.options.clone(), NOW, || {}).expect("opens");
                    put(&new, "http://a.test/0", 0, None);
                }
                3 => drop(build(&dir, replaced)),
                // They have changed places; and the old one is put aside or partly deleted.
                4 => build(&dir, replaced).places.exchange().expect("swaps"),
                _ => {
                    let built = build(&dir, replaced);
                    built.places.exchange().expect("swaps");
                    match replaced {
                        Replaced::Kept => drop(built.places.put_aside().expect("moves")),
                        Replaced::Deleted => fs::remove_file(built.places.beside.join("frontier.meta")).expect("goes"),
                    }
                }
            }
            match step {
                0..=3 => check_old(&dir),
                _ => drop(Frontier::open(options(&dir, true), NOW, || {}).expect("opens")),
            }
            if let Some(rekey) = begin(&dir, replaced) {
                assert!(step < 4, "{step}");
                rekey.build(&mut |_| Ok(())).expect("builds").swap().expect("swaps");
            }
            check_new(&dir);
            let expected: &[&str] = if replaced == Replaced::Kept { &["data", "data.before-rekey"] } else { &["data"] };
            assert_eq!(names(&home), expected, "step {step}");
        }
    }
}

#[test]
fn a_second_rekey_keeps_the_first_old_directory() {
    let (home, dir) = home();
    crawl(&dir);
    fs::create_dir(home.path().join("data.before-rekey")).expect("made");
    build(&dir, Replaced::Kept).swap().expect("swaps");
    assert_eq!(names(&home), ["data", "data.before-rekey", "data.before-rekey-2"]);
    check_old(&home.path().join("data.before-rekey-2"));
}

#[test]
fn what_no_rekey_has_made_is_not_taken_away() {
    let (home, dir) = home();
    crawl(&dir);
    let foreign = home.path().join("data.rekey");
    fs::create_dir(&foreign).expect("made");
    fs::write(foreign.join("mine"), "").expect("written");
    let error = Rekey::begin(&options(&dir, true), Replaced::Deleted, NOW).err().expect("is refused");
    assert!(error.to_string().contains("data.rekey: is in the way"), "{error}");
    assert!(foreign.join("mine").exists());
    check_old(&dir);
}

#[test]
fn a_look_that_says_stop_changes_nothing() {
    let (home, dir) = home();
    let frontier = Frontier::open(options(&dir, false), NOW, || {}).expect("opens");
    let urls: Vec<_> = (0..URLS_PER_LOOK + 10)
        .map(|n| frontier.rules().parse(&format!("http://h{}.test/{n}", n % 3)).expect("a URL"))
        .collect();
    frontier.import_urls(urls, crate::transfer::ListedAs::Queued, NOW).expect("imports");
    frontier.close().expect("closes");
    let mut read = 0;
    let mut stop = |urls| {
        read = urls;
        Err("no room".to_owned())
    };
    let error = begin(&dir, Replaced::Kept).expect("is due").build(&mut stop).err().expect("is stopped");
    assert_eq!((error.to_string().as_str(), read), ("no room", URLS_PER_LOOK));
    assert_eq!(names(&home), ["data"]);
    assert_eq!(lines(&dir).len() as u64, URLS_PER_LOOK + 10);
}

#[test]
fn a_directory_in_use_and_one_that_is_none_are_refused() {
    let (home, dir) = home();
    let refused = |dir: &Path| Rekey::begin(&options(dir, true), Replaced::Kept, NOW).err().expect("is refused");
    assert!(matches!(refused(&dir), RekeyError::Frontier(Error::NoCrawl(_))));
    let frontier = Frontier::open(options(&dir, false), NOW, || {}).expect("opens");
    assert!(matches!(refused(&dir), RekeyError::Frontier(Error::InUse { .. })));
    drop(frontier);
    assert_eq!(names(&home), ["data"]);
}

#[test]
fn a_directory_of_another_program_s_rules_is_read_too() {
    let (_home, dir) = home();
    crawl(&dir);
    let meta = dir.join("frontier.meta");
    let text = fs::read_to_string(&meta).expect("reads");
    for (from, to) in
        [("canonical_rules_version = ", "canonical_rules_version = 9"), (r#""fold_www""#, r#""fold_moon""#)]
    {
        assert!(text.contains(from));
        fs::write(&meta, text.replacen(from, to, 1)).expect("writes");
        assert!(Frontier::open(options(&dir, true), NOW, || {}).is_err());
        let built = build(&dir, Replaced::Kept);
        assert_eq!(built.rekeyed.joined, 15, "{to}");
    }
    build(&dir, Replaced::Deleted).swap().expect("swaps");
    check_new(&dir);
}
