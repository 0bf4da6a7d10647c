//! How the process ends: every exit code of `crawld`, and what it tells the caller to do.
//!
//! Not here: which error leads to which code (the daemon decides that where the error is met).
//! Invariant: a code never changes its meaning; scripts and service managers depend on it.

use std::process::{ExitCode, Termination};

/// Exit code of the process. The number is the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command did what was asked; for `run`: stopped by a signal or out of work, all state committed.
    Success = 0,
    /// Something failed at run time (a port, a file, a peer). Trying again may help.
    Failure = 1,
    /// Wrong command line, config or seeds file. Trying again without a change cannot help.
    /// (clap ends with the same number on its own.)
    Usage = 2,
    /// Another process holds the data directory.
    InUse = 3,
    /// Disk, journal or store failed or is damaged; what was committed is kept. Look at the disk before restarting.
    Storage = 4,
    /// A second signal ended the process before the first one's shutdown was finished; what was committed is kept.
    /// (128 + SIGINT, as shells count.)
    Abandoned = 130,
}

impl Exit {
    /// Every code, in the order in which the help text lists them.
    pub const ALL: [Exit; 6] = [Exit::Success, Exit::Failure, Exit::Usage, Exit::InUse, Exit::Storage, Exit::Abandoned];

    /// The number the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}
