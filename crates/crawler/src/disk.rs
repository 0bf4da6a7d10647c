//! The free-space guard: the crawl pauses before the disk is full.
//!
//! Not a quota and not an eviction: it only says *pause* and *resume*. The store must never meet a full disk, because a
//! flush that cannot write does not fail but hangs; so the guard acts while there is still room for what is in flight.
//!
//! Invariant: between a pause and the following resume free space has grown by at least the margin, so that a crawl at
//! the edge does not flap.

use std::io;
use std::path::Path;

/// Part of the floor that must be free beyond it before a paused crawl resumes: a tenth.
const MARGIN_DIVISOR: u64 = 10;

/// Bytes that a process of this user may still write on the file system of `dir`.
///
/// # Errors
/// When the file system does not say.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(dir)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Decides, from one reading of the free space after another, whether the crawl may go on.
#[derive(Debug, Clone)]
pub struct Guard {
    floor_bytes: u64,
    paused: bool,
}

/// What a reading changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Too little room; the text says how little.
    Pause(String),
    /// Room again; the text says how much.
    Resume(String),
}

impl Guard {
    /// A guard with its floor (`store.min_free_disk_bytes`); 0 = never pause.
    pub fn new(floor_bytes: u64) -> Self {
        Self { floor_bytes, paused: false }
    }

    /// Takes a reading. A file system that does not answer changes nothing.
    pub fn judge(&mut self, free_bytes: u64) -> Option<Change> {
        let enough = self.floor_bytes.saturating_add(self.floor_bytes / MARGIN_DIVISOR);
        if !self.paused && free_bytes < self.floor_bytes {
            self.paused = true;
            let floor = self.floor_bytes;
            return Some(Change::Pause(format!(
                "{free_bytes} bytes free on the disk of the data directory or the outputs, less than store.min_free_disk_bytes = {floor}"
            )));
        }
        if self.paused && free_bytes >= enough {
            self.paused = false;
            return Some(Change::Resume(format!(
                "{free_bytes} bytes free on the disk of the data directory and the outputs"
            )));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_under_the_floor_and_resumes_above_the_margin() {
        let mut guard = Guard::new(1000);
        let readings =
            [(1000, '-'), (999, 'p'), (0, '-'), (1000, '-'), (1099, '-'), (1100, 'r'), (1000, '-'), (5, 'p')];
        for (free, expected) in readings {
            let got = match guard.judge(free) {
                None => '-',
                Some(Change::Pause(why)) => {
                    assert!(why.starts_with(&format!("{free} bytes free")), "{why}");
                    'p'
                }
                Some(Change::Resume(_)) => 'r',
            };
            assert_eq!(got, expected, "{free}");
        }
    }

    #[test]
    fn a_floor_of_nothing_never_pauses() {
        assert_eq!(Guard::new(0).judge(0), None);
    }

    #[test]
    fn the_disk_answers() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        assert!(free_bytes(dir.path()).expect("a reading") > 0);
        assert!(free_bytes(Path::new("/nowhere/at/all")).is_err());
    }
}
