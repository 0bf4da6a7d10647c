//! The store over a real sled directory.

use super::*;
use crate::books::Books;
use crate::record::{Counts, HostState, Record, State};

fn open(dir: &Path) -> Store {
    let blocks = dir.join("beside");
    std::fs::create_dir_all(&blocks).expect("a directory");
    Store::open(dir, &blocks, 1 << 20).expect("opens")
}

#[test]
fn everything_written_is_there_after_reopening() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    let record =
        Record { attempts: 1, status: 404, due_secs: 90, interval_secs: 80, ..Record::new(State::Fetched, 2, 9) };
    let host = StoredHost {
        state: HostState { next_slot: 50, delay_ms: 10, failures: 1, blocked_until: 70, ..HostState::default() },
        counts: Counts { queued: 3, urls: 5, pages: 2, parked: 1 },
    };
    let covered =
        Covered { sequence: 7, hosts: 1, scheduled: 1, stale_keys: 2, books: Books { fetches: 2, ..Books::default() } };
    store
        .write(vec![
            put_record("com,e)/x", &record, Some("https://e.com./x"), Some("+\n\"e\"")),
            set_due_page("com,e)/x", 90, true),
            set_due_page("com,e)/w", 91, true),
            put_host("com,e", 7, &host, None),
            set_due("com,e", 70, true),
        ])
        .expect("writes");
    store.cover(&covered, &Files::default()).expect("covers");
    store.reopen().expect("reopens");

    assert_eq!(store.covered().expect("reads"), covered);
    let stored = store.record("com,e)/x").expect("reads");
    let (alternate, trace) = (Some("https://e.com./x".into()), Some("+\n\"e\"".into()));
    assert_eq!(stored, Some(StoredRecord { record, alternate, trace }));
    let due_pages = |after: (u32, &str)| store.due_pages(&(after.0, after.1.to_owned()), 9).expect("reads");
    assert_eq!(due_pages((0, "")), [(90, "com,e)/x".to_owned()), (91, "com,e)/w".to_owned())]);
    assert_eq!(due_pages((90, "com,e)/x")), [(91, "com,e)/w".to_owned())]);
    assert_eq!(
        store.holds(["com,e)/x", "com,e)/y"].into_iter()).expect("reads"),
        [Held::Yes { open_depth: 0 }, Held::No]
    );
    assert_eq!(store.host("com,e", 7).expect("reads"), Some(host));
    assert_eq!(store.due_hosts(&(0, String::new()), 9).expect("reads"), [(70, "com,e".to_owned())]);
    assert_eq!(store.due_hosts(&(70, "com,e".into()), 9).expect("reads"), []);
    let mut keys = Vec::new();
    store.scan(|key, _| keys.push(key.to_owned())).expect("scans");
    assert_eq!(keys, ["com,e)/x"]);
}

#[test]
fn the_items_of_a_block_survive_the_wire() {
    let items = [
        ("com,e)/a", None),
        ("com,e)/b", Some("https://e.com/a")),
        ("com,e)/c", Some("https://e.com/a")),
        ("com,e)/d", None),
    ];
    let bytes = encode_items("com,e", items.into_iter());
    let block = layout::decode_block("com,e", &bytes).expect("decodes");
    assert_eq!(block.0.iter().map(|item| (&*item.key, item.referrer.as_deref())).collect::<Vec<_>>(), items);
    (0..bytes.len()).for_each(|end| drop(layout::decode_block("com,e", &bytes[..end])));
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
    let host = |queued| StoredHost { state: HostState::default(), counts: Counts { queued, ..Counts::default() } };
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
        store.cover(&Covered { sequence: 5, ..Covered::default() }, &Files::default()).expect("covers");
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

#[test]
fn a_lock_that_another_holds_for_a_moment_is_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(open_db(dir.path(), 1 << 20).expect("opens"));
    for locked in [dir.path().to_owned(), dir.path().join(mend::METADATA)] {
        let held = std::fs::File::open(locked).expect("opens");
        // Waits: a process that another test is starting may hold a copy of the last holder's descriptor for a moment.
        held.lock().expect("locks");
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| open_db(dir.path(), 1 << 20).map(drop));
            std::thread::sleep(LOCK_PATIENCE / 20);
            drop(held);
            opened.join().expect("does not panic").expect("opens once it is free");
        });
    }
}

#[test]
fn an_empty_range_does_not_read_the_store_to_its_end() {
    const LEAVES: usize = 8;
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    let keys =
        (0..LEAVES * FANOUT).map(|n| Change { key: format!("scom,e)/{n:06}").into_bytes(), value: Some(vec![0]) });
    store.write(keys.collect()).expect("writes");
    store.reopen().expect("reopens");
    let before = store.leaves_read();
    let classes: Vec<_> = (0..8).map(|class| BlockId::before(crate::found::Priority::new(class))).collect();
    assert_eq!(store.next_block("com,e", &classes, 1).expect("reads"), None);
    assert_eq!(store.due_hosts(&(0, String::new()), 9).expect("reads"), []);
    let read = store.leaves_read() - before;
    assert!(read <= 2, "{read} leaves for two empty ranges");
}

#[test]
fn a_write_keeps_no_more_leaves_in_memory_however_many_it_touches() {
    const LEAVES: usize = 16;
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    let change = |n: usize, value| Change { key: format!("scom,e)/{n:06}").into_bytes(), value: Some(vec![value]) };
    store.write((0..LEAVES * FANOUT).map(|n| change(n, 0)).collect()).expect("writes");
    store.reopen().expect("reopens");
    // A change in each leaf, in no more of a batch than one leaf has.
    store.write((0..LEAVES * FANOUT).step_by(2).map(|n| change(n, 1)).collect()).expect("writes");
    let read = store.leaves_read();
    assert!(read <= OPEN_LEAVES + 1, "{read} leaves are open");
    for n in 0..LEAVES * FANOUT {
        let value = store.get(format!("scom,e)/{n:06}").as_bytes()).expect("reads").expect("is there");
        assert_eq!(*value, [u8::from(n % 2 == 0)], "{n}");
    }
}
