//! What a `kill -9` in the middle of opening a store leaves, made harmless before sled sees it.
//!
//! sled 1.0.0-alpha.124 keeps its metadata as a snapshot (`snapshot_<id>`) and the logs after it (`log_<id>`). Opening
//! writes a new snapshot under the id of the newest log, deletes the logs and the old snapshot, and then makes the next
//! log. Killed before that last step it leaves a snapshot and no log after it; and from exactly that state its recovery
//! writes the new snapshot over the old one, under the same id, and deletes it "as the old one": the whole store is gone.
//! An empty log after the snapshot, as sled itself makes it, leads around that.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Where sled keeps snapshot and logs, below the store's directory.
pub(super) const METADATA: &str = "metadata";

/// Makes the log that is missing after the newest snapshot of a store, if it is missing.
pub(super) fn mend(store: &Path) -> io::Result<()> {
    let dir = &store.join(METADATA);
    if !dir.is_dir() {
        return Ok(());
    }
    let (mut snapshot, mut log) = (None, None);
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let id = |prefix: &str| u64::from_str_radix(name.strip_prefix(prefix)?, 16).ok();
        snapshot = snapshot.max(id("snapshot_"));
        log = log.max(id("log_"));
    }
    if let Some(snapshot) = snapshot
        && log.is_none_or(|log| log <= snapshot)
    {
        File::create_new(dir.join(format!("log_{:016x}", snapshot + 1)))?.sync_all()?;
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}
