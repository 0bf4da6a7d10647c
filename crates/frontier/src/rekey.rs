//! A data directory made anew under other canonical rules: [`Rekey`].
//!
//! Keys are made of fetch URLs, and the records give those back. So the new directory is made beside the old one, by an
//! [export](crate::transfer) that an import reads at once, through a pipe and in bounded memory; then the two change places
//! by one rename (`beside`). URLs that the new rules make one become the one with which the crawl has come furthest. The
//! counters of events go on; what became one of several is counted as forgotten, so the books balance.
//!
//! Invariant: the old directory is locked from [`Rekey::begin`] to the end of [`Rekey::swap`]; whatever ends the process in
//! between, the name of the directory leads to a whole one, old or new, and a later run takes away what is left over.

mod beside;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, BufWriter, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Millis;
use crate::books::Books;
use crate::completion::count_of;
use crate::directory::{self, Lock};
use crate::error::{Error, IoContext};
use crate::event::Event;
use crate::frontier::Frontier;
use crate::offering::Locked;
use crate::options::Options;
use crate::record::State;
use crate::transfer::{ExportError, ImportError, Totals};

use beside::Places;
pub use beside::{LeftOver, Replaced};

/// URLs between two looks of the caller.
const URLS_PER_LOOK: u64 = 1 << 14;

/// Why a directory was not made anew. It is as it was, unless the error is [`RekeyError::Settle`].
#[derive(Debug, thiserror::Error)]
pub enum RekeyError {
    /// The old directory cannot be read, or the new one not written.
    #[error(transparent)]
    Frontier(#[from] Error),
    /// The new directory cannot take the old one's place. The text says what to do.
    #[error("{}: {what}", path.display())]
    NoPlace {
        /// What is in the way.
        path: PathBuf,
        /// Why, and what to do.
        what: String,
    },
    /// The old directory cannot be read to its end.
    #[error(transparent)]
    Export(ExportError),
    /// The new directory does not take what the old one holds.
    #[error("the new directory does not take what the old one holds: {0}")]
    Import(ImportError),
    /// The caller's look said to stop.
    #[error("{0}")]
    Stopped(String),
    /// The new directory is in place; what is left is to put the old one aside. Run it again.
    #[error("the new directory is in place, but the old one could not be put aside: {0}; run the same command again")]
    Settle(Error),
}

/// What became of a directory's URLs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// What was read of the old directory.
    pub read: Totals,
    /// URLs that became one with another.
    pub joined: u64,
    /// The books of the new directory.
    pub books: Books,
}

/// A directory about to be made anew.
pub struct Rekey {
    places: Places,
    lock: Arc<Lock>,
    old: Frontier,
    options: Options,
    now: Millis,
    urls: u64,
    bytes_needed: u64,
}

/// A new directory, whole, beside the old one.
pub struct Built {
    places: Places,
    _lock: Arc<Lock>,
    /// What became of the URLs.
    pub rekeyed: Rekeyed,
}

impl Rekey {
    /// Takes the directory, ends or takes away what an interrupted run has left, and opens the crawl. `options` are those
    /// of the new directory, `replaced` what becomes of the old one. `None`: it has been made under these rules.
    ///
    /// # Errors
    /// [`Error::NoCrawl`], [`Error::InUse`]; [`RekeyError::NoPlace`]; what the disk says.
    pub fn begin(options: &Options, replaced: Replaced, now: Millis) -> Result<Option<Self>, RekeyError> {
        let places = Places::of(&options.dir, replaced)?;
        if !directory::is_made(&places.dir) {
            return Err(Error::NoCrawl(options.dir.clone()).into());
        }
        let lock = Arc::new(directory::lock(&places.dir)?);
        places.settle()?;
        let (meta, is_current) = directory::read_meta_of_any_rules(&places.dir)?;
        if is_current && meta.rules.differing(options.rules.options()).is_empty() {
            return Ok(None);
        }
        places.check_device()?;
        let old = Frontier::open_to_rekey(&places.dir, options, meta, Arc::clone(&lock), now)?;
        let books = old.statistics()?.books;
        let urls = State::WORDS.iter().map(|(state, _)| *count_of(&mut books.clone(), *state)).sum::<i64>();
        let bytes_needed = places.bytes_needed(options.journal_max_bytes)?;
        let options = Options { dir: places.beside.clone(), ..options.clone() };
        Ok(Some(Self { places, lock, old, options, now, urls: urls.max(0) as u64, bytes_needed }))
    }

    /// What a rekey that was interrupted has left beside a directory, if it has; the next one puts it in order.
    pub fn left_over(dir: &Path) -> Option<LeftOver> {
        Places::of(dir, Replaced::Kept).ok()?.left_over()
    }

    /// URLs that the directory knows.
    pub fn urls(&self) -> u64 {
        self.urls
    }

