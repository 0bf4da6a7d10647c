//! Which block files count, and how much of each is still in use: part of the covered record, so as old as the merge that
//! wrote it.
//!
//! A block is in use until a merge takes it out of the index. Invariant: `live` is never less than what is in use. (It may
//! be more where a merge that was cut had taken blocks out already; moving the rest of that file one day makes it good.)

use std::collections::BTreeMap;

use crate::wire::{Reader, WireError, Writer};

/// More files than this are made fewer.
const MAX_FILES: usize = 256;
/// Bytes of blocks that a merge moves at most, beside as much as it writes itself.
const MOVED_BYTES: u64 = 4 << 20;

/// The block files of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// The number of the next file. No number is ever used twice, not even that of a file of a merge that was cut: an
    /// index entry of that merge must not be taken for one of another.
    pub(super) next: u64,
    known: BTreeMap<u64, Usage>,
}

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes on disk.
    pub(super) length: u64,
    /// Bytes of its blocks, as they are before compression.
    pub(super) bytes: u64,
    /// Of those, the ones in use.
    pub(super) live: u64,
}

impl Files {
    pub(super) fn get(&self, number: u64) -> Option<&Usage> {
        self.known.get(&number)
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = (u64, &Usage)> {
        self.known.iter().map(|(number, usage)| (*number, usage))
    }

    /// Bytes on disk.
    pub(super) fn length(&self) -> u64 {
        self.known.values().map(|usage| usage.length).sum()
    }

    /// Takes in a file that was written; it has the next number.
    pub(super) fn add(&mut self, length: u64, bytes: u64) {
        self.known.insert(self.next, Usage { length, bytes, live: bytes });
        self.next += 1;
    }

    /// So many bytes of a file are not in use any more.
    pub(super) fn release(&mut self, number: u64, bytes: u64) {
        if let Some(usage) = self.known.get_mut(&number) {
            usage.live = usage.live.saturating_sub(bytes);
        }
    }

    /// Takes out the files of which nothing is in use.
    pub(super) fn drop_unused(&mut self) {
        self.known.retain(|_, usage| usage.live > 0);
    }

    /// Takes out the files whose blocks a merge that writes so many bytes itself is to move: those of which less than half
    /// is in use, and the smallest where there are too many.
    pub(super) fn take_worst(&mut self, written: u64) -> Vec<u64> {
        let mut by_live: Vec<(u64, u64)> = self.known.iter().map(|(number, usage)| (usage.live, *number)).collect();
        by_live.sort_unstable();
        let mut left = MOVED_BYTES.max(written);
        let mut worst = Vec::new();
        for (live, number) in by_live {
            let is_sparse = self.known[&number].bytes / 2 > live;
            // One more is about to be written.
            let many = self.known.len() >= MAX_FILES;
            if live > left || !(is_sparse || many) {
                continue;
            }
            left -= live;
            self.known.remove(&number);
            worst.push(number);
        }
        worst
    }

    pub(in crate::store) fn encode(&self, out: &mut Writer) {
        out.varint(self.next);
        out.varint(self.known.len() as u64);
        for (number, usage) in &self.known {
            [*number, usage.length, usage.bytes, usage.live].into_iter().for_each(|n| out.varint(n));
        }
    }

    pub(in crate::store) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut files = Self { next: input.varint()?, known: BTreeMap::new() };
        for _ in 0..input.varint()? {
            let number = input.varint()?;
            let usage = Usage { length: input.varint()?, bytes: input.varint()?, live: input.varint()? };
            files.known.insert(number, usage);
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(usages: &[(u64, u64)]) -> Files {
        let mut files = Files::default();
        for (bytes, live) in usages {
            files.add(*bytes, *bytes);
            files.release(files.next - 1, bytes - live);
        }
        files
    }

    #[test]
    fn what_was_written_is_read() {
        let files = files(&[(10, 10), (1 << 40, 7)]);
        let mut out = Writer::default();
        files.encode(&mut out);
        assert_eq!(Files::decode(&mut Reader::new(&out.into_bytes())), Ok(files));
    }

    #[test]
    fn sparse_files_are_moved_the_emptiest_first_within_bounds() {
        let all = [(1000, 500), (1000, 499), (100 << 20, 3 << 20), (100 << 20, 2 << 20), (10, 0)];
        let mut files = files(&all);
        files.drop_unused();
        assert_eq!(files.take_worst(0), [1, 3], "both of the large ones would be too much");
        assert_eq!(files.take_worst(0), [2]);
        assert!(files.take_worst(0).is_empty(), "half of it is in use");
        let mut files = super::tests::files(&[(100 << 20, 40 << 20)]);
        assert!(files.take_worst(0).is_empty());
        assert_eq!(files.take_worst(40 << 20), [0], "a merge may move what it writes itself");
    }

    #[test]
    fn the_smallest_of_too_many_files_are_moved() {
        let mut files = files(&vec![(100, 100); MAX_FILES]);
        assert_eq!(files.take_worst(0), [0]);
        assert!(files.take_worst(0).is_empty());
        files.add(1 << 30, 1 << 30);
        files.add(50, 50);
        assert_eq!(files.take_worst(0), [MAX_FILES as u64 + 1, 1]);
    }
}
