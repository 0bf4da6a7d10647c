//! The one loop that asks the frontier for leases and gives each to a worker.
//!
//! Not the choice of the next page (the frontier's) and not its journey (the worker's). Invariant: one lease at most is
//! in the loop's hand, and at no moment are more than `fetch.concurrency` workers at work; when the loop ends, no lease
//! is in its hand.
//!
//! The loop sleeps until something can have changed: a worker has ended, the frontier has committed or merged, a host
//! is due, the disk guard has changed its mind, somebody wants the crawl to stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use frontier::{Lease, Millis, Next, Tally};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{error, warn};

use super::reporter::Reporter;
use super::{DaemonError, Ending, PATIENCE, blocking};
use crate::config::{self, Config};
use crate::fetch::Fetch;
use crate::statistics::{Event, Snapshot};
use crate::worker::{self, Crawl, Orders};

/// Longest sleep without a look around.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The loop's state.
pub(super) struct Dispatcher<F> {
    crawl: Arc<Crawl<F>>,
    /// Woken after each commit and merge.
    wake: Arc<Notify>,
    /// Why leasing is to pause, or `None`.
    paused: watch::Receiver<Option<String>>,
    /// Whether somebody wants the crawl to stop.
    stop: watch::Receiver<bool>,
    reporter: Arc<Reporter>,
    workers: JoinSet<Result<(), frontier::Error>>,
    exit_when_done: bool,
    /// An `Idle` line was written, and no `Busy` one since.
    idle: bool,
}

/// What the loop can do next.
enum Step {
    /// Give this to a worker.
    Work(Lease),
    /// Wait for something to change, until this time at most.
    Wait(Option<Millis>),
    /// Nothing in flight, and nothing due soon.
    Dry(Dry),
}

/// Why there is nothing to do.
#[derive(Clone, Copy)]
enum Dry {
    /// `crawl.max_pages` is reached.
    Enough,
    /// Nothing is due before this time; `None`: ever.
    NotBefore(Option<Millis>),
}

