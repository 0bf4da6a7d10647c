//! Leases that were dropped without an end: a task that panicked or was cancelled gives its URL back here.
//!
//! A drop has no clock and must not wait for a lock, so the frontier takes these in at its next lease.

use parking_lot::Mutex;

use crate::fingerprint::Fingerprint;
use crate::host::{HostId, Item};

/// One dropped lease.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) partition: u16,
    pub(crate) host: HostId,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) item: Item,
}

#[derive(Debug, Default)]
pub(crate) struct Returns(Mutex<Vec<Returned>>);

impl Returns {
    pub(crate) fn push(&self, partition: u16, host: HostId, fingerprint: Fingerprint, item: Item) {
        self.0.lock().push(Returned { partition, host, fingerprint, item });
    }

    pub(crate) fn take(&self) -> Vec<Returned> {
        std::mem::take(&mut *self.0.lock())
    }
}
