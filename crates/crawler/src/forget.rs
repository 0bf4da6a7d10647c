//! `crawld forget`: un-seeing URLs, by a running daemon or in a stopped directory.
//!
//! Not the search for them ([`select`](crate::select) says which, the frontier finds them). Invariant: what is answered
//! has become durable.

use std::path::Path;

use frontier::{Canonical, Forgotten, Frontier, Millis, Rules, Selection};
use serde_json::{Value, json};

use crate::cli::Select;
use crate::clock::Clock;
use crate::control::{self, Request};
use crate::questions::{self, QuestionError, Source};
use crate::select::selection;
use crate::url_batch::UrlBatch;

/// Forgets URLs of the crawl in `dir`, or with `dry_run` counts them: the given ones, or, where there are none, the
/// selected ones.
///
/// # Errors
/// A URL or a selection that is not understood; when nobody can be asked.
pub fn forget(dir: &Path, urls: &[String], select: &Select, dry_run: bool) -> Result<Forgotten, QuestionError> {
    let now = Clock::start().now();
    // What is not understood is not understood by any rules, and needs no crawl.
    let (by_default, _) = understood(&Rules::default(), urls, select, now)?;
    let frontier = match questions::open(dir, None)? {
        Source::Stopped(frontier) => frontier,
        Source::Daemon(mut client) => {
            let requests = requests(&by_default, select, dry_run);
            let replies = requests.iter().map(|request| client.ask(request)).collect::<Result<Vec<_>, _>>()?;
            let sum = |name: &str| replies.iter().filter_map(|reply| reply[name].as_u64()).sum();
            return Ok(Forgotten { sequence: 0, forgotten: sum("forgotten"), in_flight: sum("in_flight") });
        }
    };
    let (canonical, chosen) = understood(frontier.rules(), urls, select, now)?;
    let forgotten = match (urls.is_empty(), dry_run) {
        (false, false) => frontier.forget(&canonical)?,
        (false, true) => frontier.would_forget(&canonical)?,
        (true, false) => frontier.forget_selected(&chosen, &|| true)?,
        (true, true) => frontier.would_forget_selected(&chosen, &|| true)?,
    };
    if !dry_run {
        frontier.close()?;
    }
    Ok(forgotten)
}

/// The URLs and the selection as a crawl of these rules knows them.
fn understood(
    rules: &Rules,
    urls: &[String],
    select: &Select,
    now: Millis,
) -> Result<(Vec<Canonical>, Selection), QuestionError> {
    let parse = |url: &String| rules.parse(url).map_err(|error| QuestionError::Usage(format!("{url}: {error}")));
    let urls = urls.iter().map(parse).collect::<Result<_, _>>()?;
    Ok((urls, selection(select, rules, now).map_err(QuestionError::Usage)?))
}

/// One request for a selection; as many as it takes for a list.
fn requests(urls: &[Canonical], select: &Select, dry_run: bool) -> Vec<Request> {
    if urls.is_empty() {
        return vec![Request::Forget { urls: Vec::new(), select: Some(select.clone()), dry_run }];
    }
    let mut requests = Vec::new();
    let mut batch = UrlBatch::default();
    for url in urls {
        batch.push(url);
        if batch.is_full() {
            requests.push(Request::Forget { urls: batch.take(), select: None, dry_run });
        }
    }
    if !batch.is_empty() {
        requests.push(Request::Forget { urls: batch.take(), select: None, dry_run });
    }
    requests
}

/// What the daemon does with the request. `go_on` says no when the daemon is told to stop.
pub fn answer(
    frontier: &Frontier,
    urls: &[String],
    select: Option<&Select>,
    dry_run: bool,
    now: Millis,
    go_on: &dyn Fn() -> bool,
) -> Value {
    let forgotten = match select {
        None => match urls.iter().map(|url| frontier.rules().parse(url)).collect::<Result<Vec<_>, _>>() {
            Ok(urls) if dry_run => frontier.would_forget(&urls),
            Ok(urls) => frontier.forget(&urls),
            Err(error) => return control::error("bad_url", error),
        },
        Some(_) if !urls.is_empty() => return control::error("bad_selection", "both URLs and a selection"),
        // Everything is never what somebody meant who chose nothing.
        Some(select) if *select == Select::default() => return control::error("bad_selection", "nothing is chosen"),
        Some(select) => match selection(select, frontier.rules(), now) {
            Ok(selection) if dry_run => frontier.would_forget_selected(&selection, go_on),
            Ok(selection) => frontier.forget_selected(&selection, go_on),
            Err(error) => return control::error("bad_selection", error),
        },
    };
    match forgotten.and_then(|forgotten| frontier.commit().map(|()| forgotten)) {
        Ok(Forgotten { forgotten, in_flight, .. }) => json!({ "forgotten": forgotten, "in_flight": in_flight }),
        Err(error) => control::error("failed", error),
    }
}

/// What it came to, in a line.
pub fn report(forgotten: &Forgotten, dry_run: bool) -> String {
    let Forgotten { forgotten, in_flight, .. } = forgotten;
    let verb = if dry_run { "would forget" } else { "forgot" };
    let in_flight = match in_flight {
        0 => String::new(),
        1 => "; 1 of them is in flight and counts as seen until its fetch has ended".to_owned(),
        many => format!("; {many} of them are in flight and count as seen until their fetches have ended"),
    };
    format!("{verb} {forgotten} URLs{in_flight}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_told_only_where_something_is() {
        let said = |in_flight, dry_run| report(&Forgotten { sequence: 0, forgotten: 3, in_flight }, dry_run);
        assert_eq!(said(0, false), "forgot 3 URLs\n");
        assert_eq!(said(0, true), "would forget 3 URLs\n");
        assert_eq!(
            said(1, false),
            "forgot 3 URLs; 1 of them is in flight and counts as seen until its fetch has ended\n"
        );
        assert!(
            said(2, true).ends_with("; 2 of them are in flight and count as seen until their fetches have ended\n")
        );
    }
}
