//! The asking side of the control socket, for the command line.
//!
//! Not async: a command asks one question after another. Invariant: a reply is a whole line of JSON or an error.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::{MAX_LINE_BYTES, Request, with_short_path};

/// How long a daemon may take for an answer. It waits for a commit at most, but the disk may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long an audit may take: it reads up to a million keys of each partition.
const AUDIT_PATIENCE: Duration = Duration::from_secs(3600);

/// Why a running daemon did not give an answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed.
    #[error("the daemon does not answer on its control socket: {0}")]
    Io(#[from] io::Error),
    /// Something that is not a reply came.
    #[error("the daemon's reply is not a line of JSON: {0}")]
    Malformed(String),
    /// The daemon replied with an error.
    #[error("the daemon refuses: {name}: {detail}")]
    Refused {
        /// One of the names in the [module's](super) table.
        name: String,
        /// In words.
        detail: String,
    },
}

/// A connection to a running daemon.
#[derive(Debug)]
pub struct Client(BufReader<UnixStream>);

impl Client {
    /// Connects to the daemon of a data directory; `None` when none is running there.
    ///
    /// # Errors
    /// When there may be one, but it cannot be talked to (as for want of permission).
    pub fn connect(dir: &Path) -> Result<Option<Self>, ClientError> {
        let stream = match with_short_path(&dir.join("control.sock"), |path| UnixStream::connect(path)) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Some(Self(BufReader::new(stream))))
    }

    /// Asks one question.
    ///
    /// # Errors
    /// [`ClientError`] for each way that no answer came.
    pub fn ask(&mut self, request: &Request) -> Result<Value, ClientError> {
        let patience = if *request == Request::Audit { AUDIT_PATIENCE } else { PATIENCE };
        self.0.get_ref().set_read_timeout(Some(patience))?;
        let mut line = serde_json::to_string(request).expect("texts are JSON");
        line.push('\n');
        self.0.get_mut().write_all(line.as_bytes())?;
        let mut reply = Vec::new();
        (&mut self.0).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut reply)?;
        if !reply.ends_with(b"\n") {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let reply: Value = serde_json::from_slice(&reply).map_err(|error| ClientError::Malformed(error.to_string()))?;
        let text = |name: &str| reply.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match reply.get("error") {
            Some(_) => Err(ClientError::Refused { name: text("error"), detail: text("detail") }),
            None => Ok(reply),
        }
    }
}
