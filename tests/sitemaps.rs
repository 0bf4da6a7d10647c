//! A site whose pages are reachable by its sitemaps only: robots.txt names an index, the index a gzipped list.
//!
//! Not the formats. Invariant: what was asked for is what the site lists and may list, each URL once.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::harness::{Crawl, crawl_log, crawld, statistics, tally};
use crate::web::{Page, Web};

/// Pages of the site.
const PAGES: usize = 300;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// A site that knows its own address by the `Host` header. `slow` is how long its list takes.
fn serve(host: &str, target: &str, slow: Duration) -> Page {
    let text = |body: String| Page { content_type: "text/plain", ..Page::html(body) };
    match target {
        "/" => Page::html("<p>nothing leads anywhere"),
        "/robots.txt" => text(format!("User-agent: *\nSitemap: http://{host}/maps/index.xml\n")),
        "/maps/index.xml" => Page {
            content_type: "application/xml",
            ..Page::html(format!(
                "<?xml version='1.0'?><sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
                 <sitemap><loc>http://{host}/maps/pages</loc></sitemap>\
                 <sitemap><loc>http://elsewhere.test/maps/pages</loc></sitemap>\
                 <sitemap><loc>http://{host}/maps/index.xml</loc></sitemap></sitemapindex>"
            ))
        },
        "/maps/pages" => {
            let entry = |n| format!("<url><loc>http://{host}/page/{n}</loc><priority>0.{}</priority></url>", n % 10);
            let others = "<url><loc>http://elsewhere.test/1</loc></url><url><loc>http://elsewhere.test/2</loc></url>";
            let body = format!("<urlset>{others}{}</urlset>", (0..PAGES).map(entry).collect::<String>());
            Page { content_type: "application/octet-stream", takes: slow, ..Page::html(gzip(&body)) }
        }
        path if path.starts_with("/page/") => Page::html(format!("<title>{path}</title>")),
        _ => Page::missing(),
    }
}

fn crawl(web: &Web) -> Crawl {
    let sets = ["sitemap.enabled=true", "scope.mode=any", "politeness.connections_per_host=4"];
    Crawl::new(&sets, &[format!("http://{}/", web.address)])
}

#[test]
fn a_site_that_only_its_sitemaps_lead_through_is_crawled_and_what_they_may_not_name_is_not() {
    let web = Web::start(|host, target| serve(host, target, Duration::ZERO));
    let crawl = crawl(&web);
    crawl.finish();

    let asked = tally(web.hits().iter().map(|hit| hit.path.clone()));
    let fixed = ["/", "/robots.txt", "/maps/index.xml", "/maps/pages"].map(str::to_owned);
    let pages = (0..PAGES).map(|n| format!("/page/{n}"));
    let expected: BTreeMap<String, usize> = fixed.into_iter().chain(pages).map(|path| (path, 1)).collect();
    assert_eq!(asked, expected);

    let lines = statistics(&crawl, 0);
    let last = lines.last().expect("a last line");
    assert_eq!(last["refused_by"]["sitemap_location"], 3, "a sitemap and two pages of another host: {last}");
    for (name, count) in
        [("fetched", PAGES + 3), ("discovered", PAGES + 3), ("hosts", 1), ("refused", 3), ("failed", 0)]
    {
        assert_eq!(last[name], count, "{name}: {last}");
    }
    let log = crawl_log(&crawl);
    let notes = |path: &str| -> Vec<String> {
        log.iter().filter(|line| line.url.ends_with(path)).flat_map(|line| line.notes.clone()).collect()
    };
    assert_eq!(notes("/maps/index.xml"), ["sitemap_3", "new_1"]);
    assert_eq!(notes("/maps/pages"), [format!("sitemap_{}", PAGES + 2), format!("new_{PAGES}")]);
}

#[test]
fn a_sitemap_that_a_kill_has_cut_off_is_read_by_the_next_run() {
    let web = Web::start(|host, target| serve(host, target, Duration::from_millis(300)));
    let crawl = crawl(&web);
    let mut run = crawl.start();
    run.until("the list of pages is asked for", || web.hits().iter().any(|hit| hit.path == "/maps/pages"));
    assert!(run.kill());
    web.settle();
    crawl.finish();
    let asked = tally(web.hits().iter().map(|hit| hit.path.clone()));
    assert!((0..PAGES).all(|n| asked.get(&format!("/page/{n}")) == Some(&1)), "{asked:?}");
    assert_eq!(asked["/maps/pages"], 2);
    let last = statistics(&crawl, 1).pop().expect("a last line");
    assert_eq!((&last["fetched"], &last["queued"]), (&Value::from(PAGES + 3), &Value::from(0)), "{last}");
}

#[test]
fn inspect_prints_the_entries_of_a_file() {
    let home = tempfile::tempdir().expect("a directory for the test");
    let file = home.path().join("sitemap.xml.gz");
    std::fs::write(&file, gzip("<urlset><url><loc>http://a.test/1</loc></url></urlset>")).expect("written");
    let file = file.to_string_lossy();
    let output = crawld(&["inspect", "sitemap", "--url", "http://a.test/sitemap.xml.gz", &file], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let lines: Vec<Value> =
        output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(lines.len(), 2, "{output:?}");
    assert_eq!((&lines[0]["url"], &lines[0]["kind"]), (&Value::from("http://a.test/1"), &Value::from("url")));
    assert_eq!((&lines[1]["outcome"], &lines[1]["entries"]), (&Value::from("complete"), &Value::from(1)));
}
