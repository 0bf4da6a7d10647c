//! The crawl as a process: opens the frontier, keeps the workers busy, watches, reports, and stops in order.
//!
//! * `foreign` refuses a directory of somebody else's,
//! * `announce` says what the directory holds already, and what has changed since,
//! * `seeding` offers the seeds and builds the scope from them,
//! * `dispatch` is the one loop that asks the frontier for leases,
//! * `reporter` writes the statistics lines,
//! * `options` is where config keys become the options of frontier and network,
//! * `watch` looks at the disk and at the frontier's health each second.
//!
//! Not here: what a page goes through ([`worker`](crate::worker)), command line, signals (main). Invariant: [`run`]
//! returns `Ok` only when nothing is in flight, everything said is committed and the frontier is closed.

mod announce;
mod dispatch;
mod foreign;
mod options;
mod reporter;
mod seeding;
#[cfg(test)]
mod tests;
mod watch;

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use frontier::{Frontier, Millis};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, watch as channel};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tracing::info;

use crate::clock::Clock;
use crate::config::Config;
use crate::control::{self, Answer, Request, Socket};
use crate::crawl_log::CrawlLog;
use crate::exit::Exit;
use crate::fetch::Fetch;
use crate::output::{self, Outputs};
use crate::politeness;
use crate::robots_cache::{self, RobotsCache};
use crate::seeds::Seed;
use crate::statistics::{Event, Snapshot};
use crate::worker::{Crawl, Orders};
use crate::{audit, budget, explain, export, forget, import};

pub use foreign::foreign;
pub use options::{addresses, fetch_settings, fields, filter_options, growth_guard, options};
pub use seeding::scope;

use dispatch::Dispatcher;
use reporter::Reporter;

/// Lines of the daemon's errors that may wait; the first one ends it.
const MAX_FAILURES: usize = 16;

/// How long an answer, or a page that is given up, may take beyond its own limits.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to crawl, and where to keep it.
#[derive(Debug)]
pub struct Plan {
    /// How.
    pub config: Config,
    /// The data directory; made when missing.
    pub dir: PathBuf,
    /// Where to start.
    pub seeds: Vec<Seed>,
    /// End when nothing is in flight and nothing due within `crawl.idle_exit_secs`.
    pub exit_when_done: bool,
}

/// How a crawl ended, and what it had come to.
#[derive(Debug)]
pub struct Finished {
    /// Whether it ran out of work or was told to stop.
    pub ending: Ending,
    /// The last line of the statistics.
    pub snapshot: Snapshot,
}

/// Why a crawl ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Nothing more to do; the text says what remains and why.
    Done(String),
    /// The shutdown future ended.
    Stopped,
}

