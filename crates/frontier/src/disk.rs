//! The file system: the one file that names it for journal, filters and directory. (sled names it for itself.)
//!
//! Plain functions over `std::fs`, and [`File`]. A test may put a simulated disk in its place (`disk/simulated`): it keeps
//! apart what was written and what was synced, loses what was not, and fails when it is told to. In other builds nothing
//! of that exists. What is durable, and when: a file's bytes after [`File::sync`], its name after [`sync_dir`].

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[cfg(test)]
pub(crate) mod simulated;

/// A file that is being written.
#[derive(Debug)]
pub(crate) enum File {
    /// Of the system.
    Real(std::fs::File),
    #[cfg(test)]
    Simulated(simulated::Handle),
}

impl File {
    /// Writes all of it after what was written before.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Real(file) => file.write_all(bytes),
            #[cfg(test)]
            Self::Simulated(handle) => handle.append(bytes),
        }
    }

    /// Makes what was written durable; not its name.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self {
            Self::Real(file) => file.sync_data(),
            #[cfg(test)]
            Self::Simulated(handle) => handle.sync(),
        }
    }
}

/// Makes a file, of which there must be none yet.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.create(path, true).map(File::Simulated);
    }
    std::fs::File::create_new(path).map(File::Real)
}

/// Makes a file, or empties the one that is there. `mode`: who may read it, as in `chmod`.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.create(path, false).map(File::Simulated);
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode).open(path).map(File::Real)
}

/// Cuts a file off and makes that durable. With its whole length, makes durable what an earlier process left unsynced.
pub(crate) fn cut(path: &Path, bytes: u64) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.cut(path, bytes);
    }
    let file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.set_len(bytes).and_then(|()| file.sync_all())
}

/// All of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.read(path);
    }
    std::fs::read(path)
}

/// So many bytes of a file from `offset` on; fewer where it ends.
pub(crate) fn read_at(path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        let bytes = disk.read(path)?;
        let from = bytes.len().min(offset as usize);
        return Ok(bytes[from..bytes.len().min(from + length)].to_vec());
    }
    let file = std::fs::File::open(path)?;
    let (mut bytes, mut read) = (vec![0; length], 0);
    while read < length {
        match file.read_at(&mut bytes[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Bytes of a file.
pub(crate) fn length(path: &Path) -> io::Result<u64> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return Ok(disk.read(path)?.len() as u64);
    }
    Ok(std::fs::metadata(path)?.len())
}

/// A file of no more than `limit` bytes.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.read(path);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Whether there is a file or directory of this name.
pub(crate) fn exists(path: &Path) -> bool {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.exists(path);
    }
    path.exists()
}

/// When a file was last written.
pub(crate) fn modified(path: &Path) -> io::Result<SystemTime> {
    #[cfg(test)]
    if simulated::of(path).is_some() {
        return Ok(SystemTime::UNIX_EPOCH);
    }
    std::fs::metadata(path)?.modified()
}

/// What is in a directory, in no order.
pub(crate) fn list(dir: &Path) -> io::Result<Vec<PathBuf>> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(dir) {
        return disk.list(dir);
    }
    std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}

/// Gives a file another name, in the same directory; one that has it is replaced.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(from) {
        return disk.rename(from, to);
    }
    std::fs::rename(from, to)
}

/// Deletes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.remove(path);
    }
    std::fs::remove_file(path)
}

/// Makes the names in a directory durable: those created, those deleted, those given by a rename.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(dir) {
        return disk.sync_dir(dir);
    }
    std::fs::File::open(dir)?.sync_all()
}

/// Makes the directory of all data if there is none, with those that lead to it, and its name durable.
pub(crate) fn create_data_dir(dir: &Path) -> io::Result<()> {
    if exists(dir) {
        return Ok(());
    }
    std::fs::create_dir_all(dir)?;
    match dir.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_dir(Path::new(".")),
        Some(parent) => sync_dir(parent),
        None => Ok(()),
    }
}

/// Makes a directory below `base` (which is there) with those that lead to it, and all their names durable, also when they
/// were there before: who made them may have been killed before it came to that.
pub(crate) fn create_dirs(base: &Path, dir: &Path) -> io::Result<()> {
    let below = dir.strip_prefix(base).map_err(io::Error::other)?;
    let mut parent = base.to_owned();
    for name in below {
        let path = parent.join(name);
        create_dir(&path)?;
        sync_dir(&parent)?;
        parent = path;
    }
    Ok(())
}

fn create_dir(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(path) {
        return disk.create_dir(path);
    }
    match std::fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Random bytes for a secret that is kept in `dir`.
pub(crate) fn random_bytes(dir: &Path) -> io::Result<[u8; 16]> {
    #[cfg(test)]
    if let Some(disk) = simulated::of(dir) {
        return Ok(disk.random_bytes());
    }
    #[cfg(not(test))]
    let _ = dir;
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
