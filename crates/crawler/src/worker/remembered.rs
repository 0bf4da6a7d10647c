//! What the frontier remembers of robots.txt, for the rules of a page's origin: read, renewed, written.
//!
//! Not how long it holds ([`robots_cache`](crate::robots_cache)) and not the asking (`rules`). Invariant: only an answer is
//! remembered, never that none came; what is remembered is exactly what the rules at hand were parsed from.

use std::sync::Arc;

use frontier::{Millis, RobotsMemory};
use tokio::task::spawn_blocking;
use url::Url;

use super::trip::Trip;
use crate::fetch::{Fetch, Head};
use crate::robots::Robots;

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
    let (etag, last_modified) = (head.etag.clone(), head.last_modified.clone());
    Some(RobotsMemory { text: Some(Robots::text_of(body)?), etag, last_modified, fetched: now })
}

/// That there are no rules.
pub(super) fn no_rules(now: Millis) -> RobotsMemory {
    RobotsMemory { text: None, etag: None, last_modified: None, fetched: now }
}

/// What was remembered, if the server says that it is still so.
pub(super) fn renewed(memory: Option<&RobotsMemory>, head: &Head, now: Millis) -> Option<RobotsMemory> {
    let asked = memory.filter(|memory| memory.etag.is_some() || memory.last_modified.is_some());
    let memory = asked.filter(|_| head.status == 304)?;
    Some(RobotsMemory {
        etag: head.etag.clone().or_else(|| memory.etag.clone()),
        last_modified: head.last_modified.clone().or_else(|| memory.last_modified.clone()),
        fetched: now,
        text: memory.text.clone(),
    })
}

/// What came from another place cannot be asked for again by what that place said of it.
pub(super) fn without_validators(memory: &mut RobotsMemory) {
    (memory.etag, memory.last_modified) = (None, None);
}
