//! Block files by their numbers: how they are named, written, read, listed and deleted.
//!
//! Not their format (`file`), and not which of them count (`files`). A file is written once and never changed: what has
//! its final name is whole and durable.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::{Error, IoContext};
use crate::steps::{Step, step};

/// Who may read one, as in `chmod`: like the store's files.
const MODE: u32 = 0o644;

/// Where block file `number` is.
pub(super) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.blocks"))
}

/// Writes a file: temporary name, sync, rename, sync of the directory.
pub(super) fn create(dir: &Path, number: u64, bytes: &[u8]) -> Result<(), Error> {
    let path = path(dir, number);
    let temporary = path.with_extension("tmp");
    let mut file = disk::create(&temporary, MODE).at(&temporary)?;
    file.append(bytes).and_then(|()| file.sync()).at(&temporary)?;
    step(Step::BlocksWritten);
    disk::rename(&temporary, &path).at(&path)?;
    step(Step::BlocksNamed);
    disk::sync_dir(dir).at(dir)
}

/// So many bytes from there on; fewer where the file ends.
pub(super) fn read_at(dir: &Path, number: u64, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
    let path = path(dir, number);
    disk::read_at(&path, offset, length).at(&path)
}

/// The files that there are, with their lengths. What bears another name is left alone.
pub(super) fn list(dir: &Path) -> Result<Vec<(u64, u64)>, Error> {
    let mut found = Vec::new();
    for path in disk::list(dir).at(dir)? {
        if let Some(number) = number_of(&path, "blocks") {
            found.push((number, disk::length(&path).at(&path)?));
        }
    }
    Ok(found)
}

/// Deletes the files that are not to be kept, unfinished ones too.
pub(super) fn remove_all_but(dir: &Path, keep: impl Fn(u64) -> bool) -> Result<(), Error> {
    for path in disk::list(dir).at(dir)? {
        let unwanted = number_of(&path, "blocks").is_some_and(|number| !keep(number));
        if unwanted || number_of(&path, "tmp").is_some() {
            ignore_missing(disk::remove(&path)).at(&path)?;
            step(Step::BlocksRemoved);
        }
    }
    Ok(())
}

fn number_of(path: &Path, extension: &str) -> Option<u64> {
    let has_extension = path.extension().is_some_and(|found| found == extension);
    path.file_stem().filter(|_| has_extension)?.to_str()?.parse().ok()
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
