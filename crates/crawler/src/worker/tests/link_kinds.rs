//! Which links a crawl follows, by what it is told: kinds, formats, headers, the canonical hint.

use super::*;
use crate::config::CanonicalLinks;
use crate::extract::LinkKind;

fn typed(content_type: &str) -> Head {
    Head { content_type: Some(content_type.to_owned()), ..status(200) }
}

/// Crawls from [`HOME`], where there is `body`; gives what was asked for there, beside robots.txt, and the log.
async fn crawl(head: Head, body: &str, change: impl FnOnce(&mut Config)) -> (Vec<String>, Vec<String>) {
    let mut script = site();
    script.answer(HOME, head, vec![Step::bytes(body)]);
    for path in ["a", "b", "c", "d"] {
        script.page(&format!("http://a.test/{path}"), "");
    }
    let mut bench = Bench::new(script, &[HOME], change);
    let logged = bench.run(20).await;
    bench.statistics();
    let asked = bench.crawl.fetch.asked();
    (asked.iter().skip(2).map(|url| url.replace(HOME, "")).collect(), logged)
}

#[tokio::test(start_paused = true)]
async fn the_configured_kinds_are_followed() {
    let body = "<a href=/a></a><img src=/b><style>@import '/c'</style><form action=/d></form>";
    let (asked, _) = crawl(typed("text/html"), body, |_| ()).await;
    assert_eq!(asked, ["a"]);
    let kinds = vec![LinkKind::Img, LinkKind::Css, LinkKind::FormGet];
    let (asked, _) = crawl(typed("text/html"), body, |config| config.extract.links = kinds).await;
    assert_eq!(asked, ["b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn feeds_and_style_sheets_lead_on() {
    let feed = "<rss><channel><link>/a</link><item><link>/b</link></item></channel></rss>";
    for content_type in ["application/rss+xml", "text/xml; charset=utf-8", "application/xml"] {
        let (asked, logged) = crawl(typed(content_type), feed, |_| ()).await;
        assert_eq!((asked, logged[0].as_str()), (vec!["a".to_owned(), "b".to_owned()], "200 http://a.test/ new_2"));
    }
    let (asked, _) = crawl(typed("text/plain"), feed, |_| ()).await;
    assert_eq!(asked, [""; 0]);
    let sheet = "@import '/a'; b { c: url(/b) }";
    let (asked, _) = crawl(typed("text/css"), sheet, |_| ()).await;
    assert_eq!(asked, [""; 0]);
    let (asked, _) = crawl(typed("text/css"), sheet, |config| config.extract.links = vec![LinkKind::Css]).await;
    assert_eq!(asked, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn broken_xml_is_named_and_what_it_had_is_kept() {
    let body = "<html><a href='/a'/><a href='/b'";
    let (asked, logged) = crawl(typed("application/xhtml+xml"), body, |_| ()).await;
    assert_eq!((asked, logged[0].as_str()), (vec!["a".to_owned()], "200 http://a.test/ xml_error,new_1"));
}

#[tokio::test(start_paused = true)]
async fn the_headers_of_any_response_that_succeeded_lead_on() {
    let link = Some("</a>; rel=next, </no>; rel=author".to_owned());
    let head = |content_type| Head { link: link.clone(), refresh: Some("0;url=/b".to_owned()), ..typed(content_type) };
    for content_type in ["text/html", "application/pdf", "image/png"] {
        let (asked, _) = crawl(head(content_type), "<base href=/base/>", |_| ()).await;
        assert_eq!(asked, ["a", "b"], "{content_type}");
    }
    let (asked, _) = crawl(Head { status: 404, ..head("text/html") }, "", |_| ()).await;
    assert_eq!(asked, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_preferred_canonical_url_stands_where_the_page_stands() {
    let body = "<link rel=canonical href=/a><a href=/b></a>";
    let check = async |canonical, max_depth, want: &[&str]| {
        let change = |config: &mut Config| {
            config.extract.canonical = canonical;
            config.crawl.max_depth = max_depth;
        };
        let (asked, _) = crawl(typed("text/html"), body, change).await;
        assert_eq!(asked, want, "{canonical:?} {max_depth}");
    };
    check(CanonicalLinks::Follow, 1, &["a", "b"]).await;
    check(CanonicalLinks::Follow, 0, &[]).await;
    check(CanonicalLinks::Prefer, 1, &["a", "b"]).await;
    check(CanonicalLinks::Prefer, 0, &["a"]).await;
    check(CanonicalLinks::Ignore, 1, &["b"]).await;
}
