//! Tests of the codec: golden bytes, every flip and every cut of a small layer, hostile headers. Files of each kind, as
//! this version writes them, are in `fixtures.rs`.

use proptest::prelude::*;

use super::*;
use crate::seeded::fingerprints;
use crate::sizing::MAX_BLOCKS;
use crate::{BloomFilter, CountingBloomFilter, CuckooFilter};

mod fixtures;

const KEY_CHECK: u64 = 0x0123_4567_89ab_cdef;

/// A layer with an explicit number of blocks, so that the bytes do not depend on the sizing.
fn layer(blocks: u64, inserts: usize) -> Layer {
    let mut filter = BlockedBloomFilter::new(blocks).expect("small");
    fingerprints(77).take(inserts).for_each(|key| filter.insert(key));
    Layer::from_parts(3, blocks * 20, 0.01, filter)
}

fn make_good(bytes: &mut [u8]) {
    let crc = crc32fast::hash(&bytes[..80]);
    bytes[80..84].copy_from_slice(&crc.to_le_bytes());
}

/// A layer's bytes with one header number replaced and the header checksum made good.
fn forged(offset: usize, number: u64) -> Vec<u8> {
    let mut bytes = encode(&layer(3, 50), KEY_CHECK, 9);
    bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    make_good(&mut bytes);
    bytes
}

#[test]
fn what_is_encoded_is_decoded() {
    let chunk = CHUNK_LINES as u64;
    for (blocks, inserts) in [(1, 0), (1, 20), (40, 700), (chunk, 900), (chunk + 1, 900)] {
        let layer = layer(blocks, inserts);
        let bytes = encode(&layer, KEY_CHECK, u64::MAX);
        assert_eq!(bytes.len() as u64, encoded_bytes(blocks));
        let decoded = decode(&bytes, KEY_CHECK).expect("just encoded");
        assert_eq!(decoded.covered, u64::MAX);
        assert_eq!(decoded.layer, layer);
    }
}

#[test]
fn every_kind_comes_back_and_as_no_other() {
    fn check<F: Growable + PartialEq + std::fmt::Debug>(items: u64) -> Vec<u8> {
        let mut layer: LayerOf<F> = LayerOf::new(2, items, 0.01).expect("possible");
        fingerprints(78).take(items as usize).for_each(|key| layer.insert(key).expect("room"));
        let origin = Origin { key_check: KEY_CHECK, hash: 9, rules: 4 };
        let bytes = encode_layer(&layer, &origin, 5);
        assert_eq!(decode_layer::<F>(&bytes, &origin), Ok(Decoded { layer, covered: 5 }));
        for cut in [0, 11, 12, 83, 84, bytes.len() / 2, bytes.len() - 1] {
            assert!(matches!(decode_layer::<F>(&bytes[..cut], &origin), Err(DecodeError::Truncated { .. })));
        }
        bytes
    }
    let origin = Origin { key_check: KEY_CHECK, hash: 9, rules: 4 };
    for items in [1, 100, 30_000] {
        let kinds = [
            check::<BlockedBloomFilter>(items),
            check::<BloomFilter>(items),
            check::<CountingBloomFilter>(items),
            check::<CuckooFilter>(items),
        ];
        for (found, bytes) in (1..).zip(&kinds) {
            assert_eq!(decode_layer::<BlockedBloomFilter>(bytes, &origin).is_ok(), found == 1);
            assert_eq!(decode_layer::<BloomFilter>(bytes, &origin).is_ok(), found == 2);
            assert_eq!(decode_layer::<CountingBloomFilter>(bytes, &origin).is_ok(), found == 3);
            let cuckoo = decode_layer::<CuckooFilter>(bytes, &origin).map(|_| ());
            let expect = if found == 4 { Ok(()) } else { Err(DecodeError::OtherKind { found, expected: 4 }) };
            assert_eq!(cuckoo, expect);
        }
    }
}

/// The format on disk; the numbers come from a second implementation, in Python. If this fails, old data directories cannot be read any more: raise the version instead.
#[test]
fn golden_bytes() {
    let bytes = encode(&layer(40, 700), KEY_CHECK, 42);
    let header: String = bytes[..84].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        header,
        "424c4f4f4d4c595202000000\
         010008000100000000000000\
         efcdab89674523012a00000000000000\
         03000000000000002003000000000000\
         7b14ae47e17a843fbc02000000000000\
         280000000000000080cff530"
    );
    assert_eq!(bytes.len(), 2_648);
    assert_eq!(crc32fast::hash(&bytes), 0x953c_59c5);
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
                12..84 => assert_eq!(error, damaged(0, "header checksum")),
                _ => assert_eq!(error, damaged(84, "chunk checksum")),
            }
        }
        changed[position] = bytes[position];
    }
}

