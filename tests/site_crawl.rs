//! The small site of `tests/site`, crawled once: the access log says what the crawl did, a DOM says what it should do.

use std::collections::{BTreeMap, BTreeSet};

use crawler::demo::site;
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use url::Url;

use crate::harness::{Crawl, crawl_log, statistics, tally};
use crate::web::{Page, Web};

/// What there is to find.
#[derive(Default)]
struct Truth {
    /// URLs to be asked for.
    allowed: BTreeSet<String>,
    /// URLs found that robots.txt denies.
    denied: BTreeSet<String>,
    /// Of the allowed ones, those that are pages of HTML and may be kept.
    pages: usize,
    /// Links of pages that are not to be followed.
    refused: usize,
}

fn serve(_host: &str, target: &str) -> Page {
    let path = target.split('?').next().unwrap_or(target);
    match site::page(path) {
        Some((content_type, body)) => Page { content_type, ..Page::html(body) },
        None => Page::missing(),
    }
}

/// Walks the site breadth first, by DOM, over the served pages.
fn walk(home: &Url) -> Truth {
    let mut truth = Truth::default();
    let mut round = vec![home.clone()];
    while !round.is_empty() {
        let mut found = Vec::new();
        for url in round.drain(..) {
            if url.origin() != home.origin() {
                continue;
            }
            // The site's robots.txt, read by a person.
            if url.path().starts_with("/private/") && !url.path().starts_with("/private/open/") {
                truth.denied.insert(url.to_string());
                continue;
            }
            if !truth.allowed.insert(url.to_string()) {
                continue;
            }
            let target = url.query().map_or(url.path().to_owned(), |query| format!("{}?{query}", url.path()));
            let page = serve("", &target);
            if page.status == 200 && page.content_type == "text/html" {
                // The site's one such page, read by a person as well.
                if String::from_utf8_lossy(&page.body).contains("<meta name=\"robots\" content=\"noindex, nofollow\">")
                {
                    truth.refused += links(&url, &page.body).len();
                    continue;
                }
                truth.pages += 1;
                found.extend(links(&url, &page.body));
            }
        }
        round = found;
    }
    truth
}

/// The links of a page that are URLs, without their fragments.
fn links(page: &Url, body: &[u8]) -> Vec<Url> {
    // The site has pages in UTF-8, and older ones in what is called ISO 8859-1 and read as Windows 1252.
    let encoding = if std::str::from_utf8(body).is_ok() { encoding_rs::UTF_8 } else { encoding_rs::WINDOWS_1252 };
    let (text, _, _) = encoding.decode(body);
    let html = Html::parse_document(&text);
    let select = |selector: &str| -> Vec<ElementRef<'_>> {
        let selector = Selector::parse(selector).expect("valid");
        let outside = |element: &ElementRef<'_>| {
            !element.ancestors().filter_map(ElementRef::wrap).any(|parent| parent.value().name() == "template")
        };
        html.select(&selector).filter(outside).collect()
    };
    let base = select("base[href]").first().and_then(|base| page.join(base.attr("href")?).ok());
    let base = base.unwrap_or_else(|| page.clone());
    let mut raw: Vec<String> = Vec::new();
    for element in select("a[href], area[href], link[href]") {
        let rel = element.attr("rel").unwrap_or_default().to_ascii_lowercase();
        let leads = ["canonical", "alternate", "next", "prev"].iter().any(|word| rel.split(' ').any(|is| is == *word));
        if element.value().name() != "link" || leads {
            raw.extend(element.attr("href").map(str::to_owned));
        }
    }
    raw.extend(select("iframe[src], frame[src]").iter().filter_map(|frame| frame.attr("src").map(str::to_owned)));
    for meta in select("meta[http-equiv=refresh i][content]") {
        let content = meta.attr("content").unwrap_or_default();
        raw.extend(content.split_once('=').map(|(_, url)| url.trim().trim_matches(['"', '\'']).to_owned()));
    }
    // A query is written in the encoding of its page (WHATWG URL, "percent-encode after encoding").
    let parse = |raw: &String| {
        Url::options().base_url(Some(&base)).encoding_override(Some(&|query| encoding.encode(query).0)).parse(raw).ok()
    };
    let urls = raw.iter().filter_map(parse).map(|mut url| {
        url.set_fragment(None);
        url
    });
    urls.filter(|url| url.scheme() == "http").collect()
}

