//! What the machine does better than portable Rust: zeroed memory, prefetch, and probes with AVX2. The only module with
//! unsafe code, and not the definition of which bits are a key's: that is [`blocked`](crate::blocked), whose portable
//! functions these equal bit for bit (a property test holds them together).
//!
//! AVX2 is asked for at run time; the answer is cached by the standard library, so asking costs one load.
//!
//! Invariant: a result never depends on the machine.

#![allow(unsafe_code, reason = "vector instructions, prefetch and zeroed allocation have no safe form")]

use crate::blocked;
use crate::lines::{Block, high_half, low_half, place};

mod memory;

pub(crate) use memory::{reserved, zeroed};

/// How many keys ahead of its probe a line is asked for. About the number of lines that a core can wait for at once;
/// measured flat between 8 and 32.
const AHEAD: usize = 16;

/// Asks the processor to load the line soon. Changes no result.
#[inline(always)]
pub(crate) fn prefetch(block: &Block) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that neither reads nor faults; SSE, which has it, is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(block).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = block;
}

/// Calls the AVX2 form where the processor has it, else the portable one.
macro_rules! fastest {
    ($name:ident($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2::$name($($argument),*) };
        }
        portable::$name($($argument),*)
    }};
}

/// Whether the fingerprint's bits are all set. `blocks` must not be empty, here and below.
#[inline]
pub(crate) fn contains(blocks: &[Block], fingerprint: u128) -> bool {
    fastest!(contains(blocks, fingerprint))
}

/// Whether the fingerprint's bits are all set in the first filter or in one of the others, asked in this order.
#[inline]
pub(crate) fn contains_in_any<'a>(
    first: &[Block],
    others: impl Iterator<Item = &'a [Block]>,
    fingerprint: u128,
) -> bool {
    fastest!(contains_in_any(first, others, fingerprint))
}

/// Sets the fingerprint's bits.
#[inline]
pub(crate) fn insert(blocks: &mut [Block], fingerprint: u128) {
    fastest!(insert(blocks, fingerprint))
}

/// [`contains`] for all; the two slices are of one length.
pub(crate) fn contains_batch(blocks: &[Block], fingerprints: &[u128], found: &mut [bool]) {
    fastest!(contains_batch(blocks, fingerprints, found))
}

/// [`contains_in_any`] for all; the two slices are of one length.
pub(crate) fn contains_in_any_batch<'a>(
    first: &[Block],
    others: impl Iterator<Item = &'a [Block]> + Clone,
    fingerprints: &[u128],
    found: &mut [bool],
) {
    fastest!(contains_in_any_batch(first, others, fingerprints, found))
}

/// [`insert`] for all.
pub(crate) fn insert_batch(blocks: &mut [Block], fingerprints: &[u128]) {
    fastest!(insert_batch(blocks, fingerprints))
}

