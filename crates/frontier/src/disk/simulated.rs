//! A disk in memory for tests, below `/simulated`: it knows what was synced, loses what was not, and fails when told to.
//!
//! Harsher than file systems are, as harsh as they may be. When the power fails, of a file's unsynced bytes any number from
//! the first one on are there, or some of their sectors are zero; of the names that were created, deleted or renamed since
//! their directory was synced, some are as after it and some as before (on some disks in order, on some in none). A process
//! that is killed loses nothing here, but what it did not sync is not synced by that. An operation that fails has been
//! done, or not, or in part. Everything random is of the seed, so one history is the same each time.

mod faults;
mod map;
mod names;
mod random;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use faults::{Fate, Kind};
pub(crate) use faults::{Faults, Syncs};
use map::Content;
pub(crate) use map::Map;
use names::Names;
pub(crate) use random::Random;

/// All disks, by their root.
static DISKS: Mutex<BTreeMap<PathBuf, Arc<Disk>>> = Mutex::new(BTreeMap::new());

/// What a file system loses zeroes of.
const SECTOR: usize = 512;
/// The disk that a path lies on; `None` for the real one.
pub(crate) fn of(path: &Path) -> Option<Arc<Disk>> {
    let below = path.strip_prefix("/simulated").ok()?;
    let root = Path::new("/simulated").join(below.iter().next()?);
    Some(Arc::clone(DISKS.lock().get(&root).expect("a simulated disk is used while it is there")))
}

/// How a run of the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// What is not synced may be lost.
    PowerCut,
    /// What is not synced is there, and still not synced.
    Killed,
}

/// One disk. It is gone when dropped by the test that made it.
pub(crate) struct Disk {
    root: PathBuf,
    world: Mutex<World>,
    /// Whether syncs and flushes hang.
    hangs: Mutex<bool>,
    released: Condvar,
}

struct World {
    random: Random,
    names: Names,
    files: Vec<Content<Vec<u8>>>,
    maps: BTreeMap<PathBuf, map::Stored>,
    faults: Faults,
    is_off: bool,
    /// Writes, syncs and changes of names so far.
    operations: u64,
    /// Operations that failed or were late because of a fault.
    failures: u64,
}

/// A file that is being written.
#[derive(Clone)]
pub(crate) struct Handle {
    disk: Arc<Disk>,
    file: usize,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file {} of {}", self.file, self.disk.root.display())
    }
}

impl Disk {
    /// A new, empty disk.
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let mut disks = DISKS.lock();
        let mut number = 0;
        let mut root = PathBuf::from("/simulated/0");
        while disks.contains_key(&root) {
            number += 1;
            root = PathBuf::from(format!("/simulated/{number}"));
        }
        let mut random = Random::new(seed);
        let names = Names::new(random.below(2) == 0);
        let world = World {
            random,
            names,
            files: Vec::new(),
            maps: BTreeMap::new(),
            faults: Faults::default(),
            is_off: false,
            operations: 0,
            failures: 0,
        };
        let disk =
            Self { root: root.clone(), world: Mutex::new(world), hangs: Mutex::new(false), released: Condvar::new() };
        let disk = Arc::new(disk);
        disks.insert(root, Arc::clone(&disk));
        disk
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Takes it away.
    pub(crate) fn remove_disk(&self) {
        DISKS.lock().remove(&self.root);
    }

    /// What goes wrong from now on.
    pub(crate) fn set_faults(&self, faults: Faults) {
        let mut world = self.world.lock();
        world.faults = faults;
        if faults.power_fails_in > 0 {
            world.faults.power_fails_in += world.operations;
        }
    }

    /// Nothing works any more.
    pub(crate) fn switch_off(&self) {
        self.world.lock().is_off = true;
    }

    /// Whether the power has failed: nothing works any more.
    pub(crate) fn is_off(&self) -> bool {
        self.world.lock().is_off
    }

    /// Operations that failed or were late because of a fault, since the last restart.
    pub(crate) fn failures(&self) -> u64 {
        self.world.lock().failures
    }

    /// Writes, syncs and changes of names so far.
    pub(crate) fn operations(&self) -> u64 {
        self.world.lock().operations
    }

    /// Makes syncs and flushes hang, or go on.
    pub(crate) fn hang(&self, hangs: bool) {
        *self.hangs.lock() = hangs;
        self.released.notify_all();
    }

    /// What is there after the program has ended so, without faults from then on.
    pub(crate) fn restart(&self, end: End) {
        let world = &mut *self.world.lock();
        (world.is_off, world.faults, world.failures) = (false, Faults::default(), 0);
        for map in world.maps.values_mut() {
            map.crash(&mut world.random);
        }
        if end == End::PowerCut {
            for file in &mut world.files {
                crash(file, &mut world.random);
            }
            world.names.crash(&mut world.random);
        }
        let names = &world.names;
        world.maps.retain(|dir, _| names.find(dir).is_ok());
    }

