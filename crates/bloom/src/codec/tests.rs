//! Tests of the codec: golden bytes, every flip and every cut of a small layer, hostile headers.

use proptest::prelude::*;

use super::*;
use crate::seeded::fingerprints;

const KEY_CHECK: u64 = 0x0123_4567_89ab_cdef;

/// A layer with an explicit number of blocks, so that the bytes do not depend on the sizing.
fn layer(blocks: u64, inserts: usize) -> Layer {
    let mut filter = BlockedFilter::new(blocks).expect("small");
    fingerprints(77).take(inserts).for_each(|key| filter.insert(key));
    Layer::from_parts(3, blocks * 20, 0.01, filter)
}

/// A layer's bytes with one header number replaced and the header checksum made good.
fn forged(offset: usize, number: u64) -> Vec<u8> {
    let mut bytes = encode(&layer(3, 50), KEY_CHECK, 9);
    bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..64]);
    bytes[64..68].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn what_is_encoded_is_decoded() {
    let chunk = CHUNK_BLOCKS as u64;
    for (blocks, inserts) in [(1, 0), (1, 20), (40, 700), (chunk, 900), (chunk + 1, 900)] {
        let layer = layer(blocks, inserts);
        let bytes = encode(&layer, KEY_CHECK, u64::MAX);
        assert_eq!(bytes.len() as u64, encoded_bytes(blocks));
        let decoded = decode(&bytes, KEY_CHECK).expect("just encoded");
        assert_eq!(decoded.covered, u64::MAX);
        assert_eq!(decoded.layer, layer);
    }
}

/// The format on disk; the numbers come from a second implementation, in Python. If this fails, old data directories cannot be read any more: raise the version instead.
#[test]
fn golden_bytes() {
    let bytes = encode(&layer(40, 700), KEY_CHECK, 42);
    let header: String = bytes[..68].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        header,
        "424c4f4f4d4c595201000000\
         03000000efcdab8967452301\
         2a0000000000000020030000\
         000000007b14ae47e17a843f\
         bc0200000000000028000000\
         00000000a70acc33"
    );
    assert_eq!(bytes.len(), 2_632);
    assert_eq!(crc32fast::hash(&bytes), 0x3912_2c3e);
}

#[test]
fn every_changed_byte_is_an_error() {
    let bytes = encode(&layer(3, 50), KEY_CHECK, 9);
    let mut changed = bytes.clone();
    for position in 0..bytes.len() {
        for flip in 1..=u8::MAX {
            changed[position] = bytes[position] ^ flip;
            let error = decode(&changed, KEY_CHECK).expect_err("changed");
            match position {
                0..8 => assert_eq!(error, DecodeError::NotAFilter),
                8..12 => assert!(matches!(error, DecodeError::UnknownVersion { .. })),
                12..68 => assert_eq!(error, damaged(0, "header checksum")),
                _ => assert_eq!(error, damaged(68, "chunk checksum")),
            }
        }
        changed[position] = bytes[position];
    }
}

#[test]
fn every_cut_is_an_error() {
    let bytes = encode(&layer(3, 50), KEY_CHECK, 9);
    for cut in 0..bytes.len() {
        let expected = if cut < 68 { 68 } else { bytes.len() as u64 };
        let error = DecodeError::Truncated { bytes: cut as u64, expected };
        assert_eq!(decode(&bytes[..cut], KEY_CHECK), Err(error));
    }
    let longer = [&bytes[..], &[0]].concat();
    let error = damaged(bytes.len() as u64, "bytes after the end");
    assert_eq!(decode(&longer, KEY_CHECK), Err(error));
}

#[test]
fn other_things_are_told_apart() {
    let check = |bytes: &[u8], expect: DecodeError| assert_eq!(decode(bytes, KEY_CHECK), Err(expect));
    check(b"<!doctype html>", DecodeError::NotAFilter);
    check(&[0; 1000], DecodeError::NotAFilter);
    check(b"BLOOMLYX", DecodeError::NotAFilter);
    check(b"", DecodeError::Truncated { bytes: 0, expected: 68 });
    check(b"BLOOM", DecodeError::Truncated { bytes: 5, expected: 68 });
    let mut later = encode(&layer(3, 50), KEY_CHECK, 9);
    later[8] = 2;
    check(&later, DecodeError::UnknownVersion { version: 2 });
    let foreign = encode(&layer(3, 50), KEY_CHECK + 1, 9);
    check(&foreign, DecodeError::ForeignKey);
}

