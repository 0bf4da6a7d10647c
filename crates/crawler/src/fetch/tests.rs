//! [`HttpFetch`] against a server that does everything wrong, and against the rules of the address guard.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use url::Url;

use super::{DRAIN_BYTES, Fetch, FetchError, Head, HttpFetch, Request, Settings};

#[path = "../../../../tests/hostile_server.rs"]
mod hostile_server;
mod wire;

use hostile_server::HostileServer;
use wire::serve_once;

const CAP: u64 = 1 << 20;

fn settings() -> Settings {
    Settings {
        user_agent: "crawld-test/1.0".to_owned(),
        timeout: Duration::from_millis(1500),
        connect_timeout: Duration::from_millis(500),
        idle_timeout: Duration::from_millis(500),
        max_body_bytes: CAP,
        allow_private_networks: true,
        resolve: HashMap::new(),
        connections_per_host: 1,
        keep_messages: false,
    }
}

fn fetcher(settings: &Settings) -> HttpFetch {
    HttpFetch::new(settings).expect("good settings")
}

/// A whole page.
#[derive(Debug)]
struct Got {
    head: Head,
    bytes: u64,
    start: Vec<u8>,
    truncated: bool,
    end: Result<(), FetchError>,
}

async fn get(fetcher: &HttpFetch, url: &str) -> Result<Got, FetchError> {
    let url = Url::parse(url).expect("a URL");
    let mut exchange = fetcher.start(&Request::new(&url)).await?;
    let mut start = Vec::new();
    let end = loop {
        match exchange.chunk().await {
            Ok(Some(piece)) if start.len() < 4096 => start.extend_from_slice(piece.as_ref()),
            Ok(Some(_)) => {}
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    Ok(Got { head: exchange.head().clone(), bytes: exchange.body_bytes(), start, truncated: exchange.truncated(), end })
}

/// The end of a page in one word or two.
async fn outcome(fetcher: &HttpFetch, url: &str) -> String {
    match get(fetcher, url).await {
        Err(error) => error.reason().to_owned(),
        Ok(got) => match got.end {
            Err(error) => format!("{} {}", got.head.status, error.reason()),
            Ok(()) if got.truncated => format!("{} truncated", got.head.status),
            Ok(()) => got.head.status.to_string(),
        },
    }
}

#[tokio::test]
async fn every_hostile_answer_has_a_named_outcome() {
    let expected = HashMap::from([
        ("/endless", "200 truncated"),
        ("/drip", "200 timeout"),
        ("/silent", "timeout"),
        ("/short", "200 connection_lost"),
        ("/long", "200"),
        ("/broken-chunks", "200 malformed_response"),
        ("/cut-chunks", "200 connection_lost"),
        ("/gzip-bomb", "200 truncated"),
        ("/broken-gzip", "200 bad_encoding"),
        ("/big-header", "headers_too_large"),
        ("/many-headers", "headers_too_large"),
        ("/loop", "302"),
        ("/loop-a", "302"),
        ("/loop-b", "302"),
        ("/to-metadata", "302"),
        ("/to-file", "302"),
        ("/to-private", "302"),
        ("/bad-utf8", "200"),
        ("/mislabelled", "200"),
        ("/huge-href", "200 truncated"),
        ("/million-links", "200 truncated"),
        ("/reset", "200 connection_lost"),
        ("/empty-reply", "connection_lost"),
        ("/garbage-status-line", "malformed_response"),
        ("/half-a-head", "connection_lost"),
        ("/bad-length", "malformed_response"),
        ("/no-body-204-with-body", "204"),
    ]);
    let server = HostileServer::start();
    let fetcher = fetcher(&settings());
    let mut wrong = Vec::new();
    for (path, _) in hostile_server::PATHS {
        let got = outcome(&fetcher, &server.url(path)).await;
        if Some(&got.as_str()) != expected.get(path) {
            wrong.push(format!("{path}: {got}, expected {:?}", expected.get(path)));
        }
        let next = outcome(&fetcher, &server.url("/ok/1")).await;
        if next != "200" {
            wrong.push(format!("/ok/1 after {path}: {next}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(server.requests().len(), 2 * expected.len(), "{:#?}", server.requests());
}

#[tokio::test]
async fn the_links_before_the_cut_are_kept() {
    let server = HostileServer::start();
    let fetcher = fetcher(&settings());
    for path in ["/gzip-bomb", "/endless", "/drip", "/reset", "/short"] {
        let got = get(&fetcher, &server.url(path)).await.expect("a head");
        assert!(got.start.starts_with(b"<a href=/ok/"), "{path}: {got:?}");
        assert!(got.bytes <= CAP, "{path}: {} bytes", got.bytes);
    }
}

#[tokio::test]
async fn where_redirects_lead_is_judged_like_any_request() {
    let server = HostileServer::start();
    let inside = fetcher(&settings());
    let outside = fetcher(&Settings { allow_private_networks: false, ..settings() });
    let refused = FetchError::PrivateAddress.reason();
    for (path, target, from_inside, from_outside) in [
        ("/to-metadata", "http://169.254.169.254/latest/meta-data/", Some(refused), refused),
        ("/to-file", "file:///etc/passwd", Some("bad_scheme"), "bad_scheme"),
        // Allowed inside, and then up to the network that the test runs in.
        ("/to-private", "http://10.0.0.1/", None, refused),
    ] {
        let head = get(&inside, &server.url(path)).await.expect("a head").head;
        assert!(head.is_redirect() && !head.is_success(), "{path}");
        assert_eq!(head.location.as_deref(), Some(target));
        assert_eq!(outcome(&outside, target).await, from_outside, "{path}");
        if let Some(expect) = from_inside {
            assert_eq!(outcome(&inside, target).await, expect, "{path}");
        }
    }
}

#[tokio::test]
async fn nothing_leaves_for_a_refused_address() {
    let server = HostileServer::start();
    let port = server.address.port();
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let fetcher = fetcher(&Settings {
        allow_private_networks: false,
        resolve: HashMap::from([("table.test".to_owned(), (loopback, Some(port)))]),
        ..settings()
    });
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "table.test",
    ] {
        let url = format!("http://{host}:{port}/ok/1");
        assert_eq!(outcome(&fetcher, &url).await, "private_address", "{url}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_refused_by_name() {
    let fetcher = fetcher(&settings());
    let long = format!("http://127.0.0.1/{}", "a".repeat(70_000));
    for (url, expect) in [
        ("ftp://127.0.0.1/", "bad_scheme"),
        ("file:///etc/passwd", "bad_scheme"),
        ("data:text/html,x", "bad_scheme"),
        ("javascript:alert(1)", "bad_scheme"),
        (long.as_str(), "bad_url"),
    ] {
        assert_eq!(outcome(&fetcher, url).await, expect, "{}", &url[..20.min(url.len())]);
    }
}

#[tokio::test]
async fn one_listener_serves_many_names() {
    let server = HostileServer::start();
    let to = (IpAddr::V4(Ipv4Addr::LOCALHOST), Some(server.address.port()));
    let names = ["host0001.test", "host0002.test"].map(|name| (name.to_owned(), to));
    let fetcher = fetcher(&Settings { resolve: HashMap::from(names), ..settings() });
    for url in [
        "http://host0001.test/ok/1",
        "http://host0002.test/ok/2",
        "http://HOST0002.test./ok/3",
        "http://host0001.test:8080/ok/4",
    ] {
        let got = get(&fetcher, url).await.expect("an answer");
        assert_eq!((got.head.status, got.head.address), (200, Some(server.address)), "{url}");
    }
    assert_eq!(
        server.requests(),
        ["host0001.test /ok/1", "host0002.test /ok/2", "host0002.test. /ok/3", "host0001.test:8080 /ok/4"]
    );
}

#[tokio::test]
async fn failures_before_any_answer() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let closed = format!("http://{}/", free.local_addr().expect("bound"));
    drop(free);
    let (no_tls, _served) = serve_once(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    // longer than a label may be, so that it fails without asking any name server
    let no_name = format!("http://{}.invalid/", "a".repeat(64));
    let fetcher = fetcher(&settings());
    assert_eq!(outcome(&fetcher, &closed).await, "connect_failed");
    assert_eq!(outcome(&fetcher, &no_tls.replace("http:", "https:")).await, "tls_failed");
    assert_eq!(outcome(&fetcher, &no_name).await, "dns_failed");
}

#[tokio::test]
async fn a_drained_connection_is_used_again() {
    let server = HostileServer::start();
    let fetcher = fetcher(&settings());
    for n in 1..=5 {
        let url = Url::parse(&server.url(&format!("/ok/{n}"))).expect("a URL");
        let mut exchange = fetcher.start(&Request::new(&url)).await.expect("a head");
        assert!(exchange.drain(DRAIN_BYTES).await);
        assert!(exchange.body_bytes() > 0);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_request_may_have_a_cap_of_its_own() {
    let server = HostileServer::start();
    let fetcher = fetcher(&settings());
    let url = Url::parse(&server.url("/endless")).expect("a URL");
    let request = Request { max_body_bytes: Some(10), ..Request::new(&url) };
    let mut exchange = fetcher.start(&request).await.expect("a head");
    while exchange.chunk().await.expect("no failure").is_some() {}
    assert_eq!((exchange.body_bytes(), exchange.truncated()), (10, true));
}
