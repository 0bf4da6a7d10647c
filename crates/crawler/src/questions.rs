//! Questions about a crawl that may be running or stopped: `crawld stats`, `seen`, `explain` and `audit`.
//!
//! A running daemon is asked over its control socket; a stopped data directory is opened for the while. Not the answers
//! themselves. Invariant: both ways give the same answers in the same form.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use frontier::transfer::{ExportError, ImportError};
use frontier::{Canonical, FilterOptions, Frontier, RuleOptions};
use serde::Serialize;
use serde_json::{Value, json};

use crate::audit;
use crate::budget::{self, Action};
use crate::clock::Clock;
use crate::config::{Budget, Config};
use crate::control::{Client, ClientError, Request};
use crate::daemon::{self, exit_of, seen};
use crate::exit::Exit;
use crate::explain::{self, Explained, Judges};
use crate::statistics::{Event, Gauges, Snapshot};

/// How long a daemon is waited for that holds the directory and does not listen yet.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// No such directory: check `--data`.
    #[error("{0} is not a data directory: it holds no crawl")]
    Missing(String),
    /// The running daemon did not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The stopped directory cannot be opened.
    #[error(transparent)]
    Frontier(#[from] frontier::Error),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Another process must end first.
    #[error("{0}")]
    InUse(String),
    /// An import did not come to its end.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The text is no URL that can be crawled.
    #[error(transparent)]
    Explain(#[from] explain::ExplainError),
    /// Standard input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl QuestionError {
    /// The exit code that tells the caller what to do.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Missing(_) | Self::Usage(_) => Exit::Usage,
            Self::InUse(_) => Exit::InUse,
            Self::Import(ImportError::Frontier(error)) => exit_of(error),
            Self::Import(_) => Exit::Usage,
            // What was asked for is wrong, whoever is asked.
            Self::Client(ClientError::Refused { name, .. }) if name.starts_with("bad_") => Exit::Usage,
            Self::Client(_) | Self::Io(_) => Exit::Failure,
            Self::Explain(explain::ExplainError::Url(_)) => Exit::Usage,
            Self::Explain(explain::ExplainError::Frontier(error)) => exit_of(error),
            Self::Frontier(error) => exit_of(error),
        }
    }
}

impl From<ExportError> for QuestionError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Frontier(error) => error.into(),
            ExportError::Write(error) => error.into(),
            ExportError::Outrun => Self::Io(io::Error::other(error)),
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
pub(crate) enum Source {
    Daemon(Client),
    Stopped(Box<Frontier>),
}

/// `filter`: what the filters of a stopped crawl are judged by.
pub(crate) fn open(dir: &Path, filter: Option<FilterOptions>) -> Result<Source, QuestionError> {
    if !dir.is_dir() {
        return Err(QuestionError::Missing(dir.display().to_string()));
    }
    Ok(match reach(dir, || Frontier::open_existing(dir, filter, Clock::start().now()))? {
        Err(client) => Source::Daemon(client),
        Ok(frontier) => Source::Stopped(Box::new(frontier)),
    })
}

/// A stopped directory, as `open` opens it, or the daemon (the error) that runs in it: waited for while it holds the
/// directory and does not listen, as when it has just been started.
fn reach<T>(dir: &Path, open: impl Fn() -> Result<T, frontier::Error>) -> Result<Result<T, Client>, QuestionError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(client) = Client::connect(dir)? {
            return Ok(Err(client));
        }
        match open() {
            Err(frontier::Error::InUse { .. }) if Instant::now() < deadline => std::thread::sleep(PATIENCE / 100),
            opened => return Ok(Ok(opened?)),
        }
    }
}

