//! The exact set of one partition, on disk. The one file that names sled.
//!
//! What sled 1.0.0-alpha.124 is, and what follows: a leaf that was ever written stays decompressed until its `Db` is
//! closed, so [`Store::reopen`] follows each merge; dropping the last handle flushes and hides errors, so handles are lent
//! under one guard, never cloned out, and flushes are explicit and checked; a batch locks every leaf that it touches, so
//! [`Store::write`] takes many small batches in key order; `flush` hangs on a full disk instead of failing, so
//! [`Store::health`] watches how long it takes; a bounded range does not stop at its end, so [`between`] does. Opening
//! runs the system's `sync` command twice, where there is one.

mod blocks;
#[cfg(test)]
mod database;
mod layout;
mod listing;
mod mend;
mod revisits;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
#[cfg(not(test))]
use sled::Batch;

use crate::Millis;
use crate::error::{Error, IoContext};
use crate::journal::Sequence;
use crate::record::State;
use crate::steps::{Step, step};
use crate::watch::{LIMIT, Watch};
use crate::wire::WireError;

use blocks::BlockFiles;
pub(crate) use blocks::{BlockChanges, Files, RawBlock};
#[cfg(test)]
use database::{Batch, Db, leaves_read, open_once};
pub(crate) use layout::{
    Block, BlockId, BlockItem, Change, Covered, StoredHost, StoredRecord, encode_items, put_host, put_record,
    put_robots, remove_record, set_due,
};
use layout::{decode_covered, decode_host, decode_record, due_key, encode_covered, host_key, seen_key};
pub(crate) use revisits::set_due_page;

/// Keys per leaf. A leaf that was read lies in memory decoded, some 130 bytes a key, and of each store up to 512 do whatever
/// its cache may take: sled's cache has 256 shards, and each keeps its last one or two. With 1024 keys that came to a
/// gigabyte for 16 stores in a crawl; with 256 a merge, which writes each leaf that it meets, takes a third more time.
const FANOUT: usize = 512;
/// Changes per batch; a batch holds the locks of its leaves.
const BATCH: usize = 512;
/// Leaves read, some 100 KiB each in memory, after which a write opens the store again before it goes on: what a merge may
/// take does not grow with the store.
const OPEN_LEAVES: u64 = if cfg!(test) { 4 } else { 768 };
/// How long a lock of sled's is waited for. It outlives its holder for a moment where this process is just starting
/// another one, which has copies of all descriptors until it runs its own program.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

#[cfg(not(test))]
type Db = sled::Db<FANOUT>;
type Entry = std::io::Result<(sled::InlineArray, sled::InlineArray)>;

/// What the exact set says of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// Never seen, or forgotten without a trace.
    No,
    /// Seen. `open_depth`: its depth if it was unfinished at the last merge, else zero.
    Yes { open_depth: u16 },
    /// Forgotten; noted, because the filter may still say maybe to it.
    Forgotten,
}

/// One partition's store.
pub(crate) struct Store {
    dir: PathBuf,
    blocks: BlockFiles,
    cache_bytes: usize,
    /// Handles at rest; empty only inside [`Store::reopen`] and after [`Store::close`]. A handle serves one thread at a
    /// time (it is not `Sync`), so there are as many as threads ever met here.
    handles: Mutex<Vec<Db>>,
    /// Held shared while a handle is lent, exclusively to close.
    gate: RwLock<()>,
    /// It is being closed and opened again, for which every reader waits.
    reopening: AtomicBool,
    /// Over flushes.
    watch: Watch,
}

impl Store {
    /// The store in `dir`, with its queue blocks in `blocks`.
    pub(crate) fn open(dir: &Path, blocks: &Path, cache_bytes: usize) -> Result<Self, Error> {
        let db = open_db(dir, cache_bytes)?;
        let files = match db.get(b"m").at(dir)? {
            None => Files::default(),
            Some(value) => decode_covered(&value).map_err(|e| Error::corrupt(dir, format!("m: {e}")))?.1,
        };
        Ok(Self {
            dir: dir.to_owned(),
            blocks: BlockFiles::open(blocks, files)?,
            cache_bytes,
            handles: Mutex::new(vec![db]),
            gate: RwLock::new(()),
            reopening: AtomicBool::new(false),
            watch: Watch::default(),
        })
    }

    /// What the last complete merge covered.
    pub(crate) fn covered(&self) -> Result<Covered, Error> {
        match self.get(b"m")? {
            None => Ok(Covered::default()),
            Some(value) => decode_covered(&value).map(|(covered, _)| covered).map_err(|e| self.malformed("m", e)),
        }
    }