    /// Bytes that the new directory may need on the disk, with its journal; estimated, on the safe side.
    pub fn bytes_needed(&self) -> u64 {
        self.bytes_needed
    }

    /// The directory in which it is made.
    pub fn beside(&self) -> &Path {
        &self.places.beside
    }

    /// Makes the new directory. `look` is told now and then how many URLs were read, and may say why to stop.
    ///
    /// # Errors
    /// [`RekeyError`]; what was made is gone then, and the old directory as it was.
    pub fn build(self, look: &mut dyn FnMut(u64) -> Result<(), String>) -> Result<Built, RekeyError> {
        let Self { places, lock, old, options, now, .. } = self;
        let built = places.make().and_then(|()| move_over(&old, options, now, look));
        // Its stores must be closed before their paths lead elsewhere.
        drop(old);
        match built.and_then(|rekeyed| places.carry_over().map(|()| rekeyed)) {
            Ok(rekeyed) => Ok(Built { places, _lock: lock, rekeyed }),
            Err(error) => {
                // The first error is the one to tell; a later run takes away what stays.
                let _ = places.take_away();
                Err(error)
            }
        }
    }
}

impl Built {
    /// Puts the new directory in the place of the old one, by one rename. Gives where the old one is kept, if it is.
    ///
    /// # Errors
    /// [`RekeyError::NoPlace`]: nothing has changed. [`RekeyError::Settle`]: it is done but for the old one.
    pub fn swap(self) -> Result<Option<PathBuf>, RekeyError> {
        self.places.exchange()?;
        self.places.settle().map_err(|error| match error {
            RekeyError::Frontier(error) => RekeyError::Settle(error),
            other => other,
        })
    }
}

/// Everything that the old frontier knows, into a new one.
fn move_over(
    old: &Frontier,
    options: Options,
    now: Millis,
    look: &mut dyn FnMut(u64) -> Result<(), String>,
) -> Result<Rekeyed, RekeyError> {
    let dir = options.dir.clone();
    let new = Frontier::open(options, now, || {})?;
    let (reader, writer) = io::pipe().at(&dir)?;
    let (exported, imported) = std::thread::scope(|scope| {
        let importing = scope.spawn(|| new.import(&mut BufReader::new(reader), now));
        let mut looking = Looking { out: BufWriter::new(writer), urls: 0, look, said: None };
        let exported = old.export(&mut looking).map_err(|error| match looking.said.take() {
            Some(why) => RekeyError::Stopped(why),
            None => RekeyError::Export(error),
        });
        // The end of the pipe, for the reader.
        drop(looking);
        (exported, importing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let read = match (exported, imported) {
        // A reader that has gone away is only the consequence.
        (Err(RekeyError::Export(ExportError::Write(_))), Err(error)) => return Err(RekeyError::Import(error)),
        (Err(error), _) => return Err(error),
        (Ok(_), Err(error)) => return Err(RekeyError::Import(error)),
        (Ok(read), Ok(_)) => read,
    };
    let (before, made) = (old.statistics()?.books, new.statistics()?.books);
    let (books, joined) = carried(&before, &made);
    if let Err(what) = books.check() {
        return Err(Error::corrupt(&dir, format!("the books do not balance: {what}")).into());
    }
    new.correct_books(&books.since(&made))?;
    new.close()?;
    Ok(Rekeyed { read, joined, books })
}

/// The books of the old crawl, over the URLs of the new directory; and how many URLs became one with another.
fn carried(before: &Books, made: &Books) -> (Books, u64) {
    let (mut books, mut made) = (*before, *made);
    let mut joined = 0;
    for (state, _) in State::WORDS {
        let (count, now) = (count_of(&mut books, state), *count_of(&mut made, state));
        joined += *count - now;
        *count = now;
    }
    books.forgotten += joined;
    // Hosts may have become one, too.
    books.hosts_slowed = made.hosts_slowed;
    (books, joined.max(0) as u64)
}

impl Frontier {
    /// Takes in differences of counters that no URL brings.
    fn correct_books(&self, books: &Books) -> Result<(), Error> {
        let mut locked = Locked::new(&self.shared.partitions, &[0]);
        let event = Event::Found { at: 0, referrer: None, urls: Vec::new(), books: *books };
        self.shared.record(&mut locked, &[(0, event)]).map(|_| ())
    }
}

/// What is written, on its way to the pipe; counted and looked at.
struct Looking<'a> {
    out: BufWriter<PipeWriter>,
    urls: u64,
    look: &'a mut dyn FnMut(u64) -> Result<(), String>,
    /// Why to stop.
    said: Option<String>,
}

impl Write for Looking<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if line.starts_with(b"{\"url\":") {
            self.urls += 1;
            if self.urls.is_multiple_of(URLS_PER_LOOK)
                && let Err(why) = (self.look)(self.urls)
            {
                self.said = Some(why);
                return Err(io::Error::other("told to stop"));
            }
        }
        self.out.write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
