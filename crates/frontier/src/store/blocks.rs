//! Queue blocks: their bytes in files beside the store, and in the store a small index entry for each.
//!
//! A merge writes its blocks into one file of its own (`file`), durable before the store says that the merge is covered.
//! The index finds a host's next block; a block whose URLs are all finished leaves the index at the next merge, and no
//! block is ever rewritten for that. When too little of a file is in use, a merge moves what is into its own (`files`),
//! and the old one is deleted once the merge has ended.
//!
//! A merge that was cut leaves a file that the covered record does not name, and index entries that name it. So an entry
//! of a block that moved keeps the place where it was before, and an entry counts only if the covered record names its
//! file. Invariant: every block that the covered state needs is where an entry says, whatever part of a merge was written.

mod disk;
mod file;
mod files;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

pub(crate) use file::RawBlock;
pub(crate) use files::Files;

use super::layout::{Block, BlockId, Change, block_key, decode_block, parse_block_id};
use super::{Entry, Store, between};
use crate::error::{Error, IoContext};
use crate::found::Priority;
use crate::record::BlockNumber;
use crate::wire::{Reader, WireError, Writer};
use file::Extent;

/// The block files of one store.
pub(super) struct BlockFiles {
    dir: PathBuf,
    /// Those that the covered record names.
    covered: Mutex<Files>,
}

/// Where a block is, as its index entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    file: u64,
    chunk: Extent,
    /// Bytes of its items before compression.
    bytes: u64,
}

/// What a merge does to the queue blocks of a partition.
#[derive(Default)]
pub(crate) struct BlockChanges<'a> {
    pub(crate) new: Vec<RawBlock<'a>>,
    /// Blocks of which no URL stands in the queue any more.
    pub(crate) dead: Vec<(Box<str>, BlockId)>,
    /// Hosts with no URL in the queue at all.
    pub(crate) idle: Vec<&'a str>,
}

impl BlockFiles {
    /// The files in `dir`, of which the covered record names these.
    pub(super) fn open(dir: &Path, mut covered: Files) -> Result<Self, Error> {
        let found = disk::list(dir)?;
        for (number, usage) in covered.numbers() {
            let what = match found.iter().find(|(other, _)| *other == number) {
                Some((_, length)) if *length == usage.length => continue,
                Some((_, length)) => format!("{length} bytes long, not {}", usage.length),
                None => "missing".to_owned(),
            };
            return Err(Error::corrupt(&disk::path(dir, number), what));
        }
        let used = found.iter().map(|(number, _)| number + 1).max();
        covered.next = covered.next.max(used.unwrap_or(0));
        Ok(Self { dir: dir.to_owned(), covered: Mutex::new(covered) })
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.covered.lock().length()
    }

    /// From here on these are the files that the covered record names.
    pub(super) fn set_covered(&self, files: &Files) {
        self.covered.lock().clone_from(files);
    }

    /// The place that counts of those that an index entry names; `None` where it is of a merge that never was.
    fn spot(&self, entry: &[u8]) -> Result<Option<Spot>, WireError> {
        let covered = self.covered.lock();
        Ok(decode_spots(entry)?.into_iter().flatten().find(|spot| covered.get(spot.file).is_some()))
    }

    fn read(&self, host: &str, id: BlockId, spot: &Spot) -> Result<Block, Error> {
        let damaged = |e: WireError| Error::corrupt(&disk::path(&self.dir, spot.file), format!("{host}: {e}"));
        let Extent { offset, length } = spot.chunk;
        let within = self.covered.lock().get(spot.file).is_none_or(|usage| offset + u64::from(length) <= usage.length);
        if !within {
            return Err(damaged(WireError("block beyond the end of its file")));
        }
        let bytes = disk::read_at(&self.dir, spot.file, offset, length as usize)?;
        let (raw, _) = file::decode_chunk(spot.file, offset, &bytes).map_err(damaged)?;
        for block in file::blocks(&raw) {
            let block = block.map_err(damaged)?;
            if block.host == host && block.id == id {
                return decode_block(host, &block.items).map_err(damaged);
            }
        }
        Err(damaged(WireError("block not in the chunk where it should be")))
    }

