//! A web server on loopback whose pages are a function of host and path, with a clock and an access log of its own.
//!
//! Not an HTTP library: GET, kept connections, a `Content-Length` on every answer. Invariant: a request is in the log
//! before its answer leaves, and its answer's time is taken before the last byte does. So the gap measured from an answer
//! to the next request is never shorter than the gap that the site really had, and a gap that the log shows to be too
//! short is one.

// Tests and a bench include this file, and each uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// Longest request head, in bytes.
const MAX_HEAD_BYTES: u64 = 64 * 1024;

/// What a page function gives back.
#[derive(Debug, Clone)]
pub struct Page {
    /// HTTP status.
    pub status: u16,
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// How long the site takes for it.
    pub takes: Duration,
    /// Value of `ETag`: who names it in `If-None-Match` is told 304.
    pub etag: Option<String>,
    /// Value of `Last-Modified`: who names it in `If-Modified-Since` is told 304 where there is no `ETag`.
    pub last_modified: Option<String>,
}

impl Page {
    /// An HTML page, at once.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        let (takes, etag, last_modified) = (Duration::ZERO, None, None);
        Self { status: 200, content_type: "text/html", body: body.into(), takes, etag, last_modified }
    }

    /// There is none.
    pub fn missing() -> Self {
        Self { status: 404, content_type: "text/plain", ..Self::html(*b"no such page\n") }
    }

    /// The answer to a conditional request, if the page has not changed.
    fn on_condition(self, asked: &Asked) -> Self {
        let is_same = match &self.etag {
            Some(etag) => asked.if_none_match.as_ref() == Some(etag),
            None => self.last_modified.is_some() && asked.if_modified_since == self.last_modified,
        };
        if is_same { Self { status: 304, body: Vec::new(), ..self } } else { self }
    }
}

/// The page for a host (as in the `Host` header) and a target (path and query).
pub type Pages = dyn Fn(&str, &str) -> Page + Send + Sync;

/// One request, as the site saw it.
#[derive(Debug, Clone)]
pub struct Hit {
    /// When its head was read.
    pub arrived: Instant,
    /// When the answer began to leave; `None` if the client was gone before.
    pub answered: Option<Instant>,
    /// The `Host` header.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// Status of the answer.
    pub status: u16,
    /// The conditions of the request.
    pub asked: Asked,
}

/// The conditions of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// `If-None-Match`
    pub if_none_match: Option<String>,
    /// `If-Modified-Since`
    pub if_modified_since: Option<String>,
}

impl Hit {
    /// From when on the host's delay counts: the answer, or the request itself where none left.
    pub fn ended(&self) -> Instant {
        self.answered.unwrap_or(self.arrived)
    }
}

/// A running server; stops when dropped.
pub struct Web {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    /// Dropped to end the server's thread.
    _running: oneshot::Sender<()>,
}

struct Shared {
    pages: Box<Pages>,
    hits: Mutex<Vec<Hit>>,
    open: AtomicUsize,
}

impl Web {
    /// Listens on a free port of 127.0.0.1, on a thread of its own.
    pub fn start(pages: impl Fn(&str, &str) -> Page + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared { pages: Box::new(pages), hits: Mutex::default(), open: AtomicUsize::new(0) });
        let (running, stopped) = oneshot::channel::<()>();
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                tokio::select! {
                    () = accept(listener, serving) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, shared, _running: running }
    }

    /// Every request so far, in order of arrival.
    pub fn hits(&self) -> Vec<Hit> {
        self.shared.hits.lock().expect("no holder panics").clone()
    }

    /// Number of requests so far.
    pub fn count(&self) -> usize {
        self.shared.hits.lock().expect("no holder panics").len()
    }

    /// Waits until every connection has been seen to end, so that nothing of a dead client is still to be logged.
    pub fn settle(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.shared.open.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < deadline, "connections of a dead client stay open");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The shortest gap that any host had from the end of an answer to the next request, and which request came so soon.
/// `None` when no host was asked twice.
pub fn least_gap(hits: &[Hit]) -> Option<(Duration, &Hit)> {
    let mut last: BTreeMap<&str, Instant> = BTreeMap::new();
    let mut least: Option<(Duration, &Hit)> = None;
    for hit in hits {
        let before = last.insert(&hit.host, hit.ended());
        let gap = before.map(|before| hit.arrived.saturating_duration_since(before));
        if let Some(gap) = gap.filter(|gap| least.is_none_or(|(known, _)| *gap < known)) {
            least = Some((gap, hit));
        }
    }
    least
}

async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("a runtime is running");
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        shared.open.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            // A connection that breaks is the client's affair.
            let _ = serve(stream, &shared).await;
            shared.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some((host, path, asked)) = read_head(&mut stream).await? {
        let arrived = Instant::now();
        let page = (shared.pages)(&host, &path).on_condition(&asked);
        let status = page.status;
        let index = {
            let mut hits = shared.hits.lock().expect("no holder panics");
            hits.push(Hit { arrived, answered: None, host, path, status, asked });
            hits.len() - 1
        };
        if !page.takes.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(page.takes) => {}
                // The client sends nothing before it has its answer, so this is its end.
                _ = stream.fill_buf() => return Ok(()),
            }
        }
        let line = |name: &str, value: &Option<String>| {
            value.as_ref().map_or(String::new(), |value| format!("{name}: {value}\r\n"))
        };
        let validators = line("ETag", &page.etag) + &line("Last-Modified", &page.last_modified);
        let head = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: {}\r\n{validators}Content-Length: {}\r\n\r\n",
            if status < 400 { "OK" } else { "No" },
            page.content_type,
            page.body.len()
        );
        let answer = [head.as_bytes(), &page.body].concat();
        let answered = Instant::now();
        stream.write_all(&answer).await?;
        shared.hits.lock().expect("no holder panics")[index].answered = Some(answered);
    }
    Ok(())
}

/// Host, target and conditions of the next request; `None` at the end of the connection.
async fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<Option<(String, String, Asked)>> {
    let mut head = (&mut *stream).take(MAX_HEAD_BYTES);
    let mut request = String::new();
    if head.read_line(&mut request).await? == 0 {
        return Ok(None);
    }
    let (mut host, mut line, mut asked) = (String::new(), String::new(), Asked::default());
    loop {
        line.clear();
        if head.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line.trim_end().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim().to_owned();
        match name.to_ascii_lowercase().as_str() {
            "host" => host = value,
            "if-none-match" => asked.if_none_match = Some(value),
            "if-modified-since" => asked.if_modified_since = Some(value),
            _ => {}
        }
    }
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    Ok(Some((host, target, asked)))
}
