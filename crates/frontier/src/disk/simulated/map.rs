//! What stands for a store on a simulated disk: an ordered map that takes atomic batches and loses those not flushed.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Disk, Kind, Random, of};

/// Something as it is, and as it was when it was last synced.
#[derive(Debug, Clone, Default)]
pub(super) struct Content<T> {
    pub(super) now: T,
    pub(super) synced: T,
}

impl<T: Clone> Content<T> {
    pub(super) fn sync(&mut self) {
        self.synced = self.now.clone();
    }
}

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;
/// Keys and what they are set to; `None` removes.
pub(crate) type Changes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// A map on the disk.
#[derive(Default)]
pub(super) struct Stored {
    entries: Content<Entries>,
    unflushed: Vec<Changes>,
}

/// A handle to one.
#[derive(Clone)]
pub(crate) struct Map {
    disk: Arc<Disk>,
    dir: PathBuf,
}

impl Map {
    /// The map in a directory; `None` on the real disk.
    pub(crate) fn open(dir: &Path) -> Option<io::Result<Self>> {
        let disk = of(dir)?;
        let opened = disk.look(|world| world.names.find(dir).map(|_| ()));
        Some(opened.map(|()| {
            disk.world.lock().maps.entry(dir.to_owned()).or_default();
            Self { disk: Arc::clone(&disk), dir: dir.to_owned() }
        }))
    }

    pub(crate) fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.disk.look(|world| Ok(world.maps[&self.dir].entries.now.get(key).cloned()))
    }

    pub(crate) fn range(&self, range: impl RangeBounds<Vec<u8>>) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let copy = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
        self.disk.look(|world| Ok(world.maps[&self.dir].entries.now.range(range).map(copy).collect()))
    }

    pub(crate) fn apply_batch(&self, changes: Changes) -> io::Result<()> {
        self.disk.operate(Kind::Write, |world, fate| {
            let map = world.maps.get_mut(&self.dir).expect("it is open");
            fate.apply(|in_part| {
                // A batch is whole or not there.
                if in_part.is_none() {
                    make(&changes, &mut map.entries.now);
                    map.unflushed.push(changes);
                }
                Ok(())
            })
        })
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        self.disk.wait_while_it_hangs();
        self.disk.operate(Kind::Sync, |world, fate| {
            let map = world.maps.get_mut(&self.dir).expect("it is open");
            fate.apply(|in_part| {
                let Stored { entries, unflushed } = map;
                // What could not be flushed may be held for flushed from then on.
                let is_lost = in_part.is_some();
                unflushed.drain(..).filter(|_| !is_lost).for_each(|changes| make(&changes, &mut entries.synced));
                Ok(())
            })
        })
    }
}

impl Stored {
    /// What the end of the program leaves: of what was not flushed nothing, all, the first batches, or any.
    pub(super) fn crash(&mut self, random: &mut Random) {
        let (mode, first) = (random.below(4), random.below(self.unflushed.len() as u64 + 1) as usize);
        for (index, changes) in std::mem::take(&mut self.unflushed).into_iter().enumerate() {
            let is_kept = match mode {
                0 => false,
                1 => true,
                2 => index < first,
                _ => random.once_in(2),
            };
            if is_kept {
                make(&changes, &mut self.entries.synced);
            }
        }
        self.entries.now = self.entries.synced.clone();
    }
}

fn make(changes: &Changes, entries: &mut Entries) {
    for (key, value) in changes {
        match value {
            Some(value) => entries.insert(key.clone(), value.clone()),
            None => entries.remove(key),
        };
    }
}
