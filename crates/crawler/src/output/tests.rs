//! What is written for what was captured, read back by a reader of our own; and what becomes of torn files.

mod torn;

use std::fs;

use tokio::task::JoinHandle;
use url::Url;

use super::*;
use crate::fetch::scripted::{ScriptedBody, Step};
use crate::fetch::{Exchange, FetchError, Limits as BodyLimits, Messages};
use warc_reader::{Record, files, read_all, sha1};

#[path = "../../../../tests/warc_reader.rs"]
pub(crate) mod warc_reader;

/// Outputs in a directory of their own, with their writer at work.
struct Bench {
    dir: tempfile::TempDir,
    outputs: Outputs,
    clock: Clock,
    writer: JoinHandle<io::Result<()>>,
}

fn config(kinds: &[SinkKind], change: impl FnOnce(&mut Output)) -> Config {
    let mut config = Config::default();
    config.output.kinds = kinds.to_vec();
    change(&mut config.output);
    config
}

impl Bench {
    fn new(config: &Config) -> Self {
        Self::again(config, tempfile::tempdir().expect("a directory for the test"))
    }

    fn again(config: &Config, dir: tempfile::TempDir) -> Self {
        let clock = Clock::start();
        let (outputs, writer) = Outputs::open(config, dir.path(), clock).expect("opened").expect("wanted");
        Self { dir, outputs, clock, writer: tokio::spawn(writer.run()) }
    }

    /// Fetches and reads an answer as a worker does.
    async fn fetch(&self, request: &Request<'_>, status: u16, headers: &str, steps: Vec<Step>, cap: u64) -> Capture {
        let messages = Messages {
            request: format!("GET {} HTTP/1.1\r\n\r\n", request.url.path()).into_bytes(),
            response: format!("HTTP/1.1 {status} OK\r\n{headers}\r\n").into_bytes(),
            protocol: "http/1.1",
        };
        let address = Some(([192, 0, 2, 7], 80).into());
        let head = Head { status, address, messages: Some(Box::new(messages)), ..Head::default() };
        let recording = self.outputs.begin(request, &head, self.clock.now());
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
        let limits = BodyLimits { deadline, idle_timeout: std::time::Duration::from_secs(10), max_body_bytes: cap };
        let mut exchange = Exchange::new(head, ScriptedBody::new(steps), limits);
        exchange.record(recording.clone());
        exchange.drain(0).await;
        Capture::Exchange(recording)
    }

    /// A page with this body, kept.
    async fn page(&self, url: &str, body: &str) {
        let parsed = Url::parse(url).expect("a URL");
        let steps = vec![Step::bytes(body)];
        let capture = self.fetch(&Request::new(&parsed), 200, "content-type: text/html\r\n", steps, 1 << 20).await;
        self.store(url, vec![capture]).await;
    }

    async fn store(&self, url: &str, captures: Vec<Capture>) {
        let page = Page { url: url.to_owned(), depth: 2, duration_ms: 5, ..Page::default() };
        self.outputs.store(Captured::new(captures, Some(page))).await.expect("on the disk");
    }

    /// Ends the outputs; gives what they have left.
    async fn end(self) -> tempfile::TempDir {
        drop(self.outputs);
        self.writer.await.expect("no panic").expect("written");
        self.dir
    }
}

fn kinds_and_uris(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| format!("{} {}", record.kind(), record.uri()).trim_end().to_owned()).collect()
}

#[tokio::test]
async fn nothing_is_written_by_default() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    assert!(Outputs::open(&Config::default(), dir.path(), Clock::start()).expect("nothing to open").is_none());
    assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 0);
}

