//! `DIR/log/crawl.log`: one line per request for a page, once the page is done.
//!
//! Columns, separated by spaces; what is not known is `-`:
//!
//! | column | meaning |
//! |---|---|
//! | time | end of the fetch, ISO 8601, UTC |
//! | status | HTTP status, or a negative code ([`fetch_code`](crate::fetch_code)) when there was no response |
//! | bytes | decoded body bytes read |
//! | URL | what was fetched; after redirects under one lease, the last hop |
//! | depth | links from a seed |
//! | referrer | the page it was first found on |
//! | content type | without parameters |
//! | duration | milliseconds from the request to the end of the body, all hops |
//! | annotation | words joined by commas, as below |
//!
//! | word | meaning |
//! |---|---|
//! | `dns_failed`, `connect_failed`, `timeout`, … | why there is no response: the reason of the code in the status column |
//! | `bad_url`, `never_finished` | it could not be asked for; too often it was begun and never ended (it may kill the crawler) |
//! | `robots_denied`, `robots_unreachable` | robots.txt forbids it, or could not be had |
//! | `retry_2`, `requeued` | an attempt after the first; it will be asked for again |
//! | `redirects_1` | hops under one lease; `redirect_limit` and `redirect_loop`: they led nowhere |
//! | `revisit`, `unasked_304` | the page was fetched before; a 304 to a request that did not ask whether it had changed |
//! | `truncated`, `body_dropped` | the body was cut at `fetch.max_body_bytes`; it was of no interest and left unread |
//! | `parser_limit`, `xml_error` | links were taken up to where the parser's memory ended, or the XML was wrong |
//! | `fields_too_slow` | `[[fields]]` were given up after a second |
//! | `noindex`, `nofollow` | the page says so of itself |
//! | `sitemap_20` | a sitemap of so many entries; after it, if it was cut, why: the names of [`End`](crate::sitemap::End) |
//! | `not_a_sitemap` | it was expected to be one |
//! | `duplicate`, `near_duplicate` | another page of this run had the same content, or nearly |
//! | `new_12` | URLs discovered |
//!
//! The fields of `[[fields]]` go the same way, into `DIR/log/fields.jsonl`.
//!
//! Not the record of what was crawled (that is the frontier's). Invariant: a line is written only when the completion
//! of its page is durable, so after a crash no page that is fetched again has a line from before. A crash may lose the
//! lines of the last moment ([`WRITE_INTERVAL`] and a commit), never repeat one.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use frontier::Millis;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use crate::clock::iso;
use crate::log_file::LogFile;

/// How long lines are collected for one write. Short, since a crash loses the lines of this time.
pub const WRITE_INTERVAL: Duration = Duration::from_millis(10);

/// Lines that may wait for the writer; then workers wait too. Three seconds of 5,000 pages/s.
const WAITING_LINES: usize = 16_384;

/// Longest content type that is written, in bytes.
const MAX_CONTENT_TYPE_BYTES: usize = 100;

/// What is written about one page.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// End of the fetch.
    pub at: Millis,
    /// HTTP status or negative code.
    pub status: i32,
    /// Decoded body bytes read.
    pub bytes: u64,
    /// The URL fetched.
    pub url: &'a str,
    /// Links from a seed.
    pub depth: u16,
    /// The page it was first found on.
    pub referrer: Option<&'a str>,
    /// Value of `Content-Type`.
    pub content_type: Option<&'a str>,
    /// Milliseconds.
    pub duration_ms: u64,
}

impl Line<'_> {
    /// The line up to and without its annotation, which [`annotate`] adds.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.url.len() + self.referrer.map_or(1, str::len) + 100);
        let _ = write!(
            text,
            "{} {:5} {:10} {} {} {} ",
            iso(self.at),
            self.status,
            self.bytes,
            self.url,
            self.depth,
            self.referrer.unwrap_or("-"),
        );
        push_content_type(&mut text, self.content_type.unwrap_or_default());
        let _ = write!(text, " {}", self.duration_ms);
        text
    }
}

