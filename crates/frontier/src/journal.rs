//! The journal: append-only segments of numbered events, group-committed. Its files are written in here and nowhere else.
//!
//! Four verbs: [`Journal::append`] puts an event into the buffer and numbers it, a background thread writes the buffer
//! and calls `fdatasync` every commit interval; [`Journal::open`] reads all events from a sequence on; [`Journal::trim`]
//! deletes segments that nobody needs; [`Journal::wait_durable`] waits. It knows nothing of what an event means. What lies on
//! disk is described in `segment`.

mod commit;
mod segment;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::disk;
use crate::error::{Error, IoContext};
use crate::steps::{Step, step};
use crate::watch::Watch;
use commit::{Segments, late};
use segment::{SEGMENT_HEADER, Segment, create_segment, list, read_segment};

/// A segment is closed when it has this share of `max_bytes`, so that trimming can keep the whole near that size.
const SEGMENTS: u64 = 16;
/// No segment is closed with less than this, in bytes. Tests have small ones, so that there are several.
const LEAST_SEGMENT_BYTES: u64 = if cfg!(test) { 512 } else { 1 << 16 };
/// `offer` waits when this much is not yet written, in bytes: the disk is slower than what is found.
const BUFFER_LIMIT: usize = 32 << 20;

/// Number of an event; the first is 1, zero stands for "none".
pub(crate) type Sequence = u64;

/// Handle to the journal of one data directory.
pub(crate) struct Journal {
    shared: Arc<Shared>,
    committer: Mutex<Committer>,
    dir: PathBuf,
}

/// Who commits.
enum Committer {
    Thread(JoinHandle<()>),
    /// Whoever waits for a commit.
    Caller(Segments),
    Closed,
}

struct Shared {
    state: Mutex<State>,
    /// Signalled when there is something for the committer to do.
    work: Condvar,
    /// Signalled when `durable` has advanced or the journal has failed.
    done: Condvar,
    durable: AtomicU64,
    bytes: AtomicU64,
    /// Over writes and syncs.
    watch: Watch,
    /// Whether `failed` says why.
    has_failed: AtomicBool,
    interval: Duration,
    segment_bytes: u64,
    wake: Box<dyn Fn() + Send + Sync>,
}

struct State {
    /// Events appended since the last commit was taken, each with its length before it.
    buffer: Vec<u8>,
    count: u32,
    last: Sequence,
    urgent: bool,
    closing: bool,
    failed: Option<String>,
    /// Oldest first; the last one is being written.
    segments: Vec<Segment>,
}

/// Size and pace of a journal.
pub(crate) struct Pace {
    pub(crate) interval: Duration,
    pub(crate) max_bytes: u64,
    /// Whether whoever waits for a commit makes it, so that nothing happens by itself.
    pub(crate) by_caller: bool,
}

impl Journal {
    /// Opens the journal in `dir`, cuts a torn tail, hands every event to `replay` in order, and
    /// starts committing. `known` are the lowest and the highest sequence that a store covers; a journal that begins above
    /// or ends below them has lost synced data.
    pub(crate) fn open(
        dir: &Path,
        pace: &Pace,
        known: (Sequence, Sequence),
        wake: Box<dyn Fn() + Send + Sync>,
        mut replay: impl FnMut(Sequence, &[u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut segments = list(dir)?;
        let mut last = 0;
        for i in 0..segments.len() {
            let is_last = i + 1 == segments.len();
            let segment = &mut segments[i];
            if last != 0 && segment.first != last + 1 {
                return Err(Error::corrupt(&segment.path, format!("a segment is missing after event {last}")));
            }
            last = last.max(segment.first - 1);
            segment.bytes = read_segment(segment, is_last, &mut last, &mut replay)?;
        }
        // A segment cut down to nothing is written anew under the name that it has, which may be all that says where the
        // numbers go on: it must not be gone for a moment.
        let reused = segments.pop_if(|s| s.bytes <= SEGMENT_HEADER as u64).is_some();
        let (lowest, highest) = known;
        if highest > last {
            let what = format!("the journal ends at event {last}, but a store covers {highest}");
            return Err(Error::corrupt(dir, what));
        }
        if let Some(first) = segments.first().map(|s| s.first).filter(|first| *first > lowest + 1) {
            let what = format!("the journal begins at event {first}, but a store covers only {lowest}");
            return Err(Error::corrupt(dir, what));
        }
        // Each run writes segments of its own: what an earlier one left is never written again.
        let (newest, segment) = create_segment(dir, last + 1, reused)?;
        segments.push(segment);
        let bytes = segments.iter().map(|s| s.bytes).sum();
        let state = State { buffer: Vec::new(), count: 0, last, urgent: false, closing: false, failed: None, segments };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
            durable: AtomicU64::new(last),
            bytes: AtomicU64::new(bytes),
            watch: Watch::default(),
            has_failed: AtomicBool::new(false),
            interval: pace.interval,
            segment_bytes: (pace.max_bytes / SEGMENTS).max(LEAST_SEGMENT_BYTES),
            wake,
        });
        let segments = Segments { dir: dir.to_owned(), newest, spare: Vec::new() };
        let committer = if pace.by_caller {
            Committer::Caller(segments)
        } else {
            let shared = Arc::clone(&shared);
            let commit = move || shared.commit_until_closed(segments);
            Committer::Thread(std::thread::Builder::new().name("journal".into()).spawn(commit).at(dir)?)
        };
        Ok(Self { shared, committer: Mutex::new(committer), dir: dir.to_owned() })
    }

