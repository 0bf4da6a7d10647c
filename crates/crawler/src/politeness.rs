//! How long a host is left alone, and how fast the whole crawl may ask.
//!
//! Not the schedule itself: when a host may be asked again is decided, and kept over restarts, by the frontier, from the
//! numbers made here. Invariant: what a site asks for only ever makes the crawl slower than the config says, and never
//! beyond the config's caps.

use std::num::NonZeroU32;
use std::time::Duration;

use frontier::Millis;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::config::Politeness;

/// The whole crawl's limit: `politeness.max_requests_per_sec`, with a tenth of a second's worth at once at most, since
/// timers are not exact; `None` when there is none (0).
pub fn limiter(max_requests_per_sec: u32) -> Option<DefaultDirectRateLimiter> {
    let rate = NonZeroU32::new(max_requests_per_sec)?;
    let burst = NonZeroU32::new(rate.get() / 10).unwrap_or(NonZeroU32::MIN);
    Some(RateLimiter::direct(Quota::per_second(rate).allow_burst(burst)))
}

/// Milliseconds from the end of a response of a host to the next request: the configured delay, or the `Crawl-delay` of
/// its robots.txt where that is longer, up to its cap.
pub fn delay_ms(rules: &Politeness, crawl_delay: Option<Duration>) -> u64 {
    let asked = crawl_delay.unwrap_or_default().min(Duration::from_secs(rules.max_crawl_delay_secs));
    rules.delay_ms.max(u64::try_from(asked.as_millis()).unwrap_or(u64::MAX))
}

/// Milliseconds from the end of a response that took this long to the next request: `delay_ms`, or where that is longer
/// `politeness.adaptive_delay_factor` times the response's time, up to the cap (as Heritrix's `delayFactor` and
/// `maxDelayMs`). A crawl whose operator wants no delay gets none.
pub fn pause_ms(rules: &Politeness, delay_ms: u64, response: Duration) -> u64 {
    if rules.delay_ms == 0 {
        return delay_ms;
    }
    // The cast is saturating, and the cap is next.
    let adapted = (response.as_millis() as f64 * rules.adaptive_delay_factor) as u64;
    delay_ms.max(adapted.min(rules.max_crawl_delay_secs.saturating_mul(1000)))
}

/// Milliseconds from `now` that a `Retry-After` asks for: seconds, or an HTTP date in one of its three forms (RFC 9110,
/// sections 10.2.3 and 5.6.7). `None` when it is neither; a date gone by is 0. Not capped: the frontier does that.
pub fn retry_after_ms(value: &str, now: Millis) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has: as late as the cap allows.
        return Some(value.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1000));
    }
    let at = u64::try_from(http_date(value)?.as_millisecond()).ok()?;
    Some(at.saturating_sub(now))
}

fn http_date(value: &str) -> Option<Timestamp> {
    if let Ok(date) = jiff::fmt::rfc2822::parse(value) {
        return Some(date.timestamp());
    }
    let forms = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let date = forms.iter().find_map(|form| DateTime::strptime(form, value).ok())?;
    date.to_zoned(TimeZone::UTC).ok().map(|date| date.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_can_only_slow_the_crawl_down_and_only_so_far() {
        let rules = Politeness { delay_ms: 1000, max_crawl_delay_secs: 30, ..Politeness::default() };
        for (asked, expected) in [
            (None, 1000),
            (Some(Duration::ZERO), 1000),
            (Some(Duration::from_millis(1500)), 1500),
            (Some(Duration::from_secs(31)), 30_000),
            (Some(Duration::MAX), 30_000),
        ] {
            assert_eq!(delay_ms(&rules, asked), expected, "{asked:?}");
        }
        let slow = Politeness { delay_ms: 60_000, ..rules };
        assert_eq!(delay_ms(&slow, Some(Duration::from_secs(31))), 60_000, "the cap is not one of our own delay");
    }

    #[test]
    fn a_slow_answer_lengthens_the_pause_and_a_fast_one_never_shortens_it() {
        let rules = Politeness { delay_ms: 1000, max_crawl_delay_secs: 30, ..Politeness::default() };
        for (delay_ms, response_ms, expected) in [
            (1000, 0, 1000),
            (1000, 200, 1000),
            (1000, 201, 1005),
            (1000, 2_000, 10_000),
            (1000, u64::MAX, 30_000),
            (4000, 100, 4000),
        ] {
            assert_eq!(pause_ms(&rules, delay_ms, Duration::from_millis(response_ms)), expected, "{response_ms}");
        }
        let off = Politeness { adaptive_delay_factor: 0.0, ..rules.clone() };
        assert_eq!(pause_ms(&off, 1000, Duration::from_secs(60)), 1000);
        let none = Politeness { delay_ms: 0, ..rules };
        assert_eq!(pause_ms(&none, 0, Duration::from_secs(60)), 0, "the operator wants no delay");
    }

    #[test]
    fn retry_after_in_all_its_forms() {
        let now = 784_111_770_000; // 1994-11-06 08:49:30 UTC
        for (value, expected) in [
            ("120", Some(120_000)),
            (" 0 ", Some(0)),
            ("99999999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7_000)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(7_000)),
            ("Sun Nov  6 08:49:37 1994", Some(7_000)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("Sun, 06 Nov 199999999 08:49:37 GMT", None),
        ] {
            assert_eq!(retry_after_ms(value, now), expected, "{value:?}");
        }
    }

    #[test]
    fn the_limit_is_a_rate_without_a_second_of_burst() {
        assert!(limiter(0).is_none());
        for (rate, burst) in [(1, 1), (9, 1), (100, 10)] {
            let limiter = limiter(rate).expect("a rate");
            assert_eq!((0..100).filter(|_| limiter.check().is_ok()).count(), burst, "{rate}");
        }
    }
}
