//! The store over a real sled directory.

use super::*;
use crate::books::Books;
use crate::record::{HostState, State};

fn open(dir: &Path) -> Store {
    Store::open(dir, 1 << 20).expect("opens")
}

fn item(key: &str, referrer: Option<&str>) -> BlockItem {
    BlockItem { key: key.into(), referrer: referrer.map(str::to_owned) }
}

#[test]
fn everything_written_is_there_after_reopening() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    let record =
        Record { state: State::Fetched, depth: 2, attempts: 1, starts: 0, status: 404, first_seen_secs: 9, block: 0 };
    let host =
        StoredHost { state: HostState { next_slot: 50, delay_ms: 10, failures: 1, blocked_until: 70 }, queued: 3 };
    let block = Block(vec![
        item("com,e)/a", None),
        item("com,e)/b", Some("https://e.com/a")),
        item("com,e)/c", Some("https://e.com/a")),
        item("com,e)/d", None),
    ]);
    let id = BlockId { number: 7, part: 1 };
    let covered = Covered { sequence: 7, hosts: 1, scheduled: 1, books: Books { fetches: 2, ..Books::default() } };
    store
        .write(vec![
            put_record("com,e)/x", &record, Some("https://e.com./x")),
            put_host("com,e", 7, &host, None),
            set_due("com,e", 70, true),
            put_block("com,e", id, &block),
        ])
        .expect("writes");
    store.cover(&covered).expect("covers");
    store.reopen().expect("reopens");

    assert_eq!(store.covered().expect("reads"), covered);
    let stored = store.record("com,e)/x").expect("reads");
    assert_eq!(stored, Some(StoredRecord { record, alternate: Some("https://e.com./x".into()) }));
    assert_eq!(store.contains(["com,e)/x", "com,e)/y"].into_iter()).expect("reads"), [true, false]);
    assert_eq!(store.host("com,e", 7).expect("reads"), Some(host));
    assert_eq!(store.due_hosts(&(0, String::new()), 9).expect("reads"), [(70, "com,e".to_owned())]);
    assert_eq!(store.due_hosts(&(70, "com,e".into()), 9).expect("reads"), []);
    assert_eq!(store.next_block("com,e", BlockId::default(), 7).expect("reads"), Some((id, block.clone())));
    assert_eq!(store.next_block("com,e", BlockId::default(), 6).expect("reads"), None, "of a merge not yet covered");
    assert_eq!(store.next_block("com,e", id, 9).expect("reads"), None);
    assert_eq!(store.blocks("com,e", 7).expect("reads"), [(id, block)]);
    let mut keys = Vec::new();
    store.scan_keys(|key| keys.push(key.to_owned())).expect("scans");
    assert_eq!(keys, ["com,e)/x"]);
}

#[test]
fn blocks_of_hosts_with_a_common_prefix_stay_apart() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    let id = BlockId { number: 1, part: 0 };
    let block = |key: &str| Block(vec![item(key, None)]);
    store
        .write(vec![
            put_block("com,e", id, &block("com,e)/")),
            put_block("com,e,www", id, &block("com,e,www)/")),
            put_block("com,ea", id, &block("com,ea)/")),
        ])
        .expect("writes");
    let next = |host: &str| store.next_block(host, BlockId::default(), 9).expect("reads").map(|(_, b)| b);
    assert_eq!(next("com,e"), Some(block("com,e)/")));
    assert_eq!(next("com,e,www"), Some(block("com,e,www)/")));
    store.write(vec![put_block("com,e", id, &Block::default())]).expect("removes");
    assert_eq!(next("com,e"), None);
}

#[test]
fn what_is_malformed_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    store.write(vec![Change { key: seen_key("com,e)/"), value: Some(vec![99]) }]).expect("writes");
    let error = store.record("com,e)/").expect_err("state 99 is unknown").to_string();
    assert!(error.contains(&dir.path().display().to_string()) && error.contains("unknown state"), "{error}");
}

#[test]
fn a_host_is_as_it_was_before_a_merge_that_never_ended() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    let host = |queued| StoredHost { state: HostState::default(), queued };
    store.write(vec![put_host("com,new", 9, &host(1), None)]).expect("writes");
    store.write(vec![put_host("com,old", 9, &host(5), Some(&host(3)))]).expect("writes");
    let read = |name: &str, covered| store.host(name, covered).expect("reads");
    assert_eq!((read("com,new", 8), read("com,new", 9)), (None, Some(host(1))));
    assert_eq!((read("com,old", 8), read("com,old", 9)), (Some(host(3)), Some(host(5))));
}

/// sled's recovery deletes its own new snapshot when there is no log after the old one.
#[test]
fn a_store_killed_while_it_was_opened_is_not_emptied() {
    for keep_stale_log in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let store = open(dir.path());
        store.cover(&Covered { sequence: 5, ..Covered::default() }).expect("covers");
        // Now there is a snapshot that holds something.
        store.reopen().expect("reopens");
        store.close();
        drop(store);
        let named = |prefix: &str| {
            let paths =
                std::fs::read_dir(dir.path().join(mend::METADATA)).expect("lists").map(|e| e.expect("an entry").path());
            let name = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix));
            paths.filter(name).collect::<Vec<_>>()
        };
        assert_eq!(named("snapshot_").len(), 1);
        for log in named("log_") {
            std::fs::remove_file(log).expect("removes");
        }
        if keep_stale_log {
            let stale = named("snapshot_")[0].to_string_lossy().replace("snapshot_", "log_");
            std::fs::write(stale, "").expect("writes");
        }
        for _ in 0..2 {
            assert_eq!(open(dir.path()).covered().expect("reads").sequence, 5);
        }
    }
}