#[tokio::test]
async fn each_answer_has_its_records_in_every_compression() {
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        // So little memory that bodies and records go through files.
        for spool_bytes in [1 << 20, 16] {
            let bench = Bench::new(&config(&[SinkKind::Warc], |output| {
                output.compression = compression;
                output.spool_bytes = spool_bytes;
            }));
            let url = Url::parse("http://user:secret@a.test/x?y#z").expect("a URL");
            let body = "0123456789".repeat(10_000);
            let steps = vec![Step::bytes(&body[..7]), Step::bytes(&body[7..])];
            let headers = "x: y\r\ncontent-encoding: br\r\ncontent-length: 9\r\n";
            let capture = bench.fetch(&Request::new(&url), 200, headers, steps, 1 << 20).await;
            bench.store(url.as_str(), vec![capture]).await;
            let open = files(&bench.dir.path().join("output"), ".open");
            assert_eq!(warc_reader::read(&open[0]).len(), 4, "on the disk before the page is done");
            let dir = bench.end().await;
            let records = read_all(&dir.path().join("output"));
            let uri = "http://a.test/x?y";
            let expect =
                ["warcinfo", &format!("response {uri}"), &format!("request {uri}"), &format!("metadata {uri}")];
            assert_eq!(kinds_and_uris(&records), expect, "{compression:?}");
            let [info, response, request, metadata] = &records[..] else { panic!("four: {records:?}") };
            assert_eq!(response.payload(), body.as_bytes());
            let head = "HTTP/1.1 200 OK\r\nx: y\r\nx-crawl-content-encoding: br\r\nx-crawl-content-length: 9\r\n\
                        content-length: 100000";
            assert_eq!((response.head().as_str(), response.get("WARC-IP-Address")), (head, Some("192.0.2.7")));
            assert_eq!(request.block, b"GET /x HTTP/1.1\r\n\r\n");
            for other in [request, metadata] {
                assert_eq!(other.get("WARC-Concurrent-To"), response.get("WARC-Record-ID"));
            }
            assert_eq!(metadata.block, b"hopsFromSeed: 2\r\nfetchTimeMs: 5\r\n");
            let name = files(&dir.path().join("output"), ".warc")[0].file_name().map(|name| name.to_os_string());
            assert_eq!(info.get("WARC-Filename"), name.as_deref().and_then(|name| name.to_str()));
        }
    }
}

#[tokio::test]
async fn the_same_body_again_is_a_revisit_also_after_a_restart() {
    let config = config(&[SinkKind::Warc], |_| ());
    let bench = Bench::new(&config);
    bench.page("http://a.test/1", "same").await;
    bench.page("http://a.test/2", "same").await;
    bench.page("http://a.test/3", "").await;
    bench.page("http://a.test/4", "").await;
    let bench = Bench::again(&config, bench.end().await);
    bench.page("http://b.test/5", "same").await;
    let records = read_all(&bench.end().await.path().join("output"));
    let answers: Vec<_> = records.iter().filter(|record| ["response", "revisit"].contains(&record.kind())).collect();
    let kinds: Vec<_> = answers.iter().map(|record| record.kind()).collect();
    assert_eq!(kinds, ["response", "revisit", "response", "response", "revisit"], "no body is like no other");
    for revisit in [answers[1], answers[4]] {
        let profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
        assert_eq!(revisit.get("WARC-Profile"), Some(profile));
        assert_eq!(revisit.get("WARC-Refers-To-Target-URI"), Some("http://a.test/1"));
        assert_eq!(revisit.get("WARC-Refers-To-Date"), answers[0].get("WARC-Date"));
        assert_eq!(revisit.get("WARC-Payload-Digest"), Some(sha1(b"same").as_str()));
        assert_eq!((revisit.head(), revisit.payload()), (answers[0].head(), &b""[..]));
    }
}

