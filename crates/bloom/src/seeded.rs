//! Fingerprints for tests: random enough, and the same in every run. Not a hash for real items (it has no secret).
//!
//! Invariant: the numbers are pinned by the golden test of the codec; they never change.

/// An endless row of fingerprints. Rows of different seeds do not meet in practice (128 random bits).
pub fn fingerprints(seed: u64) -> impl Iterator<Item = u128> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        let high = split_mix(&mut state);
        u128::from(high) << 64 | u128::from(split_mix(&mut state))
    })
}

/// SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
