//! What a frontier is opened with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::block_reason::BlockReason;
use crate::canonical::Rules;
use crate::growth::GrowthGuard;
use crate::host::Politeness;
use crate::journal::Pace;
use crate::ledger::Budget;
use crate::recrawl::Recrawl;
use crate::room::Room;
use crate::shared::Filtering;

/// Eighths of `recent_bytes` at which the fullest partition is merged: the others fill meanwhile. Measured at 20 million URLs:
/// six are a fifth faster, and a start after a kill, which replays them, takes a seventh longer (1.8 s).
const MERGED_AT: u64 = 5;
/// Hosts that all partitions together keep in memory though they have nothing to do now; 1.5 KB each, measured at a
/// million.
const HOSTS_IN_MEMORY: usize = 131_072;
/// … and each of many partitions at least.
const MIN_HOSTS_IN_MEMORY: usize = 256;
/// URLs of queue blocks that all partitions together keep in memory before they take few of each block; about 350 bytes
/// each.
const HEADS_IN_MEMORY: usize = 131_072;

/// Bytes of one partition's filter at least, however little memory all may take.
const MIN_FILTER_BYTES: u64 = 1 << 14;

/// What a frontier is opened with. Sizes are totals of the process, split over partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The data directory; made when missing.
    pub dir: PathBuf,
    /// Number of partitions of a directory that is made now; an existing one keeps its own.
    pub partitions: u16,
    /// By which URLs are made one. An existing directory is opened only under those it was made under.
    pub rules: Rules,
    /// Fingerprints in the hot cache, 16 bytes each.
    pub hot_cache_entries: usize,
    /// Memory for URLs not yet merged, in bytes.
    pub recent_bytes: u64,
    /// Pause between two commits of the journal.
    pub commit_interval: Duration,
    /// Size beyond which the journal makes the partition merge that keeps its oldest segment, in bytes.
    pub journal_max_bytes: u64,
    /// The filters.
    pub filter: FilterOptions,
    /// Memory for the stores' caches, in bytes.
    pub store_cache_bytes: u64,
    /// Requests open to one host at a time.
    pub connections_per_host: u32,
    /// Delay of hosts not asked yet, in milliseconds.
    pub delay_ms: u64,
    /// Attempts at a URL before it has failed.
    pub max_attempts: u8,
    /// The same where the last attempt failed for one of these reasons.
    pub max_attempts_by_reason: BTreeMap<BlockReason, u8>,
    /// How much of each site is taken.
    pub budget: Budget,
    /// First back-off of a failing host, doubled with each further failure, in milliseconds.
    pub retry_delay_ms: u64,
    /// Longest back-off, and longest Retry-After that is honoured, in milliseconds.
    pub max_retry_delay_ms: u64,
    /// When pages are visited again; `None`: each is visited once.
    pub recrawl: Option<Recrawl>,
    /// When a host that grows without end is slowed.
    pub growth_guard: GrowthGuard,
    /// Nothing happens by itself: a test commits and merges step by step.
    #[cfg(test)]
    pub(crate) by_hand: bool,
}

/// How the filters are made, and when anew.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterOptions {
    /// Kind of their layers.
    pub kind: FilterKind,
    /// Rate of false positives, over all layers of a filter.
    pub false_positive_rate: f64,
    /// URLs for which the first layers are sized.
    pub initial_capacity: u64,
    /// How much larger each further layer is.
    pub growth_factor: f64,
    /// A filter of more layers than this is rebuilt as one, in the background.
    pub max_layers: usize,
    /// A filter with more than this share of forgotten URLs in it is rebuilt, above 0 and up to 1.
    pub max_stale_share: f64,
    /// Memory for the layers, in bytes; where it does not do, the rate is waived.
    pub max_bytes: u64,
    /// Share of one core that a rebuild may take, above 0 and up to 1.
    pub rebuild_cpu_share: f64,
}

/// What the layers of a filter are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKind {
    /// Bloom filters by cache lines: fastest and smallest; a forgotten URL stays in until the next rebuild.
    ScalableBloom,
    /// The same with counters instead of bits: forgets at once, at four times the space.
    ScalableCounting,
    /// Cuckoo filters: forgets at once, at 1.4 times the space and two cache lines a probe.
    ScalableCuckoo,
}

