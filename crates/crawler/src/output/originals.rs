//! Which bodies are archived already, so that the same again is a `revisit` record.
//!
//! It covers the last `output.revisit_entries` bodies that this and earlier runs have written in full, and nothing beyond:
//! of two equal bodies the second is written in full again when the first is further back, or was not on the disk yet.
//! They stand in `revisits.log` beside the archive, one a line (digest, time in milliseconds, URL), appended and now and
//! then written anew. Not a catalogue of the archive. Invariants: an entry is made only after its record is on the disk;
//! memory and file are bounded by the number of entries.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use ahash::RandomState;
use frontier::Millis;

use super::warc::{digest_text, parse_digest};
use crate::fetch::Sha1;
use crate::log_file::LogFile;

/// A body that was written in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// SHA-1 of the body.
    pub digest: Sha1,
    /// `WARC-Target-URI` of its record.
    pub url: String,
    /// `WARC-Date` of its record.
    pub at: Millis,
}

/// The entries.
pub(super) struct Originals {
    capacity: usize,
    /// The oldest first.
    entries: VecDeque<Original>,
    /// Number of the oldest; they are numbered as they come.
    first: u64,
    by_digest: HashMap<Sha1, u64, RandomState>,
    /// By a hash of the URL; who finds one looks whether it is the same.
    by_url: HashMap<u64, u64, RandomState>,
    hasher: RandomState,
    path: PathBuf,
    log: LogFile,
    log_lines: usize,
}

impl Originals {
    /// Reads what earlier runs have written; lines that are none are passed over.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(super) fn open(dir: &Path, capacity: usize) -> io::Result<Self> {
        let path = dir.join("revisits.log");
        let log = LogFile::open(&path)?;
        let mut originals = Self {
            capacity,
            entries: VecDeque::new(),
            first: 0,
            by_digest: HashMap::default(),
            by_url: HashMap::default(),
            hasher: RandomState::new(),
            path,
            log,
            log_lines: 0,
        };
        for line in BufReader::new(std::fs::File::open(&originals.path)?).split(b'\n') {
            let line = line?;
            originals.log_lines += 1;
            if let Some(original) = std::str::from_utf8(&line).ok().and_then(parse) {
                originals.insert(original);
            }
        }
        Ok(originals)
    }

    /// Who has this body.
    pub(super) fn with_digest(&self, digest: &Sha1) -> Option<&Original> {
        self.numbered(*self.by_digest.get(digest)?)
    }

    /// What was last written in full of this URL.
    pub(super) fn of_url(&self, url: &str) -> Option<&Original> {
        let number = *self.by_url.get(&self.hasher.hash_one(url))?;
        self.numbered(number).filter(|original| original.url == url)
    }

    fn numbered(&self, number: u64) -> Option<&Original> {
        self.entries.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Adds bodies whose records are on the disk.
    ///
    /// # Errors
    /// When they cannot be written down.
    pub(super) fn add(&mut self, originals: Vec<Original>) -> io::Result<()> {
        let mut lines = String::new();
        for original in originals {
            self.log_lines += 1;
            push(&mut lines, &original);
            self.insert(original);
        }
        self.log.append(lines.as_bytes())?;
        if self.log_lines > 2 * self.capacity + 1000 { self.rewrite() } else { Ok(()) }
    }

    fn insert(&mut self, original: Original) {
        if self.capacity == 0 {
            return;
        }
        while self.entries.len() >= self.capacity {
            self.drop_oldest();
        }
        let number = self.first + self.entries.len() as u64;
        self.by_digest.insert(original.digest, number);
        self.by_url.insert(self.hasher.hash_one(original.url.as_str()), number);
        self.entries.push_back(original);
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.entries.pop_front() else { return };
        let hash = self.hasher.hash_one(oldest.url.as_str());
        if self.by_digest.get(&oldest.digest) == Some(&self.first) {
            self.by_digest.remove(&oldest.digest);
        }
        if self.by_url.get(&hash) == Some(&self.first) {
            self.by_url.remove(&hash);
        }
        self.first += 1;
    }

    /// Writes the file anew, with what is known only.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut lines = String::new();
        for original in &self.entries {
            push(&mut lines, original);
        }
        // One name, so that a kill leaves one file at most.
        let new = self.path.with_extension("new");
        std::fs::write(&new, lines)?;
        std::fs::rename(&new, &self.path)?;
        self.log = LogFile::open(&self.path)?;
        self.log_lines = self.entries.len();
        Ok(())
    }
}

fn push(lines: &mut String, original: &Original) {
    let _ = writeln!(lines, "{} {} {}", digest_text(&original.digest), original.at, original.url);
}

fn parse(line: &str) -> Option<Original> {
    let (digest, rest) = line.split_once(' ')?;
    let (at, url) = rest.split_once(' ')?;
    Some(Original { digest: parse_digest(digest)?, at: at.parse().ok()?, url: url.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(n: u32) -> Original {
        let mut digest = [7; 20];
        digest[..4].copy_from_slice(&n.to_be_bytes());
        Original { digest, url: format!("http://a.test/{n}"), at: u64::from(n) }
    }

    #[test]
    fn the_last_ones_are_known_also_after_a_restart() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let known = |originals: &Originals| {
            let one = |n: &u32| originals.with_digest(&original(*n).digest) == Some(&original(*n));
            let known: Vec<u32> = (0..20).filter(one).collect();
            let by_url = (0..20).filter(|n| originals.of_url(&original(*n).url).is_some());
            assert_eq!(by_url.collect::<Vec<_>>(), known);
            known
        };
        let mut originals = Originals::open(dir.path(), 3).expect("opened");
        assert_eq!(known(&originals), [0; 0]);
        originals.add((0..5).map(original).collect()).expect("written");
        assert_eq!(known(&originals), [2, 3, 4]);
        drop(originals);
        let path = dir.path().join("revisits.log");
        let torn = std::fs::read_to_string(&path).expect("read") + "nonsense\nsha1:ABC";
        std::fs::write(&path, torn).expect("written");
        let mut originals = Originals::open(dir.path(), 3).expect("opened");
        assert_eq!(known(&originals), [2, 3, 4]);
        for n in 0..2000 {
            originals.add(vec![original(n % 10)]).expect("written");
        }
        assert_eq!(known(&originals), [7, 8, 9]);
        assert!(std::fs::read_to_string(&path).expect("read").lines().count() < 1100, "written anew");
        drop(originals);
        assert_eq!(known(&Originals::open(dir.path(), 3).expect("opened")), [7, 8, 9]);
        assert_eq!(known(&Originals::open(dir.path(), 0).expect("opened")), [0; 0]);
    }
}
