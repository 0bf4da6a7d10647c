//! Queue blocks over a real directory: merges whole and cut, blocks that die and move, files lost and damaged.

use std::fs;

use super::*;
use crate::store::layout::{BlockItem, Covered, encode_items};

fn open(dir: &Path) -> Store {
    try_open(dir).expect("opens")
}

fn try_open(dir: &Path) -> Result<Store, Error> {
    fs::create_dir_all(dir.join("blocks")).expect("a directory");
    Store::open(&dir.join("store"), &dir.join("blocks"), 1 << 20)
}

fn id(number: BlockNumber, part: u32) -> BlockId {
    BlockId { priority: Priority::new(4), number, part }
}

fn key(host: &str, id: BlockId) -> String {
    format!("{host})/merge-{}/part-{}", id.number, id.part)
}

fn raw<'a>(host: &'a str, id: BlockId) -> RawBlock<'a> {
    let key = key(host, id);
    RawBlock::new(host, id, encode_items(host, [(&*key, Some("https://r.com/"))].into_iter()))
}

fn new<'a>(blocks: &[(&'a str, BlockId)]) -> BlockChanges<'a> {
    BlockChanges { new: blocks.iter().map(|(host, id)| raw(host, *id)).collect(), ..BlockChanges::default() }
}

fn dead(blocks: &[(&str, BlockId)]) -> BlockChanges<'static> {
    BlockChanges { dead: blocks.iter().map(|(host, id)| ((*host).into(), *id)).collect(), ..BlockChanges::default() }
}

/// A merge up to where it says that it is covered.
fn cut_merge(store: &Store, blocks: BlockChanges<'_>) -> Files {
    let mut changes = Vec::new();
    let files = store.write_blocks(blocks, &mut changes).expect("writes blocks");
    store.write(changes).expect("writes");
    files
}

fn merge(store: &Store, sequence: u64, blocks: BlockChanges<'_>) {
    let files = cut_merge(store, blocks);
    store.cover(&Covered { sequence, ..Covered::default() }, &files).expect("covers");
    store.remove_old_blocks().expect("removes");
}

/// A host's blocks in the order of its queue.
fn queue(store: &Store, host: &str) -> Vec<BlockId> {
    let upto = store.covered().expect("reads").sequence;
    let (mut found, mut after) = (Vec::new(), BlockId::before(Priority::default()));
    while let Some((id, block)) = store.next_block(host, &[after], upto).expect("reads") {
        assert_eq!(block, Block(vec![BlockItem { key: key(host, id), referrer: Some("https://r.com/".into()) }]));
        found.push(id);
        after = id;
    }
    found
}

fn files(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir.join("blocks")).expect("lists").map(|e| e.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn blocks_are_found_host_by_host_in_their_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    merge(&store, 5, new(&[("com,e", id(5, 0)), ("com,e,www", id(5, 0)), ("com,e", id(5, 1))]));
    merge(&store, 7, new(&[("com,ea", id(7, 0)), ("com,e", id(7, 0))]));
    assert_eq!(queue(&store, "com,e"), [id(5, 0), id(5, 1), id(7, 0)]);
    assert_eq!((queue(&store, "com,e,www"), queue(&store, "com,ea")), (vec![id(5, 0)], vec![id(7, 0)]));
    assert_eq!(queue(&store, "com"), []);
    let next = |after, upto| store.next_block("com,e", &[after], upto).expect("reads").map(|(id, _)| id);
    assert_eq!(next(BlockId::before(Priority::default()), 4), None, "of a merge not yet covered");
    assert_eq!(next(id(5, 1), 6), None);
    drop(store);
    assert_eq!(queue(&open(dir.path()), "com,e"), [id(5, 0), id(5, 1), id(7, 0)], "after a restart");
}

#[test]
fn a_merge_without_blocks_makes_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    merge(&store, 5, BlockChanges::default());
    assert!(files(dir.path()).is_empty());
}

#[test]
fn blocks_of_a_merge_that_never_was_do_not_count_and_their_file_goes() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    merge(&store, 5, new(&[("com,e", id(5, 0))]));
    cut_merge(&store, new(&[("com,e", id(9, 0)), ("com,e", id(9, 1)), ("com,f", id(9, 0))]));
    fs::write(dir.path().join("blocks/0000000009.tmp"), "cut while it was written").expect("writes");
    drop(store);
    let store = open(dir.path());
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,f")), (vec![id(5, 0)], vec![]));
    // The same merge again, of other blocks: what is left in the index of the first is not taken for it.
    merge(&store, 9, new(&[("com,e", id(9, 0))]));
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,f")), (vec![id(5, 0), id(9, 0)], vec![]));
    assert_eq!(files(dir.path()), ["0000000000.blocks", "0000000002.blocks"]);
    drop(store);
    let store = open(dir.path());
    merge(&store, 11, new(&[("com,f", id(11, 0))]));
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,f")), (vec![id(5, 0), id(9, 0)], vec![id(11, 0)]));
}

