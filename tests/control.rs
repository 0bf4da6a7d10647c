//! Who has the data directory, and that a running crawl and a stopped one give the same answers.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::generated::Generated;
use crate::harness::{Crawl, DEADLINE, check_line, crawld, resolve, statistics};
use crate::web::Web;

const SITE: Generated = Generated { hosts: 2, pages: 30 };

/// What says something of the process or the moment, not of the crawl.
const OF_THE_MOMENT: &[&str] = &[
    "timestamp",
    "event",
    "elapsed_secs",
    "pages_per_sec",
    "pages_per_sec_average",
    "bytes_per_sec",
    "bytes_per_sec_average",
    "resident_bytes",
    "busy_workers",
    "journal_bytes",
    "store_bytes",
    "merges",
    "offer_waits",
    "hosts_waiting",
    "filter_bytes",
    "filter_layers",
    "false_positive_rate_predicted",
    "reason",
];

fn idle_daemon(web: &Web) -> Crawl {
    let mut crawl = Crawl::new(&["crawl.idle_exit_secs=0"], &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    crawl.exit_when_done = false;
    crawl
}

fn of_the_crawl(mut stats: Value) -> Value {
    let fields = stats.as_object_mut().expect("an object");
    OF_THE_MOMENT.iter().for_each(|name| drop(fields.remove(*name)));
    stats
}

#[test]
fn a_running_and_a_stopped_crawl_answer_alike() {
    let web = Web::start(|host, path| SITE.page(host, path));
    let crawl = idle_daemon(&web);
    let mut run = crawl.start();
    run.until("the end of the work", || crawl.log("crawl-statistics.jsonl").contains("\"event\":\"idle\""));

    let socket = crawl.data().join("control.sock");
    let mode = std::fs::metadata(&socket).expect("the control socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let mut urls = SITE.urls();
    urls.extend(["http://site0.test/999".to_owned(), "https://site0.test/0".to_owned()]);
    let (stats, seen) = (crawl.stats(), crawl.seen(&urls));
    check_line(&stats);
    assert_eq!((&stats["event"], &stats["fetched"]), (&"asked".into(), &SITE.urls().len().into()), "{stats}");
    let expected: Vec<bool> = (0..urls.len()).map(|n| n < SITE.urls().len()).collect();
    assert_eq!(seen, expected);

    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    assert!(!socket.exists(), "the socket goes away with the daemon");
    let stopped = crawl.stats();
    check_line(&stopped);
    assert_eq!(of_the_crawl(stopped), of_the_crawl(stats));
    assert_eq!(crawl.seen(&urls), seen);
    statistics(&crawl, 0);
}

#[test]
fn a_second_run_is_told_who_has_the_directory() {
    let web = Web::start(|host, path| SITE.page(host, path));
    let crawl = idle_daemon(&web);
    let mut run = crawl.start();
    run.until("the socket", || crawl.data().join("control.sock").exists());
    let second = crawld(&["run", "--exit-when-done", "--data", &crawl.data().to_string_lossy()], "");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(3), "{said}");
    assert!(said.contains(&format!("in use by pid {}", run.pid())), "{said}");
    run.until("the end of the work", || crawl.log("crawl-statistics.jsonl").contains("\"event\":\"idle\""));
    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "the first one was not disturbed: {}", run.stderr());
    statistics(&crawl, 0);
}

#[test]
fn a_killed_crawl_answers_too_and_its_socket_is_in_nobodys_way() {
    let web = Web::start(|host, path| SITE.page(host, path));
    let crawl = idle_daemon(&web);
    let mut run = crawl.start();
    run.until("the end of the work", || crawl.log("crawl-statistics.jsonl").contains("\"event\":\"idle\""));
    let stats = crawl.stats();
    assert!(run.kill(), "it was running");
    assert!(crawl.data().join("control.sock").exists(), "a killed process leaves its socket");
    assert_eq!(of_the_crawl(crawl.stats()), of_the_crawl(stats));
    let mut run = crawl.start();
    run.until("the next run", || crawl.log("crawl-statistics.jsonl").matches("\"event\":\"idle\"").count() == 2);
    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    statistics(&crawl, 1);
}

#[test]
fn where_there_is_no_crawl_is_said_and_nothing_is_made() {
    let home = tempfile::tempdir().expect("a directory for the test");
    let missing = home.path().join("missing");
    for (dir, code) in [(missing.as_path(), 2), (home.path(), 2)] {
        for command in ["stats", "seen"] {
            let output = crawld(&[command, "--data", &dir.to_string_lossy()], "http://a.test/\n");
            assert_eq!(output.status.code(), Some(code), "{command} {dir:?}: {output:?}");
            assert!(!output.stderr.is_empty(), "{command} {dir:?}");
        }
    }
    assert!(!Path::new(&missing).exists());
    assert_eq!(std::fs::read_dir(home.path()).expect("is there").count(), 0, "a question makes no files");
}
