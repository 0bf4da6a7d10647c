//! The audit can fail: each promise is broken by hand, and the line about it says so.

use std::path::Path;
use std::time::Duration;

use bloom::{AnyScalable, Settings};

use super::*;
use crate::{FilterOptions, Frontier, Options};

fn open(dir: &Path) -> Frontier {
    let filter = FilterOptions { initial_capacity: 1000, rebuild_cpu_share: 1.0, ..FilterOptions::default() };
    let options = Options {
        partitions: 2,
        hot_cache_entries: 16,
        recent_bytes: 1 << 30,
        commit_interval: Duration::ZERO,
        filter,
        ..Options::new(dir)
    };
    Frontier::open(options, 1000, || {}).expect("opens")
}

/// A frontier with some URLs merged and some in memory.
fn filled(dir: &Path) -> Frontier {
    let found = |range: std::ops::Range<u32>| {
        let url = |n| Canonical::parse(&format!("https://site-{}.com/{n}", n % 50)).expect("a URL");
        let urls = range.map(|n| FoundUrl::new(url(n), 0)).collect();
        Found { urls, ..Found::default() }
    };
    let frontier = open(dir);
    frontier.offer(&found(0..1000), None, 1000).expect("offers");
    frontier.close().expect("closes");
    let frontier = open(dir);
    frontier.offer(&found(900..1200), None, 1000).expect("offers");
    frontier
}

/// The verdict on one promise after `harm` was done to the frontier.
fn verdict(name: &str, harm: impl FnOnce(&Frontier, &Path)) -> (Verdict, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = filled(dir.path());
    harm(&frontier, dir.path());
    let checks = frontier.audit().expect("answers");
    for check in checks.iter().filter(|check| check.name != name) {
        let also = ["worth its cost", "sized from items and rate", "the rate is measured"].contains(&check.name);
        assert!(check.verdict < Verdict::Fail || also, "{}: {}", check.name, check.evidence);
    }
    let check = checks.into_iter().find(|check| check.name == name).expect("is among the checks");
    (check.verdict, check.evidence)
}

const SETTINGS: Settings =
    Settings { false_positive_rate: 0.01, initial_capacity: 500, growth_factor: 2.0, max_bytes: None };

#[test]
fn a_sound_frontier_fails_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    for check in filled(dir.path()).audit().expect("answers") {
        let expected = if check.name == "worth its cost" { Verdict::Warn } else { Verdict::Pass };
        assert_eq!(check.verdict, expected, "{}: {}", check.name, check.evidence);
    }
}

#[test]
fn a_filter_that_misses_keys_fails() {
    let (verdict, evidence) = verdict("absent means absent", |frontier, _| {
        frontier.shared.partitions[0].state.lock().filter =
            Some(AnyScalable::new(Kind::Blocked, SETTINGS).expect("possible"));
    });
    assert!(verdict == Verdict::Fail && evidence.contains("the first is com,site-"), "{evidence}");
}

#[test]
fn an_oversaturated_layer_fails() {
    let (verdict, evidence) = verdict("sized from items and rate", saturate);
    assert!(verdict == Verdict::Fail && evidence.contains("1 filters over the budget"), "{evidence}");
}

#[test]
fn a_rate_over_the_budget_fails() {
    let (verdict, evidence) = verdict("the rate is measured", saturate);
    assert_eq!(verdict, Verdict::Fail, "{evidence}");
}

/// A filter made for a far higher rate, filled to its design size.
fn saturate(frontier: &Frontier, _: &Path) {
    let mut state = frontier.shared.partitions[1].state.lock();
    let settings = Settings { false_positive_rate: 0.5, ..SETTINGS };
    let mut filter = AnyScalable::with_capacity_for(Kind::Blocked, settings, 2000).expect("possible");
    let mut keys = Vec::new();
    frontier.shared.partitions[1].store.scan(|key, _| keys.push(key.to_owned())).expect("scans");
    keys.iter().for_each(|key| filter.insert(frontier.shared.secret.fingerprint(key)));
    state.active.known().for_each(|(fingerprint, _)| filter.insert(fingerprint));
    (filter.len()..2000).for_each(|n| filter.insert(frontier.shared.secret.fingerprint(&n.to_string())));
    state.filter = Some(filter);
}

#[test]
fn a_false_counter_fails() {
    let (verdict, evidence) = verdict("the books balance", |frontier, _| {
        frontier.shared.partitions[0].state.lock().books.false_positives += 1;
    });
    assert!(verdict == Verdict::Fail && evidence.contains("filter_maybe ="), "{evidence}");
}

#[test]
fn a_filter_file_that_does_not_cover_its_data_fails() {
    let (verdict, evidence) = verdict("the filter lives with its data", |_, dir| {
        let (_, filter) = crate::directory::partition_dirs(dir, 0);
        std::fs::remove_file(filter.join("manifest")).expect("removes");
    });
    assert!(verdict == Verdict::Fail && evidence.contains("partition 0: filter None"), "{evidence}");
}