    /// Appends one event and returns its number. Not durable yet.
    ///
    /// The caller holds the locks of all partitions that the event concerns, so that each of them sees its events in
    /// the order of their numbers.
    pub(crate) fn append(&self, event: &[u8]) -> Result<Sequence, Error> {
        let mut state = self.shared.state.lock();
        if let Some(why) = &state.failed {
            return Err(Error::Poisoned(why.clone()));
        }
        state.buffer.extend_from_slice(&(event.len() as u32).to_le_bytes());
        state.buffer.extend_from_slice(event);
        state.count += 1;
        state.last += 1;
        let sequence = state.last;
        if state.count == 1 {
            self.shared.work.notify_one();
        }
        Ok(sequence)
    }

    /// Number of the newest event.
    pub(crate) fn last(&self) -> Sequence {
        self.shared.state.lock().last
    }

    /// Number up to which every event is durable.
    pub(crate) fn durable(&self) -> Sequence {
        self.shared.durable.load(Ordering::Acquire)
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// First sequence of the oldest segment that is complete; what must be covered for it to go is below the next one.
    pub(crate) fn oldest_segment_end(&self) -> Option<Sequence> {
        let state = self.shared.state.lock();
        (state.segments.len() > 1).then(|| state.segments[1].first - 1)
    }

    /// Waits until `sequence` is durable, without waiting for the commit interval to pass.
    pub(crate) fn wait_durable(&self, sequence: Sequence) -> Result<(), Error> {
        if self.durable() >= sequence {
            return Ok(());
        }
        self.commit_by_caller();
        let mut state = self.shared.state.lock();
        state.urgent = true;
        self.shared.work.notify_one();
        self.wait(&mut state, |shared, _| shared.durable.load(Ordering::Acquire) >= sequence)
    }

    /// Waits while more than a fixed amount is not yet written. True if it had to wait.
    pub(crate) fn wait_room(&self) -> Result<bool, Error> {
        if self.shared.state.lock().buffer.len() > BUFFER_LIMIT {
            self.commit_by_caller();
        }
        let mut state = self.shared.state.lock();
        let full = state.buffer.len() > BUFFER_LIMIT;
        self.wait(&mut state, |_, state| state.buffer.len() <= BUFFER_LIMIT).map(|()| full)
    }

    /// Commits what is buffered, if no thread does.
    fn commit_by_caller(&self) {
        if let Committer::Caller(segments) = &mut *self.committer.lock() {
            self.shared.commit(self.shared.state.lock(), segments);
        }
    }

    fn wait(&self, state: &mut MutexGuard<'_, State>, ready: impl Fn(&Shared, &State) -> bool) -> Result<(), Error> {
        loop {
            if let Some(why) = &state.failed {
                return Err(Error::Poisoned(why.clone()));
            }
            if ready(&self.shared, state) {
                return Ok(());
            }
            self.shared.done.wait(state);
        }
    }

    /// Deletes segments all of whose events are at or below `covered`.
    pub(crate) fn trim(&self, covered: Sequence) -> Result<(), Error> {
        let gone: Vec<Segment> = {
            let mut state = self.shared.state.lock();
            let keep = state.segments.windows(2).take_while(|pair| pair[1].first <= covered + 1).count();
            state.segments.drain(..keep).collect()
        };
        for segment in &gone {
            disk::remove(&segment.path).at(&segment.path)?;
            step(Step::SegmentRemoved);
            self.shared.bytes.fetch_sub(segment.bytes, Ordering::Relaxed);
            // One after the other: a power cut must not bring the older of two back without the newer one.
            disk::sync_dir(&self.dir).at(&self.dir)?;
        }
        Ok(())
    }

    /// Why nothing can become durable any more, or that a sync takes longer than it may.
    pub(crate) fn health(&self) -> Result<(), Error> {
        if let Some(took) = self.shared.watch.late() {
            return Err(Error::Poisoned(late(&self.dir, took)));
        }
        if !self.shared.has_failed.load(Ordering::Acquire) {
            return Ok(());
        }
        match &self.shared.state.lock().failed {
            Some(why) => Err(Error::Poisoned(why.clone())),
            None => Ok(()),
        }
    }

    /// Commits what is buffered and ends the committer.
    pub(crate) fn close(&self) -> Result<(), Error> {
        {
            let mut state = self.shared.state.lock();
            state.closing = true;
            self.shared.work.notify_one();
        }
        self.commit_by_caller();
        if let Committer::Thread(thread) = std::mem::replace(&mut *self.committer.lock(), Committer::Closed) {
            thread.join().map_err(|_| Error::Poisoned("the journal's thread panicked".into()))?;
        }
        match &self.shared.state.lock().failed {
            Some(why) => Err(Error::Poisoned(why.clone())),
            None => Ok(()),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // An error was or will be seen by whoever asked for durability; here nobody is left to tell.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests;
