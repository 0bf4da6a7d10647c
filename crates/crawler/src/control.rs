//! `DIR/control.sock`: how `crawld stats`, `seen`, `audit` and the other commands talk to a running daemon.
//!
//! One JSON object a line each way, on a Unix stream socket that only its owner may connect to (mode 0600):
//!
//! | request | reply |
//! |---|---|
//! | `{"verb":"stats"}` | the statistics, as in a line of `crawl-statistics.jsonl` |
//! | `{"verb":"seen","url":"https://…"}` | `{"url":…,"key":…,"seen":true}` |
//! | `{"verb":"explain","url":"https://…"}` | all that is known of the URL, as in [`Explained`](crate::explain::Explained) |
//! | `{"verb":"audit"}` | `{"checks":[{"name":…,"verdict":"PASS","evidence":…},…]}`; may take minutes |
//! | `{"verb":"rebuild_filters"}` | `{"asked":true}`: the rebuild goes on in the background |
//! | `{"verb":"budget","action":"show","host":"a.test"}`, and `raise` (`more`), `lift`, `unslow`, `release` | `{"hosts":[{"host":…,"parked":…,…}]}`; a release also `released` and `held_by`, the budget without room |
//! | `{"verb":"forget","urls":["https://…",…]}` | `{"forgotten":2,"in_flight":0}` |
//! | `{"verb":"forget","select":{"host":"example.org"},"dry_run":true}` | the same; may take minutes |
//! | `{"verb":"import","urls":["https://…",…],"seen":true}` | `{"imported":2,"known":0}` |
//! | `{"verb":"export"}` | the lines of [`frontier::transfer`], the last of which begins with `{"end":` |
//! | `{"verb":"export","select":{}}` | the selected URLs, a JSON string a line, then `{"end":{"urls":2}}` |
//! | anything else | `{"error":NAME,"detail":…}` with NAME one of `too_long`, `malformed`, `unknown_verb`, `bad_url`, `bad_host`, `bad_selection`, `outrun`, `failed` |
//!
//! Requests of one connection are answered in order; a connection may ask any number of them. A reply of many lines may
//! end early, with an error as its last one.
//!
//! Not a network protocol and not authentication: the file's mode is all there is. Invariant: nobody but the owner can
//! connect at any moment, also not between the making of the socket and the setting of its mode; whatever is sent, the
//! cost of a line is bounded by [`MAX_LINE_BYTES`].

mod client;

use std::fs::{self, DirBuilder, File, Permissions};
use std::future::Future;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::budget::Action;
use crate::cli::Select;

pub use client::{Client, ClientError};

/// Longest line, either way, in bytes: the longest URL with every byte escaped, and room for the rest.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// Connections that are served at a time; more wait.
const MAX_CONNECTIONS: usize = 32;

/// How long a client may say nothing before its place is given away.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// How long a client may take none of a long reply before it is left alone.
const READ_LIMIT: Duration = Duration::from_secs(30);

/// How long the socket rests when a client could not be let in.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Longest path of a Unix socket, in bytes, with its NUL left out (`sun_path`, unix(7)).
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// What a client can ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Request {
    /// The present statistics.
    Stats,
    /// Has the crawl seen this URL?
    Seen {
        /// The URL, absolute.
        url: String,
    },
    /// What is known of this URL, and what would become of it?
    Explain {
        /// The URL, absolute.
        url: String,
    },
    /// Does the filter keep its promises?
    Audit,
    /// Make every filter anew from the exact set.
    RebuildFilters,
    /// Show or change what hosts may use.
    Budget(Action),
    /// Un-see URLs: these, or where there are none those that are selected.
    Forget {
        /// The URLs, absolute.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        urls: Vec<String>,
        /// The selection.
        #[serde(default)]
        select: Option<Select>,
        /// Only count them.
        #[serde(default)]
        dry_run: bool,
    },
    /// Take in URLs.
    Import {
        /// The URLs, absolute.
        urls: Vec<String>,
        /// As seen; else they are queued.
        seen: bool,
    },
    /// Write the whole frontier, or, with a selection, URLs.
    Export {
        /// The selection.
        #[serde(default)]
        select: Option<Select>,
    },
}

