//! The parts of an answer: plain facts, the same as JSON and in memory.
//!
//! Not how they are found out (`views`). Invariant: a time is text in ISO 8601, UTC; a span is in milliseconds.

use serde::{Deserialize, Serialize};

/// How a URL was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UrlView {
    /// As it was given, cut if it is long.
    pub input: String,
    /// What would be fetched.
    pub fetch_url: String,
    /// What is compared.
    pub key: String,
    /// The host.
    pub host: String,
    /// Its registrable domain, which decides the partition.
    pub registrable_domain: String,
    /// The partition.
    pub partition: u16,
    /// How many there are.
    pub partitions: u16,
    /// Every rule that changed it, in order.
    pub steps: Vec<StepView>,
}

/// A rule that changed a URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepView {
    /// Its name: a key of `[canonical]`, or `whatwg` or `drop_fragment`.
    pub rule: String,
    /// The URL after it, cut if it is long.
    pub after: String,
}

/// Whether a URL belongs to the crawl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScopeView {
    /// It does.
    pub in_scope: bool,
    /// The key of the config that decided, with the pattern or mode.
    pub decided_by: String,
    /// Why, in words.
    pub why: String,
    /// The trap rule that a link to it breaks: key and value. Seeds need not keep them.
    pub trap: Option<String>,
    /// `crawl.max_depth`.
    pub max_depth: u32,
}

/// The seen-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenView {
    /// The hot cache answers before filter and store are asked.
    pub hot_cache: bool,
    /// Kind of the filter; `None` while it is rebuilt and the exact set answers alone.
    pub filter: Option<String>,
    /// `maybe` or `absent`; `None` while it is rebuilt.
    pub filter_says: Option<String>,
    /// Every layer, oldest first.
    pub layers: Vec<LayerView>,
    /// What the exact set says: `seen`, `never_seen` or `forgotten`.
    pub exact: String,
}

/// One layer of the filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerView {
    /// URLs in it.
    pub urls: u64,
    /// URLs that it is made for.
    pub capacity: u64,
    /// `maybe` or `absent`.
    pub says: String,
}

/// What is remembered of a URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordView {
    /// What is fetched for it: another spelling with the same key may have come first.
    pub fetch_url: String,
    /// `queued`, `in_flight`, `fetched`, `failed`, `robots_denied`, `excluded`, `imported_seen` or `parked`.
    pub state: String,
    /// Forgotten while in flight: gone when its lease ends.
    pub is_going: bool,
    /// `memory` (not merged yet) or `store`.
    pub kept_in: String,
    /// Links from a seed.
    pub depth: u16,
    /// When it was first seen.
    pub first_seen: String,
    /// The page on which it was found, where that is kept.
    pub found_on: Option<String>,
    /// `page`; `none` (a seed, or imported or released); `in_crawl_log`, whose line of the URL has it in the sixth column (the
    /// frontier keeps it only until the first visit); or `not_kept`.
    pub found_on_kept: String,
    /// Attempts that ended without a final outcome.
    pub attempts: u8,
    /// Leases in a row that ended without any outcome.
    pub unfinished_leases: u8,
    /// HTTP status or negative code of the last attempt.
    pub last_status: Option<i16>,
    /// In words.
    pub last_status_means: Option<String>,
    /// When it may be fetched (next), if it will be at all: not before its host.
    pub next_due: Option<String>,
    /// The same from now, in milliseconds.
    pub next_due_in_ms: Option<u64>,
}

/// What is known of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostView {
    /// Its name, without port: the unit of politeness.
    pub name: String,
    /// Whether anything is remembered of it.
    pub is_known: bool,
    /// When it may be asked next.
    pub next_slot: String,
    /// The same from now, in milliseconds.
    pub next_slot_in_ms: u64,
    /// From the end of a response to the next request, by the config, robots.txt and the growth guard. A slow response makes
    /// it longer.
    pub delay_ms: u64,
    /// What it was after the last response.
    pub last_delay_ms: u64,
    /// Why nothing is fetched from it: its address is refused, where that is known without asking for it.
    #[serde(default)]
    pub refused: Option<String>,
    /// Requests open.
    pub in_flight: u32,
    /// Failures not yet made good.
    pub failures: u16,
    /// Until when it is left alone.
    pub blocked_until: Option<String>,
    /// Why: a reason of `fetch.max_attempts_by_reason`.
    pub blocked_by: Option<String>,
    /// In words.
    pub blocked_means: Option<String>,
    /// Why the growth guard slows it, if it does: its delay is then multiplied (`growth_guard.slow_factor`).
    pub slowed_by: Option<String>,
    /// Whether the growth guard leaves it alone for good.
    pub trusted: bool,
    /// URLs known, parked ones not counted.
    pub urls: u64,
    /// Of these, not finished.
    pub queued: u64,
    /// Of these, fetched.
    pub pages: u64,
    /// URLs held back by a budget.
    pub parked: u64,
}

/// What robots.txt says of a URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RobotsView {
    /// Where it is asked for.
    pub origin: String,
    /// `allowed`, `denied`, `not_known` (asked before the first page), `unreachable` or `not_obeyed`.
    pub verdict: String,
    /// Line of the file that decides, from 1; without one no rule matches.
    pub line: Option<u32>,
    /// The rule on it.
    pub rule: Option<String>,
    /// Until when the answer holds.
    pub known_until: Option<String>,
}

/// The budgets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetView {
    /// Each that is configured.
    pub limits: Vec<LimitView>,
    /// The first that has no room for one more new URL.
    pub held_by: Option<String>,
    /// Whether URLs over a budget are kept, parked.
    pub parks: bool,
}

/// One budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitView {
    /// Its key in the config.
    pub name: String,
    /// URLs, or pages with those that may become one.
    pub used: u64,
    /// As it is configured.
    pub limit: u64,
    /// What an operator granted beyond it; `None` for "no limit any more".
    pub granted: Option<u32>,
}

/// How far the whole crawl is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrawlView {
    /// Pages fetched in all.
    pub pages: u64,
    /// `crawl.max_pages`; 0 for no limit.
    pub max_pages: u64,
}
