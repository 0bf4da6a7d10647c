//! Sitemaps in the crawl: where they come from, what is taken for one, what becomes of their entries.
//!
//! Not their formats (`sitemap::tests`). Invariant: every crawl here ends with books that balance.

use std::io::Write;

use super::*;

/// A host with this robots.txt.
fn host(robots: &str) -> Scripted {
    let mut script = Scripted::new();
    script.answer(ROBOTS, status(200), vec![Step::bytes(robots)]);
    script.page(HOME, "");
    script
}

fn typed(content_type: &str) -> Head {
    Head { content_type: Some(content_type.to_owned()), ..status(200) }
}

fn xml(script: &mut Scripted, url: &str, body: &str) {
    script.answer(url, typed("application/xml"), vec![Step::bytes(body)]);
}

/// A list of URLs, or an index of sitemaps.
fn list(urls: &[&str]) -> String {
    format!("<urlset>{}</urlset>", urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect::<String>())
}

fn index(urls: &[&str]) -> String {
    list(urls).replace("<url>", "<sitemap>").replace("</url>", "</sitemap>").replace("urlset", "sitemapindex")
}

fn bench(script: Scripted, seeds: &[&str], change: impl FnOnce(&mut Config)) -> Bench {
    Bench::new(script, seeds, |config| {
        config.sitemap.enabled = true;
        change(config);
    })
}

