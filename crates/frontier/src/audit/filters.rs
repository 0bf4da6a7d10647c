//! The numbers of all filters together, for the checks of their size and rate.

use bloom::LayerFacts;

use super::Verdict;
use crate::shared::Shared;

/// The numbers of all filters.
#[derive(Default)]
pub(super) struct Filters {
    pub(super) layers: Vec<LayerFacts>,
    /// Filters whose predicted rate is over the budget.
    pub(super) over: usize,
    /// Of those, the ones that `filter.max_bytes` keeps from being better.
    pub(super) waived: usize,
}

impl Filters {
    pub(super) fn collect(shared: &Shared) -> Self {
        let mut all = Self::default();
        for partition in &shared.partitions {
            let state = partition.state.lock();
            let Some(filter) = &state.filter else { continue };
            all.over += usize::from(filter.predicted_rate() > shared.filtering.settings.false_positive_rate);
            all.waived += usize::from(filter.waived());
            all.layers.extend(filter.layer_facts());
        }
        all
    }

    pub(super) fn bits_per_key(&self) -> f64 {
        let (keys, bits) = self.layers.iter().fold((0, 0), |(keys, bits), layer| (keys + layer.len, bits + layer.bits));
        bits as f64 / keys.max(1) as f64
    }

    /// Holds, holds but for the bound on memory, or is broken.
    pub(super) fn verdict(&self, holds: bool) -> Verdict {
        match (holds, self.waived) {
            (true, 0) => Verdict::Pass,
            (_, 1..) if self.over == self.waived => Verdict::Warn,
            _ => Verdict::Fail,
        }
    }

    pub(super) fn waived_text(&self) -> String {
        match self.waived {
            0 => String::new(),
            waived => format!("; filter.max_bytes does not do for {waived} filters: raise it to have the rate back"),
        }
    }
}