/// Why a crawl could not go on. What was committed is kept.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The data directory is somebody else's. The text says what is in it, and what to do.
    #[error("{0}")]
    Foreign(String),
    /// The frontier cannot be opened, or failed.
    #[error(transparent)]
    Frontier(#[from] frontier::Error),
    /// A log or the list of seeds cannot be written.
    #[error("cannot write to the data directory: {0}")]
    Log(#[source] io::Error),
    /// The outputs cannot be opened or written.
    #[error("outputs: {0}")]
    Output(#[source] io::Error),
    /// The control socket failed.
    #[error("control socket: {0}")]
    Control(#[source] io::Error),
    /// A part of the program broke; a bug.
    #[error("internal error: {0}")]
    Internal(String),
}

impl DaemonError {
    /// The exit code that tells the caller what to do.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Foreign(_) => Exit::Usage,
            Self::Frontier(error) => exit_of(error),
            Self::Log(_) | Self::Output(_) => Exit::Storage,
            Self::Control(_) | Self::Internal(_) => Exit::Failure,
        }
    }
}

/// The exit code for an error of the frontier.
pub fn exit_of(error: &frontier::Error) -> Exit {
    match error {
        frontier::Error::InUse { .. } => Exit::InUse,
        frontier::Error::NoCrawl(_) | frontier::Error::Incompatible { .. } => Exit::Usage,
        frontier::Error::Poisoned(_) | frontier::Error::Io { .. } | frontier::Error::Corrupt { .. } => Exit::Storage,
    }
}

/// Crawls until done or until `shutdown` ends.
///
/// `probe` tells the free bytes on the disk of a directory ([`disk::free_bytes`](crate::disk::free_bytes)).
///
/// # Errors
/// [`DaemonError`]; its [`exit`](DaemonError::exit) says what the caller should do.
///
/// # Panics
/// Outside a tokio runtime with time and I/O.
pub async fn run<F: Fetch + 'static>(
    mut plan: Plan,
    fetch: F,
    probe: impl Fn(&Path) -> io::Result<u64> + Send + 'static,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Finished, DaemonError> {
    let clock = Clock::start();
    let wake = Arc::new(Notify::new());
    let (stopper, stop) = channel::channel(false);
    tokio::spawn(async move {
        shutdown.await;
        stopper.send_replace(true);
    });
    let frontier = Arc::new(open(&plan, clock, &wake).await?);
    let (failed, failures) = mpsc::channel(MAX_FAILURES);
    watch::health(&frontier, failed.clone());

    let log_dir = plan.dir.join("log");
    std::fs::create_dir_all(&log_dir).map_err(DaemonError::Log)?;
    let reporter = Arc::new(Reporter::open(Arc::clone(&frontier), clock, &log_dir, &plan.config).await?);
    let (outputs, keeper) = open_outputs(&plan, clock, &failed).await?;
    let before = reporter.line(Event::Start, |_| None).await?;
    announce::announce(&plan.dir, &plan.config, &before).map_err(DaemonError::Log)?;
    let scope = seeding::seed(&frontier, std::mem::take(&mut plan.seeds), &plan, clock, stop.clone()).await?;

    let (log, writer) = CrawlLog::open(&log_dir).map_err(DaemonError::Log)?;
    let (orders, ordered) = channel::channel(Orders::Work);
    let crawl = Arc::new(Crawl {
        frontier: Arc::clone(&frontier),
        fetch,
        scope,
        fields: fields(&plan.config).map_err(|error| DaemonError::Internal(error.to_string()))?,
        robots: RobotsCache::new(robots_cache::MAX_ORIGINS, robots_cache::MAX_BYTES),
        addresses: addresses(&plan.config, clock, before.fetches > 0),
        limiter: politeness::limiter(plan.config.politeness.max_requests_per_sec),
        clock,
        log,
        duplicates: Arc::clone(&reporter.duplicates),
        outputs,
        fetched: AtomicU64::new(u64::try_from(before.fetched).unwrap_or(0)),
        orders: ordered,
        config: plan.config,
    });
    let writer = write_crawl_log(writer, Arc::clone(&frontier), failed.clone());
    let mut background = JoinSet::new();
    serve(&mut background, &plan.dir, (&crawl, &reporter), (clock, stop.clone()), &failed)?;
    tick(&mut background, crawl.config.statistics.interval_secs, &reporter, &failed);
    let output_dir = crawl.outputs.is_some().then(|| output::dir(&crawl.config.output, &plan.dir));
    let least = move |dir: &Path| match &output_dir {
        Some(output_dir) => Ok(probe(dir)?.min(probe(output_dir)?)),
        None => probe(dir),
    };
    let paused = watch::disk(&mut background, plan.dir, crawl.config.store.min_free_disk_bytes, least);

    let mut dispatcher = Dispatcher::new(crawl, wake, paused, stop, Arc::clone(&reporter), plan.exit_when_done);
    let ending = dispatcher.run(failures).await?;
    info!(?ending, "leasing has stopped");
    dispatcher.drain(&orders).await?;

    let committing = Arc::clone(&frontier);
    blocking(move || committing.commit()).await??;
    drop(dispatcher); // and with it the last sender of crawl.log's lines, all of them durable now, and of the outputs
    writer.await.map_err(|error| DaemonError::Internal(error.to_string()))?;
    if let Some(keeper) = keeper {
        keeper.await.map_err(|error| DaemonError::Internal(error.to_string()))??;
    }
    let snapshot = last_line(&reporter, &ending).await?;
    background.shutdown().await;
    drop(reporter);
    close(frontier).await?;
    Ok(Finished { ending, snapshot })
}

/// Opens the outputs, where any are wanted, and starts the task that writes them.
async fn open_outputs(
    plan: &Plan,
    clock: Clock,
    failed: &mpsc::Sender<DaemonError>,
) -> Result<(Option<Outputs>, Option<JoinHandle<Result<(), DaemonError>>>), DaemonError> {
    let (config, dir) = (plan.config.clone(), plan.dir.clone());
    let opened = blocking(move || Outputs::open(&config, &dir, clock)).await?;
    let named = |error: io::Error| {
        let dir = output::dir(&plan.config.output, &plan.dir);
        DaemonError::Output(io::Error::new(error.kind(), format!("{}: {error}", dir.display())))
    };
    let Some((outputs, writer)) = opened.map_err(named)? else { return Ok((None, None)) };
    let failed = failed.clone();
    let keeper = tokio::spawn(async move {
        let Err(error) = writer.run().await else { return Ok(()) };
        // While pages are being fetched this ends the crawl; after the last one the end itself has failed.
        let copy = io::Error::new(error.kind(), error.to_string());
        let _ = failed.send(DaemonError::Output(copy)).await;
        Err(DaemonError::Output(error))
    });
    Ok((Some(outputs), Some(keeper)))
}

async fn last_line(reporter: &Reporter, ending: &Ending) -> Result<Snapshot, DaemonError> {
    let reason = |snapshot: &Snapshot| match ending {
        Ending::Done(reason) => reason.clone(),
        Ending::Stopped => format!("told to stop; {} URLs remain queued", snapshot.queued),
    };
    reporter.line(Event::Stop, |snapshot| Some(reason(snapshot))).await
}

async fn open(plan: &Plan, clock: Clock, wake: &Arc<Notify>) -> Result<Frontier, DaemonError> {
    let options = options(&plan.config, &plan.dir);
    let wake = Arc::clone(wake);
    let opened = blocking(move || match foreign(&options.dir) {
        Some(what) => Err(DaemonError::Foreign(what)),
        None => Ok(Frontier::open(options, clock.now(), move || wake.notify_one())?),
    });
    opened.await?
}

