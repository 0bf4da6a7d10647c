//! The exact set of one partition, on disk. The one file that names sled.
//!
//! What sled 1.0.0-alpha.124 is, and what follows: a leaf that was ever written stays decompressed until its `Db` is
//! closed, so [`Store::reopen`] follows each merge; dropping the last handle flushes and hides errors, so handles are lent
//! under one guard, never cloned out, and flushes are explicit and checked; a batch locks every leaf that it touches, so
//! [`Store::write`] takes many small batches in key order; `flush` hangs on a full disk instead of failing, so
//! [`Store::health`] watches how long it takes. Opening runs the system's `sync` command twice, where there is one.

mod layout;
mod mend;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::Millis;
use crate::error::{Error, IoContext};
use crate::journal::Sequence;
use crate::record::{BlockNumber, Record};
use crate::wire::{Reader, WireError, Writer};

pub(crate) use layout::{
    Block, BlockId, BlockItem, Change, Covered, StoredHost, StoredRecord, put_block, put_host, put_record, set_due,
};
use layout::{block_key, decode_block, decode_covered, decode_host, due_key, host_key, parse_block_id, seen_key};

/// Keys per leaf. Measured against 256: twice the merge rate at 20 M URLs, for dearer cold random reads.
const FANOUT: usize = 1024;
/// Changes per batch; a batch holds the locks of its leaves.
const BATCH: usize = 512;

type Db = sled::Db<FANOUT>;
type Entry = std::io::Result<(sled::InlineArray, sled::InlineArray)>;

/// One partition's store.
pub(crate) struct Store {
    dir: PathBuf,
    cache_bytes: usize,
    /// Handles at rest; empty only inside [`Store::reopen`] and after [`Store::close`]. A handle serves one thread at a
    /// time (it is not `Sync`), so there are as many as threads ever met here.
    handles: Mutex<Vec<Db>>,
    /// Held shared while a handle is lent, exclusively to close.
    gate: RwLock<()>,
    flushing_since: Mutex<Option<Instant>>,
}

impl Store {
    pub(crate) fn open(dir: &Path, cache_bytes: usize) -> Result<Self, Error> {
        let db = open_db(dir, cache_bytes)?;
        Ok(Self {
            dir: dir.to_owned(),
            cache_bytes,
            handles: Mutex::new(vec![db]),
            gate: RwLock::new(()),
            flushing_since: Mutex::new(None),
        })
    }

    /// What the last complete merge covered.
    pub(crate) fn covered(&self) -> Result<Covered, Error> {
        match self.get(b"m")? {
            None => Ok(Covered::default()),
            Some(value) => decode_covered(&value).map_err(|e| self.malformed("m", e)),
        }
    }

    pub(crate) fn record(&self, key: &str) -> Result<Option<StoredRecord>, Error> {
        let Some(value) = self.get(&seen_key(key))? else { return Ok(None) };
        let mut input = Reader::new(&value);
        let decoded = Record::decode(&mut input)
            .and_then(|record| Ok(StoredRecord { record, alternate: input.optional_text()?.map(str::to_owned) }));
        decoded.map(Some).map_err(|e| self.malformed(key, e))
    }

