//! The demo's web server: HTTP/1.1 with kept connections, GET, a table of files.
//!
//! Not a server for anybody else: it listens on loopback, for one client that is known. Invariant: memory is bounded by
//! [`MAX_HEAD_BYTES`] per connection and by the number of requests, of which each is remembered.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Longest request head, in bytes.
const MAX_HEAD_BYTES: u64 = 16 * 1024;

/// Path, content type and body of a file.
pub(super) type File = (&'static str, &'static str, &'static [u8]);

/// One request, as the site saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// Path and query.
    pub target: String,
    /// Status of the answer.
    pub status: u16,
}

/// The files, and what was asked for. Clones share both.
#[derive(Clone)]
pub(super) struct Site {
    files: &'static [File],
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    pub fn new(files: &'static [File]) -> Self {
        Self { files, asked: Arc::default() }
    }

    /// Every request so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Status, content type and body for a target; a query is for the file that its path names.
    fn answer(&self, target: &str) -> (u16, &'static str, &'static [u8]) {
        let path = target.split('?').next().unwrap_or(target);
        let named = |name: &str| self.files.iter().find(|(path, ..)| *path == name);
        let (status, content_type, body) = match named(target).or_else(|| named(path)) {
            Some((_, content_type, body)) => (200, *content_type, *body),
            None => (404, "text/plain", &b"no such page\n"[..]),
        };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(Asked { target: target.to_owned(), status });
        (status, content_type, body)
    }
}

/// Serves until dropped.
pub(super) async fn serve(listener: TcpListener, site: Site) {
    while let Ok((stream, _)) = listener.accept().await {
        let site = site.clone();
        tokio::spawn(async move {
            // A connection that breaks is the client's affair.
            let _ = serve_connection(stream, &site).await;
        });
    }
}

async fn serve_connection(stream: TcpStream, site: &Site) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(target) = read_target(&mut stream).await? {
        let (status, content_type, body) = site.answer(&target);
        let phrase = if status == 200 { "OK" } else { "Not Found" };
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} {phrase}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(&[head.as_bytes(), body].concat()).await?;
    }
    Ok(())
}

/// The target of the next request; `None` at the end, or when it is not a GET.
async fn read_target(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut head = (&mut *stream).take(MAX_HEAD_BYTES);
    let mut request = String::new();
    head.read_line(&mut request).await?;
    let mut line = String::new();
    loop {
        line.clear();
        if head.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut words = request.split(' ');
    Ok(match (words.next(), words.next()) {
        (Some("GET"), Some(target)) => Some(target.to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_answers_one_request_after_another() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let site = Site::new(&[("/a", "text/html", b"<p>a"), ("/a?x=1", "text/html", b"<p>x")]);
        tokio::spawn(serve(listener, site.clone()));
        let mut client = TcpStream::connect(address).await.expect("connected");
        let request = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        let all = ["/a", "/a?x=1", "/a?x=2", "/b"].map(request).concat() + "POST / HTTP/1.1\r\n\r\n";
        client.write_all(all.as_bytes()).await.expect("sent");
        let mut text = String::new();
        client.read_to_string(&mut text).await.expect("read to the end");
        let bodies: Vec<_> = text.split("HTTP/1.1 ").filter_map(|answer| answer.split("\r\n\r\n").nth(1)).collect();
        assert_eq!(bodies, ["<p>a", "<p>x", "<p>a", "no such page\n"]);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n"), "{text}");
        let statuses: Vec<_> = site.asked().iter().map(|asked| asked.status).collect();
        assert_eq!(statuses, [200, 200, 200, 404]);
    }
}