#[test]
fn dead_blocks_leave_the_index_and_a_file_of_dead_blocks_the_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    merge(&store, 5, new(&[("com,e", id(5, 0)), ("com,f", id(5, 0))]));
    merge(&store, 6, new(&[("com,e", id(6, 0)), ("com,e", id(6, 1))]));
    // One that a cut merge has taken out already.
    cut_merge(&store, dead(&[("com,f", id(5, 0))]));
    assert_eq!(queue(&store, "com,f"), []);
    merge(&store, 7, dead(&[("com,e", id(6, 0)), ("com,f", id(5, 0)), ("com,e", id(6, 1)), ("com,e", id(6, 0))]));
    assert_eq!((queue(&store, "com,e"), files(dir.path())), (vec![id(5, 0)], vec!["0000000000.blocks".to_owned()]));
    merge(&store, 8, BlockChanges { idle: vec!["com,e"], ..dead(&[("com,e", id(5, 0))]) });
    assert_eq!(queue(&store, "com,e"), []);
}

/// The first file's blocks of which some are left, and a merge that finds it sparse.
fn sparse(dir: &Path) -> (Store, BlockChanges<'static>) {
    let store = open(dir);
    let blocks: Vec<_> = (0..10).map(|part| ("com,e", id(5, part))).collect();
    merge(&store, 5, new(&blocks));
    (store, BlockChanges { new: vec![raw("com,d", id(7, 0))], ..dead(&blocks[2..8]) })
}

fn left() -> [BlockId; 4] {
    [0, 1, 8, 9].map(|part| id(5, part))
}

#[test]
fn the_blocks_of_a_sparse_file_move_and_the_file_goes() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, changes) = sparse(dir.path());
    merge(&store, 7, changes);
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,d")), (left().to_vec(), vec![id(7, 0)]));
    assert_eq!(files(dir.path()), ["0000000001.blocks"]);
    // And once more.
    merge(&store, 8, dead(&[("com,e", left()[0]), ("com,e", left()[2]), ("com,d", id(7, 0))]));
    drop(store);
    let store = open(dir.path());
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,d")), (vec![left()[1], left()[3]], vec![]));
    assert_eq!(files(dir.path()), ["0000000002.blocks"]);
}

#[test]
fn blocks_moved_by_a_merge_that_never_was_are_where_they_were() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, changes) = sparse(dir.path());
    cut_merge(&store, changes);
    drop(store);
    let store = open(dir.path());
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,d")), (left().to_vec(), vec![]));
    // What the cut merge took out of the index is not known to be gone from the file: it is not sparse, and stays.
    merge(&store, 9, new(&[("com,d", id(9, 0))]));
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,d")), (left().to_vec(), vec![id(9, 0)]));
    assert_eq!(files(dir.path()), ["0000000000.blocks", "0000000002.blocks"]);
    merge(&store, 10, dead(&[("com,e", left()[0]), ("com,e", left()[1]), ("com,e", left()[2])]));
    assert_eq!(queue(&store, "com,e"), [left()[3]]);
}

#[test]
fn a_merge_killed_before_it_deletes_leaves_that_to_the_next() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, changes) = sparse(dir.path());
    let files_of_it = cut_merge(&store, changes);
    store.cover(&Covered { sequence: 7, ..Covered::default() }, &files_of_it).expect("covers");
    drop(store);
    let store = open(dir.path());
    assert_eq!(files(dir.path()), ["0000000000.blocks", "0000000001.blocks"]);
    assert_eq!((queue(&store, "com,e"), queue(&store, "com,d")), (left().to_vec(), vec![id(7, 0)]));
    merge(&store, 8, BlockChanges::default());
    assert_eq!(files(dir.path()), ["0000000001.blocks"]);
}

#[test]
fn a_file_lost_or_cut_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path());
    merge(&store, 5, new(&[("com,e", id(5, 0))]));
    let path = dir.path().join("blocks/0000000000.blocks");
    let bytes = fs::read(&path).expect("reads");
    let upto = |store: &Store| {
        store.next_block("com,e", &[BlockId::before(Priority::default())], 5).map(|found| found.is_some())
    };
    for at in HEADER..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        fs::write(&path, damaged).expect("writes");
        let error = upto(&store).expect_err("damaged").to_string();
        assert!(error.contains("0000000000.blocks: damaged"), "{error}");
        fs::write(&path, &bytes[..at]).expect("writes");
        assert!(matches!(upto(&store), Err(Error::Corrupt { .. })), "cut at {at}");
    }
    fs::remove_file(&path).expect("removes");
    assert!(matches!(upto(&store), Err(Error::Io { .. })));
    drop(store);
    let error = || try_open(dir.path()).err().expect("refused").to_string();
    assert!(error().contains("0000000000.blocks: damaged: missing"), "{}", error());
    fs::write(&path, &bytes[1..]).expect("writes");
    assert!(error().contains("bytes long, not"), "{}", error());
    fs::write(&path, &bytes).expect("writes");
    assert!(upto(&open(dir.path())).expect("whole again"));
}

const HEADER: usize = 16;
