//! Which robots rules are known, per origin, and that they are asked for once.
//!
//! Not the asking (the worker does that under a lease) and not the rules ([`robots`](crate::robots)). Invariant: of all
//! workers that need the rules of one origin at the same time, one asks and the others wait for its answer; memory is
//! bounded by [`MAX_ORIGINS`].

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ahash::{HashMap, HashMapExt};
use frontier::{Millis, RobotsMemory};
use tokio::sync::OnceCell;

use crate::robots::{Robots, product_token};

/// How long an answer holds: RFC 9309, section 2.4, asks for no more than a day.
pub const TTL: Duration = Duration::from_secs(24 * 3600);

/// How long it holds at least, whatever `Cache-Control` says: many servers forbid with one setting that anything at all is
/// kept, and asking for the rules before each page would double what they are asked for.
pub const MIN_TTL: Duration = Duration::from_secs(3600);

/// How long a server that answers with errors keeps its pages from being asked for: RFC 9309, section 2.3.1.4, lets a
/// crawler go on by the last rules that it knows, or without any, after some 30 days.
pub const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);

/// For how many seconds an answer with this `Cache-Control` holds, by its own account (RFC 9111, section 5.2.2); `None`
/// where it says nothing of it.
pub fn max_age_secs(cache_control: &str) -> Option<u32> {
    let says = |directive: &str| {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => Some(0),
            "max-age" => {
                let digits = value.trim().trim_matches('"');
                let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
                // More than a number can be is as good as for ever.
                is_number.then(|| digits.parse().unwrap_or(u32::MAX))
            }
            _ => None,
        }
    };
    cache_control.split(',').filter_map(says).min()
}

/// How long rules hold of which the server says that they hold so many seconds, in milliseconds.
pub fn ttl_ms(max_age_secs: Option<u32>) -> u64 {
    let ttl = max_age_secs.map_or(TTL, |secs| Duration::from_secs(secs.into()).clamp(MIN_TTL, TTL));
    ttl.as_millis() as u64
}

/// Origins kept; beyond, the one known longest goes. Most files have a few hundred bytes of rules.
pub const MAX_ORIGINS: usize = 100_000;

/// Turns; two hosts that share one wait for each other now and then.
const TURNS: usize = 1024;

/// What asking for robots.txt came to.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The rules; `None` when the host could not be asked, so that nothing may be fetched.
    pub rules: Option<Arc<Robots>>,
    /// From when on the answer no longer holds.
    pub expires: Millis,
}

impl Answer {
    /// What is remembered, if it still holds. What seems to come from the future was asked for before the clock was set
    /// back: it holds no longer than an answer of now.
    pub fn of_memory(memory: &RobotsMemory, user_agent: &str, now: Millis) -> Option<Self> {
        let expires = memory.fetched.min(now).saturating_add(ttl_ms(memory.max_age_secs));
        (memory.fetched > 0 && expires > now).then(|| Self { rules: Some(rules_of(memory, user_agent)), expires })
    }

    /// What holds for another day where the server has answered with errors for longer than [`PATIENCE`]: what it said
    /// last, or no rules if it never said anything.
    pub fn of_unreachable(memory: &RobotsMemory, user_agent: &str, now: Millis) -> Option<Self> {
        let patience_ms = PATIENCE.as_millis() as u64;
        memory.unreachable_since.filter(|since| now.saturating_sub(*since) >= patience_ms)?;
        Some(Self { rules: Some(rules_of(memory, user_agent)), expires: now.saturating_add(ttl_ms(None)) })
    }
}

fn rules_of(memory: &RobotsMemory, user_agent: &str) -> Arc<Robots> {
    let parse = |text: &String| Robots::parse(product_token(user_agent), text.as_bytes());
    Arc::new(memory.text.as_ref().map(parse).unwrap_or_default())
}

/// A place for one answer: empty until somebody has asked.
pub type Cell = Arc<OnceCell<Answer>>;

/// All places.
#[derive(Debug)]
pub struct RobotsCache {
    max_origins: usize,
    /// Turns at hosts to which others redirect.
    turns: Vec<tokio::sync::Mutex<()>>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    cells: HashMap<Box<str>, Cell>,
    /// Every origin of `cells` once, in the order in which they came.
    order: VecDeque<Box<str>>,
}

impl RobotsCache {
    /// An empty cache that keeps so many origins.
    pub fn new(max_origins: usize) -> Self {
        let known = Known { cells: HashMap::new(), order: VecDeque::new() };
        let turns = (0..TURNS).map(|_| tokio::sync::Mutex::default()).collect();
        Self { max_origins: max_origins.max(1), turns, known: Mutex::new(known) }
    }

    /// The turn at a host to which robots.txt of another redirects. Whoever follows holds it until the answer is shared,
    /// so that of many hosts that redirect to one, one asks.
    pub fn turn(&self, host: &str) -> &tokio::sync::Mutex<()> {
        let mut hasher = ahash::RandomState::with_seeds(1, 2, 3, 4).build_hasher();
        hasher.write(host.as_bytes());
        &self.turns[hasher.finish() as usize % TURNS]
    }

    /// The place for an origin (scheme, host and port, in one spelling): with an answer that holds at `now`, being
    /// asked for, or empty.
    pub fn cell(&self, origin: &str, now: Millis) -> Cell {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = known.cells.get_mut(origin) {
            if cell.get().is_some_and(|answer| answer.expires <= now) {
                *cell = Cell::default();
            }
            return Arc::clone(cell);
        }
        if known.order.len() >= self.max_origins
            && let Some(oldest) = known.order.pop_front()
        {
            known.cells.remove(&oldest);
        }
        let cell = Cell::default();
        known.cells.insert(origin.into(), Arc::clone(&cell));
        known.order.push_back(origin.into());
        cell
    }