#[tokio::test(start_paused = true)]
async fn pages_that_only_sitemaps_know_are_found() {
    let mut script = host(
        "Sitemap: http://a.test/index.xml\nSitemap: http://a.test/urls.txt\nSitemap: mailto:x\nSitemap: http://b.test/",
    );
    xml(&mut script, "http://a.test/index.xml", &index(&["http://a.test/deep/one.bin"]));
    let body = list(&["http://a.test/deep/1", "http://a.test/2", "http://b.test/", "http://a.test/deep/1", "tel:1"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(body.as_bytes()).expect("memory takes all");
    let packed = gzip.finish().expect("memory takes all");
    let pieces = packed.chunks(10).map(|piece| Step::Bytes(piece.to_vec())).collect();
    script.answer("http://a.test/deep/one.bin", typed("text/html"), pieces);
    script.answer("http://a.test/urls.txt", typed("text/plain"), vec![Step::bytes("http://a.test/3\n")]);
    for page in ["http://a.test/deep/1", "http://a.test/2", "http://a.test/3"] {
        script.page(page, "");
    }
    let mut bench = bench(script, &[HOME], |_| ());
    let logged = bench.run(100).await;
    let expected = [
        "200 http://a.test/ -",
        "200 http://a.test/index.xml sitemap_1,new_1",
        "200 http://a.test/urls.txt sitemap_1,new_1",
        "200 http://a.test/deep/one.bin sitemap_5,new_2",
        "200 http://a.test/3 -",
        "200 http://a.test/deep/1 -",
        "200 http://a.test/2 -",
    ];
    assert_eq!(logged, expected);
    let books = bench.statistics().books;
    // One of the list is no URL; one of it and one of robots.txt are out of scope.
    let counts = (books.invalid, books.out_of_scope, books.refused_sitemap_location, books.discovered);
    assert_eq!(counts, (1, 2, 0, 7));
}

#[tokio::test(start_paused = true)]
async fn without_a_name_in_robots_the_well_known_place_is_asked() {
    async fn check(robots: &str, change: impl FnOnce(&mut Config), asked: &[&str]) {
        let mut script = host(robots);
        script.answer("http://a.test/sitemap.xml", status(404), vec![]);
        script.answer("http://a.test/s.xml", status(404), vec![]);
        let mut bench = bench(script, &[HOME], change);
        bench.run(100).await;
        assert_eq!(bench.crawl.fetch.asked()[2..], *asked, "{robots}");
        bench.statistics();
    }
    check("", |_| (), &["http://a.test/sitemap.xml"]).await;
    check("Sitemap: http://a.test/s.xml", |_| (), &["http://a.test/s.xml"]).await;
    check("Sitemap: mailto:x", |_| (), &["http://a.test/sitemap.xml"]).await;
    check("User-agent: *\nDisallow: /s", |_| (), &[]).await;
    check(
        "",
        |config| config.sitemap.well_known = vec!["/s.xml".into(), "/sitemap.xml".into()],
        &["http://a.test/s.xml", "http://a.test/sitemap.xml"],
    )
    .await;
    check("", |config| config.sitemap.well_known.clear(), &[]).await;
    check("Sitemap: http://a.test/s.xml", |config| config.sitemap.enabled = false, &[]).await;
    check("Sitemap: http://a.test/s.xml", |config| config.crawl.max_depth = 0, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_to_which_another_redirects_its_robots_has_its_own_sitemaps() {
    let mut script = host("User-agent: *\nDisallow: /x");
    script.redirect("http://b.test/robots.txt", ROBOTS);
    script.page("http://b.test/", "");
    for url in ["http://a.test/sitemap.xml", "http://b.test/sitemap.xml"] {
        script.answer(url, status(404), vec![]);
    }
    let mut bench = bench(script, &["http://b.test/", HOME], |_| ());
    bench.run(100).await;
    let asked = bench.crawl.fetch.asked();
    for url in [ROBOTS, "http://a.test/sitemap.xml", "http://b.test/sitemap.xml"] {
        assert_eq!(asked.iter().filter(|asked| *asked == url).count(), 1, "{url}: {asked:?}");
    }
    bench.statistics();
}

#[tokio::test(start_paused = true)]
async fn a_crawl_of_a_prefix_asks_for_the_sitemaps_of_its_host() {
    let mut script = host("Sitemap: http://a.test/index.xml\nSitemap: http://b.test/");
    script.page("http://a.test/docs/", "");
    script.page("http://a.test/docs/1", "");
    xml(&mut script, "http://a.test/index.xml", &index(&["http://a.test/s.xml"]));
    xml(&mut script, "http://a.test/s.xml", &list(&["http://a.test/docs/1", "http://a.test/2"]));
    let mut bench = bench(script, &["http://a.test/docs/"], |config| config.scope.mode = crate::config::Mode::Prefix);
    let logged = bench.run(100).await;
    assert_eq!((logged.len(), bench.statistics().books.out_of_scope), (4, 2), "{logged:?}");
}

#[tokio::test(start_paused = true)]
async fn an_index_that_leads_to_itself_and_ever_deeper_ends() {
    let mut script = host("Sitemap: http://a.test/i0");
    for n in 0..20 {
        let (this, next) = (format!("http://a.test/i{n}"), format!("http://a.test/i{}", n + 1));
        xml(&mut script, &this, &index(&["http://a.test/i0", &this, &next]));
    }
    let mut bench = bench(script, &[HOME], |_| ());
    let logged = bench.run(100).await;
    assert_eq!(logged.last().expect("a line"), "200 http://a.test/i3 sitemap_3");
    assert_eq!((logged.len(), bench.statistics().books.refused_depth), (5, 3));
}

#[tokio::test(start_paused = true)]
async fn depth_counts_from_the_page_for_which_robots_were_read() {
    let mut script = host("Sitemap: http://a.test/s");
    xml(&mut script, "http://a.test/s", &list(&["http://a.test/1"]));
    script.page("http://a.test/1", "<a href=/2>");
    let mut bench = bench(script, &[HOME], |config| config.crawl.max_depth = 1);
    let logged = bench.run(100).await;
    assert_eq!(logged, ["200 http://a.test/ -", "200 http://a.test/s sitemap_1,new_1", "200 http://a.test/1 -"]);
    assert_eq!(bench.statistics().books.refused_depth, 1);
}

#[tokio::test(start_paused = true)]
async fn html_where_a_sitemap_was_expected_is_a_page() {
    let mut script = host("Sitemap: http://a.test/s\nSitemap: http://a.test/t\nSitemap: http://a.test/u");
    script.page("http://a.test/s", "<!DOCTYPE html><html><a href=/1>1</a></html>");
    script.answer("http://a.test/t", typed("image/png"), vec![Step::bytes("\u{89}PNG")]);
    script.redirect("http://a.test/u", "/v");
    script.answer("http://a.test/v", typed("text/plain"), vec![Step::bytes("http://a.test/2")]);
    script.page("http://a.test/1", "");
    script.page("http://a.test/2", "");
    let mut bench = bench(script, &[HOME], |_| ());
    let expected = [
        "200 http://a.test/ -",
        "200 http://a.test/s not_a_sitemap,new_1",
        "200 http://a.test/t not_a_sitemap",
        "302 http://a.test/u new_1",
        "200 http://a.test/v sitemap_1,new_1",
        "200 http://a.test/1 -",
        "200 http://a.test/2 -",
    ];
    assert_eq!(bench.run(100).await, expected);
    bench.statistics();
}

#[tokio::test(start_paused = true)]
async fn a_sitemap_that_is_met_like_a_page_is_known_by_its_root() {
    let mut script = host("");
    script.page(HOME, "<a href=/deep/s.xml>1</a><a href=/feed.xml>2</a><a href=/list.txt>3</a>");
    script.answer("http://a.test/sitemap.xml", status(404), vec![]);
    xml(&mut script, "http://a.test/deep/s.xml", &list(&["http://a.test/deep/1", "http://a.test/1"]));
    xml(&mut script, "http://a.test/feed.xml", "<rss><item><link>http://a.test/2</link></item></rss>");
    script.page("http://a.test/2", "");
    script.answer("http://a.test/list.txt", typed("text/plain"), vec![Step::bytes("http://a.test/3")]);
    script.page("http://a.test/deep/1", "");
    let mut bench = bench(script, &[HOME], |_| ());
    let logged = bench.run(100).await;
    let expected = [
        "200 http://a.test/ new_3",
        "404 http://a.test/sitemap.xml -",
        "200 http://a.test/deep/s.xml sitemap_2,new_1",
        // a page with links like any other, and no sitemap
        "200 http://a.test/feed.xml new_1",
        "200 http://a.test/list.txt -",
        "200 http://a.test/deep/1 -",
        "200 http://a.test/2 -",
    ];
    assert_eq!(logged, expected);
    assert_eq!(
        bench.statistics().books.refused_sitemap_location,
        1,
        "nobody has named it for what is not below /deep/"
    );
}

#[tokio::test(start_paused = true)]
async fn a_host_may_let_the_sitemap_of_another_speak_for_it() {
    async fn check(robots_of_b: &str, new: &str, refused: i64) {
        let mut script = host("Sitemap: http://a.test/maps/index.xml");
        xml(&mut script, "http://a.test/maps/index.xml", &index(&["http://a.test/maps/1.xml"]));
        let entries = list(&["http://b.test/1", "http://a.test/2", "http://c.test/3"]);
        xml(&mut script, "http://a.test/maps/1.xml", &entries);
        script.answer("http://b.test/robots.txt", status(200), vec![Step::bytes(robots_of_b)]);
        for page in ["http://b.test/", "http://b.test/1", "http://a.test/2"] {
            script.page(page, "");
        }
        script.answer("http://b.test/own", status(404), vec![]);
        let mut bench = bench(script, &["http://b.test/", HOME], |config| config.scope.mode = crate::config::Mode::Any);
        let logged = bench.run(100).await;
        let of_list = logged.iter().find(|line| line.contains("/maps/1.xml")).expect("it is read");
        assert_eq!(of_list, &format!("200 http://a.test/maps/1.xml sitemap_3,{new}"), "{robots_of_b}");
        assert_eq!(bench.statistics().books.refused_sitemap_location, refused, "{robots_of_b}");
    }
    // What is not below /maps/ is spoken for by the index, which robots.txt names.
    check("Sitemap: http://b.test/own", "new_1", 2).await;
    // Named by b.test first, the list is no more known to be in the index: it speaks for b.test, and below /maps/.
    check("Sitemap: http://a.test/maps/1.xml\nSitemap: http://b.test/own", "new_1", 2).await;
    check("Sitemap: http://b.test/own\nSitemap: http://a.test/maps/index.xml#x", "new_2", 1).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_sitemap_says_of_its_pages_is_handed_on() {
    let mut script = host("Sitemap: http://a.test/s");
    let entry = |path: &str, priority: &str| {
        format!(
            "<url><loc>http://a.test/{path}</loc><changefreq>hourly</changefreq><priority>{priority}</priority></url>"
        )
    };
    let entries = [entry("last", "0.1"), entry("middle", "0.5"), entry("first", "1.0")].concat();
    xml(&mut script, "http://a.test/s", &format!("<urlset>{entries}</urlset>"));
    for page in ["http://a.test/last", "http://a.test/middle", "http://a.test/first"] {
        script.page(page, "");
    }
    let mut bench = bench(script, &[HOME], |config| {
        config.recrawl.enabled = true;
        config.recrawl.initial_interval_secs = 86_400;
    });
    let logged = bench.run(5).await;
    let pages = ["first", "middle", "last"].map(|page| format!("200 http://a.test/{page} -"));
    assert_eq!(logged[2..], pages, "by priority");
    tokio::time::advance(Duration::from_secs(3_700)).await;
    assert_eq!(bench.due().url(), "http://a.test/first", "an hour, not a day");
}

#[tokio::test(start_paused = true)]
async fn half_a_sitemap_counts_and_is_asked_for_again() {
    let mut script = host("Sitemap: http://a.test/s");
    let steps = vec![
        Step::bytes("<urlset><url><loc>http://a.test/1</loc></url><url><loc>http://a.t"),
        Step::Fail(FetchError::Lost),
    ];
    script.answer("http://a.test/s", typed("text/xml"), steps);
    script.page("http://a.test/1", "");
    let mut bench = bench(script, &[HOME], |config| {
        config.fetch.max_attempts = 2;
        config.politeness.retry_delay_secs = 1;
    });
    let logged = bench.run(100).await;
    let expected = [
        "200 http://a.test/ -",
        "-3 http://a.test/s connection_lost,requeued,new_1",
        "-3 http://a.test/s connection_lost,retry_1",
        "200 http://a.test/1 -",
    ];
    assert_eq!(logged, expected);
    let books = bench.statistics().books;
    assert_eq!((books.failed, books.fetched), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn limits_are_those_of_the_config() {
    let many: Vec<String> = (0..10).map(|n| format!("http://a.test/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut script = host("Sitemap: http://a.test/s\nSitemap: http://a.test/t");
    xml(&mut script, "http://a.test/s", &list(&many));
    let blank = " ".repeat(3000);
    xml(&mut script, "http://a.test/t", &format!("<urlset><url><loc>http://a.test/x</loc></url>{blank}"));
    let mut bench = bench(script, &[HOME], |config| {
        config.sitemap.max_entries = 4;
        config.sitemap.max_bytes = 1024;
    });
    let logged = bench.run(3).await;
    let expected = [
        "200 http://a.test/ -",
        "200 http://a.test/s sitemap_4,too_many_entries,new_4",
        "200 http://a.test/t truncated,sitemap_1,unfinished,new_1",
    ];
    assert_eq!(logged, expected);
    bench.statistics();
}
