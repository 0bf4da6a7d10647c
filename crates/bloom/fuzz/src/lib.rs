//! What must hold for any bytes given to a decoder. Not the seeds: those are the files in `../tests/fixtures`.
//!
//! Invariant of the decoders: no panic, no memory beyond the size of the bytes, and what is decoded is a working filter
//! that encodes to the same bytes.

use bloom::{Growable, LayerOf, Origin, Removable, Scalable, Settings, decode_layer, encode_layer};

/// The origin of the fixtures, so that they can be seeds.
const ORIGIN: Origin = Origin { key_check: 0x0123_4567_89ab_cdef, hash: 1, rules: 1 };

const HEADER: usize = 80;
const CHUNK: usize = (1 << 20) + 4;

/// The bytes as they are, and with all checksums made good, so that the fuzzer gets behind them.
pub fn check<F: Growable>(bytes: &[u8]) {
    let _ = decode_layer::<F>(bytes, &ORIGIN);
    let _ = decode_good::<F>(bytes);
}

/// [`check`], and removals from what was decoded.
pub fn check_removable<F: Growable + Removable>(bytes: &[u8]) {
    let _ = decode_layer::<F>(bytes, &ORIGIN);
    if let Some(mut layer) = decode_good::<F>(bytes) {
        for fingerprint in some_fingerprints() {
            layer.remove(fingerprint);
        }
    }
}

/// The filter in the bytes with good checksums, put through its paces.
fn decode_good<F: Growable>(bytes: &[u8]) -> Option<F> {
    let mut bytes = bytes.to_vec();
    make_good(&mut bytes);
    let decoded = decode_layer::<F>(&bytes, &ORIGIN).ok()?;
    assert_eq!(encode_layer(&decoded.layer, &ORIGIN, decoded.covered), bytes);
    let mut filter = decoded.layer.filter().clone();
    for fingerprint in some_fingerprints() {
        if filter.insert(fingerprint).is_ok() {
            assert!(filter.contains(fingerprint));
        }
    }
    assert!((0.0..=1.0).contains(&filter.predicted_rate()));
    grow(decoded.layer);
    Some(filter)
}

/// As the newest layer of a growing filter, with and without a bound on its memory. Its design capacity may be anything, so
/// growth may be refused.
fn grow<F: Growable>(layer: LayerOf<F>) {
    if layer.design_capacity() > 1_000 {
        return;
    }
    for max_bytes in [None, Some(layer.bytes().max(256))] {
        let settings = Settings { false_positive_rate: 0.9, initial_capacity: 10, growth_factor: 1.0, max_bytes };
        let Ok(mut filter) = Scalable::from_layers(settings, vec![layer.clone()]) else { continue };
        for fingerprint in some_fingerprints() {
            filter.insert(fingerprint);
            assert!(filter.contains(fingerprint));
        }
        assert!(max_bytes.is_none_or(|most| filter.bytes() <= most));
    }
}

fn some_fingerprints() -> impl Iterator<Item = u128> {
    (1..20_u128).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

fn make_good(bytes: &mut [u8]) {
    let Some((header, rest)) = bytes.split_at_mut_checked(HEADER) else { return };
    let crc = crc32fast::hash(header);
    let Some((sum, body)) = rest.split_at_mut_checked(4) else { return };
    sum.copy_from_slice(&crc.to_le_bytes());
    for (number, chunk) in (0_u64..).zip(body.chunks_mut(CHUNK)) {
        let Some(end) = chunk.len().checked_sub(4) else { return };
        let (lines, sum) = chunk.split_at_mut(end);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&crc.to_le_bytes());
        hasher.update(&number.to_le_bytes());
        hasher.update(lines);
        sum.copy_from_slice(&hasher.finalize().to_le_bytes());
    }
}
