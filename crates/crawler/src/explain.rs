//! `crawld explain`: all that is known of one URL and its host, and what would become of it if it were found.
//!
//! * [`Explained`] is the answer, one struct for JSON and text, for a running and for a stopped crawl;
//! * `views` makes it of what frontier, scope, traps and robots rules say; `verdict` puts the outcome into one sentence;
//! * `text` writes it for people.
//!
//! Not the judging: each rule is asked where the crawl asks it. Invariant: asking records nothing, the answer is bounded
//! whatever the URL, and no control character of a URL or a site's text reaches a terminal.

mod text;
mod verdict;
mod views;

use std::sync::Arc;

use frontier::{Frontier, Millis, UrlError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Position;

use crate::config::Config;
use crate::control;
use crate::robots_cache::{Answer, RobotsCache};
use crate::scope::Scope;
use crate::worker::Crawl;

use text::excerpt;
pub use text::{quoted, to_json, to_text};

/// All that is known of a URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// In one word: `seen`, `new`, `over_budget`, `out_of_scope` or `refused`.
    pub outcome: String,
    /// In one sentence.
    pub verdict: String,
    /// How it was read.
    pub url: UrlView,
    /// Whether it belongs to the crawl.
    pub scope: ScopeView,
    /// Whether it was seen before.
    pub seen: SeenView,
    /// What is remembered of it, if it was.
    pub record: Option<RecordView>,
    /// Its host.
    pub host: HostView,
    /// What robots.txt says of it.
    pub robots: RobotsView,
    /// Its budgets, where there are any.
    pub budget: Option<BudgetView>,
}

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
    /// `page`, `none` (a seed, or imported or released) or `not_kept` (only while it is queued is it).
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
    /// From the end of a response to the next request.
    pub delay_ms: u64,
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

/// What a crawl judges URLs by, beside its frontier.
pub struct Judges<'a> {
    /// The config.
    pub config: &'a Config,
    /// The scope.
    pub scope: &'a Scope,
    /// The robots rules that are in memory; `None` where the crawl is stopped.
    pub robots: Option<&'a RobotsCache>,
}

/// Why nothing can be told.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// No URL that can be crawled.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The frontier cannot tell.
    #[error(transparent)]
    Frontier(#[from] frontier::Error),
}

/// A running crawl's answer, as a reply of the control socket.
pub fn answer<F>(crawl: &Arc<Crawl<F>>, url: &str, now: Millis) -> Value {
    let judges = Judges { config: &crawl.config, scope: &crawl.scope, robots: Some(&crawl.robots) };
    match explain(&crawl.frontier, &judges, url, now) {
        Ok(explained) => serde_json::to_value(explained).expect("numbers and texts are JSON"),
        Err(ExplainError::Url(error)) => control::error("bad_url", error),
        Err(ExplainError::Frontier(error)) => control::error("failed", error),
    }
}

/// All that is known of a URL.
///
/// # Errors
/// [`ExplainError`].
pub fn explain(frontier: &Frontier, judges: &Judges<'_>, url: &str, now: Millis) -> Result<Explained, ExplainError> {
    let explained = frontier.rules().explain(url)?;
    let canonical = &explained.canonical;
    let known = frontier.explain(canonical)?;
    let remembered = frontier.robots(canonical)?;
    let holds = |memory| Answer::of_memory(memory, &judges.config.crawl.user_agent, now);
    let mut all = Explained {
        outcome: String::new(),
        verdict: String::new(),
        url: views::url(url, &explained, &known),
        scope: views::scope(judges, canonical),
        seen: views::seen(&known),
        record: views::record(&known, judges.config.recrawl.enabled, now),
        host: views::host(&known.host, now),
        robots: views::robots(judges, canonical, |origin| {
            in_memory(judges, origin, now).or_else(|| remembered.as_ref().and_then(holds))
        }),
        budget: known.budget.as_ref().map(views::budget),
    };
    (all.outcome, all.verdict) = verdict::of(&all);
    Ok(all)
}

fn in_memory(judges: &Judges<'_>, url: &url::Url, now: Millis) -> Option<Answer> {
    judges.robots?.known(&url[..Position::BeforePath], now)
}

#[cfg(test)]
mod tests;