#[test]
fn forged_headers_are_errors_and_allocate_nothing() {
    let check = |offset: usize, number: u64, expect: DecodeError| {
        assert_eq!(decode(&forged(offset, number), KEY_CHECK), Err(expect));
    };
    let length = encode(&layer(3, 50), KEY_CHECK, 9).len() as u64;
    for blocks in [0, MAX_BLOCKS + 1, 1 << 58, u64::MAX] {
        check(56, blocks, damaged(56, "impossible number of blocks"));
    }
    let expected = encoded_bytes(MAX_BLOCKS);
    check(56, MAX_BLOCKS, DecodeError::Truncated { bytes: length, expected });
    check(56, 4, DecodeError::Truncated { bytes: length, expected: length + 64 });
    check(56, 1, damaged(56, "too few blocks for the error budget"));
    check(32, 0, damaged(32, "design capacity 0"));
    check(32, u64::MAX, damaged(56, "too few blocks for the error budget"));
    for budget in [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        check(40, budget.to_bits(), damaged(40, "error budget not between 0 and 1"));
    }
    // all numbers possible, but not those that the chunks were written under
    check(24, 10, damaged(68, "chunk checksum"));
    check(48, u64::MAX, damaged(68, "chunk checksum"));
}

#[test]
fn chunks_keep_their_place() {
    let chunk = CHUNK_BLOCKS * BLOCK_SIZE + CRC_BYTES;
    let mut bytes = encode(&layer(2 * CHUNK_BLOCKS as u64, 900), KEY_CHECK, 9);
    let (first, second) = bytes[HEADER_BYTES..].split_at_mut(chunk);
    first.swap_with_slice(second);
    assert_eq!(decode(&bytes, KEY_CHECK), Err(damaged(68, "chunk checksum")));
}

/// A length from a file may be anything; counting on from it must not overflow.
#[test]
fn an_enormous_length_does_not_overflow() {
    let filter = BlockedFilter::from_parts(layer(3, 50).filter().blocks().to_vec(), u64::MAX);
    let bytes = encode(&Layer::from_parts(0, 60, 0.01, filter), KEY_CHECK, 9);
    let mut layer = decode(&bytes, KEY_CHECK).expect("possible numbers").layer;
    layer.insert(1);
    assert_eq!(layer.len(), u64::MAX);
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_never_a_layer(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes, KEY_CHECK).is_err());
    }

    #[test]
    fn arbitrary_bytes_after_a_good_header_are_never_a_layer(
        body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = encode(&layer(3, 50), KEY_CHECK, 9);
        prop_assume!(bytes[HEADER_BYTES..] != body);
        bytes.truncate(HEADER_BYTES);
        bytes.extend(body);
        prop_assert!(decode(&bytes, KEY_CHECK).is_err());
    }

    #[test]
    fn arbitrary_header_numbers_do_not_panic(
        numbers in prop::collection::vec((0_usize..6, any::<u64>()), 1..6),
    ) {
        let mut bytes = encode(&layer(3, 50), KEY_CHECK, 9);
        let before = bytes.clone();
        for (field, number) in numbers {
            let offset = 16 + 8 * field;
            bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
        }
        prop_assume!(bytes != before);
        let crc = crc32fast::hash(&bytes[..64]);
        bytes[64..68].copy_from_slice(&crc.to_le_bytes());
        prop_assert!(decode(&bytes, KEY_CHECK).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Beyond one chunk: a flip anywhere, or a cut anywhere, is an error.
    #[test]
    fn a_flip_or_cut_of_a_large_layer_is_an_error(
        place in any::<prop::sample::Index>(),
        flip in 1_u8..,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&layer(CHUNK_BLOCKS as u64 + 5, 900), KEY_CHECK, 9);
        prop_assert!(decode(&bytes[..cut.index(bytes.len())], KEY_CHECK).is_err());
        let position = place.index(bytes.len());
        bytes[position] ^= flip;
        prop_assert!(decode(&bytes, KEY_CHECK).is_err());
    }
}
