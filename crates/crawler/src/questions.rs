//! Questions about a crawl that may be running or stopped: `crawld stats` and `crawld seen`.
//!
//! A running daemon is asked over its control socket; a stopped data directory is opened for the while. Not the answers
//! themselves. Invariant: both ways give the same answers in the same form.

use std::io::{self, BufRead, Write};
use std::path::Path;

use frontier::Frontier;
use serde::Serialize;
use serde_json::{Value, json};

use crate::audit;
use crate::clock::Clock;
use crate::control::{Client, ClientError, Request};
use crate::daemon::{exit_of, seen};
use crate::exit::Exit;
use crate::statistics::{Event, Gauges, Snapshot};

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// No such directory: check `--data`.
    #[error("{0} is not a data directory: there is no such directory")]
    Missing(String),
    /// The running daemon did not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The stopped directory cannot be opened.
    #[error(transparent)]
    Frontier(#[from] frontier::Error),
    /// Standard input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl QuestionError {
    /// The exit code that tells the caller what to do.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Missing(_) => Exit::Usage,
            Self::Client(_) | Self::Io(_) => Exit::Failure,
            Self::Frontier(error) => exit_of(error),
        }
    }
}

/// What is told of a URL. (A type of its own for the order of its keys.)
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Seen { url: &'a str, key: &'a str, seen: bool },
    Not { url: &'a str, error: &'a str },
}

/// Whom to ask.
enum Source {
    Daemon(Client),
    Stopped(Box<Frontier>),
}

fn open(dir: &Path) -> Result<Source, QuestionError> {
    if !dir.is_dir() {
        return Err(QuestionError::Missing(dir.display().to_string()));
    }
    if let Some(client) = Client::connect(dir)? {
        return Ok(Source::Daemon(client));
    }
    Ok(Source::Stopped(Box::new(Frontier::open_existing(dir, Clock::start().now())?)))
}

/// The statistics of the crawl in `dir`, now.
///
/// # Errors
/// When nobody can be asked.
pub fn stats(dir: &Path) -> Result<Snapshot, QuestionError> {
    match open(dir)? {
        Source::Daemon(mut client) => {
            let reply = client.ask(&Request::Stats)?;
            Ok(serde_json::from_value(reply).map_err(|error| ClientError::Malformed(error.to_string()))?)
        }
        Source::Stopped(frontier) => {
            let now = Clock::start().now();
            Ok(Snapshot::new(now, Event::Asked, &frontier.statistics()?, &Gauges::default()))
        }
    }
}

/// What the audit of the crawl in `dir` says. `budget` is the configured rate, for a stopped one.
///
/// # Errors
/// When nobody can be asked.
pub fn audit(dir: &Path, budget: f64) -> Result<Value, QuestionError> {
    match open(dir)? {
        Source::Daemon(mut client) => Ok(client.ask(&Request::Audit)?),
        Source::Stopped(frontier) => Ok(audit::to_json(&frontier.audit(budget)?)),
    }
}

/// Asks a running daemon to rebuild its filters; false where none is running.
///
/// # Errors
/// When it does not answer.
pub fn rebuild_filters(dir: &Path) -> Result<bool, QuestionError> {
    match Client::connect(dir)? {
        Some(mut client) => client.ask(&Request::RebuildFilters).map(|_| true).map_err(Into::into),
        None => Ok(false),
    }
}

/// Tells of each URL in `input`, one a line, whether the crawl in `dir` has seen it: JSON lines with `url`, `key` and
/// `seen`, or with `url` and `error` for what is no URL.
///
/// # Errors
/// When nobody can be asked, or reading or writing fails.
pub fn seen_lines(dir: &Path, input: impl BufRead, out: &mut impl Write) -> Result<(), QuestionError> {
    let mut source = open(dir)?;
    for line in input.split(b'\n') {
        let line = line?;
        let url = String::from_utf8_lossy(&line);
        let url = url.trim();
        if url.is_empty() {
            continue;
        }
        let reply = match &mut source {
            Source::Daemon(client) => match client.ask(&Request::Seen { url: url.to_owned() }) {
                Err(ClientError::Refused { name, detail }) => json!({ "error": name, "detail": detail }),
                reply => reply?,
            },
            Source::Stopped(frontier) => seen(frontier, url),
        };
        let line = match (reply["key"].as_str(), reply["seen"].as_bool()) {
            (Some(key), Some(seen)) => Line::Seen { url, key, seen },
            _ => Line::Not { url, error: reply["detail"].as_str().unwrap_or("no answer") },
        };
        serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
