//! What a crawl knows, forgotten, written out and taken in: with the daemon running and stopped, and from bad files.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::generated::Generated;
use crate::harness::{Crawl, DEADLINE, Run, check_line, crawl_log, crawld, resolve, statistics};
use crate::web::Web;

const SITE: Generated = Generated { hosts: 2, pages: 20 };
const HEAD: &str = "{\"format\":\"crawld frontier\",\"version\":2}\n";

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs a command on a data directory; gives exit code, standard output and standard error.
fn command(data: &Path, words: &[&str], input: &str) -> (Option<i32>, String, String) {
    let data = text(data);
    let words: Vec<&str> = words.iter().copied().chain(["--data", &data]).collect();
    let output = crawld(&words, input);
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    (output.status.code(), out, err)
}

/// Standard output of a command that must succeed.
fn good(data: &Path, words: &[&str], input: &str) -> String {
    let (code, out, err) = command(data, words, input);
    assert_eq!(code, Some(0), "{words:?}: {out}{err}");
    out
}

/// Standard error of a command that must fail with this code.
fn bad(data: &Path, words: &[&str], code: i32) -> String {
    let (ended, out, err) = command(data, words, "");
    assert_eq!(ended, Some(code), "{words:?}: {out}{err}");
    err
}

/// A crawl of the site, its web server, and the daemon, which has done its work and waits for more.
fn idle() -> (Web, Crawl, Run) {
    let web = Web::start(|host, path| SITE.page(host, path));
    let mut crawl = Crawl::new(&["crawl.idle_exit_secs=0"], &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    crawl.exit_when_done = false;
    let mut run = crawl.start();
    until_idle(&crawl, &mut run, 1);
    (web, crawl, run)
}

fn until_idle(crawl: &Crawl, run: &mut Run, times: usize) {
    let count = || crawl.log("crawl-statistics.jsonl").matches("\"event\":\"idle\"").count();
    run.until("the end of the work", || count() >= times);
}

fn stop(crawl: &Crawl, mut run: Run) {
    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    statistics(crawl, 0);
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_whole_frontier_goes_out_of_a_running_crawl_and_goes_on_elsewhere() {
    let (web, crawl, run) = idle();
    let data = crawl.data();
    let packed = crawl.home.path().join("frontier.jsonl.gz");
    let said = good(&data, &["export", "--gzip", "--output", &text(&packed)], "");
    assert!(said.starts_with("40 URLs of 2 hosts, 0 of them queued in "), "{said}");
    let running = good(&data, &["export"], "");
    let urls = good(&data, &["export", "--urls"], "");
    assert_eq!(sorted(&urls), sorted(&SITE.urls().join("\n")));
    stop(&crawl, run);
    assert_eq!(good(&data, &["export"], ""), running, "running and stopped are the same");
    assert_eq!(sorted(&good(&data, &["export", "--urls", "--state", "fetched"], "")), sorted(&urls));

    let mut moved = Crawl::new(&["frontier.partitions=3"], &SITE.seeds());
    moved.config = resolve(&SITE.names(), web.address);
    let new = moved.data();
    let import = ["import", "--set", "frontier.partitions=3", &text(&packed)];
    assert_eq!(good(&new, &import, ""), "imported 40 URLs of 2 hosts; 0 more were known already\n");
    assert_eq!(good(&new, &import, ""), "imported 0 URLs of 2 hosts; 40 more were known already\n");
    assert_eq!(good(&new, &["export"], ""), running);
    let stats = moved.stats();
    check_line(&stats);
    assert_eq!((&stats["imported"], &stats["fetched"], &stats["discovered"]), (&40.into(), &40.into(), &0.into()));

    let hits = web.count();
    moved.finish();
    assert_eq!((web.count(), crawl_log(&moved).len()), (hits, 0), "nothing is fetched a second time");
    statistics(&moved, 0);
}

#[test]
fn an_export_in_the_middle_of_a_crawl_loses_nothing() {
    let web = Web::start(|host, path| SITE.page(host, path));
    let mut crawl = Crawl::new(&["politeness.delay_ms=30"], &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    let mut run = crawl.start();
    run.until("some pages", || crawl.log("crawl.log").lines().count() > 4);
    let exported = good(&crawl.data(), &["export"], "");
    assert!(run.kill(), "it was in the middle of its work");

    let mut moved = Crawl::new(&[], &SITE.seeds());
    moved.config = resolve(&SITE.names(), web.address);
    let said = good(&moved.data(), &["import", "--set", "frontier.partitions=4"], &exported);
    let count = |start: &str| exported.lines().filter(|line| line.starts_with(start)).count();
    let (urls, hosts) = (count("{\"url\""), count("{\"host\""));
    assert_eq!(said, format!("imported {urls} URLs of {hosts} hosts; 0 more were known already\n"));
    moved.finish();
    let fetched = exported.matches("\"state\":\"fetched\"").count();
    assert!((5..40).contains(&fetched), "{fetched} pages were done");
    assert_eq!((moved.stats()["fetched"].as_u64(), crawl_log(&moved).len()), (Some(40), 40 - fetched));
    statistics(&moved, 0);
    statistics(&crawl, 1);
}

#[test]
fn what_is_forgotten_is_crawled_again_and_nothing_else() {
    let (web, crawl, mut run) = idle();
    let data = crawl.data();
    let host = ["forget", "--host", "site0.test"];
    let urls: Vec<String> = SITE.urls().into_iter().filter(|url| url.contains("site0")).collect();
    let what = "20 URLs\n";
    assert_eq!(good(&data, &[&host[..], &["--dry-run"]].concat(), ""), format!("would forget {what}"));
    assert_eq!(crawl.seen(&urls), [true; 20], "it was only asked");
    assert_eq!(good(&data, &host, ""), format!("forgot {what}"));
    assert_eq!(crawl.seen(&urls), [false; 20]);
    assert!(good(&data, &host, "").starts_with("forgot 0 URLs\n"));
    check_line(&crawl.stats());

    let before = web.count();
    let list = format!("# all of them\n\n{}\n", SITE.urls().join("\n"));
    assert_eq!(good(&data, &["import", "--queue"], &list), "imported 20 URLs; 20 more were known already\n");
    until_idle(&crawl, &mut run, 2);
    // Pages, and robots.txt at most once more.
    assert!((20..=21).contains(&(web.count() - before)), "{} requests", web.count() - before);
    let stats = crawl.stats();
    check_line(&stats);
    assert_eq!((&stats["fetched"], &stats["forgotten"], &stats["imported"]), (&40.into(), &20.into(), &20.into()));
    stop(&crawl, run);

    // Stopped: by URL, by prefix, by age and status, and all of it again with the next run.
    let one = ["forget", "http://site0.test/1", "http://site0.test/1#twin", "http://site0.test/none"];
    assert_eq!(good(&data, &one, ""), "forgot 1 URLs\n");
    assert!(good(&data, &["forget", "--prefix", "http://site1.test/1"], "").starts_with("forgot 11 URLs\n"));
    assert!(good(&data, &["forget", "--older-than", "1d"], "").starts_with("forgot 0 URLs\n"));
    assert!(good(&data, &["forget", "--status", "4xx"], "").starts_with("forgot 0 URLs\n"));
    assert!(good(&data, &["forget", "--status", "200", "--dry-run"], "").starts_with("would forget 28 URLs\n"));
    let rest = ["forget", "--status", "2xx", "--state", "fetched", "--host", "site1.test"];
    assert!(good(&data, &rest, "").starts_with("forgot 9 URLs\n"));
    assert!(good(&data, &["forget", "--state", "fetched"], "").starts_with("forgot 19 URLs\n"));
    check_line(&crawl.stats());
    let mut again = crawl;
    again.exit_when_done = true;
    again.finish();
    assert_eq!(again.stats()["fetched"], 40);
    statistics(&again, 0);
}

#[test]
fn urls_imported_as_seen_are_not_fetched() {
    let web = Web::start(|host, path| SITE.page(host, path));
    let mut crawl = Crawl::new(&[], &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    let leaves: Vec<String> =
        SITE.urls().into_iter().filter(|url| url.ends_with("/19") || url.ends_with("/18")).collect();
    let list = crawl.home.path().join("list");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(leaves.join("\n").as_bytes()).expect("memory takes everything");
    std::fs::write(&list, gzip.finish().expect("memory takes everything")).expect("written");
    let said = good(&crawl.data(), &["import", "--seen", "--set", "frontier.partitions=4", &text(&list)], "");
    assert_eq!(said, "imported 4 URLs; 0 more were known already\n");
    crawl.finish();
    let stats = crawl.stats();
    assert_eq!((&stats["fetched"], &stats["imported_seen"], &stats["imported"]), (&36.into(), &4.into(), &4.into()));
    assert!(web.hits().iter().all(|hit| !leaves.iter().any(|url| url.ends_with(&format!("{}{}", hit.host, hit.path)))));
    statistics(&crawl, 0);
}

#[test]
fn a_whole_frontier_does_not_go_into_a_running_crawl() {
    let (_web, crawl, run) = idle();
    let said = bad(&crawl.data(), &["import", "/dev/null"], 3);
    assert!(said.contains("a daemon is running on") && said.contains("stop it first"), "{said}");
    let said = bad(&crawl.data(), &["forget", "http://"], 2);
    assert!(said.contains("http://: not a URL"), "{said}");
    let said = bad(&crawl.data(), &["export", "--urls", "--older-than", "long"], 2);
    assert!(said.contains("--older-than \"long\""), "{said}");
    let (code, _, said) = command(&crawl.data(), &["import", "--queue"], "http://site0.test/100\nnonsense\n");
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("line 2: \"nonsense\": not a URL") && said.contains("the lines before it are imported"),
        "{said}"
    );
    assert_eq!(crawl.seen(&["http://site0.test/100".to_owned()]), [true]);
    stop(&crawl, run);
}

/// Imports bytes into a new directory, which must fail; gives what was said.
fn refused(bytes: &[u8]) -> String {
    let home = tempfile::tempdir().expect("a directory for the test");
    let file = home.path().join("file");
    std::fs::write(&file, bytes).expect("written");
    bad(&home.path().join("data"), &["import", "--set", "frontier.partitions=1", &text(&file)], 2)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes).expect("memory takes everything");
    gzip.finish().expect("memory takes everything")
}

#[test]
fn hostile_files_end_with_the_line_that_is_wrong() {
    let url = "{\"url\":\"https://a.test/\",\"state\":\"fetched\",\"first_seen_secs\":1}\n";
    let good = format!("{HEAD}{}", url.repeat(1000));
    let packed = gzip(good.as_bytes());
    let bomb = gzip(&[HEAD.as_bytes(), &vec![b' '; 64 << 20]].concat());
    assert!(bomb.len() < 100_000, "{} bytes", bomb.len());
    for (bytes, said) in [
        (good.replacen("fetched", "lost", 1).into_bytes(), "line 2: state: \"lost\" is no state; nothing is imported"),
        (good.clone().into_bytes(), "line 1002: the file is cut off here"),
        (packed[..packed.len() - 4].to_vec(), "line 1002: cannot be read"),
        (packed.clone(), "line 1002: the file is cut off here"),
        (bomb, "line 2: longer than 4194304 bytes"),
        (HEAD.replace(":2}", ":7}").into_bytes(), "line 1: written in version 7 of the format"),
        (vec![0x1f, 0x8b], "line 1: cannot be read"),
        (b"https://a.test/\n".to_vec(), "line 1: not the first line of an export"),
    ] {
        let error = refused(&bytes);
        assert!(error.contains(said), "{said}: {error}");
    }
    let home = tempfile::tempdir().expect("a directory for the test");
    bad(&home.path().join("data"), &["import", "/nowhere/file"], 2);
    assert!(!home.path().join("data").exists(), "nothing is made for a file that is not there");
}

#[test]
fn another_programs_directory_is_answered_with_the_steps_to_move_it() {
    let (_web, crawl, run) = idle();
    stop(&crawl, run);
    let data = crawl.data();
    let meta: PathBuf = data.join("frontier.meta");
    let made = std::fs::read_to_string(&meta).expect("there is one");
    std::fs::write(&meta, made.replace("format_version = 3", "format_version = 1")).expect("written");
    for words in [
        &["stats"][..],
        &["run"],
        &["export"],
        &["forget", "--state", "failed"],
        &["explain", "http://a.test/"],
        &["budget", "show"],
    ] {
        let said = bad(&data, words, 2);
        assert!(said.contains("made with format_version 1,"), "{said}");
        let export = format!("crawld export --data {} --output frontier.jsonl", data.display());
        assert!(said.contains(&export) && said.contains("crawld import --data NEW frontier.jsonl"), "{said}");
    }
    let target = crawl.home.path().join("out");
    bad(&data, &["export", "--output", &text(&target)], 2);
    assert!(!target.exists() && !target.with_extension("part").exists(), "no half file is left");
    std::fs::write(&meta, made.replace("format_version = 3", "format_version = 99")).expect("written");
    for words in [&["stats"][..], &["run"], &["rekey"], &["import", "--seen"]] {
        let said = bad(&data, words, 2);
        assert!(said.contains("A newer crawld has made it") && !said.contains("export"), "{said}");
    }
}
