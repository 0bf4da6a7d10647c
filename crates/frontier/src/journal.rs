//! The journal: append-only segments of numbered events, group-committed. Its file system is named in here and nowhere else.
//!
//! Four verbs: [`Journal::append`] puts an event into the buffer and numbers it, a background thread writes the buffer
//! and calls `fdatasync` every commit interval; [`Journal::open`] reads all events from a sequence on; [`Journal::trim`]
//! deletes segments that nobody needs; [`Journal::wait_durable`] waits. It knows nothing of what an event means. What lies on
//! disk is described in `segment`.

mod segment;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::error::{Error, IoContext};
use segment::{SEGMENT_HEADER, Segment, create_segment, list, read_segment, sync_dir};

/// A segment is closed when it has this share of `max_bytes`, so that trimming can keep the whole near that size.
const SEGMENTS: u64 = 16;
/// `offer` waits when this much is not yet written, in bytes: the disk is slower than what is found.
const BUFFER_LIMIT: usize = 32 << 20;

/// Number of an event; the first is 1, zero stands for "none".
pub(crate) type Sequence = u64;

/// Handle to the journal of one data directory.
pub(crate) struct Journal {
    shared: Arc<Shared>,
    committer: Mutex<Option<JoinHandle<()>>>,
    dir: PathBuf,
}

struct Shared {
    state: Mutex<State>,
    /// Signalled when there is something for the committer to do.
    work: Condvar,
    /// Signalled when `durable` has advanced or the journal has failed.
    done: Condvar,
    durable: AtomicU64,
    bytes: AtomicU64,
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
    /// Since when a write and sync is under way.
    syncing_since: Option<Instant>,
    /// Oldest first; the last one is being written.
    segments: Vec<Segment>,
}

/// Size and pace of a journal.
pub(crate) struct Pace {
    pub(crate) interval: Duration,
    pub(crate) max_bytes: u64,
}

impl Journal {
    /// Opens the journal in `dir` (created when missing), cuts a torn tail, hands every event to `replay` in order, and
    /// starts committing. `known` are the lowest and the highest sequence that the stores cover; a journal that begins above
    /// or ends below them has lost
    /// synced data.
    pub(crate) fn open(
        dir: &Path,
        pace: &Pace,
        known: (Sequence, Sequence),
        wake: Box<dyn Fn() + Send + Sync>,
        mut replay: impl FnMut(Sequence, &[u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        fs::create_dir_all(dir).at(dir)?;
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
        // A segment cut down to nothing is made anew, so that its name is its first sequence again.
        if let Some(empty) = segments.pop_if(|s| s.bytes <= SEGMENT_HEADER as u64) {
            fs::remove_file(&empty.path).at(&empty.path)?;
        }
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
        let (file, segment) = create_segment(dir, last + 1)?;
        segments.push(segment);
        let bytes = segments.iter().map(|s| s.bytes).sum();
        let state = State {
            buffer: Vec::new(),
            count: 0,
            last,
            urgent: false,
            closing: false,
            failed: None,
            syncing_since: None,
            segments,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
            durable: AtomicU64::new(last),
            bytes: AtomicU64::new(bytes),
            interval: pace.interval,
            segment_bytes: (pace.max_bytes / SEGMENTS).max(1 << 16),
            wake,
        });
        let committer = {
            let (shared, own_dir) = (Arc::clone(&shared), dir.to_owned());
            std::thread::Builder::new()
                .name("journal".into())
                .spawn(move || shared.commit_until_closed(file, &own_dir))
                .at(dir)?
        };
        Ok(Self { shared, committer: Mutex::new(Some(committer)), dir: dir.to_owned() })
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
        let mut state = self.shared.state.lock();
        state.urgent = true;
        self.shared.work.notify_one();
        self.wait(&mut state, |shared, _| shared.durable.load(Ordering::Acquire) >= sequence)
    }

    /// Waits while more than a fixed amount is not yet written. True if it had to wait.
    pub(crate) fn wait_room(&self) -> Result<bool, Error> {
        let mut state = self.shared.state.lock();
        let full = state.buffer.len() > BUFFER_LIMIT;
        self.wait(&mut state, |_, state| state.buffer.len() <= BUFFER_LIMIT).map(|()| full)
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
            fs::remove_file(&segment.path).at(&segment.path)?;
            self.shared.bytes.fetch_sub(segment.bytes, Ordering::Relaxed);
        }
        if gone.is_empty() { Ok(()) } else { sync_dir(&self.dir) }
    }

    /// Why nothing can become durable any more, or that a sync has been under way for longer than `limit`.
    pub(crate) fn health(&self, limit: Duration) -> Result<(), Error> {
        let state = self.shared.state.lock();
        if let Some(why) = &state.failed {
            return Err(Error::Poisoned(why.clone()));
        }
        match state.syncing_since {
            Some(since) if since.elapsed() > limit => {
                Err(Error::Poisoned(format!("{}: journal sync hangs for {:?}", self.dir.display(), since.elapsed())))
            }
            _ => Ok(()),
        }
    }

    /// Commits what is buffered and ends the committer.
    pub(crate) fn close(&self) -> Result<(), Error> {
        {
            let mut state = self.shared.state.lock();
            state.closing = true;
            self.shared.work.notify_one();
        }
        if let Some(committer) = self.committer.lock().take() {
            committer.join().map_err(|_| Error::Poisoned("the journal's thread panicked".into()))?;
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

impl Shared {
    fn commit_until_closed(&self, mut file: File, dir: &Path) {
        let mut spare = Vec::new();
        loop {
            let mut state = self.state.lock();
            while state.count == 0 && !state.closing {
                self.work.wait(&mut state);
            }
            if state.count == 0 {
                return;
            }
            // Group: others join this commit until the interval is over or somebody waits.
            let deadline = Instant::now() + self.interval;
            while !state.urgent && !state.closing && !self.work.wait_until(&mut state, deadline).timed_out() {}
            state.urgent = false;
            let events = std::mem::replace(&mut state.buffer, std::mem::take(&mut spare));
            let (count, last) = (std::mem::take(&mut state.count), state.last);
            state.syncing_since = Some(Instant::now());
            drop(state);

            let result = self.write_commit(&mut file, dir, &events, count, last);
            let mut state = self.state.lock();
            state.syncing_since = None;
            if let Err(error) = result {
                state.failed = Some(format!("{}: {error}", dir.display()));
                drop(state);
                self.done.notify_all();
                (self.wake)();
                return;
            }
            self.durable.store(last, Ordering::Release);
            drop(state);
            self.done.notify_all();
            (self.wake)();
            spare = events;
            spare.clear();
            spare.shrink_to(1 << 20);
        }
    }

    fn write_commit(&self, file: &mut File, dir: &Path, events: &[u8], count: u32, last: Sequence) -> io::Result<()> {
        let first = last + 1 - Sequence::from(count);
        if self.state.lock().segments.last().is_some_and(|s| s.bytes >= self.segment_bytes) {
            let (next, segment) = create_segment(dir, first).map_err(|e| io::Error::other(e.to_string()))?;
            *file = next;
            self.bytes.fetch_add(segment.bytes, Ordering::Relaxed);
            self.state.lock().segments.push(segment);
        }
        let header = segment::commit_header(first, count, events);
        file.write_all(&header)?;
        file.write_all(events)?;
        file.sync_data()?;
        let bytes = (header.len() + events.len()) as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(segment) = self.state.lock().segments.last_mut() {
            segment.bytes += bytes;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
