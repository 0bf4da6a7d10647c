//! Reading a store in key order, a bounded piece at a time.
//!
//! Each piece is a read of its own, so that no iterator lives across a merge; the last key of one piece is where the next
//! one goes on.

use super::layout::{StoredHost, StoredRecord, decode_host, decode_record, host_key, robots_key, seen_key};
use super::{Entry, Store, between};
use crate::error::{Error, IoContext};
use crate::journal::Sequence;
use crate::robots::RobotsMemory;
use crate::wire::{Reader, WireError};

/// A byte above all of UTF-8.
const ABOVE_TEXT: u8 = 0xff;

impl Store {
    /// Up to `limit` records whose keys start with `prefix` and come after `after`, in key order.
    pub(crate) fn records(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, StoredRecord)>, Error> {
        let read = |entry: Entry| {
            let (key, value) = self.text_key(entry)?;
            let stored = decode_record(&value).map_err(|e| self.malformed(&key, e))?;
            Ok((key, stored))
        };
        self.list(seen_key, prefix, after, limit, read)
    }

    /// Up to `limit` hosts after `after`, in the order of their keys; each as it was when `covered` was covered, `None`
    /// where it was not known then.
    pub(crate) fn hosts_after(
        &self,
        after: Option<&str>,
        covered: Sequence,
        limit: usize,
    ) -> Result<Vec<(String, Option<StoredHost>)>, Error> {
        let read = |entry: Entry| {
            let (key, value) = self.text_key(entry)?;
            let stored = decode_host(&value, covered).map_err(|e| self.malformed(&key, e))?;
            Ok((key, stored))
        };
        self.list(host_key, "", after, limit, read)
    }

    /// What robots.txt of an origin says.
    pub(crate) fn robots(&self, origin: &str) -> Result<Option<RobotsMemory>, Error> {
        let Some(value) = self.get(&robots_key(origin))? else { return Ok(None) };
        let memory = RobotsMemory::decode(&mut Reader::new(&value));
        memory.map(Some).map_err(|e| self.malformed(origin, e))
    }

    /// Up to `limit` origins whose names start with `prefix` and come after `after`, in order, and what robots.txt says.
    pub(crate) fn robots_after(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, RobotsMemory)>, Error> {
        let read = |entry: Entry| {
            let (origin, value) = self.text_key(entry)?;
            let memory = RobotsMemory::decode(&mut Reader::new(&value)).map_err(|e| self.malformed(&origin, e))?;
            Ok((origin, memory))
        };
        self.list(robots_key, prefix, after, limit, read)
    }

    fn list<T>(
        &self,
        key: fn(&str) -> Vec<u8>,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
        read: impl Fn(Entry) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut from = key(after.unwrap_or(prefix));
        if after.is_some() {
            // The next possible key.
            from.push(0);
        }
        let mut end = key(prefix);
        end.push(ABOVE_TEXT);
        self.lend(|db| between(db, from, end).take(limit).map(&read).collect())
    }

    /// The text after a key's prefix, and the value.
    fn text_key(&self, entry: Entry) -> Result<(String, sled::InlineArray), Error> {
        let (key, value) = entry.at(&self.dir)?;
        let text = key.get(1..).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| self.malformed("s", WireError("key")))?;
        Ok((text.to_owned(), value))
    }
}
