//! The lines of a filter, of which some are probed, and what this machine probes them with. Passed around as one reference:
//! a test loads what it needs of it, which was measured to be faster than to pass the parts.
//!
//! Invariant: there is at least one line to probe, and there are as many as the table says.

use super::{Level, prefetch};
use crate::lines::{Block, high_half, place};

/// Lines, the first `places` of which are probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    lines: Vec<Block>,
    places: usize,
    pub(super) level: Level,
}

impl Table {
    /// # Panics
    /// When `places` is 0, or more than there are lines.
    pub(crate) fn new(lines: Vec<Block>, places: u64) -> Self {
        assert!((1..=lines.len() as u64).contains(&places), "{places} places in {} lines", lines.len());
        Self { places: places as usize, lines, level: Level::of_this_machine() }
    }

    /// The same with another level, for tests.
    #[cfg(test)]
    pub(super) fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// All lines.
    pub(crate) fn lines(&self) -> &[Block] {
        &self.lines
    }

    /// All lines, to be changed.
    pub(crate) fn lines_mut(&mut self) -> &mut [Block] {
        &mut self.lines
    }

    /// Number of lines that are probed.
    pub(crate) fn places(&self) -> u64 {
        self.places as u64
    }

    /// Where the fingerprint's line is.
    #[inline(always)]
    pub(crate) fn place(&self, fingerprint: u128) -> usize {
        place(high_half(fingerprint), self.places as u64) as usize
    }

    /// The fingerprint's line.
    #[inline(always)]
    pub(super) fn line(&self, fingerprint: u128) -> &Block {
        let place = self.place(fingerprint);
        // SAFETY: a place is below `places`, which is at least 1 and at most the number of lines. (A check would be one
        // instruction in ten of a test, and is measured.)
        unsafe { self.lines.get_unchecked(place) }
    }

    /// The fingerprint's line, to be changed.
    #[inline(always)]
    pub(super) fn line_mut(&mut self, fingerprint: u128) -> &mut Block {
        let place = self.place(fingerprint);
        // SAFETY: as in `line`.
        unsafe { self.lines.get_unchecked_mut(place) }
    }

    /// Asks for the fingerprint's line.
    #[inline(always)]
    pub(super) fn fetch(&self, fingerprint: u128) {
        prefetch(self.line(fingerprint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::zeroed;

    /// What the unchecked access stands on.
    #[test]
    fn a_place_is_always_within_the_lines() {
        for places in [1, 2, 3, 7, 1_000] {
            let table = Table::new(zeroed(1_000).expect("small"), places);
            for high in [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX - 1, u64::MAX] {
                assert!(table.place(u128::from(high) << 64 | u128::from(u64::MAX)) < places as usize);
            }
        }
    }

    #[test]
    #[should_panic(expected = "0 places in 5 lines")]
    fn a_table_has_a_place() {
        Table::new(zeroed(5).expect("small"), 0);
    }

    #[test]
    #[should_panic(expected = "6 places in 5 lines")]
    fn a_table_has_no_more_places_than_lines() {
        Table::new(zeroed(5).expect("small"), 6);
    }
}
