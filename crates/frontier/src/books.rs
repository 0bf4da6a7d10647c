//! The books: every counter of the frontier, and the identities that they keep.
//!
//! A partition's books are a fold of its events: each verb adds one self-balanced set of differences, carried in the
//! event itself. So a sum over partitions balances at any moment, also after a crash ([`Books::check`]).

use crate::wire::{Reader, WireError, Writer};

macro_rules! books {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters (or differences of counters) since the crawl began; `queued` … `imported_seen` count URLs by
        /// present state.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Books { $($(#[$doc])* pub $name: i64,)* }

        impl Books {
            /// Names of all counters, in order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// All counters, in the order of [`Books::NAMES`].
            pub fn values(&self) -> [i64; Self::NAMES.len()] {
                [$(self.$name),*]
            }

            fn slots(&mut self) -> [&mut i64; Self::NAMES.len()] {
                [$(&mut self.$name),*]
            }
        }
    };
}

books! {
    /// Candidates from every source: seeds, links, redirect targets, sitemap entries.
    urls_found,
    /// Same raw `href` earlier on the same page.
    page_duplicates,
    /// Not a URL that can be crawled.
    invalid,
    /// Refused by a rule before the seen-test; `refused_…` say by which.
    refused,
    /// Outside the configured scope.
    out_of_scope,
    /// Put through the seen-test.
    offered,
    /// Answered from memory: twin in the batch, hot cache, or a URL not yet merged.
    hot_cache_seen,
    /// The filter said absent: new, without a store read.
    filter_absent,
    /// The filter said maybe.
    filter_maybe,
    /// … and the exact set held it.
    confirmed_seen,
    /// … and the exact set did not: new after all.
    false_positives,
    /// … because of a forgotten URL whose bits are still set: new.
    stale_positives,
    /// … because the filter was being rebuilt and answered maybe to everything: new.
    filter_bypassed,
    /// New, but over a budget and not kept.
    over_budget,
    /// New URLs recorded.
    discovered,
    /// URLs brought in by an import.
    imported,
    /// URLs forgotten.
    forgotten,
    /// URLs not finished, those in flight included.
    queued,
    /// URLs with a final response of any status.
    fetched,
    /// URLs whose retries were exhausted without a response.
    failed,
    /// URLs denied by a robots rule that matched.
    robots_denied,
    /// URLs refused at fetch time by a rule: private address, redirect limit, …
    excluded,
    /// URLs held back by a budget, kept.
    parked,
    /// URLs imported as seen.
    imported_seen,
    /// Requests made, robots.txt included.
    fetches,
    /// Body bytes received, after decoding.
    bytes_downloaded,
    /// Responses with a status of 200 to 299.
    status_2xx,
    /// Responses with a status of 300 to 399.
    status_3xx,
    /// Responses with a status of 400 to 499.
    status_4xx,
    /// Responses with a status of 500 to 599.
    status_5xx,
    /// Exact-set reads of the seen-test.
    store_reads,
    /// Of those refused: too many links from a seed.
    refused_depth,
    /// Of those refused: beyond the page's limit of links.
    refused_page_links,
    /// Of those refused: too many path segments.
    refused_path_segments,
    /// Of those refused: one path segment too often.
    refused_repeated_segments,
    /// Of those refused: too long a query.
    refused_query_bytes,
    /// Of those refused: too many query parameters.
    refused_query_parameters,
    /// Hosts that the growth guard slows now.
    hosts_slowed,
    /// Times that a fetched page went back into the queue because it was due again.
    revisits,
    /// Answers of 304 to conditional requests.
    not_modified,
    /// URLs fetched that will be visited again.
    due_again,
    /// Of those refused: the page or the link says that it is not to be followed.
    refused_nofollow,
    /// Of those refused: named by a sitemap that may not speak for them.
    refused_sitemap_location,
}

impl Books {
    /// Adds differences.
    pub fn add(&mut self, other: &Self) {
        for (slot, value) in self.slots().into_iter().zip(other.values()) {
            *slot += value;
        }
    }