    /// Whether each of the keys has a record.
    pub(crate) fn contains<'a>(&self, keys: impl Iterator<Item = &'a str>) -> Result<Vec<bool>, Error> {
        self.lend(|db| keys.map(|key| db.contains_key(seen_key(key)).at(&self.dir)).collect())
    }

    /// A host as it was when `covered` was covered, whatever a merge after that has written.
    pub(crate) fn host(&self, host: &str, covered: Sequence) -> Result<Option<StoredHost>, Error> {
        let Some(value) = self.get(&host_key(host))? else { return Ok(None) };
        decode_host(&value, covered).map_err(|e| self.malformed(host, e))
    }

    /// The host's first block after `after`, of merges up to `upto`.
    pub(crate) fn next_block(
        &self,
        host: &str,
        after: BlockId,
        upto: BlockNumber,
    ) -> Result<Option<(BlockId, Block)>, Error> {
        let from = block_key(host, BlockId { number: after.number, part: after.part + 1 });
        let to = block_key(host, BlockId { number: upto, part: u32::MAX });
        if from > to {
            return Ok(None);
        }
        self.lend(|db| db.range(from..=to).next().map(|entry| self.read_block(host, entry)).transpose())
    }

    /// All blocks of one merge for a host.
    pub(crate) fn blocks(&self, host: &str, number: BlockNumber) -> Result<Vec<(BlockId, Block)>, Error> {
        let from = block_key(host, BlockId { number, part: 0 });
        let to = block_key(host, BlockId { number, part: u32::MAX });
        self.lend(|db| db.range(from..=to).map(|entry| self.read_block(host, entry)).collect())
    }

    /// Up to `limit` hosts of the due-time index after `after`, earliest first.
    pub(crate) fn due_hosts(&self, after: &(Millis, String), limit: usize) -> Result<Vec<(Millis, String)>, Error> {
        // A zero byte more is the next possible key.
        let mut from = due_key(after.0, &after.1);
        from.push(0);
        let read = |entry: Entry| {
            let (key, _) = entry.at(&self.dir)?;
            let due = key.get(1..9).and_then(|b| b.try_into().ok()).map(Millis::from_be_bytes);
            let host = key.get(9..).and_then(|b| std::str::from_utf8(b).ok());
            due.zip(host.map(str::to_owned)).ok_or_else(|| self.malformed("d", WireError("due-time key")))
        };
        self.lend(|db| db.range(from..vec![b'd' + 1]).take(limit).map(read).collect())
    }

    /// Hands the key of every record to `each`.
    pub(crate) fn scan_keys(&self, mut each: impl FnMut(&str)) -> Result<(), Error> {
        self.lend(|db| {
            for entry in db.range(b"s".to_vec()..b"t".to_vec()) {
                let (key, _) = entry.at(&self.dir)?;
                each(std::str::from_utf8(&key[1..]).map_err(|_| self.malformed("s", WireError("key")))?);
            }
            Ok(())
        })
    }

    /// Writes changes as small batches, in key order, and flushes.
    pub(crate) fn write(&self, mut changes: Vec<Change>) -> Result<(), Error> {
        changes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut changes = changes.into_iter().peekable();
        self.lend(|db| {
            while changes.peek().is_some() {
                let mut batch = sled::Batch::default();
                for change in changes.by_ref().take(BATCH) {
                    match change.value {
                        Some(value) => batch.insert(change.key, value),
                        None => batch.remove(change.key),
                    }
                }
                db.apply_batch(batch).at(&self.dir)?;
            }
            self.flush(db)
        })
    }

    /// Writes what the merge covered, alone, and flushes: from here on it has happened.
    pub(crate) fn cover(&self, covered: &Covered) -> Result<(), Error> {
        let mut out = Writer::default();
        out.varint(covered.sequence);
        out.varint(covered.hosts);
        out.varint(covered.scheduled);
        covered.books.encode(&mut out);
        self.write(vec![Change { key: b"m".to_vec(), value: Some(out.into_bytes()) }])
    }

    /// Closes and opens again, so that leaves that were written leave memory.
    pub(crate) fn reopen(&self) -> Result<(), Error> {
        let _nobody_reads = self.gate.write();
        let mut handles = self.handles.lock();
        handles.clear();
        handles.push(open_db(&self.dir, self.cache_bytes)?);
        Ok(())
    }

    /// Closes for good.
    pub(crate) fn close(&self) {
        let _nobody_reads = self.gate.write();
        self.handles.lock().clear();
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> Result<u64, Error> {
        self.lend(|db| db.size_on_disk().at(&self.dir))
    }

    /// That no flush has been under way for longer than `limit`.
    pub(crate) fn health(&self, limit: Duration) -> Result<(), Error> {
        match *self.flushing_since.lock() {
            Some(since) if since.elapsed() > limit => {
                let what = "store flush hangs; is the disk full?";
                Err(Error::Poisoned(format!("{}: {what} ({:?})", self.dir.display(), since.elapsed())))
            }
            _ => Ok(()),
        }
    }

    fn flush(&self, db: &Db) -> Result<(), Error> {
        *self.flushing_since.lock() = Some(Instant::now());
        let result = db.flush().at(&self.dir);
        *self.flushing_since.lock() = None;
        result.map(|_| ())
    }

    fn get(&self, key: &[u8]) -> Result<Option<sled::InlineArray>, Error> {
        self.lend(|db| db.get(key).at(&self.dir))
    }

    /// Lends a handle. It comes back whatever the result; it is never dropped here, for a drop flushes and hides errors.
    fn lend<T>(&self, work: impl FnOnce(&Db) -> Result<T, Error>) -> Result<T, Error> {
        let _open = self.gate.read();
        let handle = {
            let mut handles = self.handles.lock();
            match handles.len() {
                0 => return Err(Error::Poisoned(format!("{}: the store is closed", self.dir.display()))),
                1 => handles[0].clone(),
                _ => handles.swap_remove(1),
            }
        };
        let result = work(&handle);
        self.handles.lock().push(handle);
        result
    }

    fn read_block(&self, host: &str, entry: Entry) -> Result<(BlockId, Block), Error> {
        let (key, value) = entry.at(&self.dir)?;
        let id = parse_block_id(&key).ok_or_else(|| self.malformed(host, WireError("block key")))?;
        let block = decode_block(host, &value).map_err(|e| self.malformed(host, e))?;
        Ok((id, block))
    }

    fn malformed(&self, key: &str, error: WireError) -> Error {
        Error::corrupt(&self.dir, format!("{key}: {error}"))
    }
}

fn open_db(dir: &Path, cache_bytes: usize) -> Result<Db, Error> {
    mend::mend(dir).at(dir)?;
    let config = sled::Config::new().path(dir).cache_capacity_bytes(cache_bytes).flush_every_ms(None);
    config.open::<FANOUT>().at(dir)
}

#[cfg(test)]
mod tests;
