//! Errors of the frontier, each saying what its user should do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a verb of the frontier failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has the data directory open. Stop it, or use another directory.
    #[error("{} is in use by pid {pid}", dir.display())]
    InUse {
        /// The data directory.
        dir: PathBuf,
        /// The process that holds it.
        pid: u32,
    },
    /// There is no crawl in the directory.
    #[error("{} is not a data directory: it holds no crawl", .0.display())]
    NoCrawl(PathBuf),
    /// Reading or writing a file failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds what no version of this program writes, or lost what was synced. Do not go on with it: restore the
    /// directory from a copy.
    #[error("{}: damaged: {what}; restore the data directory from a copy, or begin anew from an export", path.display())]
    Corrupt {
        /// The file or directory.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The directory was made under other rules or another format than this program's.
    #[error("{}: {what}", path.display())]
    Incompatible {
        /// The data directory.
        path: PathBuf,
        /// What differs, and what to do.
        what: String,
    },
    /// The journal or a store has failed or hangs: nothing can become durable any more. End the process; all that was
    /// reported as done is safe.
    #[error("cannot go on: {0}")]
    Poisoned(String),
}

impl Error {
    pub(crate) fn corrupt(path: &Path, what: String) -> Self {
        Self::Corrupt { path: path.to_owned(), what }
    }
}

/// Adds the path to an I/O error.
pub(crate) trait IoContext<T> {
    fn at(self, path: &Path) -> Result<T, Error>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { path: path.to_owned(), source })
    }
}
