//! No room on the disk of the data directory: the crawl pauses, says why, and goes on when there is room.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::generated::Generated;
use crate::harness::{Crawl, DEADLINE, Run, resolve, statistics};
use crate::web::Web;

const SITE: Generated = Generated { hosts: 2, pages: 40 };

fn crawl(web: &Web, sets: &[&str]) -> Crawl {
    let mut crawl = Crawl::new(sets, &SITE.seeds());
    crawl.config = resolve(&SITE.names(), web.address);
    crawl
}

/// Whether a line of the statistics is of this event.
fn has(crawl: &Crawl, event: &str) -> bool {
    crawl.log("crawl-statistics.jsonl").contains(&format!("\"event\":\"{event}\""))
}

fn until_paused(run: &mut Run, crawl: &Crawl) {
    run.until("the pause", || has(crawl, "pause"));
}

/// Why it pauses, as the statistics say it.
fn reason(crawl: &Crawl) -> String {
    let lines = statistics(crawl, 0);
    let pause = lines.iter().find(|line| line["event"] == "pause").expect("a line about the pause");
    pause["reason"].as_str().expect("a reason").to_owned()
}

#[test]
fn under_the_floor_nothing_is_fetched_and_the_logs_say_why() {
    let web = Web::start(|host, path| SITE.page(host, path));
    // More than any disk has.
    let crawl = crawl(&web, &["store.min_free_disk_bytes=9000000000000000000"]);
    let mut run = crawl.start();
    until_paused(&mut run, &crawl);
    run.until("a line after the pause", || has(&crawl, "interval"));
    run.term();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "a paused crawl stops like any: {}", run.stderr());
    assert_eq!(web.count(), 0, "nothing is fetched, robots.txt included");
    assert!(reason(&crawl).contains("less than store.min_free_disk_bytes"), "{}", reason(&crawl));
    assert!(run.stderr().contains("the crawl pauses"), "{}", run.stderr());
    let lines = statistics(&crawl, 0);
    assert_eq!(lines.last().map(|line| &line["queued"]), Some(&SITE.hosts.into()), "the seeds are kept");
}

/// A small file system in memory; unmounted when dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    /// `None` where it may not be mounted.
    fn mount(at: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(at).expect("a directory to mount on");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn the_crawl_resumes_when_there_is_room_again() {
    const MIB: usize = 1 << 20;
    let web = Web::start(|host, path| SITE.page(host, path));
    let mut crawl = crawl(&web, &["store.min_free_disk_bytes=33554432", "frontier.partitions=1"]);
    let at = crawl.home.path().join("small");
    let Some(_small) = Tmpfs::mount(&at, "size=64m") else {
        eprintln!("a tmpfs may not be mounted here: only the pause is tested, not that the crawl resumes");
        return;
    };
    let ballast = at.join("ballast");
    std::fs::write(&ballast, vec![0; 40 * MIB]).expect("there is room for the ballast");
    crawl.elsewhere = Some(at.join("data"));
    let mut run = crawl.start();
    until_paused(&mut run, &crawl);
    assert_eq!(web.count(), 0, "nothing is fetched while there is no room");
    std::fs::remove_file(&ballast).expect("the ballast goes");
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    assert!(reason(&crawl).contains("less than store.min_free_disk_bytes = 33554432"), "{}", reason(&crawl));
    assert!(has(&crawl, "resume"));
    assert!(run.stderr().contains("the crawl resumes"), "{}", run.stderr());
    let lines = statistics(&crawl, 0);
    let last = lines.last().expect("a last line");
    assert_eq!((&last["fetched"], &last["queued"]), (&SITE.urls().len().into(), &0.into()), "{last}");
}

#[test]
fn a_full_disk_ends_the_crawl_with_a_code_of_its_own_and_loses_nothing() {
    let home = tempfile::tempdir().expect("a directory");
    let at = home.path().join("small");
    let Some(_small) = Tmpfs::mount(&at, "size=32m") else {
        eprintln!("a tmpfs may not be mounted here: what a full disk does to the daemon is not tested");
        return;
    };
    let ballast = at.join("ballast");
    let (filled, served) = (ballast.clone(), AtomicUsize::new(0));
    let web = Web::start(move |host, path| {
        if served.fetch_add(1, Ordering::Relaxed) == 20 {
            // To the last byte: the next event of the journal that needs a block finds none.
            let _ = std::fs::File::create(&filled).map(|mut file| while file.write_all(&[0; 4096]).is_ok() {});
        }
        SITE.page(host, path)
    });
    let mut crawl = crawl(&web, &["store.min_free_disk_bytes=0", "frontier.partitions=1"]);
    crawl.elsewhere = Some(at.join("data"));
    let mut run = crawl.start();
    assert_eq!(run.wait(DEADLINE).code(), Some(4), "{}", run.stderr());
    let journal = crawl.data().join("journal").display().to_string();
    assert!(run.stderr().contains("cannot go on") && run.stderr().contains(&journal), "{}", run.stderr());
    let fetched = web.count();
    std::fs::remove_file(&ballast).expect("the ballast goes");
    let mut run = crawl.start();
    assert_eq!(run.wait(DEADLINE).code(), Some(0), "{}", run.stderr());
    assert!(web.count() > fetched, "it goes on");
    assert!(crawl.seen(&SITE.urls()).into_iter().all(|seen| seen), "a URL is lost");
    assert_eq!(crawl.stats()["queued"], 0);
}
