//! A frontier in which nothing happens by itself, for tests: no thread of the journal's, none that merges.

use std::sync::Arc;

use super::Frontier;
use crate::Millis;
use crate::checkpoint::Judge;
use crate::completion::Attempts;
use crate::error::Error;
use crate::opening;
use crate::options::Options;

impl Frontier {
    /// As [`Frontier::open`]; whoever waits for a commit makes it, and merges are made by who calls for them.
    pub(crate) fn open_by_hand(options: Options, now: Millis) -> Result<Self, Error> {
        let options = Options { by_hand: true, ..options };
        let shared = Arc::new(opening::open(&options, Judge::BySettings, now, Arc::new(|| {}))?);
        let politeness = options.politeness(shared.partitions.len());
        let attempts = Attempts::new(options.max_attempts, &options.max_attempts_by_reason);
        Ok(Self { shared, merger: None, rules: options.rules, attempts, politeness, returns: Arc::default() })
    }
}
