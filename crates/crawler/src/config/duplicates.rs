//! `[duplicates]`: copies of pages, found by their content.
//!
//! Not the finding ([`duplicates`](crate::duplicates)). Invariant: as in `keys`.

use serde::Serialize;

use super::section::Section;

/// A hundred million entries would take gigabytes.
const MAX_ENTRIES: u64 = 100_000_000;

/// `[duplicates]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Duplicates {
    /// Pages whose bodies are remembered; 0 = none.
    pub entries: u64,
    /// Take the links of pages that are copies.
    pub take_links: bool,
    /// Pages whose texts are remembered, for those that are nearly the same; 0 = none.
    pub near_entries: u64,
}

impl Default for Duplicates {
    fn default() -> Self {
        Duplicates { entries: 100_000, take_links: true, near_entries: 0 }
    }
}

/// Reads the section.
pub(super) fn read(s: &mut Section<'_>, out: &mut Duplicates) {
    s.integer("entries", 0..=MAX_ENTRIES, &mut out.entries);
    s.boolean("take_links", &mut out.take_links);
    s.integer("near_entries", 0..=MAX_ENTRIES, &mut out.near_entries);
}
