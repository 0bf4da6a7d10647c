//! How long the disk has been at it: a sync or flush that takes longer than it may has failed, whether or not it ends.
//!
//! A flush on a full disk hangs and returns no error, so whoever hands out work looks at this first. Costs one load where
//! nothing is under way.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A journal sync or store flush that takes longer has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Watches one kind of work, of which only one is under way at a time.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Since when it is under way, in milliseconds of this process and not zero; zero when it is not.
    since: AtomicU64,
}

impl Watch {
    /// Does the work under watch; returns what it came to, and how long it took if that was too long.
    pub(crate) fn over<T>(&self, work: impl FnOnce() -> T) -> (T, Option<Duration>) {
        self.since.store(now_ms(), Ordering::Release);
        let done = work();
        let late = self.late();
        self.since.store(0, Ordering::Release);
        (done, late)
    }

    /// How long the work has been under way, if that is too long.
    pub(crate) fn late(&self) -> Option<Duration> {
        let since = self.since.load(Ordering::Acquire);
        if since == 0 {
            return None;
        }
        Some(Duration::from_millis(now_ms().saturating_sub(since))).filter(|took| *took > LIMIT)
    }
}

/// Milliseconds since the first call, and one.
fn now_ms() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let real = FIRST.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1;
    #[cfg(test)]
    let real = real + ADVANCED_MS.get();
    real
}

#[cfg(test)]
thread_local! {
    /// How much later it is for this thread's tests.
    static ADVANCED_MS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Makes it later, for this thread.
#[cfg(test)]
pub(crate) fn advance(ms: u64) {
    ADVANCED_MS.set(ADVANCED_MS.get() + ms);
}