#[test]
fn every_cut_is_an_error() {
    let bytes = encode(&layer(3, 50), KEY_CHECK, 9);
    for cut in 0..bytes.len() {
        let expected = if cut < 84 { 84 } else { bytes.len() as u64 };
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
    check(b"", DecodeError::Truncated { bytes: 0, expected: 84 });
    check(b"BLOOM", DecodeError::Truncated { bytes: 5, expected: 84 });
    for version in [0, 1, 3] {
        let mut other = encode(&layer(3, 50), KEY_CHECK, 9);
        other[8] = version;
        check(&other, DecodeError::UnknownVersion { version: version.into() });
        check(&other[..12], DecodeError::UnknownVersion { version: version.into() });
    }
    let of = |origin: Origin| encode_layer(&layer(3, 50), &origin, 9);
    let ours = Origin::new(KEY_CHECK);
    check(&of(Origin { key_check: KEY_CHECK + 1, ..ours }), DecodeError::ForeignKey);
    check(&of(Origin { hash: 2, ..ours }), DecodeError::ForeignHash { found: 2 });
    check(&of(Origin { rules: 7, ..ours }), DecodeError::ForeignRules { found: 7 });
}

#[test]
fn forged_headers_are_errors_and_allocate_nothing() {
    let check = |offset: usize, number: u64, expect: DecodeError| {
        assert_eq!(decode(&forged(offset, number), KEY_CHECK), Err(expect));
    };
    let length = encode(&layer(3, 50), KEY_CHECK, 9).len() as u64;
    for blocks in [0, MAX_BLOCKS + 1, 1 << 58, u64::MAX] {
        check(72, blocks, damaged(72, "impossible size"));
    }
    let expected = encoded_bytes(MAX_BLOCKS);
    check(72, MAX_BLOCKS, DecodeError::Truncated { bytes: length, expected });
    check(72, 4, DecodeError::Truncated { bytes: length, expected: length + 64 });
    check(72, 1, damaged(length - 128, "bytes after the end"));
    check(40, 1 << 32, damaged(40, "impossible layer index"));
    check(48, 0, damaged(48, "design capacity 0"));
    for budget in [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        check(56, budget.to_bits(), damaged(56, "error budget not between 0 and 1"));
    }
    // kind, flags, width and hash in one number
    let first = |kind: u64, flags: u64, width: u64| kind | flags << 8 | width << 16 | 1 << 32;
    check(12, first(9, 0, 8), DecodeError::OtherKind { found: 9, expected: 1 });
    check(12, first(1, 2, 8), damaged(13, "unknown flags"));
    check(12, first(1, 1, 8), damaged(12, "impossible shape"));
    check(12, first(1, 0, 7), damaged(12, "impossible shape"));
    // all numbers possible, but not those that the chunks were written under
    check(32, 10, damaged(84, "chunk checksum"));
    check(64, u64::MAX, damaged(84, "chunk checksum"));
    check(48, u64::MAX, damaged(84, "chunk checksum"));
}

/// A budget that the size does not keep would break the bound over all layers.
#[test]
fn a_layer_too_small_for_its_budget_is_refused() {
    let filter = layer(3, 50).filter().clone();
    let bytes = encode(&Layer::from_parts(0, 1 << 40, 0.01, filter), KEY_CHECK, 9);
    assert_eq!(decode(&bytes, KEY_CHECK), Err(damaged(72, "too small for the error budget")));
}

#[test]
fn chunks_keep_their_place() {
    let chunk = CHUNK_LINES * LINE_BYTES + CRC_BYTES;
    let mut bytes = encode(&layer(2 * CHUNK_LINES as u64, 900), KEY_CHECK, 9);
    let (first, second) = bytes[HEADER_BYTES..].split_at_mut(chunk);
    first.swap_with_slice(second);
    assert_eq!(decode(&bytes, KEY_CHECK), Err(damaged(84, "chunk checksum")));
}

/// A length from a file may be anything; counting on from it must not overflow.
#[test]
fn an_enormous_length_does_not_overflow() {
    let mut shape = layer(3, 50).filter().shape();
    shape.len = u64::MAX;
    let filter = BlockedBloomFilter::from_lines(&shape, layer(3, 50).filter().lines().to_vec());
    let bytes = encode(&Layer::from_parts(0, 60, 0.01, filter), KEY_CHECK, 9);
    let mut layer = decode(&bytes, KEY_CHECK).expect("possible numbers").layer;
    layer.insert(1).expect("blocks are never full");
    assert_eq!(layer.len(), u64::MAX);
}

/// None of the kinds takes these bytes for a layer.
fn none_decodes(bytes: &[u8]) -> bool {
    let origin = Origin::new(KEY_CHECK);
    decode(bytes, KEY_CHECK).is_err()
        && decode_layer::<BloomFilter>(bytes, &origin).is_err()
        && decode_layer::<CountingBloomFilter>(bytes, &origin).is_err()
        && decode_layer::<CuckooFilter>(bytes, &origin).is_err()
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_never_a_layer(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(none_decodes(&bytes));
    }

    #[test]
    fn arbitrary_bytes_after_a_good_header_are_never_a_layer(
        body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = encode(&layer(3, 50), KEY_CHECK, 9);
        prop_assume!(bytes[HEADER_BYTES..] != body);
        bytes.truncate(HEADER_BYTES);
        bytes.extend(body);
        prop_assert!(none_decodes(&bytes));
    }

    #[test]
    fn arbitrary_header_numbers_do_not_panic(
        kind in 0_u8..6,
        numbers in prop::collection::vec((0_usize..7, any::<u64>()), 1..6),
    ) {
        let mut bytes = encode(&layer(3, 50), KEY_CHECK, 9);
        let before = bytes.clone();
        bytes[12] = kind;
        for (field, number) in numbers {
            let offset = 24 + 8 * field;
            bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
        }
        prop_assume!(bytes != before);
        make_good(&mut bytes);
        prop_assert!(none_decodes(&bytes));
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
        let mut bytes = encode(&layer(CHUNK_LINES as u64 + 5, 900), KEY_CHECK, 9);
        prop_assert!(decode(&bytes[..cut.index(bytes.len())], KEY_CHECK).is_err());
        let position = place.index(bytes.len());
        bytes[position] ^= flip;
        prop_assert!(decode(&bytes, KEY_CHECK).is_err());
    }
}
