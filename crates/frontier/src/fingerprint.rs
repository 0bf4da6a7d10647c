//! The stable keyed hash: a 128-bit SipHash-1-3 of the key, under a secret of this crawl.
//!
//! Sites choose URLs. With a hash they can compute they could fill the filter or hide pages; with one that changes from
//! build to build a filter on disk would answer "absent" for URLs that it holds. So: SipHash-1-3 with 128-bit output
//! (Aumasson and Bernstein, 2012), keyed with 16 random bytes that are made with the data directory and never logged.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// All 128 bits of the hash of one key.
pub(crate) type Fingerprint = u128;

/// The crawl's 16 random bytes.
#[derive(Clone)]
pub(crate) struct Secret([u8; 16]);

impl Secret {
    pub(crate) fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The fingerprint of a canonical key.
    pub(crate) fn fingerprint(&self, key: &str) -> Fingerprint {
        self.hash(b'k', key.as_bytes())
    }

    /// The partition that owns a registrable domain.
    pub(crate) fn partition(&self, registrable_domain: &str, partitions: u16) -> u16 {
        let high = (self.hash(b'p', registrable_domain.as_bytes()) >> 64) as u64;
        (high % u64::from(partitions)) as u16
    }

    /// A value that tells whether a filter file was made with this secret and for this partition, and tells nothing else
    /// about the secret.
    pub(crate) fn check(&self, partition: u16) -> u64 {
        self.hash(b'c', format!("key check {partition}").as_bytes()) as u64
    }

    /// `domain` keeps the three uses of the one secret apart.
    fn hash(&self, domain: u8, bytes: &[u8]) -> u128 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.write(&[domain]);
        hasher.finish128().as_u128()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_pinned() {
        let secret = Secret::new(*b"0123456789abcdef");
        let got = (secret.fingerprint("com,example)/"), secret.partition("example.com", 16), secret.check(3));
        assert_eq!(
            got,
            (262743536258509979523987400369268625943, 14, 4026773803269476275),
            "a changed hash makes every filter on disk wrong"
        );
    }

    #[test]
    fn the_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Secret::new(*b"0123456789abcdef")), "Secret(…)");
    }
}
