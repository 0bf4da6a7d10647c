//! The one task that appends what workers have encoded, and syncs it for all that wait.
//!
//! Not the encoding. Invariant: a worker is told *done* only after a sync that came after its bytes were appended; after
//! the first error nobody is told so any more.

use std::io::{self, Seek};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::rolling::RollingFile;
use super::{Encoded, Sink};
use crate::clock::Clock;

/// How often an idle writer looks whether a file is old enough to be closed.
const LOOK: Duration = Duration::from_secs(1);

/// Leases that share one sync at most.
const MAX_BATCH: usize = 1024;

/// What a worker wants written.
pub(super) struct Job {
    /// One for each sink.
    pub encoded: io::Result<Vec<Encoded>>,
    /// Told when it is on the disk; dropped when it is not.
    pub done: oneshot::Sender<()>,
}

/// The writer.
pub struct Writer {
    files: Files,
    jobs: mpsc::Receiver<Job>,
    clock: Clock,
}

type Files = Vec<(Arc<dyn Sink>, RollingFile)>;

impl Writer {
    pub(super) fn new(files: Files, jobs: mpsc::Receiver<Job>, clock: Clock) -> Self {
        Self { files, jobs, clock }
    }

    /// Writes until every [`Outputs`](super::Outputs) is gone, then closes the files.
    ///
    /// # Errors
    /// When the disk fails; the crawl then has to end. Files stay open for the next start to close.
    pub async fn run(mut self) -> io::Result<()> {
        loop {
            let mut batch = Vec::new();
            let more = match timeout(LOOK, self.jobs.recv_many(&mut batch, MAX_BATCH)).await {
                Ok(count) => count > 0,
                Err(_) => true,
            };
            let (mut files, clock) = (self.files, self.clock);
            let written = spawn_blocking(move || {
                let written = write(&mut files, batch, clock, !more);
                (files, written)
            });
            let (files, written) = written.await.map_err(io::Error::other)?;
            written?;
            self.files = files;
            if !more {
                return Ok(());
            }
        }
    }
}

fn write(files: &mut Files, batch: Vec<Job>, clock: Clock, is_last: bool) -> io::Result<()> {
    let mut waiting = Vec::with_capacity(batch.len());
    let mut originals: Vec<Vec<_>> = files.iter().map(|_| Vec::new()).collect();
    let now = clock.now();
    for Job { encoded, done } in batch {
        for ((mut encoded, (sink, file)), originals) in encoded?.into_iter().zip(&mut *files).zip(&mut originals) {
            let length = encoded.bytes.stream_position()?;
            if length > 0 {
                encoded.bytes.rewind()?;
                file.append(&mut encoded.bytes, length, now, |name, at| sink.opening(name, at))?;
            }
            originals.append(&mut encoded.originals);
        }
        waiting.push(done);
    }
    for ((sink, file), originals) in files.iter_mut().zip(originals) {
        file.sync()?;
        if !originals.is_empty() {
            sink.stored(originals)?;
        }
        file.close_if_old(now)?;
        if is_last {
            file.close()?;
        }
    }
    for done in waiting {
        // Who does not wait any more has been given up; its page will be fetched again.
        let _ = done.send(());
    }
    Ok(())
}