impl<F: Fetch + 'static> Dispatcher<F> {
    pub fn new(
        crawl: Arc<Crawl<F>>,
        wake: Arc<Notify>,
        paused: watch::Receiver<Option<String>>,
        stop: watch::Receiver<bool>,
        reporter: Arc<Reporter>,
        exit_when_done: bool,
    ) -> Self {
        let workers = JoinSet::new();
        Self { crawl, wake, paused, stop, reporter, workers, exit_when_done, idle: false }
    }

    /// Leases until done, told to stop, or something has failed.
    pub async fn run(&mut self, mut failures: mpsc::Receiver<DaemonError>) -> Result<Ending, DaemonError> {
        loop {
            self.reap()?;
            if let Ok(failure) = failures.try_recv() {
                return Err(failure);
            }
            if *self.stop.borrow() {
                return Ok(Ending::Stopped);
            }
            let why = self.paused.borrow_and_update().clone();
            if let Some(why) = why {
                self.pause(why, &mut failures).await?;
                continue;
            }
            match self.next_step().await? {
                Step::Work(lease) => self.work(lease).await?,
                Step::Wait(until) => self.wait(until, &mut failures).await?,
                Step::Dry(dry) => {
                    if let Some(ending) = self.run_dry(dry).await? {
                        return Ok(ending);
                    }
                    let until = match dry {
                        Dry::NotBefore(until) => until,
                        Dry::Enough => None,
                    };
                    self.wait(until, &mut failures).await?;
                }
            }
        }
    }

    async fn next_step(&mut self) -> Result<Step, DaemonError> {
        let limits = &self.crawl.config;
        if self.workers.len() >= limits.fetch.concurrency as usize {
            return Ok(Step::Wait(None));
        }
        // Those in flight may all become pages, so the limit is never passed.
        let pages = self.crawl.fetched.load(Ordering::Relaxed).saturating_add(self.workers.len() as u64);
        if limits.crawl.max_pages > 0 && pages >= limits.crawl.max_pages {
            return Ok(if self.workers.is_empty() { Step::Dry(Dry::Enough) } else { Step::Wait(None) });
        }
        let until = match self.lease()? {
            Next::Lease(lease) => return Ok(Step::Work(lease)),
            Next::Wait { until } => until,
        };
        if !self.workers.is_empty() || self.is_soon(until) {
            return Ok(Step::Wait(until));
        }
        if self.idle {
            return Ok(Step::Dry(Dry::NotBefore(until)));
        }
        // URLs that the last page brought can be leased once they are durable.
        let frontier = Arc::clone(&self.crawl.frontier);
        blocking(move || frontier.commit()).await??;
        Ok(match self.lease()? {
            Next::Lease(lease) => Step::Work(lease),
            Next::Wait { until } if self.is_soon(until) => Step::Wait(until),
            Next::Wait { until } => Step::Dry(Dry::NotBefore(until)),
        })
    }

    fn lease(&self) -> Result<Next, frontier::Error> {
        self.crawl.frontier.lease(self.crawl.clock.now())
    }

    /// Whether it is worth waiting for. A host's ordinary delay always is.
    fn is_soon(&self, until: Option<Millis>) -> bool {
        let config = &self.crawl.config;
        let soon_ms =
            config.crawl.idle_exit_secs.saturating_mul(1000).max(config.politeness.delay_ms.saturating_add(1));
        until.is_some_and(|until| until <= self.crawl.clock.now().saturating_add(soon_ms))
    }

    /// Gives a lease to a worker, when the whole crawl's limit lets it.
    async fn work(&mut self, lease: Lease) -> Result<(), DaemonError> {
        if self.idle {
            self.idle = false;
            self.reporter.line(Event::Busy, |_| None).await?;
        }
        if let Some(limiter) = &self.crawl.limiter {
            tokio::select! {
                biased;
                () = limiter.until_ready() => {}
                _ = self.stop.wait_for(|stop| *stop) => {
                    return Ok(self.crawl.frontier.give_back(lease, None, Tally::default())?);
                }
            }
        }
        let crawl = Arc::clone(&self.crawl);
        self.workers.spawn(async move { worker::journey(&crawl, lease).await });
        self.count_busy();
        Ok(())
    }

    /// Sleeps until something can have changed.
    async fn wait(
        &mut self,
        until: Option<Millis>,
        failures: &mut mpsc::Receiver<DaemonError>,
    ) -> Result<(), DaemonError> {
        let longest = Instant::now() + LONGEST_SLEEP;
        let until = until.map_or(longest, |until| self.crawl.clock.instant(until).min(longest));
        tokio::select! {
            Some(ended) = self.workers.join_next() => self.ended(ended)?,
            () = self.wake.notified() => {}
            () = sleep_until(until) => {}
            Ok(()) = self.paused.changed() => {}
            Ok(()) = self.stop.changed() => {}
            Some(failure) = failures.recv() => return Err(failure),
        }
        Ok(())
    }

    /// Lets pages in flight end, and starts none, until the guard lets go or the crawl is to stop.
    async fn pause(&mut self, why: String, failures: &mut mpsc::Receiver<DaemonError>) -> Result<(), DaemonError> {
        self.reporter.line(Event::Pause, |_| Some(why)).await?;
        while self.paused.borrow().is_some() && !*self.stop.borrow() {
            self.wait(None, failures).await?;
        }
        if !*self.stop.borrow() {
            self.reporter.line(Event::Resume, |_| None).await?;
        }
        Ok(())
    }

    /// Says what remains; the crawl ends if that was asked for.
    async fn run_dry(&mut self, dry: Dry) -> Result<Option<Ending>, DaemonError> {
        if self.idle {
            return Ok(None);
        }
        let event = if self.exit_when_done { Event::Done } else { Event::Idle };
        let now = self.crawl.clock.now();
        let config = &self.crawl.config;
        let reason = |snapshot: &Snapshot| Some(what_remains(dry, snapshot, now, config));
        let snapshot = self.reporter.line(event, reason).await?;
        self.idle = true;
        let done = self.exit_when_done.then(|| Ending::Done(snapshot.reason.unwrap_or_default()));
        Ok(done)
    }

    /// Takes workers that have ended.
    fn reap(&mut self) -> Result<(), DaemonError> {
        while let Some(ended) = self.workers.try_join_next() {
            self.ended(ended)?;
        }
        Ok(())
    }

    fn ended(&self, ended: Result<Result<(), frontier::Error>, JoinError>) -> Result<(), DaemonError> {
        self.count_busy();
        match ended {
            Ok(result) => Ok(result?),
            // Its lease was dropped with it and has given the URL back; a page that does it always is given up.
            Err(panic) => {
                error!(error = %panic, "a worker has died; its page will be fetched again");
                Ok(())
            }
        }
    }

    fn count_busy(&self) {
        self.reporter.busy_workers.store(self.workers.len() as u64, Ordering::Relaxed);
    }

    /// Lets the open requests end within `crawl.shutdown_secs`, then gives them up.
    pub async fn drain(&mut self, orders: &watch::Sender<Orders>) -> Result<(), DaemonError> {
        orders.send_replace(Orders::Finish);
        let grace = Duration::from_secs(self.crawl.config.crawl.shutdown_secs);
        if let Ok(ended) = timeout(grace, self.join_all()).await {
            return ended;
        }
        warn!(open = self.workers.len(), "giving up open requests; their pages will be fetched again");
        orders.send_replace(Orders::GiveUp);
        match timeout(PATIENCE, self.join_all()).await {
            Ok(result) => result,
            Err(_) => {
                self.workers.shutdown().await;
                Ok(())
            }
        }
    }

    async fn join_all(&mut self) -> Result<(), DaemonError> {
        while let Some(ended) = self.workers.join_next().await {
            self.ended(ended)?;
        }
        Ok(())
    }
}

/// Why there is nothing to do, and what remains, in one line.
fn what_remains(dry: Dry, snapshot: &Snapshot, now: Millis, config: &Config) -> String {
    let (queued, hosts) = (snapshot.queued, snapshot.hosts_waiting);
    let config::Crawl { idle_exit_secs, max_pages, .. } = &config.crawl;
    let again = match snapshot.due_again {
        0 => String::new(),
        _ if !config.recrawl.enabled => String::new(),
        pages => format!("; {pages} pages are due again later"),
    };
    let first = |until: Millis| until.saturating_sub(now).div_ceil(1000);
    let text = match dry {
        Dry::Enough => format!("crawl.max_pages = {max_pages} reached; {queued} URLs remain queued"),
        Dry::NotBefore(Some(until)) if queued == 0 && !again.is_empty() => {
            return format!("every URL found is finished{again}, the first in {} s", first(until));
        }
        Dry::NotBefore(_) if queued == 0 => "every URL found is finished".to_owned(),
        Dry::NotBefore(None) => format!("{queued} URLs remain queued, none of them due at any known time"),
        Dry::NotBefore(Some(until)) => format!(
            "{queued} URLs remain queued, on {hosts} hosts that may not be asked within crawl.idle_exit_secs = \
             {idle_exit_secs} (failing, or told us to wait); the first in {} s",
            first(until)
        ),
    };
    text + &again
}