    /// What is known of an origin's rules and still holds, without a place being made for it.
    pub fn known(&self, origin: &str, now: Millis) -> Option<Answer> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.cells.get(origin)?.get().filter(|answer| answer.expires > now).cloned()
    }

    /// Origins in the cache.
    pub fn len(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).cells.len()
    }

    /// Whether it has no origin.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(cell: &Cell, expires: Millis) {
        cell.set(Answer { rules: None, expires }).expect("nobody has answered");
    }

    #[test]
    fn an_answer_holds_until_it_expires() {
        let cache = RobotsCache::new(10);
        let first = cache.cell("http://a.test", 0);
        assert!(Arc::ptr_eq(&first, &cache.cell("http://a.test", 1_000)), "being asked for is not expired");
        answer(&first, 500);
        assert!(cache.known("http://a.test", 499).is_some() && cache.known("http://a.test", 500).is_none());
        assert!(cache.known("http://b.test", 0).is_none() && cache.len() == 1, "asking makes no place");
        assert!(Arc::ptr_eq(&first, &cache.cell("http://a.test", 499)));
        let second = cache.cell("http://a.test", 500);
        assert!(!Arc::ptr_eq(&first, &second) && second.get().is_none());
        assert!(cache.cell("https://a.test", 0).get().is_none(), "another scheme is another origin");
    }

    #[test]
    fn a_memory_holds_for_a_day() {
        let day = TTL.as_millis() as u64;
        let memory = |fetched| RobotsMemory { fetched, ..RobotsMemory::default() };
        let expires = |fetched, now| Answer::of_memory(&memory(fetched), "bot", now).map(|answer| answer.expires);
        assert_eq!(expires(5, 5), Some(5 + day));
        assert_eq!((expires(5, 4 + day), expires(5, 5 + day)), (Some(5 + day), None));
        assert_eq!(expires(u64::MAX, 7), Some(7 + day), "the clock was set back");
        assert_eq!(expires(0, 7), None, "no answer ever came");
        let hour = MIN_TTL.as_millis() as u64;
        for (max_age_secs, ttl) in [(0, hour), (7_200, 2 * hour), (u32::MAX, day)] {
            let memory = RobotsMemory { max_age_secs: Some(max_age_secs), ..memory(5) };
            let answer = Answer::of_memory(&memory, "bot", 6).expect("holds");
            assert_eq!(answer.expires, 5 + ttl, "{max_age_secs}");
        }
    }

    #[test]
    fn what_cache_control_says() {
        for (text, want) in [
            ("max-age=60", Some(60)),
            ("public, Max-Age = \"3600\", immutable", Some(3600)),
            ("max-age=99999999999999999999", Some(u32::MAX)),
            ("max-age=600, no-cache", Some(0)),
            ("NO-STORE", Some(0)),
            ("s-maxage=5, private", None),
            ("max-age=-1, max-age=, max-age", None),
            ("", None),
        ] {
            assert_eq!(max_age_secs(text), want, "{text:?}");
        }
    }

    #[test]
    fn patience_with_errors_ends_after_thirty_days() {
        let now = 100 * TTL.as_millis() as u64;
        let days = |days: u64| now - days * TTL.as_millis() as u64;
        let text = Some("user-agent: *\ndisallow: /a".to_owned());
        let memory = |since| RobotsMemory { unreachable_since: since, ..RobotsMemory::default() };
        let unreachable = |memory: &RobotsMemory| Answer::of_unreachable(memory, "bot", now);
        assert!(unreachable(&memory(None)).is_none());
        assert!(unreachable(&memory(Some(days(29)))).is_none());
        assert!(unreachable(&memory(Some(u64::MAX))).is_none(), "the clock was set back");
        let never = unreachable(&memory(Some(days(30)))).expect("long enough");
        assert_eq!((never.rules.as_deref(), never.expires), (Some(&Robots::allow_all()), days(0) + days(99)));
        let once =
            unreachable(&RobotsMemory { text, fetched: days(60), ..memory(Some(days(31))) }).expect("long enough");
        assert!(once.rules.is_some_and(|rules| rules.sitemaps().is_empty() && *rules != Robots::allow_all()));
    }

    #[test]
    fn the_oldest_goes_when_it_is_full() {
        let cache = RobotsCache::new(2);
        for origin in ["a", "b"] {
            answer(&cache.cell(origin, 0), 10);
        }
        answer(&cache.cell("a", 10), 20); // asked again: still the oldest
        answer(&cache.cell("c", 10), 20);
        assert_eq!(cache.len(), 2);
        assert!(cache.cell("c", 11).get().is_some());
        assert!(cache.cell("a", 11).get().is_none(), "gone, and made anew in place of b");
        assert_eq!(cache.len(), 2);
    }

    #[tokio::test]
    async fn one_asks_and_the_others_wait() {
        let cache = RobotsCache::new(2);
        let asked = std::sync::atomic::AtomicU32::new(0);
        let ask = async || {
            let cell = cache.cell("http://a.test", 0);
            let asking = cell.get_or_init(async || {
                asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                tokio::task::yield_now().await;
                Answer { rules: None, expires: 9 }
            });
            asking.await.expires
        };
        assert_eq!(tokio::join!(ask(), ask(), ask()), (9, 9, 9));
        assert_eq!(asked.into_inner(), 1);
    }
}
