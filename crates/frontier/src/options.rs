//! What a frontier is opened with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host::Politeness;
use crate::shared::Rebuilding;

/// Shares of `recent_bytes` that a partition has. It asks for a merge at one; one that had to wait for its turn freezes up
/// to two, and a third fills meanwhile.
const SHARES: u64 = 3;
/// Hosts that all partitions together keep in memory though they have nothing to do now. About 400 bytes each.
const HOSTS_IN_MEMORY: usize = 65_536;
/// … and each of many partitions at least.
const MIN_HOSTS_IN_MEMORY: usize = 256;

/// What a frontier is opened with. Sizes are totals of the process, split over partitions.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory; made when missing.
    pub dir: PathBuf,
    /// Number of partitions of a directory that is made now; an existing one keeps its own.
    pub partitions: u16,
    /// Fingerprints in the hot cache, 16 bytes each.
    pub hot_cache_entries: usize,
    /// Memory for URLs not yet merged, in bytes.
    pub recent_bytes: u64,
    /// Pause between two commits of the journal.
    pub commit_interval: Duration,
    /// Size beyond which the journal makes the partition merge that keeps its oldest segment, in bytes.
    pub journal_max_bytes: u64,
    /// Rate of false positives, over all layers of a filter.
    pub false_positive_rate: f64,
    /// URLs for which the first layers are sized.
    pub filter_initial_capacity: u64,
    /// How much larger each further layer is.
    pub filter_growth_factor: f64,
    /// A filter of more layers than this is rebuilt as one, in the background.
    pub filter_max_layers: usize,
    /// Share of one core that a rebuild may take, above 0 and up to 1.
    pub filter_rebuild_cpu_share: f64,
    /// Memory for the stores' caches, in bytes.
    pub store_cache_bytes: u64,
    /// Requests open to one host at a time.
    pub connections_per_host: u32,
    /// Delay of hosts not asked yet, in milliseconds.
    pub delay_ms: u64,
    /// Attempts at a URL before it has failed.
    pub max_attempts: u8,
    /// First back-off of a failing host, doubled with each further failure, in milliseconds.
    pub retry_delay_ms: u64,
    /// Longest back-off, and longest Retry-After that is honoured, in milliseconds.
    pub max_retry_delay_ms: u64,
}

impl Options {
    /// Options under which a stopped directory only answers questions.
    pub(crate) fn for_questions(dir: &Path, partitions: u16) -> Self {
        Self {
            dir: dir.to_owned(),
            partitions,
            hot_cache_entries: 0,
            recent_bytes: 1 << 28,
            commit_interval: Duration::ZERO,
            journal_max_bytes: u64::MAX,
            // Layers of whatever budget are read; none is written.
            false_positive_rate: 0.5,
            filter_initial_capacity: 1,
            filter_growth_factor: 2.0,
            filter_max_layers: usize::MAX,
            filter_rebuild_cpu_share: 1.0,
            store_cache_bytes: 1 << 24,
            connections_per_host: 1,
            delay_ms: 0,
            max_attempts: 1,
            retry_delay_ms: 0,
            max_retry_delay_ms: 0,
        }
    }

    pub(crate) fn politeness(&self, partitions: usize) -> Politeness {
        Politeness {
            connections_per_host: self.connections_per_host.max(1),
            delay_ms: self.delay_ms,
            retry_delay_ms: self.retry_delay_ms,
            max_retry_delay_ms: self.max_retry_delay_ms,
            hosts_in_memory: (HOSTS_IN_MEMORY / partitions).max(MIN_HOSTS_IN_MEMORY),
        }
    }

    /// Of one partition's filter.
    pub(crate) fn filter_settings(&self, partitions: usize) -> bloom::Settings {
        bloom::Settings {
            false_positive_rate: self.false_positive_rate,
            initial_capacity: self.filter_initial_capacity.div_ceil(partitions as u64).max(1),
            growth_factor: self.filter_growth_factor,
        }
    }

    pub(crate) fn rebuilding(&self) -> Rebuilding {
        Rebuilding { max_layers: self.filter_max_layers, cpu_share: self.filter_rebuild_cpu_share.clamp(0.01, 1.0) }
    }

    /// Of one generation of one partition's memory.
    pub(crate) fn generation_bytes(&self, partitions: usize) -> usize {
        (self.recent_bytes / partitions as u64 / SHARES) as usize
    }
}
