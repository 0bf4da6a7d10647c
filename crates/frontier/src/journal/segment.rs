//! A segment file of the journal: how it is written and read, and what is made of one that is damaged.
//!
//! On disk a segment is a header and *commits*, each what one `fdatasync` made durable:
//!
//! ```text
//! segment = "CRAWLJ01" first_sequence:u64  *commit            ; file name: first sequence, 20 digits, ".journal"
//! commit  = marker:u32 length:u32 crc32:u32 first_sequence:u64 count:u32  *( event_length:u32 event )
//! ```
//!
//! All numbers are little-endian; `crc32` covers everything after itself, `length` counts the bytes after the commit's
//! header. A commit is whole or not there. One that is not whole was never synced *if nothing comes after it*: that torn
//! tail is cut off. A whole commit after a bad one means that synced data was lost: a loud error, never skipped.

use std::path::{Path, PathBuf};

use super::Sequence;
use crate::disk::{self, File};
use crate::error::{Error, IoContext};
use crate::steps::{Step, step};

const MAGIC: &[u8; 8] = b"CRAWLJ01";
pub(super) const SEGMENT_HEADER: usize = 16;
const MARKER: [u8; 4] = *b"cmt\n";
pub(super) const COMMIT_HEADER: usize = 24;
/// Where the checksum's coverage starts in a commit: after marker, length and checksum.
const CHECKED_FROM: usize = 12;

/// One file of the journal.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) first: Sequence,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// The header of a commit of these events.
pub(super) fn commit_header(first: Sequence, count: u32, events: &[u8]) -> [u8; COMMIT_HEADER] {
    let mut header = [0; COMMIT_HEADER];
    header[..4].copy_from_slice(&MARKER);
    header[4..8].copy_from_slice(&(events.len() as u32).to_le_bytes());
    header[12..20].copy_from_slice(&first.to_le_bytes());
    header[20..].copy_from_slice(&count.to_le_bytes());
    let checksum = checksum(&header[CHECKED_FROM..], events);
    header[8..12].copy_from_slice(&checksum.to_le_bytes());
    header
}

fn checksum(header: &[u8], events: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(events);
    hasher.finalize()
}

/// The segments of a directory, oldest first.
pub(super) fn list(dir: &Path) -> Result<Vec<Segment>, Error> {
    let mut segments = Vec::new();
    for path in disk::list(dir).at(dir)? {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let Some(first) = name.strip_suffix(".journal").and_then(|n| n.parse().ok()).filter(|first| *first > 0) else {
            return Err(Error::corrupt(&path, "not a journal segment; remove it if it is a file of yours".into()));
        };
        segments.push(Segment { first, path, bytes: 0 });
    }
    segments.sort_by_key(|s| s.first);
    Ok(segments)
}

/// A new segment, its header and name synced. `reused`: there is one of this name, without an event.
pub(super) fn create_segment(dir: &Path, first: Sequence, reused: bool) -> Result<(File, Segment), Error> {
    let path = dir.join(format!("{first:020}.journal"));
    let created = if reused { disk::create(&path, 0o666) } else { disk::create_new(&path) };
    let mut file = created.at(&path)?;
    step(Step::SegmentCreated);
    let mut header = [0; SEGMENT_HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..].copy_from_slice(&first.to_le_bytes());
    file.append(&header).and_then(|()| file.sync()).at(&path)?;
    step(Step::SegmentSynced);
    disk::sync_dir(dir).at(dir)?;
    Ok((file, Segment { first, path, bytes: SEGMENT_HEADER as u64 }))
}

/// Reads one segment; returns its length without a torn tail, which is cut off if this is the last segment. What is left
/// of the last one is durable then: the process that wrote it may have been killed before it synced what it wrote.
pub(super) fn read_segment(
    segment: &Segment,
    is_last: bool,
    last: &mut Sequence,
    replay: &mut impl FnMut(Sequence, &[u8]) -> Result<(), Error>,
) -> Result<u64, Error> {
    let path = &segment.path;
    let bytes = disk::read(path).at(path)?;
    let header_is_whole = bytes.len() >= SEGMENT_HEADER && bytes[..8] == *MAGIC && le64(&bytes[8..]) == segment.first;
    if !header_is_whole {
        // Its header is synced before the first commit is written.
        return if is_last && find_commit(&bytes, *last).is_none() {
            Ok(0)
        } else {
            Err(Error::corrupt(path, "not a journal segment of this version".into()))
        };
    }
    let mut at = SEGMENT_HEADER;
    while let Some(commit) = Commit::parse(&bytes[at..]) {
        if commit.first != *last + 1 {
            return Err(Error::corrupt(path, format!("event {} follows event {}", commit.first, *last)));
        }
        let mut events = commit.events;
        for _ in 0..commit.count {
            let (event, rest) = split_event(events).ok_or_else(|| Error::corrupt(path, "malformed commit".into()))?;
            events = rest;
            *last += 1;
            replay(*last, event)?;
        }
        at += COMMIT_HEADER + commit.events.len();
    }
    if at < bytes.len() && (!is_last || find_commit(&bytes[at..], *last).is_some()) {
        return Err(Error::corrupt(path, format!("a damaged commit at byte {at}, with good ones after it")));
    }
    if is_last {
        disk::cut(path, at as u64).at(path)?;
        step(Step::TailCut);
    }
    Ok(at as u64)
}

/// A whole commit at the front of some bytes.
struct Commit<'a> {
    first: Sequence,
    count: u32,
    events: &'a [u8],
}

impl<'a> Commit<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(COMMIT_HEADER)?;
        let events = rest.get(..le32(&header[4..]) as usize)?;
        let whole = header[..4] == MARKER && le32(&header[8..]) == checksum(&header[CHECKED_FROM..], events);
        whole.then(|| Self { first: le64(&header[12..]), count: le32(&header[20..]), events })
    }
}

/// Whether a whole commit with an event above `last` starts anywhere in `bytes`.
fn find_commit(bytes: &[u8], last: Sequence) -> Option<usize> {
    (0..bytes.len().saturating_sub(COMMIT_HEADER))
        .filter(|at| bytes[*at..].starts_with(&MARKER))
        .find(|at| Commit::parse(&bytes[*at..]).is_some_and(|c| c.first > last))
}

fn split_event(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(4)?;
    rest.split_at_checked(le32(length) as usize)
}

fn le32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn le64(bytes: &[u8]) -> u64 {
    u64::from(le32(bytes)) | u64::from(le32(&bytes[4..])) << 32
}
