//! Making durable what the journal's buffer holds: by its thread, or by whoever waits for it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::segment::{self, create_segment};
use super::{Sequence, Shared, State};
use crate::disk::File;
use crate::error::{Error, IoContext};
use crate::steps::{Step, step};
use crate::watch::LIMIT;

/// Where commits are written.
pub(super) struct Segments {
    pub(super) dir: PathBuf,
    pub(super) newest: File,
    /// Room for the next events, kept from commit to commit.
    pub(super) spare: Vec<u8>,
}

impl Shared {
    pub(super) fn commit_until_closed(&self, mut segments: Segments) {
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
            if !self.commit(state, &mut segments) {
                return;
            }
        }
    }

    /// Makes durable what is buffered. False if that failed: then nothing is taken any more.
    pub(super) fn commit(&self, mut state: MutexGuard<'_, State>, segments: &mut Segments) -> bool {
        if state.count == 0 || state.failed.is_some() {
            return state.failed.is_none();
        }
        state.urgent = false;
        let events = std::mem::replace(&mut state.buffer, std::mem::take(&mut segments.spare));
        let (count, last) = (std::mem::take(&mut state.count), state.last);
        drop(state);
        step(Step::CommitTaken);
        let result = match self.watch.over(|| self.write_commit(segments, &events, count, last)) {
            (Ok(()), Some(took)) => Err(late(&segments.dir, took)),
            (result, _) => result.map_err(|error| error.to_string()),
        };
        let failed = result.is_err();
        let mut state = self.state.lock();
        match result {
            Ok(()) => self.durable.store(last, Ordering::Release),
            Err(why) => {
                state.failed = Some(why);
                self.has_failed.store(true, Ordering::Release);
            }
        }
        drop(state);
        self.done.notify_all();
        (self.wake)();
        segments.spare = events;
        segments.spare.clear();
        segments.spare.shrink_to(1 << 20);
        !failed
    }

    fn write_commit(&self, to: &mut Segments, events: &[u8], count: u32, last: Sequence) -> Result<(), Error> {
        let first = last + 1 - Sequence::from(count);
        if self.state.lock().segments.last().is_some_and(|s| s.bytes >= self.segment_bytes) {
            let (next, segment) = create_segment(&to.dir, first, false)?;
            to.newest = next;
            self.bytes.fetch_add(segment.bytes, Ordering::Relaxed);
            self.state.lock().segments.push(segment);
        }
        let header = segment::commit_header(first, count, events);
        let written = to.newest.append(&header).and_then(|()| to.newest.append(events));
        step(Step::CommitWritten);
        written.and_then(|()| to.newest.sync()).at(&to.dir)?;
        step(Step::CommitSynced);
        let bytes = (header.len() + events.len()) as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(segment) = self.state.lock().segments.last_mut() {
            segment.bytes += bytes;
        }
        Ok(())
    }
}

pub(super) fn late(dir: &Path, took: Duration) -> String {
    format!("{}: a journal sync takes longer than {LIMIT:?} ({took:?}); is the disk full or gone?", dir.display())
}
