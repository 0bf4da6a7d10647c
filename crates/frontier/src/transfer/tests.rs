//! An export of a frontier that is at work.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::{Canonical, Error, Found, FoundUrl, Frontier, Options};

fn open(dir: &Path, recent_bytes: u64) -> Frontier {
    let options = Options { partitions: 2, recent_bytes, commit_interval: Duration::ZERO, ..Options::new(dir) };
    Frontier::open(options, 1_000_000, || {}).expect("opens")
}

fn found(range: std::ops::Range<u32>) -> Found {
    let url = |n| Canonical::parse(&format!("https://site-{}.com/{n}", n % 40)).expect("a URL");
    Found { urls: range.map(|n| FoundUrl::new(url(n), 0)).collect(), ..Found::default() }
}

/// Takes what is written, and lets the crawl go on after the first `after` bytes.
struct Meanwhile<'f> {
    written: Vec<u8>,
    after: usize,
    act: Option<Box<dyn FnOnce() + 'f>>,
}

impl Write for Meanwhile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.extend_from_slice(bytes);
        if self.written.len() > self.after
            && let Some(act) = self.act.take()
        {
            act();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_export_is_of_one_instant_whatever_comes_meanwhile() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1 << 28);
    frontier.offer(&found(0..3000), None, 1_000_000).expect("offers");
    let mut plain = Vec::new();
    frontier.export(&mut plain).expect("exports");
    let act: Box<dyn FnOnce()> = Box::new(|| {
        frontier.offer(&found(2000..6000), None, 1_000_000).expect("other verbs go on");
        frontier
            .forget(&found(0..1000).urls.into_iter().map(|url| url.canonical).collect::<Vec<_>>())
            .expect("forgets");
    });
    let mut out = Meanwhile { written: Vec::new(), after: 1000, act: Some(act) };
    let totals = frontier.export(&mut out).expect("exports");
    assert_eq!((totals.queued, totals.urls()), (3000, 3000));
    assert!(out.act.is_none() && out.written == plain);
    let mut after = Vec::new();
    assert_eq!(frontier.export(&mut after).expect("exports").queued, 5000);
}

#[test]
fn an_export_that_is_outrun_ends_and_the_crawl_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 100_000);
    frontier.offer(&found(0..3000), None, 1_000_000).expect("offers");
    let (locked, done) = (std::sync::Barrier::new(2), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        let offering = scope.spawn(|| {
            locked.wait();
            // More than memory holds: this waits for the merge that the export keeps away.
            for n in 3..10 {
                frontier.offer(&found(n * 1000..(n + 1) * 1000), None, 1_000_000).expect("offers");
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        let act: Box<dyn FnOnce()> = Box::new(|| {
            locked.wait();
            while !frontier.shared.is_any_full() {
                std::thread::yield_now();
            }
        });
        let mut out = Meanwhile { written: Vec::new(), after: 1000, act: Some(act) };
        let ended = frontier.export(&mut out);
        assert!(matches!(ended, Err(ExportError::Outrun)), "{ended:?}");
        assert!(!out.written.ends_with(b"}}\n"), "what is not whole has no last line");
        offering.join().expect("the offers go on");
    });
    assert!(done.into_inner());
    assert_eq!(frontier.statistics().expect("answers").books.queued, 10_000);
}

#[test]
fn a_reader_that_goes_away_ends_an_export_and_nothing_else() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 100_000);
    frontier.offer(&found(0..100), None, 1_000_000).expect("offers");
    let ended = frontier.export(&mut Gone);
    assert!(matches!(ended, Err(ExportError::Write(_))), "{ended:?}");
    assert_eq!(frontier.export(&mut Vec::new()).expect("exports").queued, 100);
}

#[test]
fn books_that_do_not_fit_the_stores_are_no_export() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1 << 24);
    frontier.offer(&found(0..10), None, 1_000_000).expect("offers");
    frontier.shared.partitions[0].state.lock().books.fetched += 1;
    let mut out = Vec::new();
    let error = frontier.export(&mut out).expect_err("does not add up");
    assert!(matches!(error, ExportError::Frontier(Error::Corrupt { .. })), "{error}");
    assert!(error.to_string().contains("the books count 1 URLs that are fetched, the stores hold 0"), "{error}");
}

#[test]
fn a_clean_directory_is_exported_without_a_change_to_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let frontier = open(dir.path(), 1 << 24);
    frontier.offer(&found(0..100), None, 1_000_000).expect("offers");
    frontier.close().expect("closes");
    let frontier = Frontier::open_existing(dir.path(), None, 2_000_000).expect("opens");
    let covered = || frontier.shared.partitions.iter().map(|p| p.state.lock().epoch).collect::<Vec<_>>();
    assert_eq!(frontier.export(&mut Vec::new()).expect("exports").queued, 100);
    assert_eq!(covered(), [0, 0], "no merge");
}