    /// The differences from what they were.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut differences = *self;
        for (slot, value) in differences.slots().into_iter().zip(before.values()) {
            *slot -= value;
        }
        differences
    }

    /// Checks the identities, and that no more pages are due again than are fetched.
    ///
    /// # Errors
    /// Names the first that does not hold, with both sides.
    pub fn check(&self) -> Result<(), String> {
        let same = |name: &str, left: i64, right: i64| {
            if left == right { Ok(()) } else { Err(format!("{name}: {left} != {right}")) }
        };
        if !(0..=self.fetched).contains(&self.due_again) {
            return Err(format!("0 <= due_again <= fetched: {}, {}", self.due_again, self.fetched));
        }
        same(
            "urls_found = page_duplicates + invalid + refused + out_of_scope + offered",
            self.urls_found,
            self.page_duplicates + self.invalid + self.refused + self.out_of_scope + self.offered,
        )?;
        same("refused = the sum of refused_…", self.refused, self.refused_by_rule().iter().sum())?;
        same(
            "offered = hot_cache_seen + filter_absent + filter_maybe",
            self.offered,
            self.hot_cache_seen + self.filter_absent + self.filter_maybe,
        )?;
        same(
            "filter_maybe = confirmed_seen + false_positives + stale_positives + filter_bypassed",
            self.filter_maybe,
            self.confirmed_seen + self.false_positives + self.stale_positives + self.filter_bypassed,
        )?;
        same(
            "discovered + over_budget = filter_absent + false_positives + stale_positives + filter_bypassed",
            self.discovered + self.over_budget,
            self.filter_absent + self.false_positives + self.stale_positives + self.filter_bypassed,
        )?;
        same(
            "discovered + imported = forgotten + queued + fetched + failed + robots_denied + excluded + parked + \
             imported_seen",
            self.discovered + self.imported,
            self.forgotten
                + self.queued
                + self.fetched
                + self.failed
                + self.robots_denied
                + self.excluded
                + self.parked
                + self.imported_seen,
        )
    }

    /// The counters of the rules that refuse, in the order of [`crate::Refused`].
    pub fn refused_by_rule(&self) -> [i64; 8] {
        [
            self.refused_depth,
            self.refused_page_links,
            self.refused_path_segments,
            self.refused_repeated_segments,
            self.refused_query_bytes,
            self.refused_query_parameters,
            self.refused_nofollow,
            self.refused_sitemap_location,
        ]
    }

    /// Share of URLs new to the filter that it called maybe; `None` before the first new URL.
    pub fn false_positive_rate(&self) -> Option<f64> {
        let tried = self.filter_absent + self.false_positives;
        (tried > 0).then(|| self.false_positives as f64 / tried as f64)
    }

    /// A bit for each counter that is not zero, then those counters.
    pub(crate) fn encode(&self, out: &mut Writer) {
        const { assert!(Self::NAMES.len() <= 64) };
        let values = self.values();
        let present = values.iter().enumerate().filter(|(_, v)| **v != 0).fold(0u64, |bits, (i, _)| bits | 1 << i);
        out.varint(present);
        values.iter().filter(|v| **v != 0).for_each(|v| out.signed(*v));
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let present = input.varint()?;
        let mut books = Self::default();
        for (i, slot) in books.slots().into_iter().enumerate() {
            if present & (1 << i) != 0 {
                *slot = input.signed()?;
            }
        }
        Ok(books)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_survive_the_wire() {
        let books = Books { urls_found: 3, queued: -1, store_reads: i64::MAX, ..Books::default() };
        let mut out = Writer::default();
        books.encode(&mut out);
        assert_eq!(Books::decode(&mut Reader::new(&out.into_bytes())), Ok(books));
    }

    #[test]
    fn an_unbalanced_book_is_named() {
        let balanced =
            Books { urls_found: 1, offered: 1, filter_absent: 1, discovered: 1, queued: 1, ..Books::default() };
        assert_eq!(balanced.check(), Ok(()));
        let broken = Books { queued: 0, ..balanced };
        assert!(broken.check().expect_err("does not balance").starts_with("discovered + imported ="));
    }
}