/// The six functions over `masks`, `covers` and `set` of the module where this stands.
///
/// A place is always below the length, so `get` finds a block. If it did not, a test would say maybe, which is never
/// wrong; a way to a panic there was measured to slow a test down by a third.
macro_rules! probes {
    ($(#[$feature:meta])*) => {
        $(#[$feature])*
        pub(super) fn contains(blocks: &[Block], fingerprint: u128) -> bool {
            let block = blocks.get(line(blocks, fingerprint));
            block.is_none_or(|block| covers(block, masks(low_half(fingerprint))))
        }

        $(#[$feature])*
        pub(super) fn contains_in_any<'a>(
            first: &[Block],
            others: impl Iterator<Item = &'a [Block]>,
            fingerprint: u128,
        ) -> bool {
            let masks = masks(low_half(fingerprint));
            if first.get(line(first, fingerprint)).is_none_or(|block| covers(block, masks)) {
                return true;
            }
            for blocks in others {
                if blocks.get(line(blocks, fingerprint)).is_none_or(|block| covers(block, masks)) {
                    return true;
                }
            }
            false
        }

        $(#[$feature])*
        pub(super) fn insert(blocks: &mut [Block], fingerprint: u128) {
            let index = line(blocks, fingerprint);
            set(&mut blocks[index], masks(low_half(fingerprint)));
        }

        $(#[$feature])*
        pub(super) fn contains_batch(blocks: &[Block], fingerprints: &[u128], found: &mut [bool]) {
            fetch_first(blocks, fingerprints);
            for (at, (&fingerprint, found)) in fingerprints.iter().zip(found).enumerate() {
                fetch_ahead(blocks, fingerprints, at);
                *found = contains(blocks, fingerprint);
            }
        }

        $(#[$feature])*
        pub(super) fn contains_in_any_batch<'a>(
            first: &[Block],
            others: impl Iterator<Item = &'a [Block]> + Clone,
            fingerprints: &[u128],
            found: &mut [bool],
        ) {
            fetch_first(first, fingerprints);
            others.clone().for_each(|blocks| fetch_first(blocks, fingerprints));
            for (at, (&fingerprint, found)) in fingerprints.iter().zip(found).enumerate() {
                fetch_ahead(first, fingerprints, at);
                others.clone().for_each(|blocks| fetch_ahead(blocks, fingerprints, at));
                *found = contains_in_any(first, others.clone(), fingerprint);
            }
        }

        $(#[$feature])*
        pub(super) fn insert_batch(blocks: &mut [Block], fingerprints: &[u128]) {
            fetch_first(blocks, fingerprints);
            for (at, &fingerprint) in fingerprints.iter().enumerate() {
                fetch_ahead(blocks, fingerprints, at);
                insert(blocks, fingerprint);
            }
        }
    };
}

#[inline(always)]
fn line(blocks: &[Block], fingerprint: u128) -> usize {
    place(high_half(fingerprint), blocks.len() as u64) as usize // below the length, so it fits
}

#[inline(always)]
fn fetch_first(blocks: &[Block], fingerprints: &[u128]) {
    for &fingerprint in fingerprints.iter().take(AHEAD) {
        prefetch(&blocks[line(blocks, fingerprint)]);
    }
}

#[inline(always)]
fn fetch_ahead(blocks: &[Block], fingerprints: &[u128], at: usize) {
    if let Some(&fingerprint) = fingerprints.get(at + AHEAD) {
        prefetch(&blocks[line(blocks, fingerprint)]);
    }
}

mod portable {
    use super::blocked::{bit_masks as masks, covers, set};
    use super::{Block, fetch_ahead, fetch_first, line, low_half};

    // out of the way of the choice between the two, which is small and inlined
    probes!(#[cfg_attr(target_arch = "x86_64", inline(never))]);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_andnot_si256, _mm256_load_si256, _mm256_or_si256, _mm256_set1_epi64x,
        _mm256_setr_epi64x, _mm256_sllv_epi64, _mm256_srlv_epi64, _mm256_store_si256, _mm256_testz_si256,
    };

    use super::{Block, fetch_ahead, fetch_first, line, low_half};

    probes!(#[inline] #[target_feature(enable = "avx2")]);

    /// [`blocked::bit_masks`](crate::blocked), four words to a register.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn masks(low: u64) -> [__m256i; 2] {
        let low = _mm256_set1_epi64x(low.cast_signed());
        let (one, six_bits) = (_mm256_set1_epi64x(1), _mm256_set1_epi64x(63));
        let shifts = [_mm256_setr_epi64x(0, 6, 12, 18), _mm256_setr_epi64x(24, 30, 36, 42)];
        shifts.map(|shift| _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srlv_epi64(low, shift), six_bits)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(block: &Block) -> [__m256i; 2] {
        let words = block.0.as_ptr().cast::<__m256i>();
        // SAFETY: a block is 64 bytes on a 64-byte boundary, so both halves are inside and aligned to 32.
        unsafe { [_mm256_load_si256(words), _mm256_load_si256(words.add(1))] }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn covers(block: &Block, [want_first, want_second]: [__m256i; 2]) -> bool {
        let [first, second] = load(block);
        let missing = _mm256_or_si256(_mm256_andnot_si256(first, want_first), _mm256_andnot_si256(second, want_second));
        _mm256_testz_si256(missing, missing) == 1
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn set(block: &mut Block, [add_first, add_second]: [__m256i; 2]) {
        let [first, second] = load(block);
        let words = block.0.as_mut_ptr().cast::<__m256i>();
        // SAFETY: as in `load`, and the block is borrowed mutably.
        unsafe {
            _mm256_store_si256(words, _mm256_or_si256(first, add_first));
            _mm256_store_si256(words.add(1), _mm256_or_si256(second, add_second));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the processor has is what the portable code does. (Where it has no AVX2, this compares nothing.)
        #[test]
        fn both_paths_set_and_test_the_same_bits(
            count in 1_usize..40,
            keys in prop::collection::vec(any::<u128>(), 1..120),
            probes in prop::collection::vec(any::<u128>(), 1..120),
        ) {
            let empty = zeroed(count).expect("small");
            let (mut fast, mut plain, mut batch) = (empty.clone(), empty.clone(), empty);
            keys.iter().for_each(|&key| insert(&mut fast, key));
            keys.iter().for_each(|&key| portable::insert(&mut plain, key));
            insert_batch(&mut batch, &keys);
            prop_assert_eq!(&fast, &plain);
            prop_assert_eq!(&batch, &plain);
            let probes = [keys, probes].concat();
            let (mut found, mut found_plain) = (vec![false; probes.len()], vec![true; probes.len()]);
            contains_batch(&fast, &probes, &mut found);
            portable::contains_batch(&plain, &probes, &mut found_plain);
            prop_assert_eq!(&found, &found_plain);
            for (&probe, &found) in probes.iter().zip(&found) {
                prop_assert_eq!(contains(&fast, probe), found);
                prop_assert_eq!(portable::contains(&fast, probe), found);
                let empty = zeroed(3).expect("small");
                let others = || [&empty[..], &fast].into_iter();
                prop_assert_eq!(contains_in_any(&empty, others(), probe), found);
                prop_assert_eq!(portable::contains_in_any(&empty, others(), probe), found);
                prop_assert_eq!(contains_in_any(&fast, std::iter::empty(), probe), found);
            }
            let empty = zeroed(3).expect("small");
            let others = || [&empty[..], &fast].into_iter();
            let (mut in_any, mut in_any_plain) = (vec![false; probes.len()], vec![true; probes.len()]);
            contains_in_any_batch(&empty, others(), &probes, &mut in_any);
            portable::contains_in_any_batch(&empty, others(), &probes, &mut in_any_plain);
            prop_assert_eq!(&in_any, &found);
            prop_assert_eq!(&in_any_plain, &found);
        }
    }
}