impl FilterKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::ScalableBloom, Self::ScalableCounting, Self::ScalableCuckoo];

    /// Its word in a config file.
    pub fn name(self) -> &'static str {
        match self {
            Self::ScalableBloom => "scalable_bloom",
            Self::ScalableCounting => "scalable_counting",
            Self::ScalableCuckoo => "scalable_cuckoo",
        }
    }

    /// The kind whose layers are these.
    pub(crate) fn of(layers: bloom::Kind) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.layers() == layers)
    }

    /// Number of the kind in `bloom`.
    pub(crate) fn layers(self) -> bloom::Kind {
        match self {
            Self::ScalableBloom => bloom::Kind::Blocked,
            Self::ScalableCounting => bloom::Kind::Counting,
            Self::ScalableCuckoo => bloom::Kind::Cuckoo,
        }
    }
}

impl Options {
    /// The defaults, for this data directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            partitions: 16,
            rules: Rules::default(),
            hot_cache_entries: 1 << 20,
            recent_bytes: 256 << 20,
            commit_interval: Duration::from_millis(20),
            journal_max_bytes: 256 << 20,
            filter: FilterOptions::default(),
            store_cache_bytes: 32 << 20,
            connections_per_host: 1,
            delay_ms: 1000,
            max_attempts: 3,
            max_attempts_by_reason: BTreeMap::new(),
            budget: Budget { park: true, ..Budget::default() },
            retry_delay_ms: 30_000,
            max_retry_delay_ms: 3_600_000,
            recrawl: None,
            growth_guard: GrowthGuard::default(),
            #[cfg(test)]
            by_hand: false,
        }
    }

    /// Options under which a stopped directory only answers questions.
    pub(crate) fn for_questions(dir: &Path, partitions: u16, filter: Option<FilterOptions>) -> Self {
        Self {
            partitions,
            hot_cache_entries: 0,
            commit_interval: Duration::ZERO,
            journal_max_bytes: u64::MAX,
            filter: filter.unwrap_or_default(),
            store_cache_bytes: 1 << 24,
            ..Self::new(dir)
        }
    }

    pub(crate) fn pace(&self) -> Pace {
        Pace { interval: self.commit_interval, max_bytes: self.journal_max_bytes, by_caller: self.is_by_hand() }
    }

    /// Whether nothing is to happen by itself.
    #[cfg(test)]
    pub(crate) fn is_by_hand(&self) -> bool {
        self.by_hand
    }

    /// Whether nothing is to happen by itself: only in tests.
    #[cfg(not(test))]
    pub(crate) fn is_by_hand(&self) -> bool {
        false
    }

    pub(crate) fn politeness(&self, partitions: usize) -> Politeness {
        Politeness {
            connections_per_host: self.connections_per_host.max(1),
            delay_ms: self.delay_ms,
            retry_delay_ms: self.retry_delay_ms,
            max_retry_delay_ms: self.max_retry_delay_ms,
            guard: self.growth_guard,
            hosts_in_memory: (HOSTS_IN_MEMORY / partitions).max(MIN_HOSTS_IN_MEMORY),
            heads_in_memory: HEADS_IN_MEMORY / partitions,
        }
    }

    /// Of one partition's filter.
    fn filter_settings(&self, partitions: usize) -> bloom::Settings {
        bloom::Settings {
            false_positive_rate: self.filter.false_positive_rate,
            initial_capacity: self.filter.initial_capacity.div_ceil(partitions as u64).max(1),
            growth_factor: self.filter.growth_factor,
            max_bytes: Some((self.filter.max_bytes / partitions as u64).max(MIN_FILTER_BYTES)),
        }
    }

    pub(crate) fn filtering(&self, partitions: usize) -> Filtering {
        Filtering {
            kind: self.filter.kind.layers(),
            settings: self.filter_settings(partitions),
            max_layers: self.filter.max_layers,
            max_stale_share: self.filter.max_stale_share,
            cpu_share: self.filter.rebuild_cpu_share.clamp(0.01, 1.0),
        }
    }

    pub(crate) fn room(&self) -> Room {
        let eighth = self.recent_bytes / 8;
        Room {
            all: self.recent_bytes as usize,
            merged_at: (eighth * MERGED_AT) as usize,
            generation: (eighth * 2) as usize,
        }
    }
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self {
            kind: FilterKind::ScalableBloom,
            false_positive_rate: 0.01,
            initial_capacity: 1_000_000,
            growth_factor: 2.0,
            max_layers: 3,
            max_stale_share: 0.1,
            max_bytes: 1 << 30,
            rebuild_cpu_share: 0.25,
        }
    }
}