/// Ends a line with its annotation.
pub fn annotate(text: &mut String, notes: &[Cow<'_, str>]) {
    text.push(' ');
    text.push_str(&if notes.is_empty() { "-".into() } else { notes.join(",") });
    text.push('\n');
}

/// The part before the parameters; sites choose this text, so nothing that could end a column or a line gets through.
fn push_content_type(text: &mut String, value: &str) {
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.is_empty() {
        text.push('-');
    }
    let safe = essence.chars().take(MAX_CONTENT_TYPE_BYTES).map(|c| if c.is_ascii_graphic() { c } else { '_' });
    text.extend(safe);
}

/// What a worker hands over when its page is complete.
#[derive(Debug)]
pub struct Entry {
    /// The journal sequence of the completion.
    pub sequence: u64,
    /// The whole line, with its line end.
    pub line: String,
    /// The page's fields as one JSON line, with its line end.
    pub fields: Option<String>,
}

/// Where workers hand their lines over.
pub type Sender = mpsc::Sender<Entry>;

/// The one writer of `crawl.log` and `fields.jsonl`.
#[derive(Debug)]
pub struct CrawlLog {
    pages: LogFile,
    fields: LogFile,
    entries: mpsc::Receiver<Entry>,
    /// Handed over, not known to be durable.
    pending: Vec<Entry>,
}

impl CrawlLog {
    /// Opens the two files in `log_dir`, which exists.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub fn open(log_dir: &Path) -> io::Result<(Sender, Self)> {
        let (sender, entries) = mpsc::channel(WAITING_LINES);
        let pages = LogFile::open(&log_dir.join("crawl.log"))?;
        let fields = LogFile::open(&log_dir.join("fields.jsonl"))?;
        Ok((sender, Self { pages, fields, entries, pending: Vec::new() }))
    }

    /// Writes what is durable, every [`WRITE_INTERVAL`], until every [`Sender`] is gone; then once more. Lines of
    /// pages that are not durable by then are dropped: those pages are not done.
    ///
    /// # Errors
    /// When the disk does not take the lines. The crawl then has to end: a log with holes would pass for whole.
    pub async fn run(mut self, durable: impl Fn() -> u64) -> io::Result<()> {
        loop {
            if self.pending.is_empty() {
                match self.entries.recv().await {
                    Some(entry) => self.pending.push(entry),
                    None => return Ok(()),
                }
            }
            tokio::time::sleep(WRITE_INTERVAL).await;
            let open = self.collect();
            self.write(durable())?;
            if !open {
                return Ok(());
            }
        }
    }

    /// Takes what was handed over; false when nothing more can come.
    fn collect(&mut self) -> bool {
        loop {
            match self.entries.try_recv() {
                Ok(entry) => self.pending.push(entry),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn write(&mut self, durable: u64) -> io::Result<()> {
        let (mut pages, mut fields) = (Vec::new(), Vec::new());
        self.pending.retain(|entry| {
            let done = entry.sequence <= durable;
            if done {
                pages.extend_from_slice(entry.line.as_bytes());
                fields.extend_from_slice(entry.fields.as_deref().unwrap_or_default().as_bytes());
            }
            !done
        });
        if !pages.is_empty() {
            self.pages.append(&pages)?;
        }
        if !fields.is_empty() {
            self.fields.append(&fields)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_line_has_nine_columns_whatever_the_site_sends() {
        let line = Line {
            at: 0,
            status: 200,
            bytes: 7,
            url: "http://a.test/",
            depth: 3,
            referrer: None,
            content_type: Some("text/html; charset=x"),
            duration_ms: 12,
        };
        let check = |line: Line<'_>, notes: &[&str], columns: &str| {
            let mut text = line.text();
            let notes: Vec<_> = notes.iter().map(|note| Cow::Borrowed(*note)).collect();
            annotate(&mut text, &notes);
            assert!(text.ends_with('\n') && text.matches('\n').count() == 1);
            let got: Vec<_> = text.split_whitespace().skip(1).collect();
            assert_eq!(got.join(" "), columns);
        };
        check(line, &[], "200 7 http://a.test/ 3 - text/html 12 -");
        check(
            Line { status: -4, referrer: Some("http://b.test/"), content_type: None, ..line },
            &["timeout", "retry_2"],
            "-4 7 http://a.test/ 3 http://b.test/ - 12 timeout,retry_2",
        );
        check(Line { content_type: Some("a b\nc;x"), ..line }, &[], "200 7 http://a.test/ 3 - a_b_c 12 -");
        check(Line { content_type: Some(" ; x"), ..line }, &[], "200 7 http://a.test/ 3 - - 12 -");
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_waits_until_its_page_is_durable() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let (sender, log) = CrawlLog::open(dir.path()).expect("opened");
        let durable = Arc::new(AtomicU64::new(1));
        let seen = Arc::clone(&durable);
        let writer = tokio::spawn(log.run(move || seen.load(Ordering::Relaxed)));
        let read = |name| std::fs::read_to_string(dir.path().join(name)).expect("read");
        for (sequence, line) in [(2, "two\n"), (1, "one\n"), (3, "three\n")] {
            let fields = (sequence == 2).then(|| "{}\n".to_owned());
            sender.send(Entry { sequence, line: line.to_owned(), fields }).await.expect("taken");
        }
        tokio::time::sleep(WRITE_INTERVAL * 2).await;
        assert_eq!((read("crawl.log"), read("fields.jsonl")), ("one\n".to_owned(), String::new()));
        durable.store(2, Ordering::Relaxed);
        drop(sender);
        writer.await.expect("no panic").expect("written");
        assert_eq!((read("crawl.log"), read("fields.jsonl")), ("one\ntwo\n".to_owned(), "{}\n".to_owned()));
    }
}
