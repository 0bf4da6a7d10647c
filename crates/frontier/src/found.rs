//! What a page, a seed file or a redirect brought: URLs to offer, and the tally of those that were not worth offering.

use crate::canonical::Canonical;

/// Candidates from one source. Every candidate is in exactly one field, so that the books balance.
#[derive(Debug, Default)]
pub struct Found {
    /// To be put through the seen-test, in the order in which they were found.
    pub urls: Vec<FoundUrl>,
    /// Same raw `href` earlier on the page.
    pub page_duplicates: u64,
    /// Not URLs that can be crawled.
    pub invalid: u64,
    /// Refused by a depth, trap, nofollow or per-page limit rule.
    pub refused: u64,
    /// Outside the scope.
    pub out_of_scope: u64,
}

/// One URL to offer.
#[derive(Debug)]
pub struct FoundUrl {
    /// The URL and its key.
    pub canonical: Canonical,
    /// Links from a seed; a redirect target has the depth of its source.
    pub depth: u16,
}
