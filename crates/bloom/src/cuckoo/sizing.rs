//! How many buckets a cuckoo filter needs, and what rate follows. Pure arithmetic, after section 4 of the paper.
//!
//! Invariant: for any number that [`buckets_for`] returns, [`predicted_rate`] is at most the rate that was asked for.

use super::bucket::SLOTS;
use super::{DESIGN_LOAD, TAGS};
use crate::blocked::WORDS_PER_BLOCK;
use crate::error::FilterError;
use crate::sizing::MAX_BLOCKS;

/// Expected rate of false positives of `buckets` buckets that hold `items` tags: a probe meets 8 slots, of which a share
/// α is in use, each by its tag with probability 1/65,535; so 1 − (1 − 1/65,535)^(8α) (section 4 of the paper).
#[must_use]
pub fn predicted_rate(items: u64, buckets: u64) -> f64 {
    if items == 0 {
        return 0.0;
    }
    let slots = buckets as f64 * f64::from(SLOTS);
    let met = 2.0 * f64::from(SLOTS) * (items as f64 / slots).min(1.0);
    -(met * (-1.0 / TAGS as f64).ln_1p()).exp_m1()
}

/// Buckets for `items` keys at a rate of at most `rate`: filled to [`DESIGN_LOAD`], or less where the rate asks for it.
///
/// # Errors
/// [`FilterError::NoCapacity`] for 0 items, [`FilterError::Rate`] for a rate not strictly between 0 and 1,
/// [`FilterError::TooLarge`] above 8 × [`MAX_BLOCKS`].
pub fn buckets_for(items: u64, rate: f64) -> Result<u64, FilterError> {
    if items == 0 {
        return Err(FilterError::NoCapacity);
    }
    if !(rate > 0.0 && rate < 1.0) {
        return Err(FilterError::Rate { rate });
    }
    // the formula above, solved for α
    let load = (-rate).ln_1p() / (-1.0 / TAGS as f64).ln_1p() / (2.0 * f64::from(SLOTS));
    // one more: the threshold holds for many buckets, a few scatter
    let buckets = (items as f64 / (f64::from(SLOTS) * load.min(DESIGN_LOAD))).ceil() + 1.0;
    if buckets > (MAX_BLOCKS * WORDS_PER_BLOCK as u64) as f64 {
        return Err(FilterError::TooLarge { items, rate });
    }
    Ok(buckets as u64)
}
