//! Files that a killed process has left.

use std::io::Write;

use super::*;

/// A file of each format, closed, with the ends of its records.
async fn written(kind: SinkKind, compression: Compression) -> (tempfile::TempDir, PathBuf) {
    let bench = Bench::new(&config(&[kind], |output| output.compression = compression));
    for n in 0..3 {
        bench.page(&format!("http://a.test/{n}"), &n.to_string()).await;
    }
    let dir = bench.end().await;
    let part = if kind == SinkKind::Warc { ".warc" } else { ".jsonl" };
    let path = files(&dir.path().join("output"), part).remove(0);
    (dir, path)
}

#[tokio::test]
async fn a_torn_file_is_cut_at_a_record_wherever_it_was_torn() {
    let formats = [
        (SinkKind::Warc, Compression::None),
        (SinkKind::Warc, Compression::Gzip),
        (SinkKind::Warc, Compression::Zstd),
        (SinkKind::Jsonl, Compression::None),
    ];
    for (kind, compression) in formats {
        let (dir, path) = written(kind, compression).await;
        let whole = fs::read(&path).expect("read");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let end_of = recover::end_of(&name).expect("a format of ours");
        let mut ends = vec![0];
        for length in 0..=whole.len() {
            // A power cut may leave something else behind what was synced.
            let more = if length % 2 == 0 { &[][..] } else { &b"?????"[..] };
            let mut torn = tempfile::tempfile().expect("a file");
            torn.write_all(&[&whole[..length], more].concat()).expect("written");
            let end = usize::try_from(end_of(&torn).expect("read")).expect("short");
            if end != ends[ends.len() - 1] {
                assert_eq!(end, length, "{name}: the end of a record is found as soon as it is there");
                ends.push(end);
            }
        }
        let records = if kind == SinkKind::Warc { 10 } else { 3 };
        assert_eq!((ends.len() - 1, ends.last()), (records, Some(&whole.len())), "{name}: {ends:?}");
        let left = dir.path().join("left");
        fs::create_dir(&left).expect("made");
        for (length, kept) in [(0, 0), (ends[1] - 1, 0), (ends[2] + 1, ends[2]), (ends[3], ends[3])] {
            fs::write(left.join(name.clone() + ".open"), &whole[..length]).expect("written");
            recover::close_left_open(&left).expect("closed");
            let closed = left.join(&name);
            assert_eq!(fs::read(&closed).unwrap_or_default(), whole[..kept], "{name} {length}");
            assert_eq!(fs::read_dir(&left).expect("listed").count(), usize::from(kept > 0), "{name} {length}");
            let _ = fs::remove_file(closed);
        }
    }
}

#[tokio::test]
async fn a_file_that_somebody_writes_to_is_left_alone() {
    let config = config(&[SinkKind::Warc], |_| ());
    let bench = Bench::new(&config);
    bench.page("http://a.test/", "text").await;
    let output = bench.dir.path().join("output");
    let open = files(&output, ".open");
    recover::close_left_open(&output).expect("looked at");
    assert_eq!(files(&output, ".open"), open);
    bench.writer.abort();
    let _ = bench.writer.await;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while fs::File::open(&open[0]).expect("there").try_lock().is_err() {
        assert!(std::time::Instant::now() < deadline, "the writer has ended and keeps its lock");
        std::thread::yield_now();
    }
    fs::write(output.join("notes.open"), "not ours").expect("written");
    let bench = Bench::again(&config, bench.dir);
    assert_eq!(files(&output, ".open"), [output.join("notes.open")], "closed, once nobody writes to it");
    assert_eq!(read_all(&output).len(), 4);
    bench.end().await;
}