#[tokio::test]
async fn not_modified_is_a_revisit_only_where_it_was_asked_for() {
    let bench = Bench::new(&config(&[SinkKind::Warc], |_| ()));
    bench.page("http://a.test/", "text").await;
    let url = Url::parse("http://a.test/").expect("a URL");
    for if_none_match in [Some("\"1\""), None] {
        let request = Request { if_none_match, ..Request::new(&url) };
        let capture = bench.fetch(&request, 304, "", vec![], 1 << 20).await;
        bench.store(url.as_str(), vec![capture]).await;
    }
    let records = read_all(&bench.end().await.path().join("output"));
    let [first, revisit, other] = [1, 4, 7].map(|i| &records[i]);
    let profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
    assert_eq!((revisit.kind(), revisit.get("WARC-Profile")), ("revisit", Some(profile)));
    assert_eq!(revisit.get("WARC-Refers-To-Date"), first.get("WARC-Date"));
    assert_eq!((other.kind(), other.get("WARC-Profile")), ("response", None));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_whole_says_why() {
    let bench = Bench::new(&config(&[SinkKind::Warc, SinkKind::Jsonl], |_| ()));
    let url = Url::parse("http://a.test/").expect("a URL");
    let ends = [
        (vec![Step::bytes("123456")], Some("length")),
        (vec![Step::bytes("123"), Step::Hang], Some("time")),
        (vec![Step::bytes("123"), Step::Fail(FetchError::Lost)], Some("disconnect")),
        (vec![Step::bytes("123"), Step::Fail(FetchError::BadEncoding)], Some("unspecified")),
        (vec![Step::bytes("123")], None),
    ];
    for (steps, _) in &ends {
        let capture = bench.fetch(&Request::new(&url), 200, "", steps.clone(), 5).await;
        bench.store(url.as_str(), vec![capture]).await;
    }
    let failure = Failure { url: url.clone(), at: 0, error: FetchError::Dns };
    bench.store(url.as_str(), vec![Capture::Failure(failure)]).await;
    let dir = bench.end().await;
    let records = read_all(&dir.path().join("output"));
    let responses: Vec<_> = records.iter().filter(|record| record.kind() == "response").collect();
    let whys: Vec<_> = responses.iter().map(|record| record.get("WARC-Truncated")).collect();
    assert_eq!(whys, ends.map(|(_, why)| why), "and none of them is the original of another");
    assert_eq!(responses[0].payload(), b"12345");
    let last = records.last().expect("records");
    assert_eq!((last.kind(), last.get("WARC-Concurrent-To")), ("metadata", None));
    assert!(String::from_utf8_lossy(&last.block).ends_with("fetchFailure: dns_failed (-1)\r\n"), "{last:?}");
    let lines = fs::read_to_string(&files(&dir.path().join("output"), ".jsonl")[0]).expect("read");
    let complete: Vec<_> = lines.lines().map(|line| line.contains("\"complete\":true")).collect();
    assert_eq!(complete, [false, false, false, false, true], "a line for each answer, none for the failure");
}

#[tokio::test]
async fn workers_that_wait_share_files_and_large_files_are_replaced() {
    let bench = Bench::new(&config(&[SinkKind::Warc, SinkKind::Jsonl], |output| output.max_file_bytes = 4000));
    let urls: Vec<String> = (0..40).map(|n| format!("http://a.test/{n}")).collect();
    let pages = urls.iter().map(|url| bench.page(url, url));
    let mut waiting: Vec<_> = pages.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|page| page.as_mut().poll(context).is_pending());
        if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    drop(waiting);
    let dir = bench.end().await;
    let output = dir.path().join("output");
    let written = files(&output, ".warc");
    assert!(written.len() > 5, "{written:?}");
    assert!(files(&output, ".open").is_empty());
    let mut uris: Vec<_> =
        read_all(&output).into_iter().filter(|r| r.kind() == "response").map(|r| r.uri().to_owned()).collect();
    uris.sort();
    let mut expect = urls.clone();
    expect.sort();
    assert_eq!(uris, expect);
    let lines: usize =
        files(&output, ".jsonl").iter().map(|path| fs::read_to_string(path).expect("read").lines().count()).sum();
    assert_eq!(lines, urls.len());
}

#[tokio::test(start_paused = true)]
async fn a_file_is_closed_when_it_is_old_though_nothing_is_written_any_more() {
    let bench = Bench::new(&config(&[SinkKind::Warc], |output| output.max_file_age_secs = 60));
    let output = bench.dir.path().join("output");
    bench.page("http://a.test/1", "one").await;
    tokio::time::sleep(std::time::Duration::from_secs(50)).await;
    assert_eq!(files(&output, ".open").len(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(15)).await;
    assert_eq!((files(&output, ".open").len(), files(&output, ".warc").len()), (0, 1));
    bench.page("http://a.test/2", "two").await;
    assert_eq!((files(&output, ".open").len(), files(&output, ".warc").len()), (1, 2));
    bench.end().await;
}

#[tokio::test]
async fn nobody_is_told_done_when_the_disk_fails() {
    let bench = Bench::new(&config(&[SinkKind::Warc], |_| ()));
    fs::remove_dir_all(bench.dir.path().join("output")).expect("removed");
    let captured = Captured { kept: vec![Kept::Failure(failure())], page: None };
    assert!(bench.outputs.store(Ok(captured)).await.is_err());
    assert!(bench.writer.await.expect("no panic").is_err());
    let captured = Captured { kept: vec![Kept::Failure(failure())], page: None };
    assert!(bench.outputs.store(Ok(captured)).await.is_err(), "nor later");
}

fn failure() -> Failure {
    Failure { url: Url::parse("http://a.test/").expect("a URL"), at: 0, error: FetchError::Dns }
}
