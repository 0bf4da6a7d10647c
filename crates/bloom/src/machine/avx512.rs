//! The probes with AVX-512: a block in one register. Not the bits' definition, which is [`blocked`](crate::blocked).
//!
//! Invariant: called only where the processor has AVX-512F and BMI2.

use std::arch::x86_64::{
    __m512i, _mm512_load_si512, _mm512_or_si512, _mm512_rolv_epi64, _mm512_set1_epi64, _mm512_setr_epi64,
    _mm512_srlv_epi64, _mm512_store_si512, _mm512_testn_epi64_mask,
};

use super::{Block, TOGETHER, Table, low_half};

probes!(#[inline] #[target_feature(enable = "avx512f,bmi2")]);

/// [`blocked::bit_masks`](crate::blocked), the block in one register. A rotation takes the six low bits of its count
/// by itself.
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn masks(low: u64) -> __m512i {
    let shifts = _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42);
    _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_srlv_epi64(_mm512_set1_epi64(low.cast_signed()), shifts))
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn load(block: &Block) -> __m512i {
    // SAFETY: a block is 64 bytes on a 64-byte boundary.
    unsafe { _mm512_load_si512(block.0.as_ptr().cast()) }
}

/// No word lacks its one bit.
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn covers(block: &Block, wanted: __m512i) -> bool {
    _mm512_testn_epi64_mask(load(block), wanted) == 0
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn set(block: &mut Block, added: __m512i) {
    let with = _mm512_or_si512(load(block), added);
    // SAFETY: as in `load`, and the block is borrowed mutably.
    unsafe { _mm512_store_si512(block.0.as_mut_ptr().cast(), with) }
}