    pub(crate) fn record(&self, key: &str) -> Result<Option<StoredRecord>, Error> {
        let Some(value) = self.get(&seen_key(key))? else { return Ok(None) };
        decode_record(&value).map(Some).map_err(|e| self.malformed(key, e))
    }

    /// The records of these keys.
    pub(crate) fn records_of<'a>(
        &self,
        keys: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Option<StoredRecord>>, Error> {
        self.lend(|db| {
            let record = |key: &str| {
                let value = db.get(seen_key(key)).at(&self.dir)?;
                value.map(|value| decode_record(&value).map_err(|e| self.malformed(key, e))).transpose()
            };
            keys.map(record).collect()
        })
    }

    /// What the exact set says of each of the keys.
    pub(crate) fn holds<'a>(&self, keys: impl Iterator<Item = &'a str>) -> Result<Vec<Held>, Error> {
        self.lend(|db| {
            let held = |key: &str| match db.get(seen_key(key)).at(&self.dir)? {
                None => Ok(Held::No),
                Some(value) => self.held(key, &value),
            };
            keys.map(held).collect()
        })
    }

    /// A host as it was when `covered` was covered, whatever a merge after that has written.
    pub(crate) fn host(&self, host: &str, covered: Sequence) -> Result<Option<StoredHost>, Error> {
        let Some(value) = self.get(&host_key(host))? else { return Ok(None) };
        decode_host(&value, covered).map_err(|e| self.malformed(host, e))
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
        self.lend(|db| between(db, from, vec![b'd' + 1]).take(limit).map(read).collect())
    }

    /// Hands every host to `each`, as it was when `covered` was covered.
    pub(crate) fn hosts(&self, covered: Sequence, mut each: impl FnMut(&str, &StoredHost)) -> Result<(), Error> {
        self.lend(|db| {
            for entry in between(db, b"h".to_vec(), b"i".to_vec()) {
                let (key, value) = entry.at(&self.dir)?;
                let name = std::str::from_utf8(&key[1..]).map_err(|_| self.malformed("h", WireError("host")))?;
                if let Some(host) = decode_host(&value, covered).map_err(|e| self.malformed(name, e))? {
                    each(name, &host);
                }
            }
            Ok(())
        })
    }

    /// Up to `limit` parked URLs of a host whose keys come after `after`, in the order of their keys.
    pub(crate) fn parked(&self, host: &str, after: &str, limit: usize) -> Result<Vec<(String, StoredRecord)>, Error> {
        let mut from = seen_key(if after.is_empty() { host } else { after });
        from.push(if after.is_empty() { b')' } else { 0 });
        let mut to = seen_key(host);
        to.push(b')' + 1);
        self.lend(|db| {
            let mut found = Vec::new();
            for entry in between(db, from, to) {
                let (key, value) = entry.at(&self.dir)?;
                if found.len() == limit {
                    break;
                }
                let key = std::str::from_utf8(&key[1..]).map_err(|_| self.malformed("s", WireError("key")))?;
                let record = decode_record(&value).map_err(|e| self.malformed(key, e))?;
                if record.record.state == State::Parked {
                    found.push((key.to_owned(), record));
                }
            }
            Ok(found)
        })
    }

    /// Hands the key of every record to `each`, and what it says.
    pub(crate) fn scan(&self, mut each: impl FnMut(&str, Held)) -> Result<(), Error> {
        let all = |key: &str, held| {
            each(key, held);
            true
        };
        self.scan_while(all).map(|_| ())
    }

    /// The same until `each` says no more; returns whether all have been seen.
    pub(crate) fn scan_while(&self, mut each: impl FnMut(&str, Held) -> bool) -> Result<bool, Error> {
        self.lend(|db| {
            for entry in between(db, b"s".to_vec(), b"t".to_vec()) {
                let (key, value) = entry.at(&self.dir)?;
                let key = std::str::from_utf8(&key[1..]).map_err(|_| self.malformed("s", WireError("key")))?;
                if !each(key, self.held(key, &value)?) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn held(&self, key: &str, record: &[u8]) -> Result<Held, Error> {
        let (state, depth) = layout::state_and_depth(record).map_err(|e| self.malformed(key, e))?;
        Ok(match state {
            State::Forgotten => Held::Forgotten,
            State::Queued => Held::Yes { open_depth: depth },
            _ => Held::Yes { open_depth: 0 },
        })
    }

    /// Writes changes as small batches, in key order, and flushes.
    pub(crate) fn write(&self, mut changes: Vec<Change>) -> Result<(), Error> {
        changes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut changes = changes.into_iter().peekable();
        loop {
            self.lend(|db| {
                let before = leaves_read(db);
                while changes.peek().is_some() && leaves_read(db) - before < OPEN_LEAVES {
                    let mut batch = Batch::default();
                    for change in changes.by_ref().take(BATCH) {
                        match change.value {
                            Some(value) => batch.insert(change.key, value),
                            None => batch.remove(change.key),
                        }
                    }
                    db.apply_batch(batch).at(&self.dir)?;
                    step(Step::BatchApplied);
                }
                step(Step::StoreWritten);
                self.flush(db)?;
                step(Step::StoreFlushed);
                Ok(())
            })?;
            if changes.peek().is_none() {
                return Ok(());
            }
            self.reopen()?;
        }
    }

    /// Writes what the merge covered, alone, and flushes: from here on it has happened.
    pub(crate) fn cover(&self, covered: &Covered, files: &Files) -> Result<(), Error> {
        self.write(vec![Change { key: b"m".to_vec(), value: Some(encode_covered(covered, files)) }])?;
        self.blocks.set_covered(files);
        Ok(())
    }

    /// Closes and opens again, so that leaves that were written leave memory.
    pub(crate) fn reopen(&self) -> Result<(), Error> {
        self.reopening.store(true, Ordering::Release);
        // What sled's `sync` would write while everybody waits is written before.
        let _ = std::process::Command::new("sync").status();
        let _nobody_reads = self.gate.write();
        let mut handles = self.handles.lock();
        handles.clear();
        step(Step::StoreClosed);
        handles.push(open_db(&self.dir, self.cache_bytes)?);
        self.reopening.store(false, Ordering::Release);
        Ok(())
    }

    /// Whether who reads now, or soon, waits some tenths of a second: better to do something else first.
    pub(crate) fn is_reopening(&self) -> bool {
        self.reopening.load(Ordering::Acquire)
    }

    /// Closes for good.
    pub(crate) fn close(&self) {
        let _nobody_reads = self.gate.write();
        self.handles.lock().clear();
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> Result<u64, Error> {
        Ok(self.lend(|db| db.size_on_disk().at(&self.dir))? + self.blocks.bytes())
    }

    /// That no flush takes longer than it may.
    pub(crate) fn health(&self) -> Result<(), Error> {
        self.watch.late().map_or(Ok(()), |took| Err(self.late(took)))
    }

    /// Leaves read from disk since it was opened.
    #[cfg(test)]
    fn leaves_read(&self) -> u64 {
        self.lend(|db| Ok(leaves_read(db))).expect("it is open")
    }

    fn flush(&self, db: &Db) -> Result<(), Error> {
        self.watched(|| db.flush().at(&self.dir).map(|_| ()))
    }

    /// Does what may hang on a full or failing disk; what comes too late has failed.
    fn watched<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        match self.watch.over(work) {
            (Ok(_), Some(took)) => Err(self.late(took)),
            (done, _) => done,
        }
    }

    fn late(&self, took: Duration) -> Error {
        let what = format!("a write or flush takes longer than {LIMIT:?} ({took:?}); is the disk full or gone?");
        Error::Poisoned(format!("{}: {what}", self.dir.display()))
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

    fn malformed(&self, key: &str, error: WireError) -> Error {
        Error::corrupt(&self.dir, format!("{key}: {error}"))
    }
}

/// The entries from one key up to, and without, another. Sled's own range, when it has no more within its bounds, goes
/// through every leaf that follows, to the end of the tree, in search of some: this one sees the end of the bounds itself,
/// and stops in the leaf where they end. A range costs about as much as its first leaf has keys, so ask for few.
fn between(db: &Db, from: Vec<u8>, end: Vec<u8>) -> impl Iterator<Item = Entry> {
    db.range(from..).take_while(move |entry| entry.as_ref().map_or(true, |(key, _)| **key < *end))
}

fn open_db(dir: &Path, cache_bytes: usize) -> Result<Db, Error> {
    let config = sled::Config::new().path(dir).cache_capacity_bytes(cache_bytes).flush_every_ms(None);
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match open_once(dir, &config) {
            // Sled takes its locks before it changes anything.
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(LOCK_PATIENCE / 100);
            }
            opened => return opened.at(dir),
        }
    }
}

/// Leaves read from disk since it was opened.
#[cfg(not(test))]
fn leaves_read(db: &Db) -> u64 {
    db.stats().cache.cache_misses
}

#[cfg(not(test))]
fn open_once(dir: &Path, config: &sled::Config) -> std::io::Result<Db> {
    mend::mend(dir)?;
    config.open::<FANOUT>()
}

#[cfg(test)]
mod tests;
