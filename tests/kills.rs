//! `kill -9` at random moments, at least twenty in one crawl, each time started again on the same directory.
//!
//! The site's access log is the witness: what was fetched, what twice, and how soon after the last answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::generated::Generated;
use crate::harness::{Crawl, DEADLINE, Random, Run, crawl_log, resolve, statistics, tally};
use crate::web::{Hit, Page, Web, least_gap};

const SITE: Generated = Generated { hosts: 6, pages: 220 };
const KILLS: usize = 24;
const DELAY: Duration = Duration::from_millis(40);
const COMMIT_INTERVAL: Duration = Duration::from_millis(20);
/// What a sync may take on a disk that others use as well.
const SYNC_SLACK: Duration = Duration::from_millis(100);

/// One kill on the site's clock: when that run began, and when it was over.
struct Kill {
    began: Instant,
    ended: Instant,
}

fn crawl(web: &Web, delay: Duration) -> Crawl {
    let sets = [
        format!("politeness.delay_ms={}", delay.as_millis()),
        format!("journal.commit_interval_ms={}", COMMIT_INTERVAL.as_millis()),
        // So little that merges run all the time, and are killed too.
        "frontier.recent_bytes=65536".to_owned(),
    ];
    let mut crawl = Crawl::new(&sets.each_ref().map(String::as_str), &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    crawl
}

fn serve() -> Web {
    Web::start(|host, path| SITE.page(host, path))
}

/// The pages (not robots.txt) asked for, as URLs.
fn pages(hits: &[Hit]) -> BTreeMap<String, usize> {
    let pages = hits.iter().filter(|hit| hit.path != "/robots.txt");
    tally(pages.map(|hit| format!("http://{}{}", hit.host, hit.path)))
}

/// What a crawl has finished. Its counters say how many, `seen` says which are known; with none left they are the same.
fn finished(crawl: &Crawl, kills: usize) -> BTreeSet<String> {
    let lines = statistics(crawl, kills);
    let last = lines.last().expect("a last line");
    let urls = SITE.urls();
    let known: BTreeSet<_> = urls.iter().zip(crawl.seen(&urls)).filter(|(_, seen)| *seen).map(|(url, _)| url).collect();
    assert_eq!((&last["queued"], &last["in_flight"]), (&0.into(), &0.into()), "{last}");
    assert_eq!((&last["fetched"], &last["discovered"]), (&known.len().into(), &known.len().into()), "{last}");
    // Asked of the stopped directory, so that what the stores say of their hosts counts, not what was in memory.
    let stopped = crawl.stats();
    assert_eq!((&stopped["hosts"], &stopped["hosts_waiting"]), (&SITE.hosts.into(), &0.into()), "{stopped}");
    known.into_iter().cloned().collect()
}

#[test]
fn nothing_is_lost_little_is_fetched_twice_and_no_host_is_asked_too_soon() {
    let undisturbed = {
        let web = serve();
        let crawl = crawl(&web, Duration::ZERO);
        crawl.finish();
        assert!(pages(&web.hits()).values().all(|times| *times == 1), "every page once");
        finished(&crawl, 0)
    };
    assert_eq!(undisturbed, SITE.urls().into_iter().collect());

    let web = serve();
    let crawl = crawl(&web, DELAY);
    let mut random = Random::seeded(1);
    let (mut kills, mut merges_killed) = (Vec::new(), 0);
    for _ in 0..KILLS {
        let began = Instant::now();
        let mut run = crawl.start();
        if kills.len() % 3 == 2 {
            until_a_merge_writes(&mut run, &crawl);
            merges_killed += 1;
            std::thread::sleep(Duration::from_micros(random.below(10_000)));
        } else {
            // The moment of the kill, not a wait for anything.
            std::thread::sleep(Duration::from_millis(20) + Duration::from_micros(random.below(650_000)));
        }
        let before = Instant::now();
        assert!(run.kill(), "the crawl ended before its {}. kill: {}", kills.len() + 1, run.stderr());
        kills.push(Kill { began, ended: before });
        web.settle();
    }
    let before_last = pages(&web.hits()).len();
    let mut run = crawl.start();
    let status = run.wait(DEADLINE);
    assert_eq!(status.code(), Some(0), "{}", run.stderr());
    drop(run);
    println!("{before_last} of {} pages were fetched between the kills", undisturbed.len());

    let hits = web.hits();
    assert_eq!(finished(&crawl, kills.len()), undisturbed);
    assert_eq!(pages(&hits).into_keys().collect::<BTreeSet<_>>(), undisturbed);
    only_the_last_moments_are_fetched_again(&hits, &kills);
    let (gap, hit) = least_gap(&hits).expect("hosts were asked twice");
    println!("least gap {gap:?}");
    assert!(gap >= DELAY, "{gap:?} before {hit:?}");
    let logged = tally(crawl_log(&crawl).into_iter().filter(|line| line.status > 0).map(|line| line.url));
    assert!(logged.values().all(|times| *times == 1), "no line is repeated: {logged:?}");
    assert!(logged.keys().all(|url| undisturbed.contains(url)), "only what there is");
    assert!(merges_killed >= 8, "{merges_killed} kills in the middle of a merge");
}

/// Waits until files of a store change. Only merges write them; after the first of these changes come the filter's
/// checkpoint, the covered sequence and the reopening, so that a kill within the next milliseconds meets one of them.
fn until_a_merge_writes(run: &mut Run, crawl: &Crawl) {
    run.until_started();
    let at_the_start = store_files(crawl);
    run.until("a merge", || store_files(crawl) != at_the_start);
}

/// The files of all stores that each flush renews, with their sizes.
fn store_files(crawl: &Crawl) -> BTreeSet<(PathBuf, u64)> {
    let entries = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
    let partitions = entries(crawl.data().join("partitions"));
    let files = partitions.flat_map(|partition| entries(partition.path().join("store/metadata")));
    // A file may be gone by the time it is looked at.
    files.map(|file| (file.path(), file.metadata().map_or(0, |metadata| metadata.len()))).collect()
}

/// A page is asked for again only if, at a kill, its request was open or had ended within the last moments.
fn only_the_last_moments_are_fetched_again(hits: &[Hit], kills: &[Kill]) {
    let mut last: BTreeMap<(&str, &str), &Hit> = BTreeMap::new();
    let (mut again, mut oldest) = (0, Duration::ZERO);
    for hit in hits.iter().filter(|hit| hit.path != "/robots.txt") {
        let Some(before) = last.insert((&hit.host, &hit.path), hit) else { continue };
        again += 1;
        let kill = kills.iter().find(|kill| kill.began <= before.arrived && before.arrived <= kill.ended + SYNC_SLACK);
        let kill = kill.unwrap_or_else(|| panic!("fetched twice without a kill between: {before:?}, {hit:?}"));
        let age = before.answered.map_or(Duration::ZERO, |at| kill.ended.saturating_duration_since(at));
        oldest = oldest.max(age);
        assert!(age <= 2 * COMMIT_INTERVAL + SYNC_SLACK, "ended {age:?} before the kill, and fetched again: {hit:?}");
    }
    let at_risk = |kill: &Kill| {
        let risky = |hit: &&Hit| {
            let in_run = kill.began <= hit.arrived && hit.arrived <= kill.ended + SYNC_SLACK;
            let age = hit.answered.map(|at| kill.ended.saturating_duration_since(at));
            in_run && hit.path != "/robots.txt" && age.is_none_or(|age| age <= 2 * COMMIT_INTERVAL + SYNC_SLACK)
        };
        hits.iter().filter(risky).count()
    };
    let bound: usize = kills.iter().map(at_risk).sum();
    println!("{again} pages fetched again, {bound} allowed; the oldest had ended {oldest:?} before its kill");
    assert!(again <= bound, "{again} pages fetched again, {bound} allowed");
}

/// Delay of the hosts below: far more than a start takes, so that only waiting can keep it.
const LONG_DELAY: Duration = Duration::from_millis(700);
/// What the first host's robots.txt asks for.
const CRAWL_DELAY: Duration = Duration::from_secs(1);

/// A kill while a response is open leaves no word in the frontier of when the host was last asked. Each of these kills is
/// made at such a moment; the crawl above makes few, and its delay is shorter than a start.
#[test]
fn a_host_killed_in_mid_response_is_left_alone_for_its_own_full_delay() {
    const FEW: Generated = Generated { hosts: 3, pages: 400 };
    let web = Web::start(|host, path| match (host, path) {
        ("site0.test", "/robots.txt") => {
            Page { content_type: "text/plain", ..Page::html("User-agent: *\nCrawl-delay: 1\n") }
        }
        (_, "/robots.txt") => Page::missing(),
        _ => Page { takes: Duration::from_millis(60), ..FEW.page(host, path) },
    });
    let delay = format!("politeness.delay_ms={}", LONG_DELAY.as_millis());
    let mut crawl = Crawl::new(&[&delay, "crawl.max_pages=24"], &FEW.seeds());
    crawl.config = resolve(&FEW.names(), web.address);
    let open = |name: &str| {
        web.hits().iter().any(|hit| hit.host == name && hit.path != "/robots.txt" && hit.answered.is_none())
    };
    // Each host in turn is the one with an open response.
    let mut kills = 0;
    let mut least_start = Duration::MAX;
    for round in 0..6 {
        let began = Instant::now();
        let mut run = crawl.start();
        run.until_started();
        least_start = least_start.min(began.elapsed());
        let name = Generated::host(round % FEW.hosts);
        let asked = web.count();
        run.until("an open response", || web.count() > asked && open_since(&web, asked, &name));
        assert!(run.kill(), "it was running");
        kills += 1;
        web.settle();
    }
    assert!(open("site0.test") && open("site1.test") && open("site2.test"), "each was killed in mid-response");
    assert!(least_start * 2 < LONG_DELAY, "a start of {least_start:?} would keep the delay by itself");
    crawl.finish();

    let hits = web.hits();
    for name in FEW.names() {
        let delay = if name == "site0.test" { CRAWL_DELAY } else { LONG_DELAY };
        // What a host asks for is known from its first robots.txt on, so the gap after that one counts too.
        let of_host: Vec<Hit> = hits.iter().filter(|hit| hit.host == name).cloned().collect();
        let (gap, hit) = least_gap(&of_host).expect("each was asked twice");
        println!("{name}: least gap {gap:?} of {} requests, with a delay of {delay:?}", of_host.len());
        assert!(gap >= delay, "{gap:?} before {hit:?}");
    }
    statistics(&crawl, kills);
}

/// Whether a page of a host, asked for after the first `asked` requests, has its answer still to come.
fn open_since(web: &Web, asked: usize, host: &str) -> bool {
    let hits = web.hits();
    hits.iter().skip(asked).any(|hit| hit.host == host && hit.path != "/robots.txt" && hit.answered.is_none())
}
