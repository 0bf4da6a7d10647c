//! The outcome in one sentence: what has become of a URL, or what would become of it if a page linked to it.
//!
//! Not a judgement: it only reads the parts. Invariant: for a URL that is not known the rules are gone through in the order
//! in which the crawl asks them: scope, depth, traps, then the seen-test, the budgets for new ones, and what keeps a queued
//! one from being fetched.

use super::{BudgetView, Explained, RecordView};

/// The outcome, in one word and in one sentence.
pub(super) fn of(all: &Explained) -> (String, String) {
    let (word, sentence) = match &all.record {
        Some(record) => ("seen", seen(all, record)),
        None => unseen(all),
    };
    (word.to_owned(), sentence)
}

fn seen(all: &Explained, record: &RecordView) -> String {
    let status = match (record.last_status, &record.last_status_means) {
        (Some(status), Some(means)) => format!("{status} ({means})"),
        (Some(status), None) => status.to_string(),
        (None, _) => "no status".to_owned(),
    };
    let what = match record.state.as_str() {
        "queued" => queued(all, record),
        "in_flight" if record.is_going => "being fetched now, and forgotten as soon as that has ended".to_owned(),
        "in_flight" => "being fetched now".to_owned(),
        "fetched" if record.next_due.is_some() => format!("fetched, with {status}; it is due again"),
        "fetched" => format!("fetched, with {status}; it is not fetched again"),
        "failed" => format!("given up after all retries, the last with {status}"),
        "robots_denied" => "not fetched, because robots.txt forbade it".to_owned(),
        "excluded" => format!("not fetched, by a rule: {status}"),
        "imported_seen" => "imported as seen; it is not fetched".to_owned(),
        "parked" => "parked: held back by a budget, until `crawld budget release`".to_owned(),
        other => other.to_owned(),
    };
    format!("seen: {what}")
}

fn queued(all: &Explained, record: &RecordView) -> String {
    let again = if record.attempts > 0 { ", to be tried again" } else { "" };
    let waits = match (&all.host.blocked_by, all.host.next_slot_in_ms) {
        (Some(reason), _) => format!("; its host is left alone ({reason})"),
        (None, 0) => String::new(),
        (None, _) => "; its host rests for now".to_owned(),
    };
    format!("queued at depth {}{again}{waits}{}", record.depth, but(all))
}

fn unseen(all: &Explained) -> (&'static str, String) {
    let scope = &all.scope;
    if !scope.in_scope {
        return ("out_of_scope", format!("out of scope: {}: {}", scope.decided_by, scope.why));
    }
    if scope.max_depth == 0 {
        return ("refused", "refused as a link, taken as a seed: crawl.max_depth = 0".to_owned());
    }
    if let Some(trap) = &scope.trap {
        return ("refused", format!("refused as a link, taken as a seed: more than {trap}"));
    }
    let new = if all.seen.exact == "forgotten" { "forgotten, so new again" } else { "new" };
    if let Some(BudgetView { held_by: Some(budget), parks, .. }) = &all.budget {
        let what = if *parks { "would be parked" } else { "would not be kept" };
        return ("over_budget", format!("{new}: held back by {budget}: {what}"));
    }
    let depth = format!("at depth 0 as a seed, one deeper than its page as a link (at most {})", scope.max_depth);
    ("new", format!("{new}: would be queued {depth}{}", but(all)))
}

/// What keeps a queued URL from being fetched.
fn but(all: &Explained) -> String {
    let mut all_of_it = String::new();
    if all.crawl.max_pages > 0 && all.crawl.pages >= all.crawl.max_pages {
        all_of_it
            .push_str(&format!(", but nothing more is fetched: crawl.max_pages = {} is reached", all.crawl.max_pages));
    }
    if let Some(why) = &all.host.refused {
        all_of_it.push_str(&format!(", but not fetched: {why}"));
    }
    if let ("denied", Some(line)) = (all.robots.verdict.as_str(), all.robots.line) {
        all_of_it.push_str(&format!(", but robots.txt forbids it (line {line})"));
    }
    all_of_it
}
