//! What a page, a seed file or a redirect brought: URLs to offer, and the tally of those that were not worth offering.

use crate::canonical::Canonical;
use crate::growth::TextSketch;

/// Candidates from one source. Every candidate is in exactly one field, so that the books balance.
#[derive(Debug, Default)]
pub struct Found {
    /// To be put through the seen-test, in the order in which they were found.
    pub urls: Vec<FoundUrl>,
    /// Same raw `href` earlier on the page.
    pub page_duplicates: u64,
    /// Not URLs that can be crawled.
    pub invalid: u64,
    /// Refused by a rule before anybody asked whether they are new.
    pub refused: Refused,
    /// Outside the scope.
    pub out_of_scope: u64,
    /// What the text of the page is like, where there was one: for the growth guard.
    pub sketch: Option<TextSketch>,
}

/// Candidates that a rule refused, each in the one that refused it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refused {
    /// Too many links from a seed.
    pub depth: u64,
    /// The page had too many links.
    pub page_links: u64,
    /// Too many path segments.
    pub path_segments: u64,
    /// One path segment too often.
    pub repeated_segments: u64,
    /// Too long a query.
    pub query_bytes: u64,
    /// Too many query parameters.
    pub query_parameters: u64,
    /// The page or the link says that it is not to be followed.
    pub nofollow: u64,
    /// Named by a sitemap that may not speak for it.
    pub sitemap_location: u64,
}

/// One URL to offer.
#[derive(Debug)]
pub struct FoundUrl {
    /// The URL and its key.
    pub canonical: Canonical,
    /// Links from a seed; a redirect target has the depth of its source.
    pub depth: u16,
    /// Its class within its host's queue. A URL keeps the one with which it was found first.
    pub priority: Priority,
    /// What is said of its changes, if anything is.
    pub hint: Option<Hint>,
    /// Whether it is expected to be a sitemap: 1 for one that robots.txt (or custom) names, one more for each sitemap that
    /// leads to it, up to [`FoundUrl::MAX_SITEMAP_LEVEL`]; 0 for a page. Only kept, for whoever gets its lease. A URL keeps
    /// the one with which it was found first.
    pub sitemap_level: u8,
}

impl FoundUrl {
    /// Highest level of a sitemap that can be remembered.
    pub const MAX_SITEMAP_LEVEL: u8 = 15;

    /// A page of normal priority, of which nothing more is said.
    pub fn new(canonical: Canonical, depth: u16) -> Self {
        Self { canonical, depth, priority: Priority::default(), hint: None, sitemap_level: 0 }
    }
}

/// What a sitemap says of a page's changes. Only looked at where pages are visited again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hint {
    /// When it last changed, in seconds since the Unix epoch. If it was fetched before that, it is visited now.
    pub changed_at_secs: Option<u32>,
    /// How often it changes: its interval, in seconds, until its own visits teach a better one.
    pub interval_secs: Option<u32>,
}

/// Which URLs of a host go out first: those of class 0 before those of class 1, and so on; within a class, those found
/// first; a class that always has something to fetch keeps those after it waiting. Between hosts it says nothing: there
/// whoever has waited longest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u8);

impl Priority {
    /// Before all others.
    pub const FIRST: Self = Self(0);
    /// After all others.
    pub const LAST: Self = Self(7);

    /// The class of this number; those above the last are the last.
    pub fn new(class: u64) -> Self {
        Self(class.min(u64::from(Self::LAST.0)) as u8)
    }

    /// Its number, 0 to 7.
    pub fn class(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    /// The middle.
    fn default() -> Self {
        Self(4)
    }
}
