//! `crawld explain`: all that is known of one URL and its host, and what would become of it if it were found.
//!
//! * [`Explained`] is the answer, one struct for JSON and text, for a running and for a stopped crawl; `answer` has its parts;
//! * `views` makes it of what frontier, scope, traps and robots rules say; `verdict` puts the outcome into one sentence;
//! * `text` writes it for people.
//!
//! Not the judging: each rule is asked where the crawl asks it. Invariant: asking records nothing, the answer is bounded
//! whatever the URL, and no control character of a URL or a site's text reaches a terminal.

mod answer;
mod text;
mod verdict;
mod views;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use frontier::{Frontier, Millis, UrlError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::{Position, Url};

use crate::config::Config;
use crate::control;
use crate::robots_cache::{Answer, RobotsCache};
use crate::scope::Scope;
use crate::worker::Crawl;

pub use answer::{
    BudgetView, CrawlView, HostView, LayerView, LimitView, RecordView, RobotsView, ScopeView, SeenView, StepView,
    UrlView,
};
use text::excerpt;
pub use text::{quoted, to_json, to_text};

/// All that is known of a URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// In one word: `seen`, `new`, `over_budget`, `out_of_scope` or `refused`.
    pub outcome: String,
    /// In one sentence.
    pub verdict: String,
    /// Rules of `[canonical]` that the config of whoever asks sets otherwise than the directory, by whose rules the URL is
    /// read.
    #[serde(default)]
    pub canonical_differs: Vec<String>,
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
    /// The whole crawl.
    pub crawl: CrawlView,
}

/// What a crawl judges URLs by, beside its frontier.
pub struct Judges<'a> {
    /// The config.
    pub config: &'a Config,
    /// The scope.
    pub scope: &'a Scope,
    /// The robots rules that are in memory; `None` where the crawl is stopped.
    pub robots: Option<&'a RobotsCache>,
    /// Pages fetched in all, for `crawl.max_pages`.
    pub pages: u64,
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
    let pages = crawl.fetched.load(Ordering::Relaxed);
    let judges = Judges { config: &crawl.config, scope: &crawl.scope, robots: Some(&crawl.robots), pages };
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
    // A fetch URL is one that was written by the parser.
    let target = Url::parse(canonical.url()).map_err(UrlError::from)?;
    let rules = in_memory(judges, &target, now).or_else(|| remembered.as_ref().and_then(holds));
    let mut all = Explained {
        outcome: String::new(),
        verdict: String::new(),
        canonical_differs: Vec::new(),
        url: views::url(url, &explained, &known),
        scope: views::scope(judges, canonical),
        seen: views::seen(&known),
        record: views::record(&known, judges.config.recrawl.enabled, now),
        host: views::host(judges, &known.host, &target, rules.as_ref(), now),
        robots: views::robots(judges, &target, rules.as_ref()),
        budget: known.budget.as_ref().map(views::budget),
        crawl: CrawlView { pages: judges.pages, max_pages: judges.config.crawl.max_pages },
    };
    (all.outcome, all.verdict) = verdict::of(&all);
    Ok(all)
}

fn in_memory(judges: &Judges<'_>, url: &Url, now: Millis) -> Option<Answer> {
    judges.robots?.known(&url[..Position::BeforePath], now)
}

#[cfg(test)]
mod tests;
