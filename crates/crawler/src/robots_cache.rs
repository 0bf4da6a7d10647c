//! Which robots rules are known, per origin, and that they are asked for once.
//!
//! Not the asking (the worker does that under a lease) and not the rules ([`robots`](crate::robots)). Invariant: of all
//! workers that need the rules of one origin at the same time, one asks and the others wait for its answer; memory is
//! bounded by [`MAX_ORIGINS`] and [`MAX_BYTES`]. What goes is still on the disk, in the frontier.

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

/// Bytes of rules kept, in all; beyond, those known longest go. The rules of one hostile file can take 5 MiB, and a domain
/// has as many hosts as it likes.
pub const MAX_BYTES: usize = 256 << 20;

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
    max_bytes: usize,
    /// Turns at hosts to which others redirect.
    turns: Vec<tokio::sync::Mutex<()>>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    cells: HashMap<Box<str>, Place>,
    /// The bytes of all of them.
    bytes: usize,
    /// Every origin of `cells` once, in the order in which they came.
    order: VecDeque<Box<str>>,
}

#[derive(Debug, Default)]
struct Place {
    cell: Cell,
    /// What its answer takes.
    bytes: usize,
}

impl Known {
    /// Lets the origin that is known longest go; `false` when there is none.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.order.pop_front();
        if let Some(place) = oldest.as_ref().and_then(|oldest| self.cells.remove(oldest)) {
            self.bytes -= place.bytes;
        }
        oldest.is_some()
    }
}

impl RobotsCache {
    /// An empty cache that keeps so many origins, and so many bytes of rules.
    pub fn new(max_origins: usize, max_bytes: usize) -> Self {
        let known = Known { cells: HashMap::new(), bytes: 0, order: VecDeque::new() };
        let turns = (0..TURNS).map(|_| tokio::sync::Mutex::default()).collect();
        Self { max_origins: max_origins.max(1), max_bytes, turns, known: Mutex::new(known) }
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
        let mut freed = 0;
        if let Some(place) = known.cells.get_mut(origin) {
            if place.cell.get().is_some_and(|answer| answer.expires <= now) {
                freed = std::mem::take(place).bytes;
            }
            let cell = Arc::clone(&place.cell);
            known.bytes -= freed;
            return cell;
        }
        if known.order.len() >= self.max_origins {
            known.forget_oldest();
        }
        let cell = Cell::default();
        known.cells.insert(origin.into(), Place { cell: Arc::clone(&cell), bytes: 0 });
        known.order.push_back(origin.into());
        cell
    }

    /// Counts what an answer that was put into its place takes, and lets the oldest go where that is too much.
    pub fn weigh(&self, origin: &str, answer: &Answer) {
        let bytes = answer.rules.as_ref().map_or(0, |rules| rules.bytes());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = known.cells.get_mut(origin) else { return };
        let before = std::mem::replace(&mut place.bytes, bytes);
        known.bytes = known.bytes - before + bytes;
        while known.bytes > self.max_bytes && known.forget_oldest() {}
    }

    /// What is known of an origin's rules and still holds, without a place being made for it.
    pub fn known(&self, origin: &str, now: Millis) -> Option<Answer> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.cells.get(origin)?.cell.get().filter(|answer| answer.expires > now).cloned()
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
mod tests;
