//! A snapshot of the frontier: the books of all partitions, and gauges beside them.

use crate::books::Books;
use crate::error::Error;
use crate::shared::Shared;

/// What the frontier knows of itself at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statistics {
    /// The counters; `queued` counts URLs in flight too.
    pub books: Books,
    /// URLs leased and not ended.
    pub in_flight: u64,
    /// Hosts of which a URL is known. One met again after it left memory is counted at the next merge or lease.
    pub hosts: u64,
    /// Hosts that wait for their turn, on disk or in memory.
    pub hosts_waiting: u64,
    /// Filter layers, over all partitions.
    pub filter_layers: u64,
    /// Bytes of the filters' bit arrays.
    pub filter_bytes: u64,
    /// Forgotten URLs to which a filter still says maybe, until it is rebuilt.
    pub filter_stale_keys: u64,
    /// Predicted rate of false positives, mean over partitions weighted by their keys; 1 where a filter is rebuilt.
    pub false_positive_rate_predicted: f64,
    /// Bytes of the stores on disk.
    pub store_bytes: u64,
    /// Bytes of the journal on disk.
    pub journal_bytes: u64,
    /// Offers that had to wait for a merge or the journal, since the start.
    pub offer_waits: u64,
    /// Merges done since the start.
    pub merges: u64,
    /// Filters rebuilt since the start, one for each partition.
    pub filter_rebuilds: u64,
}

impl Statistics {
    pub(crate) fn collect(shared: &Shared) -> Result<Self, Error> {
        let mut all = Self { journal_bytes: shared.journal.bytes(), ..Self::default() };
        [all.merges, all.filter_rebuilds, all.offer_waits] = shared.work_done();
        let mut weight = 0;
        for partition in &shared.partitions {
            let state = partition.state.lock();
            all.books.add(&state.books);
            all.in_flight += state.queues.in_flight;
            all.hosts += state.hosts();
            all.hosts_waiting += state.hosts_waiting();
            let known = (state.books.discovered + state.books.imported).max(0) as u64;
            let predicted = state.filter.as_ref().map_or(1.0, bloom::AnyScalable::predicted_rate);
            all.false_positive_rate_predicted += predicted * known as f64;
            weight += known;
            all.filter_stale_keys += state.stale_keys;
            if let Some(filter) = &state.filter {
                all.filter_layers += filter.layer_count() as u64;
                all.filter_bytes += filter.bytes();
            }
            drop(state);
            all.store_bytes += partition.store.bytes()?;
        }
        all.false_positive_rate_predicted /= weight.max(1) as f64;
        Ok(all)
    }
}
