//! What sites and pages say to robots, and what the worker does about it.

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
