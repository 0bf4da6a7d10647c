//! The first and the last step of a rebuild that goes on beside inserts. Not the step between them: the scan of the exact
//! set into a filter made by [`Scalable::with_capacity_for`] is the caller's.
//!
//! Invariant: no fingerprint that was called maybe by the newest layer is called absent after either step.

use std::sync::Arc;

use super::{Scalable, check_place};
use crate::error::FilterError;
use crate::filter::Growable;

impl<F: Growable> Scalable<F> {
    /// Seals the newest layer before it is full and opens one for `capacity` inserts (at least 1): for a rebuild, which
    /// needs a layer that takes what comes in meanwhile and nothing else. An empty newest layer is kept as it is. The bound
    /// `max_bytes` is not asked: until the rebuild ends there are two filters anyway.
    ///
    /// # Errors
    /// Those of [`Growable::for_items`]; the filter has not changed.
    pub fn seal(&mut self, capacity: u64) -> Result<(), FilterError> {
        if self.newest.is_empty() { Ok(()) } else { self.open(capacity.max(1)) }
    }

    /// From now on no further layer is opened: the newest takes all inserts, beyond its design if need be
    /// ([`overload`](Self::overload)). For a caller who bounds the number of layers, and rebuilds meanwhile.
    pub fn stop_growth(&mut self) {
        self.grow_at = u64::MAX;
    }

    /// Puts a rebuilt filter in the place of all sealed layers: the last step of a rebuild that began with
    /// [`seal`](Self::seal). The newest layer stays, and moves up behind the rebuilt ones. `rebuilt` must hold every key
    /// that the sealed layers were to answer for.
    ///
    /// # Errors
    /// [`FilterError::LayerBudget`] when the rebuilt layers are more than there were, or made for a higher rate, so that
    /// the bound would not hold (and `max_bytes` is no reason for it); the filter has not changed.
    pub fn replace_sealed(&mut self, rebuilt: Self) -> Result<(), FilterError> {
        let sealed: Vec<_> = rebuilt.sealed.into_iter().chain([Arc::new(rebuilt.newest)]).collect();
        let all_bytes = sealed.iter().map(|layer| layer.bytes()).sum::<u64>() + self.newest.bytes();
        for (position, layer) in (0..).zip(&sealed) {
            check_place(&self.settings, position, layer, all_bytes)?;
        }
        let place = sealed.len() as u32; // layers are few
        let newest = self.newest.clone().moved_to(place);
        check_place(&self.settings, place, &newest, all_bytes)?;
        (self.sealed, self.newest) = (sealed, newest);
        Ok(())
    }
}
