//! What is kept of what was fetched: WARC files, JSON Lines, both, or nothing.
//!
//! * [`Captured`] is all that came of one lease: requests, answers, what was read of the page.
//! * A [`Sink`] turns it into bytes: `warc` into records, `jsonl` into a line.
//! * `rolling` is the file that those go to, `recover` what happens to a file that a killed process has left.
//! * [`Outputs`] is what workers hold, [`Writer`] the one task that writes and syncs for all of them.
//!
//! Not the logs (those tell of the crawl, not of the pages) and no judgement of what is worth keeping. Invariants: a page
//! is told to the frontier as done only when what was captured of it is on the disk, so after a crash no finished page lacks
//! its record; workers that wait at the same time share one sync; the memory of a page is bounded by
//! `output.spool_bytes` for its body and as much again for what is written of it, the rest is in files without a name.

mod capture;
mod jsonl;
mod originals;
mod recover;
mod rolling;
#[cfg(test)]
pub(crate) mod tests;
mod warc;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use frontier::Millis;
use tempfile::SpooledTempFile;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::clock::Clock;
use crate::config::{Compression, Config, Output, SinkKind};
use crate::fetch::{Head, Recording, Request, Spool};

pub use capture::{Capture, Captured, Failure, Kept, Page};
pub use originals::Original;
pub use writer::Writer;

use jsonl::Jsonl;
use rolling::{Limits, RollingFile};
use warc::Warc;
use writer::Job;

/// Bodies up to this many bytes are encoded on the worker's own thread: gzip takes about a millisecond for them, which is
/// what handing them over and back may take on a busy machine.
const INLINE_BYTES: u64 = 32 * 1024;

/// Leases that may wait for the writer; then workers wait too.
const WAITING_JOBS: usize = 256;

/// A form in which pages are kept.
///
/// Workers encode at the same time; what they have encoded is appended to files by the one [`Writer`].
pub trait Sink: Send + Sync {
    /// End of the file's name, `warc.gz` for instance; names the format for `recover`.
    fn suffix(&self) -> &'static str;

    /// Whether it has a use for bodies, beside their length and digest.
    fn wants_body(&self) -> bool;

    /// What a new file with this name begins with.
    ///
    /// # Errors
    /// When it cannot be encoded.
    fn opening(&self, file_name: &str, now: Millis) -> io::Result<Vec<u8>>;

    /// Writes what is to be kept of a lease, maybe nothing. What it returns is told to [`stored`](Self::stored) later.
    ///
    /// # Errors
    /// When a body cannot be read back or `out` not be written.
    fn encode(&self, captured: &mut Captured, out: &mut SpooledTempFile) -> io::Result<Vec<Original>>;

    /// These records are on the disk now.
    ///
    /// # Errors
    /// When that cannot be remembered.
    fn stored(&self, originals: Vec<Original>) -> io::Result<()>;
}

/// The writer has ended; it has told the daemon why.
#[derive(Debug, thiserror::Error)]
#[error("the outputs cannot be written")]
pub struct Closed;

/// The outputs, as a worker sees them.
#[derive(Clone)]
pub struct Outputs {
    sinks: Arc<[Arc<dyn Sink>]>,
    jobs: mpsc::Sender<Job>,
    spool: Spool,
}

impl Outputs {
    /// Opens what `[output]` asks for, after closing what an earlier process has left open; `None` where that is nothing.
    ///
    /// # Errors
    /// When the directory cannot be made or a file in it not be read or closed.
    pub fn open(config: &Config, data_dir: &Path, clock: Clock) -> io::Result<Option<(Self, Writer)>> {
        let output = &config.output;
        if output.kinds.is_empty() {
            return Ok(None);
        }
        let dir = dir(output, data_dir);
        std::fs::create_dir_all(&dir)?;
        recover::close_left_open(&dir)?;
        let mut files: Vec<(Arc<dyn Sink>, RollingFile)> = Vec::new();
        for kind in &output.kinds {
            let sink: Arc<dyn Sink> = match kind {
                SinkKind::Warc => Arc::new(Warc::open(config, &dir)?),
                SinkKind::Jsonl => Arc::new(Jsonl),
            };
            let limits = Limits { max_bytes: output.max_file_bytes, max_age_ms: output.max_file_age_secs * 1000 };
            let file = RollingFile::new(dir.clone(), &output.prefix, sink.suffix(), limits);
            files.push((sink, file));
        }
        let (sender, jobs) = mpsc::channel(WAITING_JOBS);
        let sinks = files.iter().map(|(sink, _)| Arc::clone(sink)).collect();
        let memory_bytes = usize::try_from(output.spool_bytes).unwrap_or(usize::MAX);
        let spool = Spool { wants_body: files.iter().any(|(sink, _)| sink.wants_body()), memory_bytes, dir };
        Ok(Some((Self { sinks, jobs: sender, spool }, Writer::new(files, jobs, clock))))
    }

    /// Begins to record an answer.
    pub fn begin(&self, request: &Request<'_>, head: &Head, now: Millis) -> Recording {
        Recording::begin(request, head, now, &self.spool)
    }

    /// Keeps what came of a lease; returns when it is on the disk.
    ///
    /// # Errors
    /// [`Closed`] when it is not, and will not be: the crawl is being ended.
    pub async fn store(&self, captured: io::Result<Captured>) -> Result<(), Closed> {
        let encoded = match captured {
            Ok(captured) if captured.body_bytes() <= INLINE_BYTES => self.encode(captured),
            Ok(captured) => {
                let outputs = self.clone();
                spawn_blocking(move || outputs.encode(captured)).await.map_err(|_| Closed)?
            }
            Err(error) => Err(error),
        };
        let (done, is_done) = oneshot::channel();
        self.jobs.send(Job { encoded, done }).await.map_err(|_| Closed)?;
        is_done.await.map_err(|_| Closed)
    }

    fn encode(&self, mut captured: Captured) -> io::Result<Vec<Encoded>> {
        let encode = |sink: &Arc<dyn Sink>| {
            let mut bytes = tempfile::spooled_tempfile_in(self.spool.memory_bytes, &self.spool.dir);
            let originals = sink.encode(&mut captured, &mut bytes)?;
            Ok(Encoded { bytes, originals })
        };
        self.sinks.iter().map(encode).collect()
    }
}

/// What one sink has made of one lease.
struct Encoded {
    bytes: SpooledTempFile,
    originals: Vec<Original>,
}

/// Where the files are: `output.dir`, or `output` in the data directory.
pub fn dir(output: &Output, data_dir: &Path) -> PathBuf {
    if output.dir.is_empty() { data_dir.join("output") } else { PathBuf::from(&output.dir) }
}

/// The suffix of WARC files.
fn warc_suffix(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "warc",
        Compression::Gzip => "warc.gz",
        Compression::Zstd => "warc.zst",
    }
}
