//! The journal over real files: what was durable is read back whatever byte the file is cut at.

use std::fs;

use super::segment::COMMIT_HEADER;
use super::*;
use crate::disk::simulated::{Disk, End, Faults};

fn pace() -> Pace {
    // Long: only waiting and closing commit, so that the test says what is one commit.
    Pace { interval: Duration::from_secs(3600), max_bytes: 1 << 20, by_caller: false }
}

type Events = Vec<(Sequence, Vec<u8>)>;

fn open(dir: &Path) -> Result<(Journal, Events), Error> {
    let mut events = Vec::new();
    let journal = Journal::open(dir, &pace(), (u64::MAX - 1, 0), Box::new(|| {}), |sequence, event| {
        events.push((sequence, event.to_vec()));
        Ok(())
    })?;
    Ok((journal, events))
}

/// Three commits of one, two and one event, in one segment.
fn written(dir: &Path) -> PathBuf {
    let (journal, _) = open(dir).expect("opens");
    for commit in [&["a"][..], &["b", "cc"], &["ddd"]] {
        for event in commit {
            journal.append(event.as_bytes()).expect("appends");
        }
        journal.wait_durable(journal.last()).expect("is durable");
    }
    dir.join(format!("{:020}.journal", 1))
}

#[test]
fn events_come_back_in_order_and_numbering_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    written(dir.path());
    let (journal, events) = open(dir.path()).expect("opens again");
    let expected = [(1, "a"), (2, "b"), (3, "cc"), (4, "ddd")].map(|(n, e)| (n, e.as_bytes().to_vec()));
    assert_eq!(events, expected);
    assert_eq!(journal.append(b"e").expect("appends"), 5);
}

#[test]
fn a_journal_cut_at_any_byte_keeps_every_whole_commit() {
    let dir = tempfile::tempdir().expect("a directory");
    let segment = written(dir.path());
    let whole = fs::read(&segment).expect("reads");
    let mut seen = std::collections::BTreeSet::new();
    for cut in 0..=whole.len() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(segment.file_name().expect("a name")), &whole[..cut]).expect("writes");
        let (journal, events) = open(dir.path()).unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
        assert_eq!(journal.append(b"next").expect("appends"), events.len() as Sequence + 1, "cut at {cut}");
        journal.close().expect("closes");
        drop(journal);
        let (_, again) = open(dir.path()).unwrap_or_else(|e| panic!("cut at {cut}, again: {e}"));
        assert_eq!(again.len(), events.len() + 1, "cut at {cut}");
        seen.insert(events.len());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 3, 4], "commits are whole or not there");
}

#[test]
fn a_damaged_commit_before_a_good_one_is_an_error_and_a_damaged_last_one_is_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let segment = written(dir.path());
    let whole = fs::read(&segment).expect("reads");
    let last_commit = whole.len() - COMMIT_HEADER - 4 - 3;
    for at in SEGMENT_HEADER..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(segment.file_name().expect("a name")), &bytes).expect("writes");
        match open(dir.path()) {
            Ok((_, events)) => assert!(at >= last_commit && events.len() == 3, "byte {at}"),
            Err(error) => assert!(at < last_commit && matches!(error, Error::Corrupt { .. }), "byte {at}: {error}"),
        }
    }
}

#[test]
fn segments_roll_and_trim() {
    let dir = tempfile::tempdir().expect("a directory");
    let (journal, _) = open(dir.path()).expect("opens");
    let event = vec![7; 40_000];
    for _ in 0..6 {
        let sequence = journal.append(&event).expect("appends");
        journal.wait_durable(sequence).expect("is durable");
    }
    assert_eq!(list(dir.path()).expect("lists").len(), 3, "two events fill a segment of 64 KiB");
    journal.trim(3).expect("trims");
    assert_eq!(list(dir.path()).expect("lists")[0].first, 3, "event 4 is in the second segment");
    journal.trim(6).expect("trims");
    drop(journal);
    let (_, events) = open(dir.path()).expect("opens again");
    assert_eq!(events.iter().map(|e| e.0).collect::<Vec<_>>(), [5, 6], "the newest segment stays");
}

#[test]
fn a_missing_segment_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    for _ in 0..3 {
        let (journal, _) = open(dir.path()).expect("opens");
        let sequence = journal.append(b"x").expect("appends");
        journal.wait_durable(sequence).expect("is durable");
    }
    fs::remove_file(dir.path().join(format!("{:020}.journal", 2))).expect("removes");
    assert!(matches!(open(dir.path()), Err(Error::Corrupt { .. })));
}

