//! The probes with AVX2: a block in two registers. Not the bits' definition, which is [`blocked`](crate::blocked).
//!
//! Invariant: called only where the processor has AVX2 and BMI2.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_andnot_si256, _mm256_load_si256, _mm256_or_si256, _mm256_set1_epi64x,
    _mm256_setr_epi64x, _mm256_sllv_epi64, _mm256_srlv_epi64, _mm256_store_si256, _mm256_testz_si256,
};

use super::{Block, TOGETHER, Table, low_half};

probes!(#[inline] #[target_feature(enable = "avx2,bmi2")]);

/// [`blocked::bit_masks`](crate::blocked), four words to a register.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn masks(low: u64) -> [__m256i; 2] {
    let low = _mm256_set1_epi64x(low.cast_signed());
    let (one, six_bits) = (_mm256_set1_epi64x(1), _mm256_set1_epi64x(63));
    let shifts = [_mm256_setr_epi64x(0, 6, 12, 18), _mm256_setr_epi64x(24, 30, 36, 42)];
    shifts.map(|shift| _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srlv_epi64(low, shift), six_bits)))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn load(block: &Block) -> [__m256i; 2] {
    let words = block.0.as_ptr().cast::<__m256i>();
    // SAFETY: a block is 64 bytes on a 64-byte boundary, so both halves are inside and aligned to 32.
    unsafe { [_mm256_load_si256(words), _mm256_load_si256(words.add(1))] }
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn covers(block: &Block, [want_first, want_second]: [__m256i; 2]) -> bool {
    let [first, second] = load(block);
    let missing = _mm256_or_si256(_mm256_andnot_si256(first, want_first), _mm256_andnot_si256(second, want_second));
    _mm256_testz_si256(missing, missing) == 1
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn set(block: &mut Block, [add_first, add_second]: [__m256i; 2]) {
    let [first, second] = load(block);
    let words = block.0.as_mut_ptr().cast::<__m256i>();
    // SAFETY: as in `load`, and the block is borrowed mutably.
    unsafe {
        _mm256_store_si256(words, _mm256_or_si256(first, add_first));
        _mm256_store_si256(words.add(1), _mm256_or_si256(second, add_second));
    }
}
