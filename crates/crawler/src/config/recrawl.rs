//! `[recrawl]`: whether and when pages are visited again.
//!
//! Not the rule (the frontier's). Invariant: as in `keys`.

use serde::Serialize;

use super::Config;
use super::section::Section;

/// Ten years.
const MAX_INTERVAL_SECS: u64 = 3650 * 86_400;

/// `[recrawl]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recrawl {
    /// Visit pages again.
    pub enabled: bool,
    /// From the first visit to the second.
    pub initial_interval_secs: u32,
    /// Shortest interval.
    pub min_interval_secs: u32,
    /// Longest interval.
    pub max_interval_secs: u32,
    /// Factor of the interval of a page that had not changed.
    pub growth: f64,
    /// Factor of the interval of a page that had changed.
    pub shrink: f64,
}

impl Default for Recrawl {
    fn default() -> Self {
        Recrawl {
            enabled: false,
            initial_interval_secs: 86_400,
            min_interval_secs: 3_600,
            max_interval_secs: 30 * 86_400,
            growth: 1.5,
            shrink: 0.5,
        }
    }
}

/// Reads the section.
pub(super) fn read(s: &mut Section<'_>, out: &mut Recrawl) {
    s.boolean("enabled", &mut out.enabled);
    s.integer("initial_interval_secs", 1..=MAX_INTERVAL_SECS, &mut out.initial_interval_secs);
    s.integer("min_interval_secs", 1..=MAX_INTERVAL_SECS, &mut out.min_interval_secs);
    s.integer("max_interval_secs", 1..=MAX_INTERVAL_SECS, &mut out.max_interval_secs);
    s.float("growth", 1.0..=100.0, &mut out.growth);
    s.float("shrink", 0.01..=1.0, &mut out.shrink);
}

/// Two keys whose values contradict each other, and how.
pub(super) fn contradiction(config: &Config) -> Option<([&'static str; 2], String)> {
    let Recrawl { initial_interval_secs: initial, min_interval_secs: min, max_interval_secs: max, .. } = config.recrawl;
    if min > max {
        let keys = ["recrawl.min_interval_secs", "recrawl.max_interval_secs"];
        return Some((keys, format!("min_interval_secs ({min}) is above max_interval_secs ({max})")));
    }
    if initial < min {
        let keys = ["recrawl.initial_interval_secs", "recrawl.min_interval_secs"];
        return Some((keys, format!("initial_interval_secs ({initial}) is below min_interval_secs ({min})")));
    }
    let keys = ["recrawl.initial_interval_secs", "recrawl.max_interval_secs"];
    (initial > max).then(|| (keys, format!("initial_interval_secs ({initial}) is above max_interval_secs ({max})")))
}
