//! What the frontier remembers of robots.txt, for the rules of a page's origin: read, renewed, written.
//!
//! Not how long it holds ([`robots_cache`](crate::robots_cache)) and not the asking (`rules`). Invariant: what is
//! remembered is exactly what the rules at hand were parsed from, and since when the server has answered with errors only;
//! never that no answer came.

use std::sync::Arc;

use frontier::{Millis, RobotsMemory};
use tokio::task::spawn_blocking;
use url::Url;

use super::trip::Trip;
use crate::fetch::{Fetch, Head};
use crate::robots::Robots;
use crate::robots_cache;

/// What is remembered of the page's origin. A frontier that fails here tells so when the lease ends.
pub(super) async fn recall<F: Fetch>(trip: &Trip<'_, F>, page: &Url) -> Option<RobotsMemory> {
    let frontier = Arc::clone(&trip.crawl.frontier);
    let url = frontier.rules().canonical(page.clone()).ok()?;
    spawn_blocking(move || frontier.robots(&url)).await.ok()?.ok()?
}

/// Remembers what there is to remember of the page's origin.
pub(super) async fn remember<F: Fetch>(trip: &Trip<'_, F>, page: &Url, learned: Option<RobotsMemory>) {
    let frontier = Arc::clone(&trip.crawl.frontier);
    if let (Some(memory), Ok(url)) = (learned, frontier.rules().canonical(page.clone())) {
        // A frontier that fails here tells so when the lease ends.
        let _ = spawn_blocking(move || frontier.remember_robots(&url, memory)).await;
    }
}

/// What an answer with rules says; `None` where it is too long to be remembered.
pub(super) fn of(head: &Head, body: &[u8], now: Millis) -> Option<RobotsMemory> {
    Some(RobotsMemory {
        text: Some(Robots::text_of(body)?),
        etag: head.etag.clone(),
        last_modified: head.last_modified.clone(),
        max_age_secs: max_age_secs(head),
        ..no_rules(now)
    })
}

/// That there are no rules.
pub(super) fn no_rules(now: Millis) -> RobotsMemory {
    RobotsMemory { fetched: now, ..RobotsMemory::default() }
}

/// How long the server says that its answer holds.
pub(super) fn max_age_secs(head: &Head) -> Option<u32> {
    robots_cache::max_age_secs(head.cache_control.as_deref()?)
}

/// That the server has answered with an error, once more or for the first time.
pub(super) fn failing(memory: Option<RobotsMemory>, now: Millis) -> RobotsMemory {
    let memory = memory.unwrap_or_default();
    RobotsMemory { unreachable_since: memory.unreachable_since.or(Some(now)), ..memory }
}

/// What was remembered, if the server says that it is still so.
pub(super) fn renewed(memory: Option<&RobotsMemory>, head: &Head, now: Millis) -> Option<RobotsMemory> {
    let asked = memory.filter(|memory| memory.etag.is_some() || memory.last_modified.is_some());
    let memory = asked.filter(|_| head.status == 304)?;
    Some(RobotsMemory {
        etag: head.etag.clone().or_else(|| memory.etag.clone()),
        last_modified: head.last_modified.clone().or_else(|| memory.last_modified.clone()),
        max_age_secs: max_age_secs(head).or(memory.max_age_secs),
        fetched: now,
        text: memory.text.clone(),
        unreachable_since: None,
    })
}

/// What came from another place cannot be asked for again by what that place said of it.
pub(super) fn without_validators(memory: &mut RobotsMemory) {
    (memory.etag, memory.last_modified) = (None, None);
}