#[test]
fn every_reachable_page_once_and_the_books_equal_the_access_log() {
    let web = Web::start(serve);
    let home = Url::parse(&format!("http://{}/", web.address)).expect("a URL");
    let truth = walk(&home);
    assert!(truth.allowed.len() > 40 && !truth.denied.is_empty(), "the walk finds the site");

    let mut crawl = Crawl::new(&["politeness.connections_per_host=4"], &[home.to_string()]);
    crawl.config = "[[fields]]\nname = \"title\"\nselector = \"title\"\n".to_owned();
    crawl.finish();
    let hits = web.hits();

    let asked = tally(hits.iter().map(|hit| home.join(&hit.path).expect("a path").to_string()));
    let mut expected: BTreeMap<String, usize> = truth.allowed.iter().map(|url| (url.clone(), 1)).collect();
    expected.insert(home.join("/robots.txt").expect("a path").to_string(), 1);
    assert_eq!(asked, expected);

    let lines = statistics(&crawl, 0);
    let last = lines.last().expect("a last line");
    let with_status = |class: u16| hits.iter().filter(|hit| hit.status / 100 == class).count();
    for (name, count) in [
        ("fetches", hits.len()),
        ("status_2xx", with_status(2)),
        ("status_3xx", 0),
        ("status_4xx", with_status(4)),
        ("status_5xx", 0),
        ("fetched", truth.allowed.len()),
        ("robots_denied", truth.denied.len()),
        ("discovered", truth.allowed.len() + truth.denied.len()),
        ("queued", 0),
        ("in_flight", 0),
        ("failed", 0),
        ("excluded", 0),
        ("hosts", 1),
    ] {
        assert_eq!(last[name], count, "{name}: {last}");
    }
    assert!(with_status(4) > 0, "the site has a link to a page that was never written");
    assert_eq!((&lines[0]["event"], &last["event"]), (&Value::from("start"), &Value::from("stop")));

    let bytes = in_the_crawl_log(&crawl, &truth, &hits.iter().map(|hit| (hit.path.as_str(), hit.status)).collect());
    assert_eq!(last["bytes_downloaded"], bytes, "{last}");
    let fields = crawl.log("fields.jsonl");
    let fields: Vec<Value> = fields.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let page = |url: &str| fields.iter().find(|line| line["url"] == url);
    assert_eq!(page(home.as_str()).map(|line| &line["title"][0]), Some(&Value::from("The Lantern Handbook")));
    assert_eq!(fields.len(), truth.pages, "one line for each page of HTML that does not say noindex");
    assert!(truth.refused > 0);
    assert_eq!(last["refused_by"]["nofollow"], truth.refused, "{last}");
}

/// Checks the lines of `crawl.log`; the body bytes of all requests, by them.
fn in_the_crawl_log(crawl: &Crawl, truth: &Truth, hits: &BTreeMap<&str, u16>) -> u64 {
    let log = crawl_log(crawl);
    let fetched: Vec<_> = log.iter().filter(|line| line.status > 0).collect();
    assert_eq!(
        tally(fetched.iter().map(|line| &line.url)),
        truth.allowed.iter().map(|url| (url, 1)).collect::<BTreeMap<_, _>>()
    );
    for line in &fetched {
        let url = Url::parse(&line.url).expect("a URL");
        let target = url.query().map_or(url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        assert_eq!(hits.get(target.as_str()).map(|status| i32::from(*status)), Some(line.status), "{}", line.url);
    }
    let denied: BTreeSet<_> = log.iter().filter(|line| line.status == -9998).map(|line| line.url.clone()).collect();
    assert_eq!(denied, truth.denied);
    assert_eq!(log.len(), truth.allowed.len() + truth.denied.len());
    let robots_bytes = site::page("/robots.txt").map_or(0, |(_, body)| body.len() as u64);
    log.iter().map(|line| line.bytes).sum::<u64>() + robots_bytes
}