    pub(super) fn create(self: &Arc<Self>, path: &Path, new: bool) -> io::Result<Handle> {
        let file = self.operate(Kind::Write, |world, fate| {
            if world.names.find(path).is_ok() && new {
                return Err(ErrorKind::AlreadyExists.into());
            }
            fate.apply(|_| {
                if let Ok(names::Node::File(file)) = world.names.find(path) {
                    world.files[file].now.clear();
                    return Ok(file);
                }
                world.files.push(Content::default());
                let file = world.files.len() - 1;
                world.names.set(path, names::Node::File(file)).map(|()| file)
            })
        })?;
        Ok(Handle { disk: Arc::clone(self), file })
    }

    pub(super) fn create_dir(&self, path: &Path) -> io::Result<()> {
        if self.exists(path) {
            return Ok(());
        }
        self.operate(Kind::Write, |world, fate| fate.apply(|_| world.names.make_dir(path)))
    }

    pub(super) fn cut(&self, path: &Path, bytes: u64) -> io::Result<()> {
        self.operate(Kind::Write, |world, fate| {
            let names::Node::File(file) = world.names.find(path)? else { return Err(ErrorKind::IsADirectory.into()) };
            fate.apply(|_| {
                world.files[file].now.truncate(bytes as usize);
                world.files[file].sync();
                Ok(())
            })
        })
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.look(|world| match world.names.find(path)? {
            names::Node::File(file) => Ok(world.files[file].now.clone()),
            names::Node::Dir(_) => Err(ErrorKind::IsADirectory.into()),
        })
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        self.world.lock().names.find(path).is_ok()
    }

    pub(super) fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.look(|world| world.names.list(dir))
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate(Kind::Write, |world, fate| fate.apply(|_| world.names.rename(from, to)))
    }

    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.operate(Kind::Write, |world, fate| fate.apply(|_| world.names.remove(path)))
    }

    pub(super) fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.wait_while_it_hangs();
        self.operate(Kind::Sync, |world, fate| fate.apply(|_| world.names.sync(dir)))
    }

    pub(super) fn random_bytes(&self) -> [u8; 16] {
        let mut world = self.world.lock();
        let (high, low) = (world.random.next(), world.random.next());
        (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
    }

    fn wait_while_it_hangs(&self) {
        let mut hangs = self.hangs.lock();
        while *hangs {
            self.released.wait(&mut hangs);
        }
    }

    /// One operation that changes something, if its fate lets it.
    fn operate<T>(&self, kind: Kind, work: impl FnOnce(&mut World, Fate) -> io::Result<T>) -> io::Result<T> {
        let world = &mut *self.world.lock();
        let fate = world.fate(kind);
        work(world, fate)
    }

    /// One that only reads.
    fn look<T>(&self, work: impl FnOnce(&World) -> io::Result<T>) -> io::Result<T> {
        let mut world = self.world.lock();
        if world.is_off {
            return Err(io::Error::other("no power"));
        }
        if world.faults.unreadable > 0 && world.random.below(1_000_000) < world.faults.unreadable {
            world.failures += 1;
            return Err(io::Error::other("unreadable"));
        }
        work(&world)
    }
}

impl Handle {
    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.disk.operate(Kind::Write, |world, fate| {
            let part = world.random.below(bytes.len() as u64 + 1) as usize;
            let now = &mut world.files[self.file].now;
            fate.apply(|in_part| {
                now.extend_from_slice(if in_part.is_some() { &bytes[..part] } else { bytes });
                Ok(())
            })
        })
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.disk.wait_while_it_hangs();
        self.disk.operate(Kind::Sync, |world, fate| {
            let file = &mut world.files[self.file];
            fate.apply(|in_part| {
                // The system may drop what it could not write.
                if in_part.is_some() {
                    file.now = file.synced.clone()
                } else {
                    file.sync()
                }
                Ok(())
            })
        })
    }
}

/// What a power cut leaves of a file.
fn crash(file: &mut Content<Vec<u8>>, random: &mut Random) {
    let whole = file.now.len();
    let kept = file.now.starts_with(&file.synced).then_some(file.synced.len());
    match (random.below(4), kept) {
        _ if file.now == file.synced => {}
        (0, _) => file.now = file.synced.clone(),
        (1, _) => {}
        (2, kept) => {
            let from = kept.unwrap_or(0);
            file.now.truncate(from + random.below((whole - from) as u64 + 1) as usize);
        }
        (_, kept) => {
            // Its new length is there, but not all of what was written.
            for at in kept.unwrap_or(0)..whole {
                if at % SECTOR == 0 && random.below(2) == 0 {
                    let end = whole.min(at + SECTOR);
                    file.now[at..end].fill(0);
                }
            }
        }
    }
    file.sync();
}
