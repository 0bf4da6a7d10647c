//! The file that an output is written to, closed and replaced by a new one when it is large or old enough.
//!
//! A file is `PREFIX-TIME-NUMBER.SUFFIX`, and has `.open` behind its name until it is closed. It is locked while it is
//! open, so that no other process takes it for one that was left behind. Not a format. Invariants: what was appended before
//! a [`sync`](RollingFile::sync) that succeeded survives a crash, name included; a file without `.open` is never written to
//! again; after an error nothing more may be appended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use frontier::Millis;
use jiff::Timestamp;

/// What the name of a file ends with until it is closed.
pub(super) const OPEN: &str = ".open";

/// When a file is closed; 0 = never.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Before it would be larger than this, unless what is appended at once is larger.
    pub max_bytes: u64,
    /// When it was opened this long ago.
    pub max_age_ms: u64,
}

/// The file.
#[derive(Debug)]
pub(super) struct RollingFile {
    dir: PathBuf,
    prefix: String,
    suffix: &'static str,
    limits: Limits,
    number: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    name: String,
    bytes: u64,
    since: Millis,
    is_named: bool,
    is_synced: bool,
}

impl RollingFile {
    /// No file yet: the first append makes it.
    pub(super) fn new(dir: PathBuf, prefix: &str, suffix: &'static str, limits: Limits) -> Self {
        Self { dir, prefix: prefix.to_owned(), suffix, limits, number: 0, open: None }
    }

    /// Appends `bytes`, of which there are `length`, to the file or to a new one that begins with `opening`.
    ///
    /// # Errors
    /// When the disk does not take them.
    pub(super) fn append(
        &mut self,
        bytes: &mut impl Read,
        length: u64,
        now: Millis,
        opening: impl FnOnce(&str, Millis) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        let is_full = |open: &Open| self.limits.max_bytes > 0 && open.bytes + length > self.limits.max_bytes;
        if self.open.as_ref().is_some_and(is_full) {
            self.close()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let (file, name) = create(&self.dir, &self.prefix, self.suffix, &mut self.number, now)?;
                let open = Open { file, name, bytes: 0, since: now, is_named: false, is_synced: true };
                let open = none.insert(open);
                let opening = opening(&open.name, now)?;
                open.file.write_all(&opening)?;
                open.bytes = opening.len() as u64;
                open
            }
        };
        open.is_synced = false;
        open.bytes += io::copy(bytes, &mut open.file)?;
        Ok(())
    }

    /// Waits until all that was appended is on the disk.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if !open.is_synced {
            open.file.sync_data()?;
            open.is_synced = true;
        }
        if !open.is_named {
            sync_dir(&self.dir)?;
            open.is_named = true;
        }
        Ok(())
    }

    /// Closes a file that is old enough.
    ///
    /// # Errors
    /// As for [`close`](Self::close).
    pub(super) fn close_if_old(&mut self, now: Millis) -> io::Result<()> {
        let max_age_ms = self.limits.max_age_ms;
        let is_old = |open: &Open| max_age_ms > 0 && now.saturating_sub(open.since) >= max_age_ms;
        if self.open.as_ref().is_some_and(is_old) { self.close() } else { Ok(()) }
    }

    /// Closes the file, if one is open, under its final name.
    ///
    /// # Errors
    /// When it cannot be synced or renamed.
    pub(super) fn close(&mut self) -> io::Result<()> {
        match self.open.take() {
            Some(open) => finish(&open.file, &self.dir.join(open.name.clone() + OPEN)),
            None => Ok(()),
        }
    }
}

/// Syncs a file and takes the `.open` from its name.
pub(super) fn finish(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    let closed = path.with_extension("");
    std::fs::rename(path, &closed)?;
    sync_dir(closed.parent().unwrap_or(Path::new(".")))
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Makes a file under a name that no other has, and locks it. Gives the name that it will have when it is closed.
fn create(dir: &Path, prefix: &str, suffix: &str, number: &mut u32, now: Millis) -> io::Result<(File, String)> {
    let time = i64::try_from(now).ok().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or_default();
    let time = time.strftime("%Y%m%d%H%M%S%3f");
    loop {
        let name = format!("{prefix}-{time}-{number:05}.{suffix}");
        *number = number.wrapping_add(1);
        if dir.join(&name).exists() {
            continue;
        }
        match OpenOptions::new().append(true).create_new(true).open(dir.join(name.clone() + OPEN)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                file.try_lock()?;
                return Ok((file, name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).expect("listed");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_by_size_and_by_age_and_named_at_its_end() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let limits = Limits { max_bytes: 10, max_age_ms: 1000 };
        let mut file = RollingFile::new(dir.path().to_owned(), "p", "x", limits);
        let append = |file: &mut RollingFile, text: &str, now| {
            file.append(&mut text.as_bytes(), text.len() as u64, now, |name, _| Ok(name[..1].into()))
                .expect("appended");
        };
        file.close().expect("nothing to close");
        append(&mut file, "12345", 0);
        append(&mut file, "6789", 1);
        file.sync().expect("synced");
        assert_eq!(names(dir.path()), ["p-19700101000000000-00000.x.open"]);
        append(&mut file, "ab", 2);
        append(&mut file, "longer than a file may be", 3);
        file.close_if_old(1002).expect("not old");
        assert_eq!(names(dir.path()).iter().filter(|name| name.ends_with(OPEN)).count(), 1);
        file.close_if_old(1003).expect("old");
        let read = |name: &String| std::fs::read_to_string(dir.path().join(name)).expect("read");
        let texts: Vec<_> = names(dir.path()).iter().map(read).collect();
        assert_eq!(texts, ["p123456789", "pab", "plonger than a file may be"]);
        append(&mut file, "new", 1_700_000_000_007);
        file.close().expect("closed");
        assert_eq!(names(dir.path())[3], "p-20231114221320007-00003.x");
    }
}
