//! The two directories of a rekey, and how one takes the place of the other.
//!
//! ```text
//! DIR                 the crawl
//! DIR.rekey           the new directory while it is made; for a moment after the exchange, the old one
//! DIR.before-rekey    the old one, kept (DIR.before-rekey-2, … where there is one already)
//! NEW/rekeying        marks what a rekey has made and not ended; says what becomes of the old directory
//! ```
//!
//! A new directory is marked from its first moment until all is done. So after a crash: a mark in `DIR.rekey` is a new
//! directory that never took its place, whole or not, and goes; a mark in `DIR` says that it has, and that `DIR.rekey`, if it
//! is there, is the old one. Invariant: an unmarked directory is never taken away unless the mark in `DIR` says so.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::RekeyError;
use crate::error::{Error, IoContext};

pub(super) const MARK: &str = "rekeying";
/// What a data directory holds that a new one has of its own.
const OWN: [&str; 5] = ["lock", "frontier.meta", "journal", "partitions", MARK];
/// Bytes that a directory takes whatever it holds: stores, filters and a segment, nearly empty.
const LEAST_BYTES: u64 = 16 << 20;

/// What becomes of the directory that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// It is kept under another name.
    Kept,
    /// It is deleted.
    Deleted,
}

/// What was left beside a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOver {
    /// A new directory that was not finished. Nothing in it is needed.
    New(PathBuf),
    /// The old directory: the new one is in its place, and the old one still to be put aside.
    Old(PathBuf),
}

/// Where both directories are.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) dir: PathBuf,
    pub(super) beside: PathBuf,
    replaced: Replaced,
}

impl Places {
    pub(super) fn of(dir: &Path, replaced: Replaced) -> Result<Self, RekeyError> {
        let dir = match fs::canonicalize(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Error::NoCrawl(dir.to_owned()).into()),
            found => found.at(dir)?,
        };
        let beside = named(&dir, ".rekey");
        Ok(Self { dir, beside, replaced })
    }

    /// Ends what was begun and interrupted. Gives where an old directory was put aside.
    pub(super) fn settle(&self) -> Result<Option<PathBuf>, RekeyError> {
        let mark = self.dir.join(MARK);
        if !mark.exists() {
            return self.take_away().map(|()| None);
        }
        let mut kept = None;
        if self.beside.exists() {
            match read_mark(&mark)? {
                Replaced::Deleted => fs::remove_dir_all(&self.beside).at(&self.beside)?,
                Replaced::Kept => kept = Some(self.put_aside()?),
            }
            sync_dir(parent(&self.dir))?;
        }
        fs::remove_file(&mark).at(&mark)?;
        sync_dir(&self.dir)?;
        Ok(kept)
    }

    /// What lies there that a rekey has made.
    pub(super) fn left_over(&self) -> Option<LeftOver> {
        let Self { dir, beside, .. } = self;
        if !beside.exists() {
            return None;
        }
        if dir.join(MARK).exists() {
            return Some(LeftOver::Old(beside.clone()));
        }
        beside.join(MARK).exists().then(|| LeftOver::New(beside.clone()))
    }

    pub(super) fn put_aside(&self) -> Result<PathBuf, Error> {
        let aside = (1..).map(|n| match n {
            1 => named(&self.dir, ".before-rekey"),
            n => named(&self.dir, &format!(".before-rekey-{n}")),
        });
        let aside = aside.into_iter().find(|path| !path.exists()).expect("some number is free");
        fs::rename(&self.beside, &aside).at(&self.beside)?;
        Ok(aside)
    }

    /// Takes away a new directory that never took its place. The mark goes last.
    pub(super) fn take_away(&self) -> Result<(), RekeyError> {
        let beside = &self.beside;
        if !beside.exists() {
            return Ok(());
        }
        let is_empty = || fs::read_dir(beside).is_ok_and(|mut entries| entries.next().is_none());
        if !beside.join(MARK).exists() && !is_empty() {
            let what = "is in the way, and no rekey has made it: move it elsewhere first".to_owned();
            return Err(RekeyError::NoPlace { path: beside.clone(), what });
        }
        for entry in fs::read_dir(beside).at(beside)? {
            let entry = entry.at(beside)?;
            let path = entry.path();
            match entry.file_type().at(&path)?.is_dir() {
                true => fs::remove_dir_all(&path).at(&path)?,
                false if entry.file_name() != MARK => fs::remove_file(&path).at(&path)?,
                false => {}
            }
        }
        Ok(fs::remove_dir_all(beside).at(beside)?)
    }

    /// Makes the new directory, marked and empty, and sees whether this file system can make two directories change places.
    pub(super) fn make(&self) -> Result<(), RekeyError> {
        fs::create_dir(&self.beside).at(&self.beside)?;
        let path = self.beside.join(MARK);
        let word = if self.replaced == Replaced::Kept { "keep" } else { "delete" };
        let text =
            format!("{word}\nmade by crawld rekey, which has not ended; it goes on, or cleans up, when run again\n");
        let mut mark = File::create(&path).at(&path)?;
        mark.write_all(text.as_bytes()).and_then(|()| mark.sync_all()).at(&path)?;
        sync_dir(&self.beside)?;
        sync_dir(parent(&self.dir))?;
        let [one, other] = ["one", "other"].map(|name| self.beside.join(name));
        [&one, &other].into_iter().try_for_each(|dir| fs::create_dir(dir).at(dir))?;
        exchange(&one, &other)?;
        Ok([&one, &other].into_iter().try_for_each(|dir| fs::remove_dir(dir).at(dir))?)
    }

    /// A mount point cannot change places with anything.
    pub(super) fn check_device(&self) -> Result<(), RekeyError> {
        let parent = parent(&self.dir);
        let device = |path: &Path| Ok::<_, Error>(fs::metadata(path).at(path)?.dev());
        if device(&self.dir)? == device(parent)? {
            return Ok(());
        }
        Err(RekeyError::NoPlace { path: self.dir.clone(), what: no_rename("is on another disk than what holds it") })
    }

    /// Gives the new directory what else the old one holds: seeds, logs and whatever lies there. Files are linked, so this
    /// takes no room, and copied where they cannot be.
    pub(super) fn carry_over(&self) -> Result<(), RekeyError> {
        link_all(&self.dir, &self.beside, &OWN)?;
        sync_dir(&self.beside)?;
        Ok(())
    }

    /// The one rename.
    pub(super) fn exchange(&self) -> Result<(), RekeyError> {
        exchange(&self.beside, &self.dir)?;
        Ok(sync_dir(parent(&self.dir))?)
    }

    /// Of a directory with the same content: stores that were merged again and again are the smaller ones, so half as much
    /// again; and the journal until it is trimmed.
    pub(super) fn bytes_needed(&self, journal_max_bytes: u64) -> Result<u64, Error> {
        let stores = bytes_of(&self.dir.join("partitions"))?;
        let all = stores + bytes_of(&self.dir.join("journal"))?;
        let journal = journal_max_bytes.saturating_add(journal_max_bytes / 4).min(all.saturating_mul(4));
        Ok(all.saturating_add(all / 2).saturating_add(journal).saturating_add(LEAST_BYTES))
    }
}

