//! What the process knows beside the books: rates, memory, busy workers.
//!
//! Not counters: those are the frontier's, and rates are made from two states of its books. Invariant: a rate belongs to
//! this run; what earlier runs did is in none.

use frontier::{Books, Millis};

/// What the process, not the frontier, knows about one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauges {
    /// Seconds since the run began.
    pub elapsed_secs: f64,
    /// URLs fetched per second since the last line.
    pub pages_per_sec: f64,
    /// URLs fetched per second since the run began.
    pub pages_per_sec_average: f64,
    /// Body bytes per second since the last line.
    pub bytes_per_sec: f64,
    /// Body bytes per second since the run began.
    pub bytes_per_sec_average: f64,
    /// Pages being worked on.
    pub busy_workers: u64,
    /// Memory of the process.
    pub resident_bytes: u64,
    /// Pages of this run that were copies of others, and that were nearly.
    pub duplicate_pages: (u64, u64),
}

/// Counts at two earlier moments, from which rates follow.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    start: Mark,
    last: Mark,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    at: Millis,
    fetched: i64,
    bytes: i64,
}

impl Mark {
    fn new(at: Millis, books: &Books) -> Self {
        // A page that goes back into the queue is not fetched any more; its visit was made all the same.
        Self { at, fetched: books.fetched + books.revisits, bytes: books.bytes_downloaded }
    }

    /// Pages and bytes per second from this mark to a later one; 0 when no time has gone by.
    fn rates_to(&self, later: &Self) -> (f64, f64) {
        let millis = later.at.saturating_sub(self.at);
        if millis == 0 {
            return (0.0, 0.0);
        }
        let per_sec = |from: i64, to: i64| (to - from) as f64 * 1000.0 / millis as f64;
        (per_sec(self.fetched, later.fetched), per_sec(self.bytes, later.bytes))
    }
}

impl Rates {
    /// Starts at the books that the run found.
    pub fn start(at: Millis, books: &Books) -> Self {
        let mark = Mark::new(at, books);
        Self { start: mark, last: mark }
    }

    /// The gauges of one moment.
    pub fn gauges(&self, at: Millis, books: &Books, busy_workers: u64) -> Gauges {
        let now = Mark::new(at, books);
        let (pages_per_sec, bytes_per_sec) = self.last.rates_to(&now);
        let (pages_per_sec_average, bytes_per_sec_average) = self.start.rates_to(&now);
        Gauges {
            elapsed_secs: at.saturating_sub(self.start.at) as f64 / 1000.0,
            pages_per_sec,
            pages_per_sec_average,
            bytes_per_sec,
            bytes_per_sec_average,
            busy_workers,
            resident_bytes: resident_bytes().unwrap_or(0),
            ..Gauges::default()
        }
    }

    /// Makes this moment the last line.
    pub fn mark(&mut self, at: Millis, books: &Books) {
        self.last = Mark::new(at, books);
    }
}

/// Resident memory of this process: `VmRSS` in `/proc/self/status`, which counts in KiB (proc_pid_status(5)).
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim_end().parse().ok()?;
    Some(kib * 1024)
}
