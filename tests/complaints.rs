//! What users of other crawlers complained of, each by its name; here those that take a whole daemon.
//!
//! | complaint | file | test |
//! |---|---|---|
//! | scrapy-redis#177: a failed URL stays seen for ever | crates/frontier/tests/complaints.rs | scrapy_redis_177_a_failed_url_does_not_stay_seen_for_ever |
//! | scrapy-redis#56: Bloom-only dedup drops unseen URLs | crates/frontier/tests/complaints.rs | scrapy_redis_56_a_filter_s_false_positives_drop_nothing |
//! | scrapy#5307, katana#742, colly#43: memory grows with the seen set | crates/frontier/tests/memory.rs | scrapy_5307_katana_742_colly_43_memory_does_not_grow_with_the_seen_set |
//! | scrapy#1941: canonicalising breaks links | crates/frontier/src/canonical/tests/complaints.rs | scrapy_1941_canonicalising_breaks_links |
//! | Norconex#163: the same, slashes | crates/frontier/src/canonical/tests/complaints.rs | norconex_163_slashes_are_folded_in_the_path_only |
//! | stormcrawler#118: the same, escapes | crates/frontier/src/canonical/tests/complaints.rs | stormcrawler_118_escapes_are_not_encoded_again |
//! | scrapy#137: repeated `q=&q=` crawls without end | crates/frontier/src/canonical/tests/complaints.rs | scrapy_137_a_parameter_that_is_added_again_and_again_makes_one_page |
//! | Norconex#574: `/./././` makes twins | crates/frontier/src/canonical/tests/complaints.rs | norconex_574_dot_segments_make_no_twins |
//! | crawler-commons#587: IPv6 hosts are refused | crates/frontier/src/canonical/tests/complaints.rs | crawler_commons_587_ipv6_hosts_are_hosts |
//! | spider#172: a percent-encoded twin is crawled twice | crates/frontier/src/canonical/tests/complaints.rs | spider_172_an_encoded_twin_is_not_crawled_twice |
//! | spider: paths that differ in case are merged | crates/frontier/src/canonical/tests/complaints.rs | spider_paths_that_differ_in_case_are_two |
//! | URLFrontier: the default key cuts at the first `:` | crates/frontier/src/canonical/tests/complaints.rs | urlfrontier_a_colon_cuts_no_key |
//! | url-frontier#163: one queue visible after an unclean stop | crates/frontier/tests/complaints.rs | url_frontier_163_every_queue_is_there_after_an_unclean_stop |
//! | URLFrontier: delays and blocks are lost on a restart | crates/frontier/tests/complaints.rs | urlfrontier_delays_and_blocks_are_not_lost_on_a_restart |
//! | BUbiNG#27: a killed instance cannot go on | crates/frontier/tests/complaints.rs | bubing_27_a_killed_instance_goes_on |
//! | Norconex#107: a power cut empties job files | crates/frontier/tests/complaints.rs | norconex_107_a_power_cut_leaves_no_empty_files |
//! | browsertrix#491: a resumed crawl revisits finished pages | crates/frontier/tests/complaints.rs | browsertrix_491_a_resumed_crawl_does_not_visit_finished_pages |
//! | browsertrix#784: the state of an earlier crawl is silently reused | tests/complaints.rs | browsertrix_784_an_earlier_crawl_and_changed_seeds_and_scope_are_announced |
//! | scrapy#4424: fast 429s speed a crawl up | crates/crawler/src/worker/tests.rs | fast_429s_slow_a_crawl_and_answers_bring_it_back_step_by_step |

use crate::harness::{Crawl, DEADLINE, resolve, root, statistics};
use crate::web::{Page, Web};

#[test]
fn every_complaint_is_put_to_the_test_where_the_table_says() {
    let table = include_str!("complaints.rs");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "))
        .map(|line| line.trim_end_matches(" |").split(" | ").collect())
        .skip(1)
        .collect();
    assert_eq!(rows.len(), 19);
    for row in rows {
        let [complaint, file, test] = row[..] else { panic!("not three columns: {row:?}") };
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let before = text.split(&format!("fn {test}()")).next().filter(|before| before.len() < text.len());
        let attributes = before.unwrap_or_else(|| panic!("{complaint}: {test} is not in {file}")).trim_end();
        let attributes = attributes.trim_end_matches("async").trim_end();
        assert!(attributes.ends_with(']') && !attributes.ends_with("#[ignore]"), "{test} is a test that runs");
    }
}

/// What an old directory holds went on under other seeds and another scope, and nobody was told.
#[test]
fn browsertrix_784_an_earlier_crawl_and_changed_seeds_and_scope_are_announced() {
    let web = Web::start(|_, _| Page::html("nothing"));
    let names = ["a.test", "b.test"].map(str::to_owned);
    let mut crawl = Crawl::new(&[], &["http://a.test/".to_owned()]);
    crawl.config = resolve(&names, web.address);
    let run = |crawl: &Crawl| {
        let mut run = crawl.start();
        assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
        run.stderr()
    };
    let (old, changed) = ("an earlier crawl is in this directory", "changed since the last run");
    let said = run(&crawl);
    assert!(!said.contains(old) && !said.contains(changed) && !said.contains("earlier runs"), "{said}");
    let said = run(&crawl);
    assert!(said.contains(old) && !said.contains(changed) && !said.contains("earlier runs"), "{said}");

    crawl.urls = vec!["http://b.test/".to_owned()];
    crawl.sets.extend(["scope.mode=domain".to_owned(), "crawl.max_depth=2".to_owned()]);
    let said = run(&crawl);
    let line =
        |words: &[&str]| said.lines().any(|line| line.contains("WARN") && words.iter().all(|word| line.contains(word)));
    assert!(line(&[changed, "scope.mode", "host", "domain"]), "{said}");
    assert!(line(&[changed, "crawl.max_depth", "50", "2"]), "{said}");
    assert!(line(&["seeds that earlier runs did not have", "http://b.test/"]), "{said}");
    assert!(line(&["seeds of earlier runs that are not given now", "http://a.test/"]), "{said}");
    let said = run(&crawl);
    assert!(!said.contains(changed), "once: {said}");
    statistics(&crawl, 0);
}
