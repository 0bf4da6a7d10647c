//! Pages with the content of others: noted, counted, and none the less pages of their own.

use super::*;

/// Words of a text, without digits.
fn words(n: usize) -> String {
    (0..n).map(|i| format!("{}{}x ", char::from(b'a' + (i % 26) as u8), char::from(b'a' + (i / 26) as u8))).collect()
}

/// A site whose pages /x/ and /y/ are the same, and /z nearly.
fn copies() -> Scripted {
    let mut script = site();
    script.page(HOME, "<a href=/x/>1</a><a href=/y/>2</a><a href=/z>3</a>");
    let text = words(400) + "<a href=next>relative</a>";
    script.page("http://a.test/x/", &text);
    script.page("http://a.test/y/", &text);
    script.page("http://a.test/z", &text.replace("aax ", "new "));
    for next in ["x/next", "y/next", "next"] {
        script.answer(&format!("http://a.test/{next}"), status(404), vec![]);
    }
    script
}

#[tokio::test(start_paused = true)]
async fn copies_are_noted_and_their_links_taken() {
    let mut bench = Bench::new(copies(), &[HOME], |config| config.duplicates.near_entries = 100);
    let logged = bench.run(20).await;
    let expect = [
        "200 http://a.test/ new_3",
        "200 http://a.test/x/ new_1",
        "200 http://a.test/y/ duplicate,new_1",
        "200 http://a.test/z near_duplicate,new_1",
        "404 http://a.test/x/next -",
        "404 http://a.test/y/next -",
        "404 http://a.test/next -",
    ];
    assert_eq!(logged, expect);
    assert_eq!(bench.crawl.duplicates.counts(), (1, 1));
    assert_eq!(bench.statistics().books.discovered, 7, "no URL is dropped for what its page holds");
}

#[tokio::test(start_paused = true)]
async fn links_of_copies_are_left_out_where_that_is_wanted() {
    let mut bench = Bench::new(copies(), &[HOME], |config| {
        config.duplicates.near_entries = 100;
        config.duplicates.take_links = false;
    });
    let logged = bench.run(20).await;
    assert_eq!(logged[2..4], ["200 http://a.test/y/ duplicate", "200 http://a.test/z near_duplicate,new_1"]);
    assert_eq!(bench.statistics().books.discovered, 6, "only those of the copy");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_visited_again_is_no_copy_of_itself() {
    let mut script = site();
    script.page(HOME, &words(400));
    let mut bench = Bench::new(script, &[HOME], |config| {
        config.recrawl.enabled = true;
        config.duplicates.near_entries = 100;
    });
    assert_eq!(bench.run(1).await, ["200 http://a.test/ -"]);
    tokio::time::advance(Duration::from_secs(86_401)).await;
    let lease = bench.due();
    journey(&bench.crawl, lease).await.expect("the frontier works");
    assert_eq!(bench.logged(), ["200 http://a.test/ revisit"]);
    assert_eq!(bench.crawl.duplicates.counts(), (0, 0));
}