/// The statistics of the crawl in `dir`, now.
///
/// # Errors
/// When nobody can be asked.
pub fn stats(dir: &Path) -> Result<Snapshot, QuestionError> {
    match open(dir, None)? {
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

/// All that the crawl in `dir` knows of a URL. A stopped one is judged by this config; its rules are those of the directory,
/// and where those `asked` differ from them, that is told.
///
/// # Errors
/// When it is no URL that can be crawled, or nobody can be asked.
pub fn explain(
    dir: &Path,
    config: &Config,
    asked: Option<&RuleOptions>,
    url: &str,
) -> Result<Explained, QuestionError> {
    // Whatever the rules of a crawl, the same texts are URLs.
    Canonical::parse(url).map_err(|error| QuestionError::Usage(format!("{}: {error}", explain::quoted(url))))?;
    let canonical_differs = differing(&look(dir)?, asked);
    let now = Clock::start().now();
    let frontier = match reach(dir, || Frontier::open_existing_under(daemon::options(config, dir), now))? {
        Ok(frontier) => frontier,
        Err(mut client) => {
            let reply = client.ask(&Request::Explain { url: url.to_owned() })?;
            let told: Explained =
                serde_json::from_value(reply).map_err(|error| ClientError::Malformed(error.to_string()))?;
            return Ok(Explained { canonical_differs, ..told });
        }
    };
    let scope = daemon::scope(dir, &config.scope)?;
    let pages = u64::try_from(frontier.statistics()?.books.fetched).unwrap_or(0);
    let judges = Judges { config, scope: &scope, robots: None, pages };
    Ok(Explained { canonical_differs, ..explain::explain(&frontier, &judges, url, now)? })
}

/// What the audit of the crawl in `dir` says. `filter` is what a stopped one is judged by; rules as in [`explain()`].
///
/// # Errors
/// When nobody can be asked.
pub fn audit(dir: &Path, filter: FilterOptions, asked: Option<&RuleOptions>) -> Result<Value, QuestionError> {
    let canonical_differs = differing(&look(dir)?, asked);
    let mut report = match open(dir, Some(filter))? {
        Source::Daemon(mut client) => client.ask(&Request::Audit)?,
        Source::Stopped(frontier) => audit::to_json(&frontier.audit()?),
    };
    report["canonical_differs"] = canonical_differs.into();
    Ok(report)
}

/// That there is a crawl in the directory, and one that this program understands; and its rules.
fn look(dir: &Path) -> Result<RuleOptions, QuestionError> {
    match Frontier::look(dir) {
        Err(frontier::Error::NoCrawl(dir)) => Err(QuestionError::Missing(dir.display().to_string())),
        looked => Ok(looked?),
    }
}

/// Names of the rules that whoever asks has set otherwise than the directory.
fn differing(of_dir: &RuleOptions, asked: Option<&RuleOptions>) -> Vec<String> {
    asked.map_or_else(Vec::new, |asked| of_dir.differing(asked))
}

/// Without the crawl's config there are no budgets, and all would be released at once; nothing puts them back.
fn check_release(frontier: &Frontier, config: &Config, action: &Action) -> Result<(), QuestionError> {
    let Action::Release { host } = action else { return Ok(()) };
    let Budget { max_urls_per_host, max_urls_per_domain, max_pages_per_host, max_pages_per_domain, park: _ } =
        config.budget;
    let limits = [max_urls_per_host, max_urls_per_domain, max_pages_per_host, max_pages_per_domain];
    if limits != [0; 4] || budget::is_lifted(frontier, host) {
        return Ok(());
    }
    Err(QuestionError::Usage(
        "this config sets no budget, so every parked URL of the host would be released: give the --config of the crawl, or \
         lift the host's budget first (crawld budget lift)"
            .to_owned(),
    ))
}

/// Shows or changes what hosts of the crawl in `dir` may use. A stopped one is opened with this config for the while.
///
/// # Errors
/// When nobody can be asked.
pub fn budget(dir: &Path, config: &Config, action: &Action) -> Result<Value, QuestionError> {
    look(dir)?;
    let frontier = match reach(dir, || Frontier::open(daemon::options(config, dir), Clock::start().now(), || {}))? {
        Ok(frontier) => frontier,
        Err(mut client) => return Ok(client.ask(&Request::Budget(action.clone()))?),
    };
    let reply = check_release(&frontier, config, action).map(|()| budget::answer(&frontier, action));
    frontier.close()?;
    let reply = reply?;
    match (reply["error"].as_str(), reply["detail"].as_str()) {
        (Some(name), Some(detail)) => {
            Err(ClientError::Refused { name: name.to_owned(), detail: detail.to_owned() }.into())
        }
        _ => Ok(reply),
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
    let mut source = open(dir, None)?;
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

#[cfg(test)]
mod tests;
