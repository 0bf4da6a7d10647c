//! `crawld rekey`: a stopped data directory made anew under the canonical rules of the config.
//!
//! Not how ([`frontier::Rekey`]). Invariant: it is not begun where the disk has no room for it, and given up, with nothing
//! changed, when the room that a crawl must leave is gone.

use std::path::Path;
use std::time::{Duration, Instant};

use frontier::{Rekey, RekeyError, Rekeyed, Replaced};
use tracing::info;

use crate::cli;
use crate::clock::Clock;
use crate::config::Config;
use crate::daemon::options;
use crate::disk;
use crate::questions::QuestionError;

/// Time between two lines of progress, and between two looks at the disk.
const PERIOD: Duration = Duration::from_secs(5);

/// Does what the command says. Returns lines for the user.
///
/// # Errors
/// Where there is no crawl, a running daemon, or no room; when the directory cannot be read or a new one not made.
pub fn rekey(command: &cli::Rekey, config: &Config) -> Result<String, QuestionError> {
    let dir = &command.data.dir;
    let replaced = if command.delete_old { Replaced::Deleted } else { Replaced::Kept };
    let Some(rekey) = Rekey::begin(&options(config, dir), replaced, Clock::start().now())? else {
        return Ok(format!("{} is under these canonical rules already; nothing to do\n", dir.display()));
    };
    let floor = config.store.min_free_disk_bytes;
    enough(rekey.beside(), rekey.bytes_needed(), floor)?;
    let (urls, beside) = (rekey.urls(), rekey.beside().to_owned());
    info!(urls, bytes_needed = rekey.bytes_needed(), new = %beside.display(), "making the directory anew");
    let mut last = Instant::now();
    let built = rekey.build(&mut |read| {
        if last.elapsed() < PERIOD {
            return Ok(());
        }
        last = Instant::now();
        info!(read, of = urls, "URLs read");
        match disk::free_bytes(&beside) {
            Ok(free) if free < floor => Err(format!(
                "{free} bytes free on the disk, less than {floor} (store.min_free_disk_bytes); nothing has changed"
            )),
            _ => Ok(()),
        }
    })?;
    let rekeyed = built.rekeyed;
    let kept = built.swap()?;
    Ok(report(dir, &rekeyed, kept.as_deref()))
}

/// Room for the new directory, and for what a crawl must leave.
fn enough(beside: &Path, needed: u64, floor: u64) -> Result<(), QuestionError> {
    let disk = beside.parent().unwrap_or(beside);
    let free = disk::free_bytes(disk)?;
    if free >= needed.saturating_add(floor) {
        return Ok(());
    }
    Err(QuestionError::Usage(format!(
        "{}: {free} bytes free; a new directory beside the old one may need {needed}, and {floor} must stay free \
         (store.min_free_disk_bytes); nothing has changed",
        disk.display()
    )))
}

fn report(dir: &Path, rekeyed: &Rekeyed, kept: Option<&Path>) -> String {
    let Rekeyed { read, joined, books } = rekeyed;
    let old = match kept {
        Some(path) => {
            format!("the old one is kept as {}; delete it when the new one has proved itself", path.display())
        }
        None => "the old one is deleted".to_owned(),
    };
    format!(
        "{} URLs of {} hosts read; {joined} became one with another\n\
         now {} queued, {} fetched, {} failed, {} robots_denied, {} excluded, {} imported_seen, {} parked\n\
         {} is the new directory, with a secret of its own, and the seeds and logs of the old one; {old}\n",
        read.urls(),
        read.hosts,
        books.queued,
        books.fetched,
        books.failed,
        books.robots_denied,
        books.excluded,
        books.imported_seen,
        books.parked,
        dir.display(),
    )
}

impl From<RekeyError> for QuestionError {
    fn from(error: RekeyError) -> Self {
        match error {
            RekeyError::Frontier(error) => error.into(),
            RekeyError::Export(error) => error.into(),
            RekeyError::Import(error) => error.into(),
            RekeyError::NoPlace { .. } | RekeyError::Stopped(_) => Self::Usage(error.to_string()),
            RekeyError::Settle(_) => Self::Io(std::io::Error::other(error)),
        }
    }
}