#[test]
fn a_journal_that_ends_below_what_the_store_covers_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    written(dir.path());
    let reopen = |known| Journal::open(dir.path(), &pace(), (0, known), Box::new(|| {}), |_, _| Ok(()));
    assert!(matches!(reopen(5), Err(Error::Corrupt { .. })));
    assert!(reopen(4).is_ok());
}

#[test]
fn a_store_that_covers_less_than_the_journal_has_trimmed_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    for _ in 0..3 {
        let journal = Journal::open(dir.path(), &pace(), (3, 0), Box::new(|| {}), |_, _| Ok(())).expect("opens");
        let sequence = journal.append(b"x").expect("appends");
        journal.wait_durable(sequence).expect("is durable");
        journal.trim(2).expect("trims");
    }
    let reopen = |lowest| Journal::open(dir.path(), &pace(), (lowest, 3), Box::new(|| {}), |_, _| Ok(()));
    assert!(matches!(reopen(1), Err(Error::Corrupt { .. })), "event 2 is lost");
    assert!(reopen(2).is_ok());
}

/// Opens on a simulated disk whose power fails at each of the opening's operations in turn, and then once more without.
fn open_with_power_cuts(seed: u64, prepare: fn(&Path), known: (Sequence, Sequence)) -> Vec<Sequence> {
    let mut lasts = Vec::new();
    for cut in 1.. {
        let disk = Disk::new(seed + cut);
        prepare(disk.root());
        let open = || {
            let pace = Pace { by_caller: true, ..pace() };
            Journal::open(disk.root(), &pace, known, Box::new(|| {}), |_, _| Ok(()))
        };
        disk.set_faults(Faults { power_fails_in: cut, ..Faults::default() });
        let whole = open().is_ok();
        disk.restart(End::PowerCut);
        lasts.push(open().unwrap_or_else(|error| panic!("seed {seed}, power cut at {cut}: {error}")).last());
        disk.remove_disk();
        if whole {
            return lasts;
        }
    }
    lasts
}

#[test]
fn a_crash_while_an_empty_segment_is_made_anew_does_not_lose_where_the_numbers_go_on() {
    let trimmed = |dir: &Path| {
        let pace = Pace { by_caller: true, ..pace() };
        for _ in 0..2 {
            let journal = Journal::open(dir, &pace, (2, 0), Box::new(|| {}), |_, _| Ok(())).expect("opens");
            let sequence = journal.append(b"x").expect("appends");
            journal.wait_durable(sequence).expect("is durable");
        }
        let journal = Journal::open(dir, &pace, (2, 2), Box::new(|| {}), |_, _| Ok(())).expect("opens");
        journal.trim(2).expect("trims");
        assert_eq!(list(dir).expect("lists").len(), 1, "what is left holds no event");
    };
    for seed in 0..50 {
        assert!(open_with_power_cuts(seed, trimmed, (2, 2)).iter().all(|last| *last == 2), "seed {seed}");
    }
}

#[test]
fn what_a_killed_process_did_not_sync_is_synced_before_it_counts() {
    for seed in 0..20 {
        let disk = Disk::new(seed);
        let pace = Pace { by_caller: true, ..pace() };
        let open = || Journal::open(disk.root(), &pace, (0, 0), Box::new(|| {}), |_, _| Ok(())).expect("opens");
        let journal = open();
        journal.append(b"x").expect("appends");
        // Header, events, and then not the sync.
        disk.set_faults(Faults { power_fails_in: 3, ..Faults::default() });
        journal.wait_durable(1).expect_err("is killed before it has synced");
        drop(journal);
        disk.restart(End::Killed);
        let counted = open().last();
        disk.restart(End::PowerCut);
        assert_eq!(open().last(), counted, "seed {seed}: an event was read and then lost");
        disk.remove_disk();
    }
}

#[test]
fn a_power_cut_in_a_trim_leaves_no_gap() {
    for (seed, cut) in (0..30).flat_map(|seed| (1..9).map(move |cut| (seed, cut))) {
        let disk = Disk::new(seed);
        let pace = Pace { by_caller: true, ..pace() };
        let open = |lowest| Journal::open(disk.root(), &pace, (lowest, 0), Box::new(|| {}), |_, _| Ok(()));
        for _ in 0..5 {
            let journal = open(5).expect("opens");
            let sequence = journal.append(b"x").expect("appends");
            journal.wait_durable(sequence).expect("is durable");
        }
        let journal = open(5).expect("opens");
        disk.set_faults(Faults { power_fails_in: cut, ..Faults::default() });
        let _ = journal.trim(4);
        disk.switch_off();
        drop(journal);
        disk.restart(End::PowerCut);
        let last = open(5).unwrap_or_else(|error| panic!("seed {seed}, power cut at {cut}: {error}")).last();
        assert_eq!(last, 5, "seed {seed}, power cut at {cut}");
        disk.remove_disk();
    }
}
