//! What the crawl has come to at one moment: the books, the gauges and the rates, as people and programs read them.
//!
//! * [`Snapshot`] is one moment. Its field names are a contract: they are the keys of `crawl-statistics.jsonl`.
//! * [`Rates`] turns counts into rates.
//! * [`StatisticsLog`] writes snapshots to `crawl-statistics.log` (aligned columns) and `crawl-statistics.jsonl`.
//!
//! Not here: who counts (the frontier's partitions, in their events). Invariant: a snapshot is taken from one
//! consistent state of the frontier, so the identities of [`frontier::Books::check`] hold in every line.

mod filter_watch;
mod log;
mod rates;
mod table;

use frontier::{Books, Millis, Statistics};
use serde::{Deserialize, Serialize};

use crate::clock::iso;

pub use filter_watch::FilterWatch;
pub use log::StatisticsLog;
pub use rates::{Gauges, Rates};
pub use table::report;

/// Why a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    Start,
    /// `statistics.interval_secs` have gone by.
    Interval,
    /// Leasing stopped for the reason given.
    Pause,
    /// Leasing goes on.
    Resume,
    /// Nothing in flight and nothing due within `crawl.idle_exit_secs`.
    Idle,
    /// There is work again.
    Busy,
    /// Nothing more to do; the reason says what remains.
    Done,
    /// The run ends.
    Stop,
    /// Somebody asked, between two lines of the log.
    Asked,
}

impl Event {
    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Interval => "interval",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Done => "done",
            Self::Stop => "stop",
            Self::Asked => "asked",
        }
    }
}

/// One moment of the crawl. Counters go on across restarts; rates and `elapsed_secs` belong to this run. What each
/// counter counts exactly is said at [`frontier::Books`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was taken, ISO 8601, UTC.
    pub timestamp: String,
    /// Why it was taken.
    pub event: Event,
    /// Seconds since this run began.
    pub elapsed_secs: f64,
    /// Candidates from every source.
    pub urls_found: i64,
    /// Same raw `href` earlier on the page.
    pub page_duplicates: i64,
    /// Not URLs that can be crawled.
    pub invalid: i64,
    /// Refused by a rule before the seen-test; [`Snapshot::refused_by`] says by which.
    pub refused: i64,
    /// Outside the scope.
    pub out_of_scope: i64,
    /// Put through the seen-test.
    pub offered: i64,
    /// Answered from memory.
    pub hot_cache_seen: i64,
    /// The filter said absent: new.
    pub filter_absent: i64,
    /// The filter said maybe.
    pub filter_maybe: i64,
    /// … and the exact set held it.
    pub confirmed_seen: i64,
    /// … and the exact set did not: new.
    pub false_positives: i64,
    /// … because of a forgotten URL: new.
    pub stale_positives: i64,
    /// … because the filter was being rebuilt: new.
    pub filter_bypassed: i64,
    /// New, but over a budget and not kept.
    pub over_budget: i64,
    /// Brought in by an import.
    pub imported: i64,
    /// Forgotten.
    pub forgotten: i64,
    /// Held back by a budget, kept (present state).
    pub parked: i64,
    /// Imported as seen (present state).
    pub imported_seen: i64,
    /// Requests made, robots.txt included.
    pub fetches: i64,
    /// False positives per URL that was new to the filter; `null` before the first.
    pub false_positive_rate_measured: Option<f64>,
    /// What the filter expects of itself.
    pub false_positive_rate_predicted: f64,
    /// Filter layers, all partitions.
    pub filter_layers: u64,
    /// Memory of the filter.
    pub filter_bytes: u64,
    /// Exact-set reads of the seen-test.
    pub store_reads: i64,
    /// Exact store on disk, bytes.
    pub store_bytes: u64,
    /// New URLs recorded.
    pub discovered: i64,
    /// URLs waiting (present state), those in flight not included.
    pub queued: i64,
    /// URLs leased (present state).
    pub in_flight: i64,
    /// URLs with a final response (present state).
    pub fetched: i64,
    /// URLs given up without a response (present state).
    pub failed: i64,
    /// URLs denied by a robots rule (present state).
    pub robots_denied: i64,
    /// URLs refused at fetch time by a rule (present state).
    pub excluded: i64,
    /// Body bytes received.
    pub bytes_downloaded: i64,
    /// Pages fetched per second since the last line, further visits included.
    pub pages_per_sec: f64,
    /// URLs fetched per second since this run began.
    pub pages_per_sec_average: f64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts that have URLs and may not be asked yet.
    pub hosts_waiting: u64,
    /// Responses 200–299.
    pub status_2xx: i64,
    /// Responses 300–399.
    pub status_3xx: i64,
    /// Responses 400–499.
    pub status_4xx: i64,
    /// Responses 500–599.
    pub status_5xx: i64,
    /// Memory of the process; 0 when no crawl runs.
    pub resident_bytes: u64,
    /// Body bytes per second since the last line.
    pub bytes_per_sec: f64,
    /// Body bytes per second since this run began.
    pub bytes_per_sec_average: f64,
    /// Pages being worked on.
    pub busy_workers: u64,
    /// Journal on disk, bytes.
    pub journal_bytes: u64,
    /// Times that an offer had to wait for a merge.
    pub offer_waits: u64,
    /// Merges of memory into the store.
    pub merges: u64,
    /// Filters rebuilt since the start, one for each partition.
    pub filter_rebuilds: u64,
    /// Forgotten URLs to which a filter still says maybe, until it is rebuilt (present state).
    pub filter_stale_keys: u64,
    /// Hosts that the growth guard slows now.
    pub hosts_slowed: i64,
    /// Times that a fetched page went back into the queue because it was due again.
    pub revisits: i64,
    /// Answers of 304 to conditional requests.
    pub not_modified: i64,
    /// URLs fetched that will be visited again (present state).
    pub due_again: i64,
    /// Pages of this run with the content of another (present run only; see [`duplicates`](crate::duplicates)).
    #[serde(default)]
    pub duplicate_pages: u64,
    /// The same, nearly.
    #[serde(default)]
    pub near_duplicate_pages: u64,
    /// Refused, by rule.
    pub refused_by: RefusedBy,
    /// Why the crawl pauses, idles or ended; what remains.
    pub reason: Option<String>,
}

