//! A server that does everything wrong, one path each, on a loopback port of its own.
//!
//! Not an HTTP library: raw sockets and hand-written bytes, since no HTTP library would send these. Plain `std`
//! threads, so that it serves unit tests with a paused clock as well as tests of the whole daemon. Invariant: [`PATHS`]
//! names every path but the ordinary ones, and `/` links to all of them and to `/ok/1` … `/ok/5`.

// Two test binaries include this file, and each uses a part of it.
#![allow(dead_code)]

#[path = "gzip_bomb.rs"]
mod gzip_bomb;

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Writes one hostile answer. The connection is closed after it.
type Answer = fn(&mut TcpStream) -> io::Result<()>;

/// Every hostile path with what it does.
pub const PATHS: &[(&str, Answer)] = &[
    ("/endless", endless),
    ("/drip", drip),
    ("/silent", silent),
    ("/short", |s| {
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<a href=/ok/1>1</a>")
    }),
    ("/long", |s| {
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\n0123456789<a href=/ok/1>more than was said</a>")
    }),
    ("/broken-chunks", |s| {
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\nzz\r\nnonsense")
    }),
    ("/cut-chunks", |s| {
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\nff\r\nand no more")
    }),
    ("/gzip-bomb", |s| page(s, "Content-Encoding: gzip\r\nContent-Type: text/html\r\n", &gzip_bomb::gzip_bomb())),
    ("/broken-gzip", |s| {
        page(s, "Content-Encoding: gzip\r\nContent-Type: text/html\r\n", b"this is not gzip, whatever the header says")
    }),
    ("/big-header", big_header),
    ("/many-headers", |s| s.write_all(format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-A: b\r\n".repeat(5_000)).as_bytes())),
    ("/loop", |s| redirect(s, "/loop")),
    ("/loop-a", |s| redirect(s, "/loop-b")),
    ("/loop-b", |s| redirect(s, "/loop-a")),
    ("/to-metadata", |s| redirect(s, "http://169.254.169.254/latest/meta-data/")),
    ("/to-file", |s| redirect(s, "file:///etc/passwd")),
    ("/to-private", |s| redirect(s, "http://10.0.0.1/")),
    ("/bad-utf8", |s| html(s, b"<title>\xff\xfe\xc3\x28</title><a href=\"/ok/\xff\">x</a><a href=/ok/1>1</a>\xf0\x9f")),
    ("/mislabelled", |s| {
        page(s, "Content-Type: text/html; charset=utf-16le\r\n", b"<title>plain ASCII</title><a href=/ok/2>2</a>")
    }),
    ("/huge-href", |s| html(s, format!("<a href=\"/{}\">x</a><a href=/ok/3>3</a>", "a".repeat(1 << 20)).as_bytes())),
    ("/million-links", million_links),
    ("/reset", reset),
    ("/empty-reply", |_| Ok(())),
    ("/garbage-status-line", |s| s.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")),
    ("/half-a-head", |s| s.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: tex")),
    ("/bad-length", |s| s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")),
    ("/no-body-204-with-body", |s| s.write_all(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")),
];

/// A running server; stops when dropped.
pub struct HostileServer {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    stopping: AtomicBool,
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

impl HostileServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            stopping: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            requests: Mutex::default(),
        });
        let for_thread = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &for_thread));
        Self { address, shared }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `host path` of every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().expect("no holder panics").clone()
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(shared);
        // A failure here is the client going away, which is its good right.
        std::thread::spawn(move || drop(serve(stream, &shared)));
    }
}

/// Ordinary answers keep the connection, hostile ones end it.
fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    // Bounds the life of threads whose client neither reads nor leaves.
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let record = |request| shared.requests.lock().expect("no holder panics").push(request);
    let mut start = [0; 11];
    if stream.peek(&mut start)? == start.len() && start == *b"GET /reset " {
        record("? /reset".to_owned());
        return reset(&mut stream);
    }
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some((host, path)) = request(&mut reader)? {
        record(format!("{host} {path}"));
        if let Some((_, answer)) = PATHS.iter().find(|(name, _)| *name == path) {
            return answer(&mut stream);
        }
        match path.as_str() {
            "/" => keep(&mut stream, &index())?,
            "/ok/1" | "/ok/2" | "/ok/3" | "/ok/4" | "/ok/5" => {
                let text = format!("<title>{path}</title><a href=/>home</a>");
                keep(&mut stream, &text)?;
            }
            _ => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?,
        }
    }
    Ok(())
}

/// Reads one request without a body; `None` at the end of the connection.
fn request(reader: &mut impl BufRead) -> io::Result<Option<(String, String)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut host = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            return Ok(Some((host, path)));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            value.trim().clone_into(&mut host);
        }
    }
}

fn index() -> String {
    let hostile = PATHS.iter().map(|(path, _)| (*path).to_owned());
    let ordinary = (1..=5).map(|n| format!("/ok/{n}"));
    let link = |path| format!("<a href=\"{path}\">{path}</a>\n");
    hostile.chain(ordinary).map(link).collect()
}

/// An ordinary page; the connection stays.
fn keep(stream: &mut TcpStream, html: &str) -> io::Result<()> {
    let length = html.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + html).as_bytes())
}

/// A page whose framing at least is in order.
fn html(stream: &mut TcpStream, body: &[u8]) -> io::Result<()> {
    page(stream, "Content-Type: text/html\r\n", body)
}

fn page(stream: &mut TcpStream, headers: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat())
}

fn redirect(stream: &mut TcpStream, to: &str) -> io::Result<()> {
    let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())
}

/// HTML without a length and without an end.
fn endless(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=/ok/4>4</a>\n")?;
    let filler = "<p>and so on</p>\n".repeat(1_000);
    loop {
        stream.write_all(filler.as_bytes())?;
    }
}

/// One byte each 100 ms, for ever.
fn drip(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=/ok/5>5</a>\n")?;
    loop {
        stream.write_all(b"x")?;
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Never answers; ends when the client does.
fn silent(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// 10 MB in a single header.
fn big_header(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Big: ")?;
    for _ in 0..10 {
        stream.write_all(&[b'a'; 1_000_000])?;
    }
    stream.write_all(b"\r\nContent-Length: 0\r\n\r\n")
}

/// A million different links, about 20 MB.
fn million_links(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")?;
    for thousand in 0..1_000 {
        let links = (0..1_000).map(|n| format!("<a href=/m/{thousand}/{n}></a>"));
        stream.write_all(links.collect::<String>().as_bytes())?;
    }
    Ok(())
}

/// A reset in the middle of the body: closing a socket with unread input, here the request, makes the kernel send one.
fn reset(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<a href=/ok/1>1</a>")
}
