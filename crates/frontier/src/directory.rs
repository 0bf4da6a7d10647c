//! The data directory: who holds it, and what it was made under.
//!
//! ```text
//! lock          held (flock) by the process that has the directory open; its pid inside
//! frontier.meta what the directory was made under, mode 0600 (it holds the crawl's secret)
//! journal/      see `journal`
//! partitions/NN/store   see `store`;  partitions/NN/filter   see `checkpoint`
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::canonical;
use crate::error::{Error, IoContext};
use crate::fingerprint::Secret;

/// Version of everything that is written below the directory.
const FORMAT_VERSION: u32 = 1;

/// How long a lock is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Holds the data directory until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// What a data directory was made under; fixed for its life.
#[derive(Debug)]
pub(crate) struct Meta {
    pub(crate) partitions: u16,
    pub(crate) secret: Secret,
}

/// Takes the directory, or says who has it.
///
/// A lock may outlive its holder for a moment: the store starts `sync` processes, and one that is just being started has
/// a copy of the lock's descriptor. So whoever has it is waited for a little.
pub(crate) fn lock(dir: &Path) -> Result<Lock, Error> {
    let path = dir.join("lock");
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).at(&path)?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error).at(&path),
        }
        let mut pid = String::new();
        file.rewind().and_then(|()| (&mut file).take(16).read_to_string(&mut pid)).at(&path)?;
        if Instant::now() > deadline {
            return Err(Error::InUse { dir: dir.to_owned(), pid: pid.trim().parse().unwrap_or(0) });
        }
        std::thread::sleep(LOCK_PATIENCE / 100);
    }
    file.set_len(0).and_then(|()| file.rewind()).at(&path)?;
    writeln!(file, "{}", std::process::id()).at(&path)?;
    Ok(Lock { _file: file })
}

/// Reads what the directory was made under, or makes it so.
pub(crate) fn meta(dir: &Path, partitions: u16) -> Result<Meta, Error> {
    let path = meta_path(dir);
    if path.exists() {
        return read_meta(dir);
    }
    if dir.join("journal").exists() || dir.join("partitions").exists() {
        // A new secret would make every fingerprint new: a second crawl inside the first.
        let what = "is missing, but journal or partitions are there; put it back, or use an empty directory".to_owned();
        return Err(Error::corrupt(&path, what));
    }
    let mut secret = [0; 16];
    let random = Path::new("/dev/urandom");
    File::open(random).and_then(|mut f| f.read_exact(&mut secret)).at(random)?;
    let meta = Meta { partitions, secret: Secret::new(secret) };
    let temporary = path.with_extension("tmp");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary).at(&temporary)?;
    file.write_all(format_meta(&meta).as_bytes()).and_then(|()| file.sync_all()).at(&temporary)?;
    fs::rename(&temporary, &path).at(&path)?;
    File::open(dir).and_then(|d| d.sync_all()).at(dir)?;
    Ok(meta)
}

/// Reads what an existing directory was made under.
pub(crate) fn read_meta(dir: &Path) -> Result<Meta, Error> {
    let path = meta_path(dir);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Error::NoCrawl(dir.to_owned())),
        read => read.at(&path)?,
    };
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.ok_or_else(|| Error::corrupt(&path, format!("{name} is missing")))
    };
    for (name, ours) in [("format_version", FORMAT_VERSION), ("canonical_rules_version", canonical::RULES_VERSION)] {
        let theirs = value(name)?;
        if theirs != ours.to_string() {
            let what = format!("made with {name} {theirs}, this program has {ours}; use the program that made it");
            return Err(Error::Incompatible { path: dir.to_owned(), what });
        }
    }
    let bad = |name: &str| Error::corrupt(&path, format!("{name} is malformed"));
    let partitions = value("partitions")?.parse().ok().filter(|n| *n > 0).ok_or_else(|| bad("partitions"))?;
    let secret = u128::from_str_radix(value("secret")?, 16).map_err(|_| bad("secret"))?;
    Ok(Meta { partitions, secret: Secret::new(secret.to_be_bytes()) })
}

/// Where a partition's store and filter are.
pub(crate) fn partition_dirs(dir: &Path, number: u16) -> (PathBuf, PathBuf) {
    let partition = dir.join("partitions").join(format!("{number:04}"));
    (partition.join("store"), partition.join("filter"))
}

fn meta_path(dir: &Path) -> PathBuf {
    dir.join("frontier.meta")
}

fn format_meta(meta: &Meta) -> String {
    format!(
        "format_version = {FORMAT_VERSION}\ncanonical_rules_version = {}\npublic_suffix_list = {}\nidna = {}\n\
         partitions = {}\nsecret = {:032x}\n",
        canonical::RULES_VERSION,
        canonical::PUBLIC_SUFFIX_LIST,
        canonical::IDNA,
        meta.partitions,
        u128::from_be_bytes(*meta.secret.bytes()),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_second_holder_is_told_the_pid_of_the_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let held = lock(dir.path()).expect("takes it");
        let error = lock(dir.path()).expect_err("is in use");
        assert!(matches!(error, Error::InUse { pid, .. } if pid == std::process::id()), "{error}");
        drop(held);
        lock(dir.path()).expect("takes it again");
    }

    #[test]
    fn what_a_directory_was_made_under_is_fixed_and_private() {
        let dir = tempfile::tempdir().expect("a directory");
        let made = meta(dir.path(), 4).expect("makes");
        let read = meta(dir.path(), 16).expect("reads");
        assert_eq!((read.partitions, read.secret.bytes()), (4, made.secret.bytes()));
        let mode = fs::metadata(meta_path(dir.path())).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let dir = tempfile::tempdir().expect("a directory");
        meta(dir.path(), 4).expect("makes");
        let path = meta_path(dir.path());
        let text = fs::read_to_string(&path).expect("reads").replace("rules_version = 1", "rules_version = 2");
        fs::write(&path, text).expect("writes");
        let error = meta(dir.path(), 4).expect_err("is refused").to_string();
        assert!(error.contains("canonical_rules_version 2"), "{error}");
    }

    #[test]
    fn a_crawl_without_its_meta_file_is_not_begun_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("journal")).expect("makes");
        assert!(matches!(meta(dir.path(), 4), Err(Error::Corrupt { .. })));
    }

    #[test]
    fn no_crawl_is_an_error_of_its_own() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(matches!(read_meta(dir.path()), Err(Error::NoCrawl(_))));
    }
}
