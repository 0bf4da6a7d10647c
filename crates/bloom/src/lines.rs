//! Cache lines, the stuff that every filter is made of, and the arithmetic that picks a place among them. Not a filter,
//! and no unsafe code (that is `machine.rs`).
//!
//! Invariant: a line is 64 bytes on a 64-byte boundary, so a probe of one line is one memory access.

use crate::blocked::{BLOCK_BYTES, WORDS_PER_BLOCK};
use crate::error::FilterError;
use crate::machine;
use crate::sizing::MAX_BLOCKS;

/// One cache line of filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Block(pub(crate) [u64; WORDS_PER_BLOCK]);

/// So many lines of zeros. The pages are the operating system's shared zero page until they are written to, where the
/// allocator allows it.
///
/// # Errors
/// [`FilterError::NoCapacity`] for 0 lines, [`FilterError::OutOfMemory`] above [`MAX_BLOCKS`] or when the allocator
/// refuses.
pub(crate) fn zeroed(lines: u64) -> Result<Vec<Block>, FilterError> {
    if lines == 0 {
        return Err(FilterError::NoCapacity);
    }
    let no_memory = FilterError::OutOfMemory { bytes: lines.saturating_mul(BLOCK_BYTES) };
    match usize::try_from(lines) {
        Ok(count) if lines <= MAX_BLOCKS => machine::zeroed(count).ok_or(no_memory),
        _ => Err(no_memory),
    }
}

pub(crate) fn high_half(fingerprint: u128) -> u64 {
    (fingerprint >> 64) as u64
}

/// The low half; the cast drops the high one.
pub(crate) fn low_half(fingerprint: u128) -> u64 {
    fingerprint as u64
}

/// The place `random / 2^64` of the way through `places`. Always below `places` (at least 1).
///
/// Multiply-shift range reduction (Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 2019): no division,
/// any number of places, and all 64 bits take part, so that filters beyond 2^32 bits are filled evenly.
#[inline(always)]
pub(crate) fn place(random: u64, places: u64) -> u64 {
    ((u128::from(random) * u128::from(places)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_is_one_aligned_cache_line() {
        assert_eq!(size_of::<Block>() as u64, BLOCK_BYTES);
        let lines = zeroed(3).expect("three lines fit");
        assert_eq!(lines.as_ptr().align_offset(64), 0);
        assert_eq!(lines, [Block([0; 8]); 3]);
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert_eq!(zeroed(0), Err(FilterError::NoCapacity));
        for lines in [MAX_BLOCKS + 1, u64::MAX] {
            assert!(matches!(zeroed(lines), Err(FilterError::OutOfMemory { .. })));
        }
    }

    #[test]
    fn range_reduction_reaches_every_size() {
        let check = |high: u64, places: u64, expect: u64| {
            assert_eq!(place(high, places), expect, "{high:#x} of {places}");
        };
        for places in [1, 2, 3, 1000, 1 << 23, (1 << 23) + 1, MAX_BLOCKS, MAX_BLOCKS * 512] {
            check(0, places, 0);
            check(u64::MAX, places, places - 1);
            check(1 << 63, places, places / 2);
        }
        // 2^31 blocks are 2^40 bits: the index still follows the high bits one for one
        check(0x1234_5678_0000_0000, 1 << 31, 0x1234_5678 >> 1);
    }

    proptest! {
        /// Every place of a filter of any size, far beyond 2^32, is reached by an equal share of the 64-bit numbers.
        #[test]
        fn places_share_the_numbers_evenly(places in 1_u64..=MAX_BLOCKS * 512, wanted in any::<u64>()) {
            let wanted = wanted % places;
            // the first number that falls on `wanted`, and the first beyond it
            let first = |place: u64| (u128::from(place) << 64).div_ceil(u128::from(places));
            let (start, end) = (first(wanted), first(wanted + 1));
            let share = (1_u128 << 64) / u128::from(places);
            prop_assert!((share..=share + 1).contains(&(end - start)));
            prop_assert_eq!(place(start as u64, places), wanted);
            prop_assert_eq!(place((end - 1) as u64, places), wanted);
        }
    }
}
