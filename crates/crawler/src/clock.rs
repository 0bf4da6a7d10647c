//! The crawl's clock: Unix time that never steps within a run.
//!
//! Not a source of time for pure code: there `now` is an argument. Invariant: within one run [`Clock::now`] never goes
//! back and never jumps, whatever is done to the machine's clock; so the slots of hosts, which are kept in Unix time to
//! survive a restart, do not move under a running crawl.

use std::time::{SystemTime, UNIX_EPOCH};

use frontier::Millis;
use jiff::Timestamp;
use tokio::time::Instant;

/// Wall time when the run began, and monotonic time since.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall_at_start: Millis,
    started: Instant,
}

impl Clock {
    /// Reads the wall clock, this once.
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall_at_start: millis(wall.as_millis()), started: Instant::now() }
    }

    /// Milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.wall_at_start.saturating_add(self.elapsed_ms())
    }

    /// Milliseconds since the run began.
    pub fn elapsed_ms(&self) -> u64 {
        millis(self.started.elapsed().as_millis())
    }

    /// The instant of a time on this clock, for timers; times gone by are now.
    pub fn instant(&self, at: Millis) -> Instant {
        let from_start = std::time::Duration::from_millis(at.saturating_sub(self.wall_at_start));
        self.started.checked_add(from_start).unwrap_or_else(|| self.started + std::time::Duration::from_secs(86_400))
    }
}

fn millis(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Writes a time as ISO 8601 in UTC with milliseconds; times that no calendar has as the epoch.
pub fn iso(at: Millis) -> String {
    let timestamp = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    format!("{:.3}", timestamp.unwrap_or(Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_700_000_000_007, "2023-11-14T22:13:20.007Z"),
            (u64::MAX, "1970-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso(at), text);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_runs_with_the_monotonic_clock() {
        let clock = Clock::start();
        let before = clock.now();
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert_eq!(clock.now() - before, 1500);
        assert_eq!(clock.elapsed_ms(), 1500);
        assert_eq!(clock.instant(before + 2000) - Instant::now(), Duration::from_millis(500));
        assert!(clock.instant(5) <= Instant::now(), "a time before the run is now");
        assert!(clock.instant(u64::MAX) > Instant::now(), "a time beyond reckoning is later");
    }
}
