//! Lines of an import on their way to becoming one event.
//!
//! Not the event (`import`). Invariant: after [`Batch::join_twins`] no two of its URLs have the same key.

use std::collections::{BTreeMap, BTreeSet};

use ahash::AHashMap;

use super::CHUNK;
use crate::canonical::Canonical;
use crate::found::{Found, FoundUrl};
use crate::record::{HostState, Record, State};
use crate::robots::RobotsMemory;

/// Bytes of the lines of one event at most, but for the last one.
const CHUNK_BYTES: usize = 4 << 20;

/// Lines that become one event.
#[derive(Default)]
pub(super) struct Batch {
    /// By partition and host part of the keys.
    pub(super) hosts: BTreeMap<(u16, String), HostState>,
    /// Those of them that the growth guard slows as they are known here.
    pub(super) slowed_before: BTreeSet<(u16, String)>,
    /// By partition and name of the origin.
    pub(super) robots: BTreeMap<(u16, String), RobotsMemory>,
    pub(super) urls: Found,
    /// Of each of the URLs.
    pub(super) records: Vec<Said>,
    pub(super) bytes: usize,
}

/// What a file says of a URL.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) record: Record,
    pub(super) referrer: Option<String>,
    /// What is remembered of the last visit.
    pub(super) trace: Option<Box<str>>,
}

impl Batch {
    pub(super) fn push(&mut self, canonical: Canonical, said: Said) {
        self.urls.urls.push(FoundUrl::new(canonical, said.record.depth));
        self.records.push(said);
    }

    /// Makes one of URLs that have become one: the one with which the crawl has come furthest. Returns how many are gone.
    pub(super) fn join_twins(&mut self) -> u64 {
        let Self { urls: Found { urls, .. }, records, .. } = &mut *self;
        let mut places: AHashMap<&str, usize> = AHashMap::with_capacity(urls.len());
        let mut furthest: Vec<usize> = Vec::with_capacity(urls.len());
        for (i, url) in urls.iter().enumerate() {
            let place = *places.entry(url.canonical.key()).or_insert(furthest.len());
            let Some(best) = furthest.get_mut(place) else {
                furthest.push(i);
                continue;
            };
            let depth = records[*best].record.depth.min(records[i].record.depth);
            if records[i].record.progress() > records[*best].record.progress() {
                *best = i;
            }
            if records[*best].record.state == State::Queued {
                records[*best].record.depth = depth;
            }
        }
        let gone = (urls.len() - furthest.len()) as u64;
        if gone > 0 {
            let mut all: Vec<_> = std::mem::take(urls).into_iter().zip(std::mem::take(records)).map(Some).collect();
            for i in furthest {
                let (url, said) = all[i].take().expect("each place has a URL of its own");
                self.push(url.canonical, said);
            }
        }
        gone
    }

    /// By how many more hosts of a partition are slowed after it.
    pub(super) fn hosts_slowed(&self, partition: u16) -> i64 {
        let slowed =
            self.hosts.iter().filter(|((number, _), state)| *number == partition && state.growth.slowed().is_some());
        let before = self.slowed_before.iter().filter(|(number, _)| *number == partition);
        slowed.count() as i64 - before.count() as i64
    }

    pub(super) fn is_full(&self) -> bool {
        self.hosts.len() + self.robots.len() + self.records.len() >= CHUNK || self.bytes >= CHUNK_BYTES
    }
}
