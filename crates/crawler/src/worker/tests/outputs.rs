//! What a journey leaves in the outputs, and what it waits for.

use std::path::PathBuf;

use super::*;
use crate::config::SinkKind;
use crate::output::Outputs;
use crate::output::tests::warc_reader::{files, read};

/// A bench with outputs, and where they are.
fn bench(script: Scripted, seeds: &[&str], change: impl FnOnce(&mut Config)) -> (Bench, PathBuf) {
    let mut bench = Bench::new(script, seeds, |config| {
        config.output.kinds = vec![SinkKind::Warc, SinkKind::Jsonl];
        config.output.outlinks = true;
        change(config);
    });
    let dir = bench._dir.path().to_owned();
    let (outputs, writer) =
        Outputs::open(&bench.crawl.config, &dir, bench.crawl.clock).expect("opened").expect("wanted");
    tokio::spawn(writer.run());
    bench.crawl.outputs = Some(outputs);
    (bench, dir.join("output"))
}

/// `type URI` of each record that is on the disk.
fn kept(output: &std::path::Path) -> Vec<String> {
    let records = files(output, ".warc").into_iter().flat_map(|file| read(&file));
    records.skip(1).map(|record| format!("{} {}", record.kind(), record.uri())).collect()
}

#[tokio::test(start_paused = true)]
async fn every_request_of_a_journey_is_kept_before_its_page_is_done() {
    let mut script = site();
    script.redirect("http://a.test/?", HOME);
    script.page(HOME, "<title>T</title><h1>H</h1><a href=/b>1</a><a href=http://b.test/>2</a>");
    let (mut bench, output) = bench(script, &["http://a.test/?"], |config| {
        config.fields.push(Field { name: "heading".into(), selector: "h1".into(), attribute: None });
    });
    assert_eq!(bench.run(1).await, ["200 http://a.test/ redirects_1,new_1"]);
    let each = |uri: &str| [format!("response {uri}"), format!("request {uri}")];
    let mut expect: Vec<String> = [ROBOTS, "http://a.test/?", HOME].iter().flat_map(|uri| each(uri)).collect();
    expect.push(format!("metadata {HOME}"));
    assert_eq!(kept(&output), expect);
    let lines = std::fs::read_to_string(&files(&output, ".jsonl")[0]).expect("read");
    let line: serde_json::Value = serde_json::from_str(lines.trim_end()).expect("one line");
    assert_eq!((&line["url"], &line["requested_url"]), (&HOME.into(), &"http://a.test/?".into()));
    assert_eq!((&line["title"], &line["fields"]["heading"][0]), (&"T".into(), &"H".into()));
    assert_eq!(line["notes"], serde_json::json!(["redirects_1"]));
    assert_eq!(line["outlinks"], serde_json::json!(["http://a.test/b", "http://b.test/"]));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_cannot_be_kept_is_not_done() {
    let mut script = site();
    script.page(HOME, "<a href=/b>1</a>");
    let (mut bench, output) = bench(script, &[HOME], |_| ());
    std::fs::remove_dir_all(output).expect("removed");
    assert_eq!(bench.run(1).await, [""; 0]);
    let statistics = bench.statistics();
    assert_eq!((statistics.books.fetched, statistics.books.queued, statistics.books.discovered), (0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_for_on_behalf_of_a_page_that_waits_is_kept() {
    let mut script = site();
    script.page(HOME, "");
    let (mut bench, output) = bench(script, &[HOME], |config| config.politeness.delay_ms = 1000);
    assert_eq!(bench.run(1).await, [""; 0], "the host rests after robots.txt");
    assert_eq!(kept(&output), [format!("response {ROBOTS}"), format!("request {ROBOTS}")]);
    assert_eq!(bench.run(1).await, ["200 http://a.test/ -"]);
    assert_eq!(kept(&output).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_long_body_of_no_interest_is_read_whole_and_a_failure_is_kept() {
    let mut script = site();
    script.page(HOME, "<a href=/long>1</a><a href=/lost>2</a>");
    let long = "x".repeat(200_000);
    let head = Head { content_type: Some("image/png".into()), content_length: Some(200_000), ..status(200) };
    script.answer("http://a.test/long", head, vec![Step::bytes(&long[..1]), Step::bytes(&long[1..])]);
    script.failure("http://a.test/lost", FetchError::Tls);
    let (mut bench, output) = bench(script, &[HOME], |_| ());
    let logged = bench.run(10).await;
    assert_eq!(logged[1..], ["200 http://a.test/long -", "-2 http://a.test/lost tls_failed"]);
    let records: Vec<_> = files(&output, ".warc").into_iter().flat_map(|file| read(&file)).collect();
    let of = |uri: &str| records.iter().filter(|record| record.uri() == uri).collect::<Vec<_>>();
    assert_eq!(of("http://a.test/long")[0].payload(), long.as_bytes());
    let lost = of("http://a.test/lost");
    let text = String::from_utf8_lossy(&lost[0].block).into_owned();
    let expect = "via: http://a.test/\r\nhopsFromSeed: 1\r\nfetchTimeMs: 0\r\nfetchFailure: tls_failed (-2)\r\n";
    assert_eq!((lost.len(), lost[0].kind(), text.as_str()), (1, "metadata", expect));
}

/// It was given up half-way as far as the archive knew, and yet counted as fetched.
#[tokio::test(start_paused = true)]
async fn a_sitemap_that_is_left_and_a_page_in_its_place_that_is_too_long_are_kept() {
    let mut script = site();
    let robots = "Sitemap: http://a.test/many\nSitemap: http://a.test/page";
    script.answer(ROBOTS, status(200), vec![Step::bytes(robots)]);
    script.page(HOME, "");
    let list = "<urlset><url><loc>http://a.test/</loc></url><url><loc>http://a.test/</loc></url>";
    script.answer("http://a.test/many", status(200), vec![Step::bytes(list), Step::bytes("<url>")]);
    let head = Head { content_type: Some("text/html".into()), ..status(200) };
    let long = "<p>x</p>".repeat(500);
    let pieces = vec![Step::bytes("<!doctype html>"), Step::bytes(&long), Step::bytes(&long)];
    script.answer("http://a.test/page", head, pieces);
    let (mut bench, output) = bench(script, &[HOME], |config| {
        config.sitemap.enabled = true;
        config.sitemap.max_entries = 1;
        config.fetch.max_body_bytes = 2_048;
    });
    let logged = bench.run(9).await;
    assert_eq!(
        logged[1..],
        ["200 http://a.test/many sitemap_1,too_many_entries", "200 http://a.test/page truncated,not_a_sitemap"]
    );
    let kept = kept(&output);
    for record in ["response http://a.test/many", "response http://a.test/page"] {
        assert!(kept.iter().any(|kept| kept == record), "{record} of {kept:?}");
    }
}
