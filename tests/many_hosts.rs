//! A hundred hosts at once, each asked politely. The thousand of the real bar are a bench (`many_hosts` of the crawler).

use std::time::{Duration, Instant};

use crate::generated::Generated;
use crate::harness::{Crawl, resolve, statistics};
use crate::web::{Web, least_gap};

const SITE: Generated = Generated { hosts: 100, pages: 10 };
const DELAY: Duration = Duration::from_millis(100);

#[test]
fn a_hundred_hosts_are_crawled_in_parallel_and_each_politely() {
    let web = Web::start(|host, path| SITE.page(host, path));
    let mut crawl = Crawl::new(&["politeness.delay_ms=100", "frontier.partitions=16"], &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    let began = Instant::now();
    crawl.finish();
    let took = began.elapsed();
    let hits = web.hits();
    let expected = SITE.urls().len();

    let lines = statistics(&crawl, 0);
    let last = lines.last().expect("a last line");
    assert_eq!((&last["fetched"], &last["hosts"]), (&expected.into(), &SITE.hosts.into()), "{last}");
    assert_eq!(hits.len(), expected + SITE.hosts, "every page and every robots.txt once");
    let (gap, hit) = least_gap(&hits).expect("hosts were asked twice");
    println!("least gap {gap:?}, {took:?} in all");
    assert!(gap >= DELAY, "{gap:?} before {hit:?}");
    // One host after another would take the delay for each request.
    let serial = DELAY * u32::try_from(hits.len()).expect("few");
    assert!(took * 10 < serial, "{took:?} is not far below {serial:?}");
}
