//! The parts of an explanation: plain facts about a URL, its host and its budgets at one moment.
//!
//! Not how they are found out ([the module above](super)). Invariant: nothing here tells anything of the crawl's secret.

use crate::Millis;
use crate::ledger::{Budget, BudgetUse};
use crate::options::FilterKind;
use crate::parking::HostUsage;

/// What is known of a URL, and what would become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The partition that owns it, and how many there are.
    pub partition: u16,
    /// Number of partitions.
    pub partitions: u16,
    /// Whether the hot cache of confirmed URLs answers for it, before filter and store are asked.
    pub is_hot: bool,
    /// What the filter says; `None` while it is rebuilt, and the exact set answers alone.
    pub filter: Option<FilterView>,
    /// What the exact set says.
    pub trace: Trace,
    /// Its host.
    pub host: HostView,
    /// Its budgets; `None` where none is configured.
    pub budget: Option<BudgetView>,
}

/// The filter's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterView {
    /// Kind of the layers.
    pub kind: FilterKind,
    /// Every layer, oldest first.
    pub layers: Vec<LayerView>,
}

impl FilterView {
    /// Maybe seen; else absent for certain.
    pub fn maybe(&self) -> bool {
        self.layers.iter().any(|layer| layer.maybe)
    }
}

/// One layer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerView {
    /// URLs in it.
    pub len: u64,
    /// URLs that it is made for.
    pub capacity: u64,
    /// Maybe in it; else absent for certain.
    pub maybe: bool,
}

/// What the exact set has of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    Never,
    /// It was known and has been forgotten: it is new when it is found again.
    Forgotten,
    /// A record.
    Known(Box<Known>),
}

/// What is remembered of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The URL that is fetched for this key.
    pub url: String,
    /// `queued`, `fetched`, `failed`, `robots_denied`, `excluded`, `imported_seen` or `parked`.
    pub state: &'static str,
    /// A lease of it is out.
    pub in_flight: bool,
    /// It was forgotten while in flight, and is gone when its lease ends.
    pub is_going: bool,
    /// Whether it is in memory, not in the store yet.
    pub is_recent: bool,
    /// Links from a seed.
    pub depth: u16,
    /// Attempts that ended without a final outcome.
    pub attempts: u8,
    /// Leases in a row that ended without any outcome.
    pub starts: u8,
    /// HTTP status or negative code of the last attempt; `None` before the first.
    pub status: Option<i16>,
    /// When it was first seen.
    pub first_seen: Millis,
    /// Where it was found.
    pub referrer: Referrer,
    /// When it may be fetched (next); `None` where nothing will. A queued URL waits for its host, and for those before it.
    pub due: Option<Millis>,
}

/// The page on which a URL was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Referrer {
    /// This one.
    Page(String),
    /// None: a seed, or one that was imported or released.
    None,
    /// Only entries of the first queueing keep it, and there is none any more: it is a whole URL, too much to be kept for each
    /// finished one.
    NotKept,
}

/// What is known of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostView {
    /// Whether anything is remembered of it.
    pub is_known: bool,
    /// Its URLs, delay, failures and block.
    pub usage: HostUsage,
    /// When it may be asked next; 0 for a host that was never asked.
    pub next_slot: Millis,
    /// Requests open.
    pub in_flight: u32,
}

/// What the budgets say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetView {
    /// The limits.
    pub limits: Budget,
    /// What the host has used.
    pub host: BudgetUse,
    /// What the registrable domain has used.
    pub domain: BudgetUse,
    /// The first one with no room for one more new URL, by its name in the config.
    pub held_by: Option<&'static str>,
}