    /// All blocks of a file, which is read whole.
    fn read_all(&self, number: u64, length: u64) -> Result<Vec<(Extent, RawBlock<'static>)>, Error> {
        let bytes = disk::read_at(&self.dir, number, 0, length as usize)?;
        file::decode(number, &bytes).map_err(|e| Error::corrupt(&disk::path(&self.dir, number), e.to_string()))
    }
}

impl Store {
    /// The host's first block after one of `after`, which are of different classes, of merges up to `upto`.
    ///
    /// # Errors
    /// What the disk says; also, where a merge has ended meanwhile, that a file is gone.
    pub(crate) fn next_block(
        &self,
        host: &str,
        after: &[BlockId],
        upto: BlockNumber,
    ) -> Result<Option<(BlockId, Block)>, Error> {
        let Some(first) = after.first() else { return Ok(None) };
        let from = block_key(host, BlockId { part: first.part + 1, ..*first });
        // In one range over all classes it passes over a few that were read already, or that a merge is just writing: a
        // range for each class would cost more.
        let is_next = |id: BlockId| id.number <= upto && after.iter().any(|a| a.priority == id.priority && *a < id);
        let counts = |entry: Entry| {
            let (id, spot) = self.index_entry(host, entry)?;
            Ok(spot.filter(|_| is_next(id)).map(|spot| (id, spot)))
        };
        let first = |db: &_| between(db, from, end_of(host)).find_map(|entry| counts(entry).transpose()).transpose();
        let read = |(id, spot)| Ok((id, self.blocks.read(host, id, &spot)?));
        self.lend(first)?.map(read).transpose()
    }

    fn index_entry(&self, host: &str, entry: Entry) -> Result<(BlockId, Option<Spot>), Error> {
        let (key, value) = entry.at(&self.dir)?;
        let id = parse_block_id(&key).ok_or_else(|| self.malformed(host, WireError("block key")))?;
        Ok((id, self.blocks.spot(&value).map_err(|e| self.malformed(host, e))?))
    }

