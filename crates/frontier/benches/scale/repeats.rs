//! Links that are known already, alone and as real sites have them.

use std::time::{Duration, Instant};

use frontier::{Canonical, Found, Frontier};

use crate::process::rss_mib;
use crate::web::{PAGE, Random, Web, found};

/// Popular URLs: few enough for the hot cache.
const POPULAR: usize = 20_000;
/// Links in a page of repeats, about as many as a documentation page has different ones.
const LINKS: usize = 50;
/// Time given to each kind of repeats.
const SPELL: Duration = Duration::from_secs(5);

/// Offers pages for a while and prints how many links a second that were. What `page` takes to make is not counted.
fn spell(name: &str, frontier: &Frontier, mut page: impl FnMut() -> Found) {
    let before = frontier.statistics().expect("answers").books;
    let (mut links, mut taken, start) = (0, Duration::ZERO, Instant::now());
    while start.elapsed() < SPELL {
        let found = page();
        let began = Instant::now();
        frontier.offer(&found, None, 2).expect("offers");
        taken += began.elapsed();
        links += found.urls.len();
    }
    let after = frontier.statistics().expect("answers").books;
    let share = |counter: i64| counter as f64 / links as f64 * 100.0;
    println!(
        "{name:<34} {:>10.0} links/s   {:>5.1} % from memory, {:>5.1} % confirmed by the store, {:>4.1} % new; {} MiB",
        links as f64 / taken.as_secs_f64(),
        share(after.hot_cache_seen - before.hot_cache_seen),
        share(after.confirmed_seen - before.confirmed_seen),
        share(after.discovered - before.discovered),
        rss_mib(),
    );
}

pub fn repeats(frontier: &Frontier, web: &mut Web) {
    let mut random = Random(2);
    let popular: Vec<Canonical> = popular(web);
    let of_popular = |random: &mut Random| {
        found((0..LINKS).map(|_| popular[random.below(POPULAR)].clone()).collect::<Vec<_>>().into_iter())
    };
    frontier.offer(&found(popular.iter().cloned()), None, 2).expect("offers");
    spell("repeats, popular", frontier, || of_popular(&mut random));
    let by_host = by_host(web);
    let mut next = random.below(by_host.len());
    spell("repeats, host by host", frontier, || {
        next = (next + 1) % by_host.len();
        web.page(by_host[next])
    });
    spell("repeats, any", frontier, || {
        let any = |random: &mut Random| web.url(random.below(web.pages.len()), random.below(PAGE));
        found((0..PAGE).map(|_| any(&mut random)).collect::<Vec<_>>().into_iter())
    });
}

/// All pages, those of a host side by side, and of these those of a section.
fn by_host(web: &Web) -> Vec<usize> {
    let mut pages: Vec<usize> = (0..web.pages.len()).collect();
    pages.sort_by_key(|page| (web.pages[*page], Random(*page as u64).next() as u32));
    pages
}

/// URLs of the first pages.
fn popular(web: &Web) -> Vec<Canonical> {
    (0..POPULAR).map(|n| web.url(n / PAGE, n % PAGE)).collect()
}

pub fn mixed(frontier: &Frontier, web: &mut Web) {
    let by_host = by_host(web);
    mix("mixed, host by host", frontier, web, &by_host);
    // Each page of another host: what a crawl of so many hosts comes to whose pages were all merged long ago.
    let any: Vec<usize> = (0..by_host.len()).collect();
    mix("mixed, any host", frontier, web, &any);
}

/// `pages`: those of which the repeats are that are not popular, in this order.
fn mix(name: &str, frontier: &Frontier, web: &mut Web, pages: &[usize]) {
    let mut random = Random(3);
    let popular = popular(web);
    let (mut new, mut old) = (0, random.below(pages.len()) * PAGE);
    spell(name, frontier, || {
        let urls = (0..LINKS).map(|_| match random.below(1000) {
            0..70 => {
                new += 1;
                if new % PAGE == 1 {
                    web.grow();
                }
                web.url(web.pages.len() - 1, new % PAGE)
            }
            70..163 => {
                // One section after the other, as pages link to their neighbours.
                old += 1;
                web.url(pages[old / PAGE % pages.len()], old % PAGE)
            }
            _ => popular[random.below(POPULAR)].clone(),
        });
        found(urls.collect::<Vec<_>>().into_iter())
    });
}
