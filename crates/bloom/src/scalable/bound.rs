//! A growing filter in bounded memory. Not a promise of the rate: where memory and rate cannot both be kept, memory is.
//!
//! # What happens at the bound
//! 1. A next layer that would pass [`Settings::max_bytes`] is made as small as it must be, though not for less than
//!    the initial capacity. It takes all the room there is, so it is the last one.
//! 2. When there is no room for such a layer, the newest one is filled beyond its design ([`Scalable::overload`]), as when
//!    memory is refused.
//! 3. A rebuild makes one layer of all the keys ([`Scalable::within_bytes`]), which takes fewer bytes a key than several.
//!    When not even that fits, the layer is the largest that does, made for the rate that follows: the budget is *waived*
//!    ([`Scalable::waived`]), and the layer's own budget says how far.
//!
//! A waived filter is best left as one open layer that is filled further and further: its rate rises slowly, and no other
//! use of so many bytes has a lower one. A small layer behind it has no room to grow, and would soon say maybe to all.
//!
//! A cuckoo layer cannot be made for a higher rate. At the bound it takes what it can hold; beyond that it is saturated,
//! and answers maybe to everything (see [`cuckoo`](crate::cuckoo)).
//!
//! Invariant: a layer is over its share of the rate only where that share needs more than the bound.

use super::{Scalable, Settings};
use crate::error::FilterError;
use crate::filter::Growable;
use crate::layer::{LayerOf, fits};

/// Lowest bound: one block of a counting filter, the largest of the smallest layers.
pub const LEAST_BYTES: u64 = 256;

impl<F: Growable> Scalable<F> {
    /// An empty filter of one layer for `items` inserts (or the initial capacity, if that is more) in at most `max_bytes`
    /// bytes: that of [`with_capacity_for`](Self::with_capacity_for) if it fits, else the largest that does, at the higher
    /// rate that it then has ([`LayerOf::within`]).
    ///
    /// For a rebuild beside a layer that stays, `max_bytes` is that of the settings less the bytes of that layer: with
    /// fewer, [`replace_sealed`](Self::replace_sealed) and [`from_layers`](Self::from_layers) find that there was room
    /// for a layer within the budget, and refuse this one.
    ///
    /// # Errors
    /// Those of [`Settings::validate`], [`FilterError::Bytes`] when not even the smallest layer fits,
    /// [`FilterError::TooLarge`] for too many items without a bound (`u64::MAX`), and [`FilterError::OutOfMemory`].
    pub fn within_bytes(settings: Settings, items: u64, max_bytes: u64) -> Result<Self, FilterError> {
        settings.validate()?;
        let (capacity, budget) = (items.max(settings.initial_capacity), settings.budget(0));
        let newest = match max_bytes {
            u64::MAX => LayerOf::new(0, capacity, budget)?,
            _ => LayerOf::within(0, capacity, budget, max_bytes)?,
        };
        Ok(Self::with_newest(settings, Vec::new(), newest))
    }

    /// Whether the rate that was asked for is given up now for the bound on memory.
    #[must_use]
    pub fn waived(&self) -> bool {
        self.settings.max_bytes.is_some() && self.predicted_rate() > self.settings.false_positive_rate
    }

    /// Design capacity of the next layer, if there is room for one.
    pub(super) fn next_capacity(&self) -> Option<u64> {
        let wanted = self.settings.next_capacity(self.newest.design_capacity(), self.len());
        let Some(max_bytes) = self.settings.max_bytes else { return Some(wanted) };
        let room = max_bytes.saturating_sub(self.bytes());
        let budget = self.settings.budget(self.newest.index() + 1);
        let has_room = |items: u64| fits::<F>(items, budget, room) == Ok(true);
        if has_room(wanted) {
            return Some(wanted);
        }
        // bytes grow with the items: bisect
        let least = self.settings.initial_capacity;
        let (mut enough, mut too_many) = (has_room(least).then_some(least)?, wanted);
        while too_many.saturating_sub(enough) > 1 {
            let middle = enough + (too_many - enough) / 2;
            *if has_room(middle) { &mut enough } else { &mut too_many } = middle;
        }
        Some(enough)
    }
}

/// Whether a layer may stand in this place of a row of so many bytes.
pub(super) fn check_place<F: Growable>(
    settings: &Settings,
    position: u32,
    layer: &LayerOf<F>,
    all_bytes: u64,
) -> Result<(), FilterError> {
    let (index, budget) = (layer.index(), layer.budget());
    if index != position {
        return Err(FilterError::LayerOrder { position, found: index });
    }
    let allowed = settings.budget(position);
    // another machine's powers may differ in the last digits
    let keeps_budget = budget <= allowed * (1.0 + 1e-9);
    if keeps_budget || settings.max_bytes.is_some_and(|max| fills(layer, allowed, max, all_bytes)) {
        Ok(())
    } else {
        Err(FilterError::LayerBudget { index, budget, allowed })
    }
}

/// Whether a layer for the same keys at the rate allowed would pass the bound, and this one does not.
fn fills<F: Growable>(layer: &LayerOf<F>, allowed: f64, max_bytes: u64, all_bytes: u64) -> bool {
    let room = max_bytes.saturating_sub(all_bytes - layer.bytes());
    layer.bytes() <= max_bytes && fits::<F>(layer.design_capacity(), allowed, room) == Ok(false)
}
