//! What robots.txt said is known after a restart: it is not asked for again within a day, then asked whether it changed.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::harness::{Crawl, Run, crawld, resolve, statistics};

/// What the site serves as its robots.txt, and how often it was asked for: each answer's status.
#[derive(Default)]
struct Rules {
    version: u32,
    answers: Vec<u16>,
}

/// A host whose every page is the same, and whose robots.txt has an `ETag`.
struct Site {
    address: SocketAddr,
    rules: Arc<Mutex<Rules>>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let rules = Arc::<Mutex<Rules>>::default();
        let shared = Arc::clone(&rules);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let rules = Arc::clone(&shared);
                // A connection that breaks is the client's affair.
                std::thread::spawn(move || serve(stream, &rules));
            }
        });
        Self { address, rules }
    }

    fn change_to(&self, version: u32) {
        self.rules.lock().expect("no holder panics").version = version;
    }

    fn answers(&self) -> Vec<u16> {
        self.rules.lock().expect("no holder panics").answers.clone()
    }
}

fn serve(stream: TcpStream, rules: &Mutex<Rules>) -> std::io::Result<()> {
    let mut read = BufReader::new(stream.try_clone()?);
    let mut write = stream;
    loop {
        let (mut lines, mut line) = (Vec::new(), String::new());
        while read.read_line(&mut line)? > 2 {
            lines.push(std::mem::take(&mut line).trim_end().to_ascii_lowercase());
        }
        let Some(first) = lines.first() else { return Ok(()) };
        let answer = if first.starts_with("get /robots.txt ") {
            let mut rules = rules.lock().expect("no holder panics");
            let version = rules.version;
            let known = lines.contains(&format!("if-none-match: \"v{version}\""));
            rules.answers.push(if known { 304 } else { 200 });
            match known {
                true => format!("HTTP/1.1 304 Not Modified\r\nETag: \"v{version}\"\r\n\r\n"),
                false => ok(&format!("ETag: \"v{version}\"\r\n"), &format!("user-agent: *\ndisallow: /no{version}\n")),
            }
        } else {
            ok("Content-Type: text/html\r\n", "a page")
        };
        write.write_all(answer.as_bytes())?;
    }
}

fn ok(header: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{header}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn crawl(site: &Site) -> Crawl {
    let mut crawl = Crawl::new(&["crawl.idle_exit_secs=0"], &[]);
    crawl.config = resolve(&["a.test".into()], site.address);
    crawl
}

/// Crawls one more page to the end.
fn one_more(crawl: &mut Crawl, path: &str) {
    crawl.urls = vec![format!("http://a.test{path}")];
    crawl.finish();
}

fn good(words: &[&str], data: &Path) -> String {
    let data = data.to_string_lossy();
    let words: Vec<&str> = words.iter().copied().chain(["--data", &*data]).collect();
    let output = crawld(&words, "");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_restart_does_not_ask_again_and_a_stopped_crawl_tells_the_line() {
    let site = Site::start();
    let mut crawl = crawl(&site);
    one_more(&mut crawl, "/1");
    one_more(&mut crawl, "/2");
    one_more(&mut crawl, "/no0");
    assert_eq!(site.answers(), [200], "asked once, over three runs");
    let told = good(&["explain", "http://a.test/no0/x"], &crawl.data());
    assert!(told.contains("denied by line 2: Disallow: /no0 (known until "), "{told}");
    assert_eq!(crawl.stats()["robots_denied"], 1, "and obeyed");
    statistics(&crawl, 0);
}

#[test]
fn a_killed_crawl_knows_it_too() {
    let site = Site::start();
    let mut crawl = crawl(&site);
    crawl.urls = vec!["http://a.test/1".into()];
    crawl.exit_when_done = false;
    let mut run: Run = crawl.start();
    run.until("the end of the work", || crawl.log("crawl-statistics.jsonl").contains("\"event\":\"idle\""));
    assert!(run.kill(), "it was running");
    crawl.exit_when_done = true;
    one_more(&mut crawl, "/2");
    assert_eq!(site.answers(), [200]);
    statistics(&crawl, 1);
}

#[test]
fn after_a_day_it_is_asked_whether_it_has_changed() {
    let site = Site::start();
    let mut crawl = crawl(&site);
    one_more(&mut crawl, "/1");
    make_old(&mut crawl, "second");
    one_more(&mut crawl, "/2");
    assert_eq!(site.answers(), [200, 304]);
    one_more(&mut crawl, "/3");
    assert_eq!(site.answers(), [200, 304], "renewed for another day");

    make_old(&mut crawl, "third");
    site.change_to(1);
    one_more(&mut crawl, "/no0");
    one_more(&mut crawl, "/no1");
    assert_eq!(site.answers(), [200, 304, 200], "replaced");
    assert_eq!((&crawl.stats()["robots_denied"], &crawl.stats()["fetched"]), (&1.into(), &4.into()));
    statistics(&crawl, 0);
}

/// Moves the crawl to another directory, where its robots.txt was asked for the day before yesterday.
fn make_old(crawl: &mut Crawl, name: &str) {
    let exported = good(&["export"], &crawl.data());
    let mark = "\"fetched_ms\":";
    let (before, rest) = exported.split_once(mark).expect("robots.txt is in the export");
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let fetched: u64 = rest[..digits].parse().expect("a number");
    let old = format!("{before}{mark}{}{}", fetched - 2 * 86_400_000, &rest[digits..]);
    let file = crawl.home.path().join(format!("{name}.jsonl"));
    std::fs::write(&file, old).expect("written");
    let data = crawl.home.path().join(name);
    good(&["import", "--set", "frontier.partitions=4", &file.to_string_lossy()], &data);
    std::fs::copy(crawl.data().join("seeds.txt"), data.join("seeds.txt")).expect("the seeds go along");
    crawl.elsewhere = Some(data);
}
