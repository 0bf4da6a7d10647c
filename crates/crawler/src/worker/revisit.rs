//! A page's next visit, from this side: what is asked on a condition, and what of an answer the frontier is told.
//!
//! Not when the next visit is (the frontier decides). Invariants: validators go to exactly the URL that they came from, and
//! nothing is kept of a page where pages are visited once.

use std::hash::Hasher;

use frontier::{Lease, Visit};
use siphasher::sip::SipHasher13;
use url::Url;

use super::Crawl;
use crate::fetch::{Head, Request};

/// What a visit brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Brought {
    not_modified: bool,
    digest: Option<u64>,
    etag: Option<String>,
    last_modified: Option<String>,
}

/// The request for the page itself: on the condition that it has changed, if its last answer said how to ask so.
pub(super) fn request<'a, F>(crawl: &Crawl<F>, lease: &'a Lease, url: &'a Url) -> Request<'a> {
    let unconditional = Request::new(url);
    if crawl.config.recrawl.enabled {
        Request { if_none_match: lease.etag(), if_modified_since: lease.last_modified(), ..unconditional }
    } else {
        unconditional
    }
}

impl Brought {
    /// What a response to the page's own request says, before its body.
    pub(super) fn of<F>(crawl: &Crawl<F>, head: &Head) -> Self {
        if !crawl.config.recrawl.enabled {
            return Self::default();
        }
        Self {
            not_modified: head.status == 304,
            digest: None,
            etag: head.etag.clone(),
            last_modified: head.last_modified.clone(),
        }
    }

    /// Takes in what the body was, or what stands for it.
    pub(super) fn with_digest(self, digest: Option<Digest>) -> Self {
        Self { digest: digest.map(Digest::finish), ..self }
    }

    /// The answer came from another URL than the lease's, after a redirect: its validators are no good for that one.
    pub(super) fn without_validators(self) -> Self {
        Self { etag: None, last_modified: None, ..self }
    }

    /// As the frontier takes it. A 304 that nobody has asked for is no word on the page (its interval stays as it was, and the
    /// log has it as `unasked_304`): with its validators the page would never be asked for whole.
    pub(super) fn visit(&self, is_conditional: bool) -> Visit<'_> {
        if self.not_modified && !is_conditional {
            return Visit::default();
        }
        Visit {
            not_modified: self.not_modified,
            digest: self.digest,
            etag: self.etag.as_deref(),
            last_modified: self.last_modified.as_deref(),
        }
    }
}

/// The digest of a body as it streams: the same in every build, however the body was cut into pieces.
pub(super) struct Digest(SipHasher13);

impl Digest {
    /// Of nothing yet; `None` where pages are visited once.
    pub(super) fn begin<F>(crawl: &Crawl<F>) -> Option<Self> {
        crawl.config.recrawl.enabled.then(|| Self(SipHasher13::new()))
    }

    pub(super) fn write(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    fn finish(self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_does_not_depend_on_the_pieces_nor_on_the_build() {
        let text = b"The quick brown fox jumps over the lazy dog";
        let digest = |cuts: &[usize]| {
            let mut digest = Digest(SipHasher13::new());
            let mut from = 0;
            for cut in cuts.iter().copied().chain([text.len()]) {
                digest.write(&text[from..cut]);
                from = cut;
            }
            digest.finish()
        };
        for cuts in [&[][..], &[1], &[7, 8, 9], &[0, 20, 20, 40]] {
            assert_eq!(digest(cuts), digest(&[]), "{cuts:?}");
        }
        // SipHash-1-3 with a key of zeros, computed by another program: it is on the disk of every crawl.
        assert_eq!(digest(&[]), 0x8df6_76d3_d00c_451e);
        assert_eq!(Digest(SipHasher13::new()).finish(), 0xd1fb_a762_150c_532c);
    }
}
