//! What sites and pages say to robots, and what the worker does about it.

use frontier::RobotsMemory;

use super::*;

/// A page with one link that says nofollow of itself and one that does not.
const LINKS: &str = "<a href=/1 rel=nofollow>1</a> <a href=/2>2</a>";

/// Crawls one page with this header and this head, and gives its line, `refused_nofollow`, and whether fields were taken.
async fn visited(tag: Option<&str>, html: &str, change: impl FnOnce(&mut Config)) -> (String, i64, bool) {
    let mut script = site();
    let (content_type, x_robots_tag) = (Some("text/html".to_owned()), tag.map(str::to_owned));
    let head = Head { status: 200, content_type, x_robots_tag, ..Head::default() };
    script.answer(HOME, head, vec![Step::bytes(html), Step::bytes(LINKS)]);
    let mut bench = Bench::new(script, &[HOME], |config| {
        config.fields = vec![Field { name: "link".into(), selector: "a".into(), attribute: None }];
        change(config);
    });
    let Next::Lease(lease) = bench.next() else { panic!("the seed is due") };
    journey(&bench.crawl, lease).await.expect("the frontier works");
    let entry = bench.lines.try_recv().expect("a line");
    let books = bench.statistics().books;
    assert_eq!((books.urls_found, books.refused), (3, books.refused_nofollow), "the seed and two links");
    let notes = entry.line.split_whitespace().nth(8).expect("nine columns").split(',');
    let notes: Vec<&str> = notes.filter(|note| ["noindex", "nofollow"].contains(note)).collect();
    (notes.join(","), books.refused_nofollow, entry.fields.is_some())
}

#[tokio::test(start_paused = true)]
async fn what_a_page_says_of_itself_is_heeded() {
    let said = |notes: &str, refused: i64, fields: bool| (notes.to_owned(), refused, fields);
    let plain = visited(None, "", |_| ()).await;
    assert_eq!(plain, said("", 0, true));
    for (tag, html, want) in [
        (Some("nofollow"), "", said("nofollow", 2, true)),
        (Some("noindex"), "", said("noindex", 0, false)),
        (Some("otherbot: none\ncrawld: noindex"), "", said("noindex", 0, false)),
        (Some("otherbot: none"), "", said("", 0, true)),
        (None, "<meta name=robots content=none>", said("noindex,nofollow", 2, false)),
        (None, "<meta name=crawld content=nofollow>", said("nofollow", 2, true)),
        (Some("noindex"), "<meta name=Crawld content=nofollow>", said("noindex,nofollow", 2, false)),
        (None, "<meta name=otherbot content=none>", said("", 0, true)),
    ] {
        assert_eq!(visited(tag, html, |_| ()).await, want, "{tag:?} {html}");
        let deaf = visited(tag, html, |config| config.extract.obey_meta_robots = false).await;
        assert_eq!(deaf, plain, "{tag:?} {html}");
    }
    let strict = |config: &mut Config| config.extract.obey_rel_nofollow = true;
    assert_eq!(visited(None, "", strict).await, said("", 1, true));
    assert_eq!(visited(Some("nofollow"), "", strict).await, said("nofollow", 2, true));
}

/// RFC 9309, section 2.3.1.4: complete disallow while robots.txt answers with errors, but not for ever.
#[tokio::test(start_paused = true)]
async fn a_server_that_has_answered_with_errors_for_thirty_days_is_asked_for_its_pages() {
    let mut script = Scripted::new();
    script.answer(ROBOTS, status(500), vec![]);
    script.page(HOME, "");
    let mut bench = Bench::new(script, &[HOME], |_| ());
    let began = bench.crawl.clock.now();
    let url = bench.crawl.frontier.rules().parse(HOME).expect("a URL");
    let since = |bench: &Bench| bench.crawl.frontier.robots(&url).expect("answers").and_then(|m| m.unreachable_since);
    assert_eq!(bench.run(3).await, [""; 0]);
    let first = since(&bench).expect("written down");
    assert_eq!(bench.run(2_000).await, ["200 http://a.test/ -"]);
    let days = (bench.crawl.clock.now() - began) / 86_400_000;
    assert_eq!((days, since(&bench)), (30, Some(first)), "an hour apart in the end");
    assert_eq!(bench.crawl.fetch.asked().last().map(String::as_str), Some(HOME));
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_the_count_of_a_server_s_errors() {
    let mut script = site();
    script.page(HOME, "");
    let mut bench = Bench::new(script, &[HOME], |_| ());
    let url = bench.crawl.frontier.rules().parse(HOME).expect("a URL");
    let failing = RobotsMemory { unreachable_since: Some(1), ..RobotsMemory::default() };
    bench.crawl.frontier.remember_robots(&url, failing).expect("remembers");
    bench.run(2).await;
    let known = bench.crawl.frontier.robots(&url).expect("answers").expect("an answer");
    assert_eq!((known.unreachable_since, known.text), (None, None));
    assert!(known.fetched > 0);
}

/// Rules that hold for two hours by their `Cache-Control`: asked for again after that, though a day would be allowed.
#[tokio::test(start_paused = true)]
async fn rules_are_asked_for_again_when_the_server_says_so() {
    for (cache_control, hours) in
        [(None, 24), (Some("max-age=7200"), 2), (Some("no-store"), 1), (Some("max-age=1e9"), 24)]
    {
        let mut script = Scripted::new();
        let head = Head { cache_control: cache_control.map(str::to_owned), ..status(200) };
        script.answer(ROBOTS, head, vec![Step::bytes("user-agent: *\ndisallow: /no")]);
        let bench = Bench::new(script, &[HOME], |_| ());
        let Next::Lease(lease) = bench.next() else { panic!("the seed is due") };
        journey(&bench.crawl, lease).await.expect("the frontier works");
        let known = |hours: u64| bench.crawl.robots.known("http://a.test", bench.crawl.clock.now() + hours * 3_600_000);
        assert!(known(hours - 1).is_some() && known(hours).is_none(), "{cache_control:?}");
    }
}