/// Candidates refused, by the rule that refused them; the sum is `refused`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedBy {
    /// `crawl.max_depth`
    pub depth: i64,
    /// `extract.max_links_per_page`
    pub page_links: i64,
    /// `traps.max_path_segments`
    pub path_segments: i64,
    /// `traps.max_repeated_segments`
    pub repeated_segments: i64,
    /// `traps.max_query_bytes`
    pub query_bytes: i64,
    /// `traps.max_query_parameters`
    pub query_parameters: i64,
    /// `extract.obey_meta_robots`, `extract.obey_rel_nofollow`
    pub nofollow: i64,
    /// Not the sitemap's to name: another host, or outside its directory.
    pub sitemap_location: i64,
}

impl RefusedBy {
    fn new(books: &Books) -> Self {
        Self {
            depth: books.refused_depth,
            page_links: books.refused_page_links,
            path_segments: books.refused_path_segments,
            repeated_segments: books.refused_repeated_segments,
            query_bytes: books.refused_query_bytes,
            query_parameters: books.refused_query_parameters,
            nofollow: books.refused_nofollow,
            sitemap_location: books.refused_sitemap_location,
        }
    }
}

impl Snapshot {
    /// Puts the frontier's books and the process's gauges side by side.
    pub fn new(at: Millis, event: Event, frontier: &Statistics, rates: &Gauges) -> Self {
        let b = &frontier.books;
        let in_flight = i64::try_from(frontier.in_flight).unwrap_or(i64::MAX);
        Self {
            timestamp: iso(at),
            event,
            elapsed_secs: rates.elapsed_secs,
            urls_found: b.urls_found,
            page_duplicates: b.page_duplicates,
            invalid: b.invalid,
            refused: b.refused,
            out_of_scope: b.out_of_scope,
            offered: b.offered,
            hot_cache_seen: b.hot_cache_seen,
            filter_absent: b.filter_absent,
            filter_maybe: b.filter_maybe,
            confirmed_seen: b.confirmed_seen,
            false_positives: b.false_positives,
            stale_positives: b.stale_positives,
            filter_bypassed: b.filter_bypassed,
            over_budget: b.over_budget,
            imported: b.imported,
            forgotten: b.forgotten,
            parked: b.parked,
            imported_seen: b.imported_seen,
            fetches: b.fetches,
            false_positive_rate_measured: b.false_positive_rate(),
            false_positive_rate_predicted: frontier.false_positive_rate_predicted,
            filter_layers: frontier.filter_layers,
            filter_bytes: frontier.filter_bytes,
            store_reads: b.store_reads,
            store_bytes: frontier.store_bytes,
            discovered: b.discovered,
            queued: b.queued - in_flight,
            in_flight,
            fetched: b.fetched,
            failed: b.failed,
            robots_denied: b.robots_denied,
            excluded: b.excluded,
            bytes_downloaded: b.bytes_downloaded,
            pages_per_sec: rates.pages_per_sec,
            pages_per_sec_average: rates.pages_per_sec_average,
            hosts: frontier.hosts,
            hosts_waiting: frontier.hosts_waiting,
            status_2xx: b.status_2xx,
            status_3xx: b.status_3xx,
            status_4xx: b.status_4xx,
            status_5xx: b.status_5xx,
            resident_bytes: rates.resident_bytes,
            bytes_per_sec: rates.bytes_per_sec,
            bytes_per_sec_average: rates.bytes_per_sec_average,
            busy_workers: rates.busy_workers,
            journal_bytes: frontier.journal_bytes,
            offer_waits: frontier.offer_waits,
            merges: frontier.merges,
            filter_rebuilds: frontier.filter_rebuilds,
            filter_stale_keys: frontier.filter_stale_keys,
            hosts_slowed: b.hosts_slowed,
            revisits: b.revisits,
            not_modified: b.not_modified,
            due_again: b.due_again,
            duplicate_pages: rates.duplicate_pages.0,
            near_duplicate_pages: rates.duplicate_pages.1,
            refused_by: RefusedBy::new(b),
            reason: None,
        }
    }
}

#[cfg(test)]
mod tests;