/// Commits, checkpoints and releases the data directory, once nobody else holds the frontier.
async fn close(mut frontier: Arc<Frontier>) -> Result<(), DaemonError> {
    loop {
        match Arc::try_unwrap(frontier) {
            Ok(frontier) => return Ok(blocking(move || frontier.close()).await??),
            // An answer to the control socket, or a look at its health, is just being given.
            Err(shared) => frontier = shared,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs a call that may wait for the disk off the runtime's threads.
async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Result<T, DaemonError> {
    spawn_blocking(call).await.map_err(|error| DaemonError::Internal(error.to_string()))
}

fn write_crawl_log(writer: CrawlLog, frontier: Arc<Frontier>, failed: mpsc::Sender<DaemonError>) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(error) = writer.run(move || frontier.durable()).await {
            let _ = failed.send(DaemonError::Log(error)).await;
        }
    })
}

fn tick(background: &mut JoinSet<()>, secs: u64, reporter: &Arc<Reporter>, failed: &mpsc::Sender<DaemonError>) {
    let (reporter, failed) = (Arc::clone(reporter), failed.clone());
    let period = Duration::from_secs(secs.max(1));
    background.spawn(async move {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = reporter.line(Event::Interval, |_| None).await {
                let _ = failed.send(error).await;
                return;
            }
        }
    });
}

fn serve<F: Fetch + 'static>(
    background: &mut JoinSet<()>,
    dir: &Path,
    (crawl, reporter): (&Arc<Crawl<F>>, &Arc<Reporter>),
    (clock, stop): (Clock, channel::Receiver<bool>),
    failed: &mpsc::Sender<DaemonError>,
) -> Result<(), DaemonError> {
    let socket = Socket::listen(dir).map_err(DaemonError::Control)?;
    let (frontier, reporter, failed) = (Arc::clone(&crawl.frontier), Arc::clone(reporter), failed.clone());
    // Whoever answers must not keep the crawl: when it ends, so does its log.
    let crawl = Arc::downgrade(crawl);
    background.spawn(async move {
        let answer = move |request| {
            let asked = (Arc::clone(&frontier), Weak::clone(&crawl));
            answer(asked, Arc::clone(&reporter), clock.now(), stop.clone(), request)
        };
        if let Err(error) = socket.serve(answer).await {
            let _ = failed.send(DaemonError::Control(error)).await;
        }
    });
    Ok(())
}

async fn answer<F: Fetch + 'static>(
    (frontier, crawl): (Arc<Frontier>, Weak<Crawl<F>>),
    reporter: Arc<Reporter>,
    now: Millis,
    stop: channel::Receiver<bool>,
    request: Request,
) -> Answer {
    let answered = match request {
        Request::Stats => match reporter.snapshot().await {
            Ok(snapshot) => serde_json::to_value(snapshot).expect("numbers and texts are JSON"),
            Err(error) => control::error("failed", error),
        },
        Request::Seen { url } => {
            blocking(move || seen(&frontier, &url)).await.unwrap_or_else(|error| control::error("failed", error))
        }
        Request::Explain { url } => {
            let explain = move || match crawl.upgrade() {
                Some(crawl) => explain::answer(&crawl, &url, now),
                None => control::error("failed", "the crawl is being ended"),
            };
            blocking(explain).await.unwrap_or_else(|error| control::error("failed", error))
        }
        Request::Audit => match blocking(move || frontier.audit()).await {
            Ok(Ok(checks)) => audit::to_json(&checks),
            Ok(Err(error)) => control::error("failed", error),
            Err(error) => control::error("failed", error),
        },
        Request::Budget(action) => {
            let answered = blocking(move || budget::answer(&frontier, &action)).await;
            answered.unwrap_or_else(|error| control::error("failed", error))
        }
        Request::RebuildFilters => {
            frontier.rebuild_filters();
            json!({ "asked": true })
        }
        Request::Forget { urls, select, dry_run } => {
            let go_on = move || !*stop.borrow();
            let forget = move || forget::answer(&frontier, &urls, select.as_ref(), dry_run, now, &go_on);
            blocking(forget).await.unwrap_or_else(|error| control::error("failed", error))
        }
        Request::Import { urls, seen } => {
            let import = move || import::answer(&frontier, &urls, seen, now);
            blocking(import).await.unwrap_or_else(|error| control::error("failed", error))
        }
        Request::Export { select } => return export::answer(frontier, select, now),
    };
    answered.into()
}

/// Whether a crawl has seen a URL, as a reply of the control socket.
pub fn seen(frontier: &Frontier, url: &str) -> Value {
    let canonical = match frontier.rules().parse(url) {
        Ok(canonical) => canonical,
        Err(error) => return control::error("bad_url", error),
    };
    match frontier.seen(&canonical) {
        Ok(seen) => json!({ "url": url, "key": canonical.key(), "seen": seen }),
        Err(error) => control::error("failed", error),
    }
}
