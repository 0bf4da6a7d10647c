//! What tests take for sled: sled itself, or, on a simulated disk, the map that it keeps there.
//!
//! The few operations that the store uses, with sled's own signatures.

use std::io;
use std::ops::RangeBounds;
use std::path::Path;

use super::{Entry, FANOUT, mend};
use crate::disk::simulated::Map;

/// A handle.
#[derive(Clone)]
pub(super) enum Db {
    Sled(Box<sled::Db<FANOUT>>),
    Simulated(Map),
}

/// Changes that are made together.
#[derive(Default)]
pub(super) struct Batch(Vec<(Vec<u8>, Option<Vec<u8>>)>);

impl Batch {
    pub(super) fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.0.push((key, Some(value)));
    }

    pub(super) fn remove(&mut self, key: Vec<u8>) {
        self.0.push((key, None));
    }
}

pub(super) fn open_once(dir: &Path, config: &sled::Config) -> io::Result<Db> {
    if let Some(map) = Map::open(dir) {
        return map.map(Db::Simulated);
    }
    mend::mend(dir)?;
    config.open().map(|db| Db::Sled(Box::new(db)))
}

/// Leaves read from disk since it was opened.
pub(super) fn leaves_read(db: &Db) -> u64 {
    match db {
        Db::Sled(db) => db.stats().cache.cache_misses,
        Db::Simulated(_) => 0,
    }
}

impl Db {
    pub(super) fn get(&self, key: impl AsRef<[u8]>) -> io::Result<Option<sled::InlineArray>> {
        match self {
            Self::Sled(db) => db.get(key),
            Self::Simulated(map) => Ok(map.get(key.as_ref())?.map(Into::into)),
        }
    }

    pub(super) fn range(&self, range: impl RangeBounds<Vec<u8>>) -> Box<dyn Iterator<Item = Entry>> {
        match self {
            Self::Sled(db) => Box::new(db.range(range)),
            Self::Simulated(map) => match map.range(range) {
                Ok(entries) => Box::new(entries.into_iter().map(|(key, value)| Ok((key.into(), value.into())))),
                Err(error) => Box::new(std::iter::once(Err(error))),
            },
        }
    }

    pub(super) fn apply_batch(&self, batch: Batch) -> io::Result<()> {
        let db = match self {
            Self::Simulated(map) => return map.apply_batch(batch.0),
            Self::Sled(db) => db,
        };
        let mut sorted = sled::Batch::default();
        for (key, value) in batch.0 {
            match value {
                Some(value) => sorted.insert(key, value),
                None => sorted.remove(key),
            }
        }
        db.apply_batch(sorted)
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        match self {
            Self::Sled(db) => db.flush().map(|_| ()),
            Self::Simulated(map) => map.flush(),
        }
    }

    pub(super) fn size_on_disk(&self) -> io::Result<u64> {
        match self {
            Self::Sled(db) => db.size_on_disk(),
            Self::Simulated(_) => Ok(0),
        }
    }
}
