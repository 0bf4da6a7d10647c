//! Arbitrary bytes as a layer of the kind `CountingBloomFilter`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bloom_fuzz::check_removable::<bloom::CountingBloomFilter>(bytes);
});
