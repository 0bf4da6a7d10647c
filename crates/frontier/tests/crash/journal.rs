//! The journal's files as they lie on disk, read by their description in `src/journal/segment.rs` and not by the code
//! under test: which events a cut at some byte leaves, and the cut itself.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

const SEGMENT_HEADER: u64 = 16;
const COMMIT_HEADER: u64 = 24;

/// All segments, as one row of bytes.
pub struct Journal {
    /// Oldest first, each with the number of its first event.
    segments: Vec<(u64, PathBuf, Vec<u8>)>,
    commits: Vec<Commit>,
}

/// One commit: where it ends in the row, and its events.
struct Commit {
    end: u64,
    first: u64,
    last: u64,
}

impl Journal {
    /// Reads the journal of a data directory that nobody writes to. An incomplete commit at its end is left out.
    pub fn read(data: &Path) -> Self {
        let mut segments: Vec<_> =
            fs::read_dir(data.join("journal")).expect("lists").map(|entry| read(&entry)).collect();
        segments.sort();
        let (mut start, mut commits) = (0, Vec::new());
        for (_, _, bytes) in &segments {
            let mut at = SEGMENT_HEADER;
            while let Some(commit) = commit(bytes.get(at as usize..).unwrap_or_default(), start + at) {
                at = commit.end - start;
                commits.push(commit);
            }
            start += bytes.len() as u64;
        }
        Self { segments, commits }
    }

    /// Length of the row.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, _, bytes)| bytes.len() as u64).sum()
    }

    /// How much of the row is needed for all events up to this one.
    pub fn end_of(&self, event: u64) -> u64 {
        self.commits.iter().take_while(|commit| commit.first <= event).last().map_or(0, |commit| commit.end)
    }

    /// The last event that so many bytes hold.
    pub fn last_within(&self, bytes: u64) -> u64 {
        let before = self.segments.first().map_or(0, |(first, _, _)| first - 1);
        self.commits.iter().take_while(|commit| commit.end <= bytes).last().map_or(before, |commit| commit.last)
    }

    /// Cuts what comes after so many bytes.
    pub fn cut(&self, bytes: u64) {
        let mut left = bytes;
        for (i, (_, path, content)) in self.segments.iter().enumerate() {
            if left == 0 && i > 0 {
                fs::remove_file(path).expect("removes");
                continue;
            }
            let kept = left.min(content.len() as u64);
            File::options().write(true).open(path).and_then(|file| file.set_len(kept)).expect("cuts");
            left -= kept;
        }
    }

    /// Puts everything back as it was read.
    pub fn restore(&self) {
        for (_, path, bytes) in &self.segments {
            fs::write(path, bytes).expect("writes");
        }
    }
}

fn read(entry: &std::io::Result<fs::DirEntry>) -> (u64, PathBuf, Vec<u8>) {
    let path = entry.as_ref().expect("lists").path();
    let first =
        path.file_stem().and_then(|name| name.to_str()?.parse().ok()).expect("a segment is named by its first event");
    let bytes = fs::read(&path).expect("reads");
    (first, path, bytes)
}

/// The whole commit at the front of some bytes, which begin at `start` in the row.
fn commit(bytes: &[u8], start: u64) -> Option<Commit> {
    let number = |at: usize| Some(u64::from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)));
    let length = COMMIT_HEADER + number(4)?;
    let first = number(12)? | number(16)? << 32;
    let last = first + number(20)? - 1;
    (length <= bytes.len() as u64).then_some(Commit { end: start + length, first, last })
}

/// The highest event that a partition's files say they cover.
pub fn covered(data: &Path) -> u64 {
    let Ok(partitions) = fs::read_dir(data.join("partitions")) else { return 0 };
    let covered = partitions.filter_map(|partition| {
        let manifest = partition.expect("lists").path().join("filter/manifest");
        let text = fs::read_to_string(manifest).ok()?;
        text.lines().find_map(|line| line.strip_prefix("covered ")?.parse().ok())
    });
    covered.max().unwrap_or(0)
}
