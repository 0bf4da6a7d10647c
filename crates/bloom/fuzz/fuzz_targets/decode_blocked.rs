//! Arbitrary bytes as a layer of the kind `BlockedBloomFilter`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bloom_fuzz::check::<bloom::BlockedBloomFilter>(bytes);
});
