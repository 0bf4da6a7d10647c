//! Takes snapshots of the crawl and writes the statistics lines.
//!
//! Not the format ([`statistics`](crate::statistics)). Invariant: lines are taken and written one after another, so
//! their order in the logs is the order of the moments they show; every line is checked to balance before it is written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use frontier::{Frontier, Statistics};
use tokio::sync::Mutex;
use tracing::{error, info, warn};

use super::{DaemonError, blocking};
use crate::clock::Clock;
use crate::config::Config;
use crate::duplicates::Duplicates;
use crate::statistics::{Event, FilterWatch, Gauges, Rates, Snapshot, StatisticsLog};

pub(super) struct Reporter {
    frontier: Arc<Frontier>,
    clock: Clock,
    /// Pages being worked on; the dispatcher keeps it.
    pub busy_workers: AtomicU64,
    /// Which pages are copies of others.
    pub duplicates: Arc<Duplicates>,
    writing: Mutex<Writing>,
}

struct Writing {
    log: StatisticsLog,
    rates: Rates,
    filter: FilterWatch,
}

impl Reporter {
    pub async fn open(
        frontier: Arc<Frontier>,
        clock: Clock,
        log_dir: &Path,
        config: &Config,
    ) -> Result<Self, DaemonError> {
        let duplicates = Arc::new(Duplicates::new(&config.duplicates));
        let log = StatisticsLog::open(log_dir).map_err(DaemonError::Log)?;
        let (at, statistics) = take(&frontier, clock).await?;
        let rates = Rates::start(at, &statistics.books);
        let writing = Writing { log, rates, filter: FilterWatch::start(&statistics) };
        Ok(Self { frontier, clock, busy_workers: AtomicU64::new(0), duplicates, writing: Mutex::new(writing) })
    }

    /// Writes a line; `reason` may say more once the numbers are known.
    pub async fn line(
        &self,
        event: Event,
        reason: impl FnOnce(&Snapshot) -> Option<String>,
    ) -> Result<Snapshot, DaemonError> {
        let mut writing = self.writing.lock().await;
        let (at, statistics) = take(&self.frontier, self.clock).await?;
        if let Err(which) = statistics.books.check() {
            error!(%which, "the books do not balance");
        }
        if let Some(measured) = writing.filter.excess(&statistics) {
            let predicted = statistics.false_positive_rate_predicted;
            warn!(measured, predicted, "the filters call more new URLs maybe than they should; see crawld audit");
        }
        let mut snapshot = self.make(event, at, &statistics, &writing.rates);
        snapshot.reason = reason(&snapshot);
        writing.rates.mark(at, &statistics.books);
        writing.log.write(&snapshot).map_err(DaemonError::Log)?;
        info!(
            event = event.name(),
            discovered = snapshot.discovered,
            queued = snapshot.queued,
            fetched = snapshot.fetched,
            pages_per_sec = format_args!("{:.1}", snapshot.pages_per_sec),
            reason = snapshot.reason.as_deref(),
            "statistics"
        );
        Ok(snapshot)
    }

    /// The present moment, for somebody who asks; not a line.
    pub async fn snapshot(&self) -> Result<Snapshot, DaemonError> {
        let rates = self.writing.lock().await.rates;
        let (at, statistics) = take(&self.frontier, self.clock).await?;
        Ok(self.make(Event::Asked, at, &statistics, &rates))
    }

    fn make(&self, event: Event, at: u64, statistics: &Statistics, rates: &Rates) -> Snapshot {
        let gauges = rates.gauges(at, &statistics.books, self.busy_workers.load(Ordering::Relaxed));
        let gauges = Gauges { duplicate_pages: self.duplicates.counts(), ..gauges };
        Snapshot::new(at, event, statistics, &gauges)
    }
}

async fn take(frontier: &Arc<Frontier>, clock: Clock) -> Result<(u64, Statistics), DaemonError> {
    let frontier = Arc::clone(frontier);
    let taken = blocking(move || {
        let at = clock.now();
        frontier.statistics().map(|statistics| (at, statistics))
    });
    Ok(taken.await??)
}
