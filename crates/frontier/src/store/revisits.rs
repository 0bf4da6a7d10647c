//! The index of fetched pages that are due again, by due time.
//!
//! A hint, not the truth: an entry counts only if the page's record says the same.
//!
//! ```text
//! "r" due secs:u32be key -> ""
//! ```

use super::layout::{Change, prefixed};
use super::{Entry, Store, between};
use crate::error::{Error, IoContext};
use crate::wire::WireError;

/// Lists a page, or takes it off.
pub(crate) fn set_due_page(key: &str, due_secs: u32, listed: bool) -> Change {
    Change { key: index_key(due_secs, key), value: listed.then(Vec::new) }
}

fn index_key(due_secs: u32, key: &str) -> Vec<u8> {
    let mut bytes = prefixed(b'r', &due_secs.to_be_bytes(), key.len() + 1);
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

impl Store {
    /// Up to `limit` pages of the index after `after`, the one that is due first in front.
    pub(crate) fn due_pages(&self, after: &(u32, String), limit: usize) -> Result<Vec<(u32, String)>, Error> {
        // A zero byte more is the next possible key.
        let mut from = index_key(after.0, &after.1);
        from.push(0);
        let read = |entry: Entry| {
            let (bytes, _) = entry.at(&self.dir)?;
            let due = bytes.get(1..5).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
            let key = bytes.get(5..).and_then(|b| std::str::from_utf8(b).ok());
            due.zip(key.map(str::to_owned)).ok_or_else(|| self.malformed("r", WireError("key of a due page")))
        };
        self.lend(|db| between(db, from, vec![b'r' + 1]).take(limit).map(read).collect())
    }
}