    /// Writes a merge's block file, and adds to `changes` what the merge changes in the index. Returns the files that its
    /// covered record must name.
    pub(crate) fn write_blocks(&self, blocks: BlockChanges<'_>, changes: &mut Vec<Change>) -> Result<Files, Error> {
        let mut files = self.blocks.covered.lock().clone();
        let gone = self.gone(&blocks)?;
        for (key, spot) in &gone {
            changes.push(Change { key: key.clone(), value: None });
            spot.iter().for_each(|spot| files.release(spot.file, spot.bytes));
        }
        files.drop_unused();
        let mut all: Vec<(RawBlock<'_>, Option<Spot>)> = blocks.new.into_iter().map(|block| (block, None)).collect();
        let written = all.iter().map(|(block, _)| size_of_items(block)).sum();
        let before = files.clone();
        for number in files.take_worst(written) {
            let length = before.get(number).map_or(0, |usage| usage.length);
            all.extend(self.live_blocks(number, length, &gone)?);
        }
        if !all.is_empty() {
            all.sort_unstable_by(|(a, _), (b, _)| (&a.host, a.id).cmp(&(&b.host, b.id)));
            self.write_block_file(all, &mut files, changes)?;
        }
        Ok(files)
    }

    /// The index entries that go, with the places of their blocks.
    fn gone(&self, blocks: &BlockChanges<'_>) -> Result<BTreeMap<Vec<u8>, Option<Spot>>, Error> {
        let mut gone = BTreeMap::new();
        self.lend(|db| {
            for host in &blocks.idle {
                for entry in between(db, block_key(host, BlockId::before(Priority::FIRST)), end_of(host)) {
                    let (id, spot) = self.index_entry(host, entry)?;
                    gone.insert(block_key(host, id), spot);
                }
            }
            for (host, id) in &blocks.dead {
                let key = block_key(host, *id);
                if let Some(entry) = db.get(&key).at(&self.dir)? {
                    let spot = self.blocks.spot(&entry).map_err(|e| self.malformed(host, e))?;
                    gone.insert(key, spot);
                }
            }
            Ok(())
        })?;
        Ok(gone)
    }

    /// The blocks of a file that are in use and stay so.
    fn live_blocks(
        &self,
        number: u64,
        length: u64,
        gone: &BTreeMap<Vec<u8>, Option<Spot>>,
    ) -> Result<Vec<(RawBlock<'static>, Option<Spot>)>, Error> {
        let mut live = Vec::new();
        for (chunk, block) in self.blocks.read_all(number, length)? {
            let key = block_key(&block.host, block.id);
            let Some(entry) = self.get(&key)?.filter(|_| !gone.contains_key(&key)) else { continue };
            let spot = self.blocks.spot(&entry).map_err(|e| self.malformed(&block.host, e))?;
            if spot.is_some_and(|spot| spot.file == number && spot.chunk == chunk) {
                live.push((block, spot));
            }
        }
        Ok(live)
    }

    fn write_block_file(
        &self,
        all: Vec<(RawBlock<'_>, Option<Spot>)>,
        files: &mut Files,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let dir = &self.blocks.dir;
        let (blocks, before): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let (bytes, chunks) = file::encode(files.next, &blocks).at(&disk::path(dir, files.next))?;
        self.watched(|| disk::create(dir, files.next, &bytes))?;
        let mut all_bytes = 0;
        for ((block, before), chunk) in blocks.iter().zip(before).zip(chunks) {
            let spot = Spot { file: files.next, chunk, bytes: size_of_items(block) };
            let value = Some(encode_spots(&spot, before.as_ref()));
            changes.push(Change { key: block_key(&block.host, block.id), value });
            all_bytes += spot.bytes;
        }
        files.add(bytes.len() as u64, all_bytes);
        Ok(())
    }

    /// Bytes of the block files.
    #[cfg(test)]
    pub(crate) fn block_bytes(&self) -> u64 {
        self.blocks.bytes()
    }

    /// Deletes the files that the covered record does not name. Only once nobody reads by an older one.
    pub(crate) fn remove_old_blocks(&self) -> Result<(), Error> {
        let covered = self.blocks.covered.lock().clone();
        disk::remove_all_but(&self.blocks.dir, |number| covered.get(number).is_some())
    }
}

impl<'a> RawBlock<'a> {
    /// A block of these items: key and referrer.
    pub(crate) fn new(host: &'a str, id: BlockId, items: Vec<u8>) -> Self {
        Self { host: Cow::Borrowed(host), id, items: Cow::Owned(items) }
    }
}

/// After the index entries of all blocks of a host.
fn end_of(host: &str) -> Vec<u8> {
    block_key(host, BlockId { priority: Priority::LAST, number: BlockNumber::MAX, part: u32::MAX })
}

/// Never zero, so that a file with a block in use is a file in use.
fn size_of_items(block: &RawBlock<'_>) -> u64 {
    block.items.len().max(1) as u64
}

/// Where a block is, and where it was before it moved there.
fn encode_spots(spot: &Spot, before: Option<&Spot>) -> Vec<u8> {
    let mut out = Writer::default();
    for spot in [Some(spot), before].into_iter().flatten() {
        out.varint(spot.file);
        out.varint(spot.chunk.offset);
        out.varint(u64::from(spot.chunk.length));
        out.varint(spot.bytes);
    }
    out.into_bytes()
}

fn decode_spots(value: &[u8]) -> Result<[Option<Spot>; 2], WireError> {
    let mut input = Reader::new(value);
    let mut spots = [None; 2];
    for spot in &mut spots {
        if input.is_empty() {
            break;
        }
        let (file, offset, length) = (input.varint()?, input.varint()?, input.narrow()?);
        *spot = Some(Spot { file, chunk: Extent { offset, length }, bytes: input.varint()? });
    }
    Ok(spots)
}

#[cfg(test)]
mod tests;
