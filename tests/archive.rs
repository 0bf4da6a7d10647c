//! What is kept of a crawl: in its files while it is killed again and again, and read back whole at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::generated::Generated;
use crate::harness::{Crawl, DEADLINE, Random, crawl_log, crawld, resolve, statistics};
use crate::warc_reader::{files, read, read_all, read_until_torn};
use crate::web::{Page, Web};

const SITE: Generated = Generated { hosts: 4, pages: 150 };
const KILLS: usize = 14;

fn output(crawl: &Crawl) -> PathBuf {
    crawl.data().join("output")
}

/// URLs that the frontier of a stopped crawl counts as fetched.
fn fetched(crawl: &Crawl) -> BTreeSet<String> {
    let data = crawl.data();
    let output = crawld(&["export", "--urls", "--state", "fetched", "--data", &data.to_string_lossy()], "");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// URLs with an answer in an archive.
fn archived(records: &[crate::warc_reader::Record]) -> BTreeSet<String> {
    let answers = records.iter().filter(|record| ["response", "revisit"].contains(&record.kind()));
    answers.map(|record| record.uri().to_owned()).collect()
}

#[test]
fn killed_again_and_again_no_fetched_page_lacks_its_record() {
    for compression in ["gzip", "zstd"] {
        let web = Web::start(|host, path| SITE.page(host, path));
        let sets = [
            "politeness.delay_ms=15",
            "journal.commit_interval_ms=5",
            "output.kinds=[\"warc\", \"jsonl\"]",
            &format!("output.compression={compression}"),
            // So small that files are closed all the time, and kills come in between.
            "output.max_file_bytes=50000",
            "output.spool_bytes=300",
        ];
        let mut crawl = Crawl::new(&sets, &SITE.seeds());
        crawl.config = resolve(&SITE.names(), web.address);
        let mut random = Random::seeded(1);
        let (mut torn, mut sets_seen) = (0, BTreeMap::new());
        for kill in 0..KILLS {
            let mut run = crawl.start();
            if kill % 5 > 0 {
                run.until_started();
            }
            // The moment of the kill, not a wait for anything.
            std::thread::sleep(Duration::from_micros(random.below(250_000)));
            assert!(run.kill(), "the crawl ended before its {kill}. kill: {}", run.stderr());
            web.settle();
            if !crawl.data().join("output").exists() || !crawl.data().join("journal").exists() {
                continue;
            }
            // A process dies between two writes, a machine within one: then something of a record is there.
            for file in files(&output(&crawl), ".open").into_iter().filter(|_| kill % 4 == 0) {
                let bytes = fs::read(&file).expect("read");
                fs::write(&file, [&bytes[..], &bytes[..bytes.len().min(200)]].concat()).expect("written");
            }
            let mut records = Vec::new();
            for file in files(&output(&crawl), ".warc") {
                let (mut whole, is_torn) = read_until_torn(&file);
                assert!(!is_torn || file.extension().is_some_and(|end| end == "open"), "closed and torn: {file:?}");
                torn += usize::from(is_torn);
                records.append(&mut whole);
            }
            let (fetched, archived) = (fetched(&crawl), archived(&records));
            let lacking: Vec<_> = fetched.difference(&archived).collect();
            assert!(lacking.is_empty(), "fetched by the {kill}. kill, and not archived: {lacking:?}");
            sets_seen.insert(kill, fetched.len());
        }
        let mut run = crawl.start();
        let status = run.wait(DEADLINE);
        assert_eq!(status.code(), Some(0), "{}", run.stderr());
        println!("{compression}: fetched at the kills: {:?}; {torn} torn files", sets_seen.values());

        let open = files(&output(&crawl), ".open");
        assert!(open.is_empty(), "{open:?}");
        let all: BTreeSet<_> = SITE.urls().into_iter().collect();
        assert_eq!(fetched(&crawl), all);
        let records = read_all(&output(&crawl));
        let mut pages = archived(&records);
        pages.retain(|uri| !uri.ends_with("/robots.txt"));
        assert_eq!(pages, all);
        let originals: BTreeSet<_> = records
            .iter()
            .filter(|record| record.kind() == "response")
            .filter_map(|r| r.get("WARC-Payload-Digest"))
            .collect();
        let is_known = |digest| originals.contains(digest);
        let mut revisits = records.iter().filter(|record| record.kind() == "revisit");
        assert!(
            revisits.all(|record| record.get("WARC-Payload-Digest").is_some_and(is_known)),
            "refer to what there is"
        );
        let lines: Vec<Value> = files(&output(&crawl), ".jsonl").iter().flat_map(json_lines).collect();
        let urls: BTreeSet<_> = lines.iter().map(|line| line["url"].as_str().expect("a URL").to_owned()).collect();
        assert_eq!(urls, all);
        statistics(&crawl, KILLS);
    }
}

fn json_lines(path: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("read");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[test]
fn outputs_that_cannot_be_opened_end_the_crawl_at_once() {
    let crawl = Crawl::new(&["output.kinds=[\"warc\"]", "output.dir=/proc/nowhere"], &["http://a.test/".to_owned()]);
    let mut run = crawl.start();
    assert_eq!(run.wait(DEADLINE).code(), Some(4), "{}", run.stderr());
    assert!(run.stderr().contains("outputs: /proc/nowhere: "), "{}", run.stderr());
}

#[test]
fn long_bodies_are_kept_whole_and_those_of_no_interest_too() {
    let long = |n: u8| (0..3_000_000u32).map(|i| (i * 7 / 5) as u8 ^ n).collect::<Vec<u8>>();
    let web = Web::start(move |_, path| match path {
        "/" => Page::html("<title>Home</title><a href=/long.bin>1</a><a href=/again.bin>2</a><a href=/gone>3</a>"),
        "/long.bin" | "/again.bin" => Page { content_type: "application/octet-stream", ..Page::html(long(1)) },
        _ => Page::missing(),
    });
    let names = ["a.test".to_owned()];
    let mut crawl = Crawl::new(&["output.kinds=[\"warc\"]"], &["http://a.test/".to_owned()]);
    crawl.config = resolve(&names, web.address);
    crawl.finish();
    let records = read_all(&output(&crawl));
    let answer = |uri: &str| {
        let mut found = records.iter().filter(|record| record.uri() == uri && record.kind().starts_with("re"));
        found.find(|record| record.kind() != "request").unwrap_or_else(|| panic!("{uri}"))
    };
    assert_eq!(answer("http://a.test/long.bin").payload(), long(1));
    assert_eq!(answer("http://a.test/again.bin").kind(), "revisit");
    assert_eq!(answer("http://a.test/robots.txt").payload(), b"no such page\n");
    let gone = answer("http://a.test/gone");
    assert_eq!(gone.get("WARC-Refers-To-Target-URI"), Some("http://a.test/robots.txt"), "the same, and first");
    assert!(gone.head().starts_with("HTTP/1.1 404 Not Found\r\n"), "{}", gone.head());
    let bytes: Vec<u64> = crawl_log(&crawl).iter().map(|line| line.bytes).collect();
    assert_eq!(bytes.iter().filter(|bytes| **bytes == 3_000_000).count(), 2, "{bytes:?}");
    assert_eq!(read(&files(&output(&crawl), ".warc")[0]).len(), records.len(), "one file");
    statistics(&crawl, 0);
}
