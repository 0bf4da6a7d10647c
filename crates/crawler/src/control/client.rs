//! The asking side of the control socket, for the command line.
//!
//! Not async: a command asks one question after another. Invariant: a reply is a whole line of JSON or an error.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use frontier::transfer;

use super::{MAX_LINE_BYTES, Request, with_short_path};

/// How long a daemon may take for an answer. It waits for a commit at most, but the disk may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a daemon may take where it goes through everything, or waits for merges.
const LONG_PATIENCE: Duration = Duration::from_secs(3600);

/// Why a running daemon did not give an answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed.
    #[error("the daemon does not answer on its control socket: {0}")]
    Io(#[from] io::Error),
    /// Something that is not a reply came.
    #[error("the daemon's reply is not a line of JSON: {0}")]
    Malformed(String),
    /// The daemon replied with an error, or a stopped directory was asked and the reply would have been this one.
    #[error("refused: {detail} ({name})")]
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
        self.send(request)?;
        let mut reply = Vec::new();
        self.line(MAX_LINE_BYTES, &mut reply)?;
        value(&reply)
    }

    /// Asks for many lines; hands each of them to `each`, but for the last one, which it returns.
    ///
    /// # Errors
    /// [`ClientError`] for each way that the last line did not come; what `each` says.
    pub fn ask_lines<E: From<ClientError>>(
        &mut self,
        request: &Request,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        self.send(request)?;
        let mut line = Vec::new();
        loop {
            self.line(transfer::MAX_LINE_BYTES, &mut line)?;
            if line.starts_with(b"{\"end\":") {
                return Ok(line);
            }
            if line.starts_with(b"{\"error\":") || line.starts_with(b"{\"detail\":") {
                value(&line)?;
            }
            each(&line)?;
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let patience = match request {
            Request::Stats | Request::Seen { .. } | Request::RebuildFilters => PATIENCE,
            _ => LONG_PATIENCE,
        };
        self.0.get_ref().set_read_timeout(Some(patience))?;
        let mut line = serde_json::to_string(request).expect("texts are JSON");
        line.push('\n');
        Ok(self.0.get_mut().write_all(line.as_bytes())?)
    }

    fn line(&mut self, max_bytes: usize, line: &mut Vec<u8>) -> Result<(), ClientError> {
        line.clear();
        (&mut self.0).take(max_bytes as u64).read_until(b'\n', line)?;
        match line.ends_with(b"\n") {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

/// A reply, or the error that it is.
fn value(line: &[u8]) -> Result<Value, ClientError> {
    let reply: Value = serde_json::from_slice(line).map_err(|error| ClientError::Malformed(error.to_string()))?;
    let text = |name: &str| reply.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match reply.get("error") {
        Some(_) => Err(ClientError::Refused { name: text("error"), detail: text("detail") }),
        None => Ok(reply),
    }
}
