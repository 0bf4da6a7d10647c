//! A block file, whole and damaged.

use super::*;

/// Many small blocks, some of one host, and one that does not compress.
fn blocks() -> Vec<RawBlock<'static>> {
    let mut all = Vec::new();
    for host in 0..900u32 {
        for part in 0..host % 3 {
            let items = format!("/articles/{host}/of-many-pages-{part}.html").into_bytes();
            let id = BlockId { priority: Priority::new(part.into()), number: u64::from(host) + 7, part };
            all.push(RawBlock { host: Cow::Owned(format!("com,site-{host:03}")), id, items: Cow::Owned(items) });
        }
    }
    let noise = (0..3_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let id = BlockId { priority: Priority::LAST, number: 1, part: 9 };
    all.push(RawBlock { host: Cow::Borrowed("org,noise"), id, items: Cow::Owned(noise) });
    all
}

#[test]
fn what_was_written_is_read_whole_and_by_chunk() {
    let blocks = blocks();
    let (bytes, extents) = encode(5, &blocks).expect("encodes");
    assert!(extents.iter().any(|extent| *extent != extents[0]), "several chunks");
    let raw: usize = blocks.iter().map(|block| block.items.len()).sum();
    assert!(bytes.len() < 3_000 + (raw - 3_000) / 2, "{} bytes for {raw}", bytes.len());
    let read = decode(5, &bytes).expect("decodes");
    assert_eq!(read, extents.iter().copied().zip(blocks.iter().cloned()).collect::<Vec<_>>());
    for (extent, block) in extents.iter().zip(&blocks) {
        let chunk = &bytes[extent.offset as usize..][..extent.length as usize];
        let (raw, length) = decode_chunk(5, extent.offset, chunk).expect("decodes");
        assert_eq!(length, chunk.len());
        assert!(super::blocks(&raw).any(|found| found.as_ref() == Ok(block)));
    }
}

#[test]
fn a_file_of_no_blocks_is_a_file() {
    let (bytes, _) = encode(5, &[]).expect("encodes");
    assert_eq!(decode(5, &bytes), Ok(Vec::new()));
}

#[test]
fn a_file_cut_at_any_byte_is_an_error_or_ends_between_chunks() {
    let blocks = blocks();
    let (bytes, extents) = encode(5, &blocks).expect("encodes");
    for end in 0..bytes.len() {
        let whole = end == HEADER || extents.iter().any(|e| e.offset as usize + e.length as usize == end);
        // Which its length in the covered record tells from a whole file.
        assert_eq!(decode(5, &bytes[..end]).is_ok(), whole, "cut at {end}");
    }
}

#[test]
fn a_file_with_any_byte_flipped_is_an_error() {
    let (mut bytes, _) = encode(5, &blocks()[..40]).expect("encodes");
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            bytes[at] ^= flip;
            assert!(decode(5, &bytes).is_err(), "byte {at} flipped by {flip:#x}");
            bytes[at] ^= flip;
        }
    }
}

#[test]
fn what_was_written_elsewhere_is_an_error() {
    let (bytes, extents) = encode(5, &blocks()).expect("encodes");
    assert!(decode(6, &bytes).is_err(), "another file");
    let last = extents[extents.len() - 1];
    let chunk = &bytes[last.offset as usize..];
    assert!(decode_chunk(5, last.offset, chunk).is_ok());
    assert!(decode_chunk(5, extents[0].offset, chunk).is_err(), "another place");
}

proptest::proptest! {
    #[test]
    fn any_bytes_end_in_blocks_or_an_error(bytes: Vec<u8>) {
        let _ = super::blocks(&bytes).count();
        let _ = decode(1, &bytes);
        let _ = decode_chunk(1, 0, &bytes);
    }
}
