//! What goes wrong on a simulated disk, and what becomes of an operation then: done, late, or failed and done in part.

use std::io::{self, ErrorKind};

use super::World;
use crate::watch;

/// More than any sync may take.
const LATE_MS: u64 = 100_000;

/// What goes wrong by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// The power fails at this write, sync, or change of names, counted from now; zero for never.
    pub(crate) power_fails_in: u64,
    /// Of a million writes and syncs so many fail or are late.
    pub(crate) failing: u64,
    /// Of a million reads so many fail.
    pub(crate) unreadable: u64,
    /// What every sync and flush comes to.
    pub(crate) syncs: Syncs,
}

/// What becomes of syncs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Syncs {
    #[default]
    Work,
    Fail,
    /// They do what they should, but too late.
    Late,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Write,
    Sync,
}

/// What becomes of one operation.
pub(super) enum Fate {
    Done,
    /// Takes longer than anything may.
    Late,
    Fails(How, io::Error),
}

/// How much of a failing operation is done nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Not,
    Partly,
    Wholly,
}

impl World {
    /// The fate of the next operation.
    pub(super) fn fate(&mut self, kind: Kind) -> Fate {
        if self.is_off {
            return Fate::Fails(How::Not, io::Error::other("no power"));
        }
        self.operations += 1;
        let how = [How::Not, How::Partly, How::Wholly][self.random.below(3) as usize];
        if self.operations == self.faults.power_fails_in {
            self.is_off = true;
            return Fate::Fails(how, io::Error::other("the power fails"));
        }
        match self.faults.syncs {
            Syncs::Late if kind == Kind::Sync => return Fate::Late,
            Syncs::Fail if kind == Kind::Sync => return Fate::Fails(how, io::Error::other("a fault")),
            _ => {}
        }
        if self.faults.failing > 0 && self.random.below(1_000_000) < self.faults.failing {
            self.failures += 1;
            return match self.random.below(3) {
                0 => Fate::Late,
                1 => Fate::Fails(how, ErrorKind::StorageFull.into()),
                _ => Fate::Fails(how, io::Error::other("a fault")),
            };
        }
        Fate::Done
    }
}

impl Fate {
    /// Does the operation as far as it is to be done; `None` for the whole of it.
    pub(super) fn apply<T>(self, work: impl FnOnce(Option<()>) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Done => work(None),
            Self::Late => {
                watch::advance(LATE_MS);
                work(None)
            }
            Self::Fails(How::Not, error) => Err(error),
            Self::Fails(How::Wholly, error) => work(None).and(Err(error)),
            Self::Fails(How::Partly, error) => work(Some(())).and(Err(error)),
        }
    }
}