fn parent(dir: &Path) -> &Path {
    dir.parent().unwrap_or(dir)
}

fn named(dir: &Path, suffix: &str) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn no_rename(why: &str) -> String {
    format!(
        "{why}, so no rename can put a new directory in its place; crawld export, and crawld import into a new \
         directory, do the same"
    )
}

fn exchange(one: &Path, other: &Path) -> Result<(), RekeyError> {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(|error| RekeyError::NoPlace {
        path: other.to_owned(),
        what: no_rename(&format!("cannot change places with another ({error})")),
    })
}

fn read_mark(path: &Path) -> Result<Replaced, Error> {
    let text = fs::read_to_string(path).at(path)?;
    Ok(if text.starts_with("delete") { Replaced::Deleted } else { Replaced::Kept })
}

fn sync_dir(dir: &Path) -> Result<(), Error> {
    File::open(dir).and_then(|dir| dir.sync_all()).at(dir)
}

fn link_all(from: &Path, to: &Path, but: &[&str]) -> Result<(), Error> {
    for entry in fs::read_dir(from).at(from)? {
        let entry = entry.at(from)?;
        let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type().at(&entry.path())?);
        if but.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_dir() {
            fs::create_dir(&target).at(&target)?;
            link_all(&source, &target, &[])?;
            sync_dir(&target)?;
        } else if kind.is_file() && fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).and_then(|_| File::open(&target)?.sync_all()).at(&target)?;
        }
        // Sockets are of a process that has ended.
    }
    Ok(())
}

/// Bytes that files below a directory take on the disk.
fn bytes_of(dir: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir).at(dir)? {
        let path = entry.at(dir)?.path();
        let metadata = fs::symlink_metadata(&path).at(&path)?;
        bytes += if metadata.is_dir() { bytes_of(&path)? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}