/// What is replied.
#[derive(Debug)]
pub enum Answer {
    /// One line.
    Line(Value),
    /// Many lines, in pieces that need not end where lines do.
    Lines(mpsc::Receiver<Vec<u8>>),
}

impl From<Value> for Answer {
    fn from(line: Value) -> Self {
        Self::Line(line)
    }
}

/// Names of all verbs, for the error that lists them.
const VERBS: [&str; 9] =
    ["stats", "seen", "explain", "audit", "rebuild_filters", "budget", "forget", "import", "export"];

/// An error as it is replied.
pub fn error(name: &str, detail: impl ToString) -> Value {
    json!({ "error": name, "detail": detail.to_string() })
}

/// A listening socket; its file goes away with it.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Socket {
    /// Listens on `dir/control.sock`, in place of one that a killed process left there. The caller holds the data
    /// directory, so no living process listens on it.
    ///
    /// # Errors
    /// When the socket cannot be made.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn listen(dir: &Path) -> io::Result<Self> {
        let path = dir.join("control.sock");
        // Made in a directory that nobody else can enter, then moved, its mode set, to where it is looked for.
        let private = dir.join("control.tmp");
        match fs::remove_dir_all(&private) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(&private)?;
        let made = private.join("control.sock");
        let listener = with_short_path(&made, |short| UnixListener::bind(short))?;
        fs::set_permissions(&made, Permissions::from_mode(0o600))?;
        fs::rename(&made, &path)?;
        fs::remove_dir(&private)?;
        Ok(Self { listener, path })
    }

    /// Answers clients until dropped.
    ///
    /// # Errors
    /// When the socket itself fails.
    pub async fn serve<A, F>(self, answer: A) -> io::Result<()>
    where
        A: Fn(Request) -> F + Clone + Send + 'static,
        F: Future<Output = Answer> + Send,
    {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let place = Arc::clone(&places).acquire_owned().await.expect("never closed");
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                // Out of descriptors, most likely: it passes, and is no reason to end a crawl.
                Err(error) => {
                    tracing::warn!(%error, "control socket: a client cannot be let in");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let answer = answer.clone();
            connections.spawn(async move {
                // A client that breaks off is its own affair.
                let _ = serve_connection(stream, answer).await;
                drop(place);
            });
            while connections.try_join_next().is_some() {}
        }
    }
}

async fn serve_connection<A, F>(stream: UnixStream, answer: A) -> io::Result<()>
where
    A: Fn(Request) -> F,
    F: Future<Output = Answer>,
{
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut read).take(MAX_LINE_BYTES as u64 + 1);
        match timeout(IDLE_LIMIT, bounded.read_until(b'\n', &mut line)).await {
            Ok(Ok(1..)) => {}
            // Gone, or silent for so long that its place is for somebody else.
            _ => return Ok(()),
        }
        let too_long = line.len() > MAX_LINE_BYTES;
        let reply = match parse(&line) {
            _ if too_long => error("too_long", format!("a request has at most {MAX_LINE_BYTES} bytes")).into(),
            Ok(request) => answer(request).await,
            Err(error) => error.into(),
        };
        match reply {
            Answer::Line(line) => write.write_all(format!("{line}\n").as_bytes()).await?,
            Answer::Lines(mut pieces) => {
                while let Some(piece) = pieces.recv().await {
                    timeout(READ_LIMIT, write.write_all(&piece)).await??;
                }
            }
        }
        if too_long {
            return Ok(()); // where the next request begins is not known
        }
    }
}

fn parse(line: &[u8]) -> Result<Request, Value> {
    let value: Value = serde_json::from_slice(line).map_err(|e| error("malformed", e))?;
    let verb = value.get("verb").and_then(Value::as_str).unwrap_or_default();
    if !VERBS.contains(&verb) {
        return Err(error("unknown_verb", format!("{verb:?} is none of {VERBS:?}")));
    }
    serde_json::from_value(value).map_err(|e| error("malformed", e))
}

/// Calls with the path, or with one through `/proc/self/fd` where a socket address does not hold it.
fn with_short_path<T>(path: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
        return call(path);
    }
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidFilename.into());
    };
    let dir = File::open(dir)?;
    call(&Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name))
}

#[cfg(test)]
mod tests;
