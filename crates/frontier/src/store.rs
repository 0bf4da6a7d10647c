//! The exact set of one partition, on disk. The one file that names sled.
//!
//! One tree with prefixed keys, because a batch is atomic within one tree only:
//!
//! ```text
//! "d" due:u64be host          -> ""                       hosts with work, by when they may be asked
//! "h" host                    -> host state, queue length
//! "m"                         -> covered sequence, books, counts: written alone, after everything that it covers
//! "q" host 0 merge:u64be part:u32be -> queue block: keys and referrers
//! "s" key                     -> record
//! ```
//!
//! What sled 1.0.0-alpha.124 is, and what follows: a leaf that was ever written stays decompressed until its `Db` is
//! closed, so [`Store::reopen`] follows each merge; dropping the last handle flushes and hides errors, so handles are lent
//! under one guard, never cloned out, and flushes are explicit and checked; a batch locks every leaf that it touches, so
//! [`Store::write`] takes many small batches in key order; `flush` hangs on a full disk instead of failing, so
//! [`Store::health`] watches how long it takes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::Millis;
use crate::books::Books;
use crate::error::{Error, IoContext};
use crate::journal::Sequence;
use crate::record::{BlockNumber, HostState, Record};
use crate::wire::{Reader, WireError, Writer};

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

/// Name of a queue block within its host: the merge that wrote it, and which part of that merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockId {
    pub(crate) number: BlockNumber,
    pub(crate) part: u32,
}

/// A queue block: URLs of one host in the order in which they are to be fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Block(pub(crate) Vec<BlockItem>);

/// One URL of a block. Its record says the rest, and whether it still stands here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockItem {
    pub(crate) key: String,
    pub(crate) referrer: Option<String>,
}

/// A URL's record with its alternate fetch URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub(crate) record: Record,
    pub(crate) alternate: Option<String>,
}

/// A host as it was at the last merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredHost {
    pub(crate) state: HostState,
    /// Unfinished URLs.
    pub(crate) queued: u64,
}

impl StoredHost {
    /// When it is listed in the due-time index; `None` without work.
    pub(crate) fn due(&self) -> Option<Millis> {
        (self.queued > 0).then(|| self.state.due())
    }
}

/// What the store covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) sequence: Sequence,
    pub(crate) books: Books,
    /// Hosts with a record.
    pub(crate) hosts: u64,
    /// Hosts in the due-time index.
    pub(crate) scheduled: u64,
}

/// One change to the store; made by the functions below, so that only this file knows the keys.
pub(crate) struct Change {
    key: Vec<u8>,
    value: Option<Vec<u8>>,
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

    pub(crate) fn host(&self, host: &str) -> Result<Option<StoredHost>, Error> {
        let Some(value) = self.get(&host_key(host))? else { return Ok(None) };
        let mut input = Reader::new(&value);
        let decoded = HostState::decode(&mut input).and_then(|state| Ok(StoredHost { state, queued: input.varint()? }));
        decoded.map(Some).map_err(|e| self.malformed(host, e))
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

/// Sets a URL's record.
pub(crate) fn put_record(key: &str, record: &Record, alternate: Option<&str>) -> Change {
    let mut out = Writer::default();
    record.encode(&mut out);
    out.optional_text(alternate);
    Change { key: seen_key(key), value: Some(out.into_bytes()) }
}

/// Sets a host's record.
pub(crate) fn put_host(host: &str, stored: &StoredHost) -> Change {
    let mut out = Writer::default();
    stored.state.encode(&mut out);
    out.varint(stored.queued);
    Change { key: host_key(host), value: Some(out.into_bytes()) }
}

/// Lists a host in the due-time index, or takes it off.
pub(crate) fn set_due(host: &str, due: Millis, listed: bool) -> Change {
    Change { key: due_key(due, host), value: listed.then(Vec::new) }
}

/// Writes a block, or removes it when it is empty.
pub(crate) fn put_block(host: &str, id: BlockId, block: &Block) -> Change {
    let value = (!block.0.is_empty()).then(|| encode_block(host, block));
    Change { key: block_key(host, id), value }
}

fn open_db(dir: &Path, cache_bytes: usize) -> Result<Db, Error> {
    let config = sled::Config::new().path(dir).cache_capacity_bytes(cache_bytes).flush_every_ms(None);
    config.open::<FANOUT>().at(dir)
}

fn decode_covered(value: &[u8]) -> Result<Covered, WireError> {
    let mut input = Reader::new(value);
    Ok(Covered {
        sequence: input.varint()?,
        hosts: input.varint()?,
        scheduled: input.varint()?,
        books: Books::decode(&mut input)?,
    })
}

fn seen_key(key: &str) -> Vec<u8> {
    prefixed(b's', key.as_bytes(), 0)
}

fn host_key(host: &str) -> Vec<u8> {
    prefixed(b'h', host.as_bytes(), 0)
}

fn due_key(due: Millis, host: &str) -> Vec<u8> {
    let mut key = prefixed(b'd', &due.to_be_bytes(), host.len() + 1);
    key.extend_from_slice(host.as_bytes());
    key
}

fn block_key(host: &str, id: BlockId) -> Vec<u8> {
    let mut key = prefixed(b'q', host.as_bytes(), 13);
    key.push(0);
    key.extend_from_slice(&id.number.to_be_bytes());
    key.extend_from_slice(&id.part.to_be_bytes());
    key
}

fn parse_block_id(key: &[u8]) -> Option<BlockId> {
    let (_, id) = key.split_last_chunk::<12>()?;
    let (number, part) = id.split_first_chunk::<8>()?;
    Some(BlockId { number: u64::from_be_bytes(*number), part: u32::from_be_bytes(part.try_into().ok()?) })
}

fn prefixed(prefix: u8, bytes: &[u8], more: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + bytes.len() + more);
    key.push(prefix);
    key.extend_from_slice(bytes);
    key
}

/// Keys without their host, referrers only where they differ from the one before: sled compresses the rest.
fn encode_block(host: &str, block: &Block) -> Vec<u8> {
    let mut out = Writer::default();
    let mut previous = None;
    for item in &block.0 {
        out.text(&item.key[host.len()..]);
        let same = item.referrer.as_deref() == previous;
        out.byte(u8::from(!same));
        if !same {
            out.optional_text(item.referrer.as_deref());
            previous = item.referrer.as_deref();
        }
    }
    out.into_bytes()
}

fn decode_block(host: &str, value: &[u8]) -> Result<Block, WireError> {
    let mut input = Reader::new(value);
    let mut items: Vec<BlockItem> = Vec::new();
    while !input.is_empty() {
        let key = format!("{host}{}", input.text()?);
        let referrer = match input.byte()? {
            0 => items.last().and_then(|item| item.referrer.clone()),
            _ => input.optional_text()?.map(str::to_owned),
        };
        items.push(BlockItem { key, referrer });
    }
    Ok(Block(items))
}

#[cfg(test)]
mod tests;
