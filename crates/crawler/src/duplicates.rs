//! Pages whose content was met before on another URL: the same to the byte, or nearly.
//!
//! For the log and the counters, so that an operator sees what a crawl spends on copies. Not the seen-test: whether a URL
//! is new is never decided here, and a page that is nearly another loses nothing; of an exact copy the links are left out
//! only if `duplicates.take_links` says so. Only HTML pages that came whole count, and none that is visited again. It covers
//! the last pages of this run, as many as `[duplicates]` says: what is further back, or of an earlier run, is met anew.
//!
//! Invariants: memory is bounded by the number of entries; the hash that tells copies is keyed for this process, so that no
//! site can make a page that passes for another's.

mod near;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::config;
use crate::sketch::SimHash;

pub use near::{MAX_BITS, NearIndex};

/// What a page is to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The same body.
    Same,
    /// Nearly the same text.
    Near,
}

/// The digest of a body as it streams.
#[derive(Debug, Clone)]
pub struct Digest(SipHasher13);

impl Digest {
    /// Takes in a piece of the body.
    pub fn write(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    fn finish(&self) -> u128 {
        self.0.finish128().as_u128()
    }
}

/// The pages met.
#[derive(Debug)]
pub struct Duplicates {
    same: Option<Mutex<Bodies>>,
    near: Option<Mutex<NearIndex>>,
    hasher: RandomState,
    same_pages: AtomicU64,
    near_pages: AtomicU64,
}

impl Duplicates {
    /// Nothing met yet.
    pub fn new(config: &config::Duplicates) -> Self {
        let entries = usize::try_from(config.entries).unwrap_or(usize::MAX);
        let near_entries = usize::try_from(config.near_entries).unwrap_or(usize::MAX);
        Self {
            same: (entries > 0).then(|| Mutex::new(Bodies { capacity: entries, ..Bodies::default() })),
            near: (near_entries > 0).then(|| Mutex::new(NearIndex::new(near_entries))),
            hasher: RandomState::new(),
            same_pages: AtomicU64::new(0),
            near_pages: AtomicU64::new(0),
        }
    }

    /// A digest of nothing yet; `None` where copies are not looked for.
    pub fn digest(&self) -> Option<Digest> {
        let key = || (self.hasher.hash_one(0), self.hasher.hash_one(1));
        self.same.is_some().then(key).map(|(k0, k1)| Digest(SipHasher13::new_with_keys(k0, k1)))
    }

    /// Whether [`judge`](Self::judge) has a use for a [`SimHash`].
    pub fn wants_simhash(&self) -> bool {
        self.near.is_some()
    }

    /// Takes in a page, and says what it is to those before. A page is no copy of itself.
    pub fn judge(&self, url: &str, digest: Option<&Digest>, simhash: Option<SimHash>) -> Option<Likeness> {
        let same = self.same.as_ref().zip(digest);
        if same.is_some_and(|(bodies, digest)| locked(bodies).meet(digest.finish(), self.hasher.hash_one(url))) {
            self.same_pages.fetch_add(1, Ordering::Relaxed);
            return Some(Likeness::Same);
        }
        let near = self.near.as_ref().zip(simhash);
        if near.is_some_and(|(index, simhash)| locked(index).meet(simhash)) {
            self.near_pages.fetch_add(1, Ordering::Relaxed);
            return Some(Likeness::Near);
        }
        None
    }

    /// How many were the same, and how many nearly.
    pub fn counts(&self) -> (u64, u64) {
        (self.same_pages.load(Ordering::Relaxed), self.near_pages.load(Ordering::Relaxed))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic has left unfinished costs an answer, not a page.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Digests of bodies, each with the URL that had it first.
#[derive(Debug, Default)]
struct Bodies {
    capacity: usize,
    urls: HashMap<u128, u64, ahash::RandomState>,
    /// The oldest first.
    order: VecDeque<u128>,
}

impl Bodies {
    /// Whether another URL had this body.
    fn meet(&mut self, digest: u128, url: u64) -> bool {
        if let Some(first) = self.urls.get(&digest) {
            return *first != url;
        }
        if self.order.len() >= self.capacity
            && let Some(oldest) = self.order.pop_front()
        {
            self.urls.remove(&oldest);
        }
        self.urls.insert(digest, url);
        self.order.push_back(digest);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(duplicates: &Duplicates, url: &str, body: &str, simhash: Option<u64>) -> Option<Likeness> {
        let mut digest = duplicates.digest();
        if let Some(digest) = &mut digest {
            digest.write(body.as_bytes());
        }
        duplicates.judge(url, digest.as_ref(), simhash.map(SimHash))
    }

    #[test]
    fn copies_of_the_last_pages_are_known_and_counted() {
        let duplicates = Duplicates::new(&config::Duplicates { entries: 2, near_entries: 0, take_links: true });
        let judge = |url, body| judge(&duplicates, url, body, Some(0));
        assert_eq!(judge("a", "one"), None);
        assert_eq!(judge("a", "one"), None, "no copy of itself");
        assert_eq!(judge("b", "one"), Some(Likeness::Same));
        assert_eq!(judge("c", "two"), None);
        assert_eq!(judge("d", "three"), None);
        assert_eq!(judge("e", "one"), None, "too far back");
        assert_eq!(judge("f", "three"), Some(Likeness::Same));
        assert_eq!(duplicates.counts(), (2, 0));
    }

    #[test]
    fn near_ones_are_looked_for_only_where_that_is_wanted() {
        let duplicates = Duplicates::new(&config::Duplicates { entries: 0, near_entries: 10, take_links: true });
        assert!(duplicates.digest().is_none() && duplicates.wants_simhash());
        assert_eq!(judge(&duplicates, "a", "one", Some(0xff00)), None);
        assert_eq!(judge(&duplicates, "b", "one", None), None, "too few words");
        assert_eq!(judge(&duplicates, "c", "two", Some(0xff07)), Some(Likeness::Near));
        assert_eq!(judge(&duplicates, "d", "two", Some(0xff0f)), None);
        assert_eq!(duplicates.counts(), (0, 1));
        let off = Duplicates::new(&config::Duplicates { entries: 0, near_entries: 0, take_links: true });
        assert_eq!(judge(&off, "a", "one", Some(1)).or(judge(&off, "b", "one", Some(1))), None);
    }
}
