//! SIGTERM in the middle of a crawl: an orderly stop, and a second run that goes on as if nothing had been.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::generated::Generated;
use crate::harness::{Crawl, DEADLINE, resolve, statistics, tally};
use crate::web::{Hit, Page, Web};

const SITE: Generated = Generated { hosts: 3, pages: 40 };

/// Time of a stop beside `crawl.shutdown_secs`: commit, merge, checkpoint.
const SLACK: Duration = Duration::from_secs(10);

fn crawl(web: &Web, sets: &[&str]) -> Crawl {
    let mut crawl = Crawl::new(sets, &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    crawl
}

/// How often each page (not robots.txt) was asked for.
fn pages(hits: &[Hit]) -> BTreeMap<(String, String), usize> {
    let pages = hits.iter().filter(|hit| hit.path != "/robots.txt");
    tally(pages.map(|hit| (hit.host.clone(), hit.path.clone())))
}

fn everything_is_fetched(crawl: &Crawl) {
    let lines = statistics(crawl, 1);
    let last = lines.last().expect("a last line");
    assert_eq!((&last["fetched"], &last["queued"]), (&SITE.urls().len().into(), &0.into()), "{last}");
    assert_eq!((&last["failed"], &last["discovered"]), (&0.into(), &SITE.urls().len().into()), "{last}");
}

#[test]
fn after_a_clean_stop_the_next_run_finishes_without_a_page_twice() {
    let web = Web::start(|host, path| Page { takes: Duration::from_millis(20), ..SITE.page(host, path) });
    let crawl = crawl(&web, &["crawl.shutdown_secs=5"]);
    let mut run = crawl.start();
    run.until("the middle of the crawl", || web.count() > 30);
    run.term();
    let asked = Instant::now();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    assert!(asked.elapsed() < Duration::from_secs(5) + SLACK, "{:?}", asked.elapsed());
    let at_the_stop = web.hits();
    assert!(pages(&at_the_stop).len() < SITE.urls().len(), "it was stopped in the middle");
    let lines = statistics(&crawl, 0);
    let last = lines.last().expect("a last line");
    assert_eq!((&last["event"], &last["in_flight"]), (&"stop".into(), &0.into()), "{last}");
    assert_eq!(last["fetches"], at_the_stop.len(), "{last}");

    crawl.finish();
    let pages = pages(&web.hits());
    assert_eq!(pages.len(), SITE.urls().len());
    assert!(pages.values().all(|times| *times == 1), "no page twice: {pages:?}");
    everything_is_fetched(&crawl);
    let log = crate::harness::crawl_log(&crawl);
    assert_eq!(log.len(), SITE.urls().len(), "one line for each page over both runs");
}

#[test]
fn what_does_not_end_in_time_is_given_up_and_fetched_by_the_next_run() {
    let slow = Arc::new(AtomicBool::new(true));
    let web = serve_slowly(&slow);
    let crawl = crawl(&web, &["crawl.shutdown_secs=1"]);
    let mut run = crawl.start();
    run.until("an open request that takes long", || is_asked(&web, "/5"));
    run.term();
    let asked = Instant::now();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    assert!(asked.elapsed() < Duration::from_secs(1) + SLACK, "{:?}", asked.elapsed());
    web.settle();
    let open = web.hits().iter().filter(|hit| hit.answered.is_none()).count();
    assert!(open > 0, "a request was open when the crawl stopped");
    slow.store(false, Ordering::SeqCst);
    crawl.finish();
    let pages = pages(&web.hits());
    let again: usize = pages.values().map(|times| times - 1).sum();
    assert_eq!((pages.len(), again), (SITE.urls().len(), open), "what was open once more, and nothing else");
    everything_is_fetched(&crawl);
}

#[test]
fn a_second_signal_ends_it_at_once_and_nothing_is_lost() {
    let slow = Arc::new(AtomicBool::new(true));
    let web = serve_slowly(&slow);
    let crawl = crawl(&web, &["crawl.shutdown_secs=60"]);
    let mut run = crawl.start();
    run.until("an open request that takes long", || is_asked(&web, "/5"));
    run.term();
    let errors = crawl.home.path().join("stderr.txt");
    let said = || std::fs::read_to_string(&errors).unwrap_or_default();
    run.until("the answer to the first signal", || said().contains("stopping: open requests may end"));
    let asked = Instant::now();
    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(130), "{}", run.stderr());
    assert!(asked.elapsed() < Duration::from_secs(5), "at once, not after {:?}", asked.elapsed());
    web.settle();
    slow.store(false, Ordering::SeqCst);
    crawl.finish();
    assert_eq!(pages(&web.hits()).len(), SITE.urls().len());
    everything_is_fetched(&crawl);
}

fn is_asked(web: &Web, path: &str) -> bool {
    web.hits().iter().any(|hit| hit.path == path)
}

/// The site, where each page 5 takes half a minute for as long as `slow` says so.
fn serve_slowly(slow: &Arc<AtomicBool>) -> Web {
    let slow = Arc::clone(slow);
    Web::start(move |host, path| {
        let takes = if path == "/5" && slow.load(Ordering::SeqCst) { Duration::from_secs(30) } else { Duration::ZERO };
        Page { takes, ..SITE.page(host, path) }
    })
}
