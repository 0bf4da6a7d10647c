//! Writing the whole frontier, as it is at one instant.
//!
//! Not the meaning of what is written ([the module above](super)). Invariant: from the freeze to the last line no merge
//! changes a store, and the last line is written only if what was read adds up to the books of the freeze.

use std::collections::VecDeque;
use std::io::{self, Write};

use parking_lot::MutexGuard;

use super::line::{self, End, Head, Totals};
use super::records::Records;
use crate::books::Books;
use crate::canonical::url_of_key;
use crate::checkpoint::Checkpoint;
use crate::completion::count_of;
use crate::error::Error;
use crate::frontier::Frontier;
use crate::journal::Sequence;
use crate::merge::{self, After};
use crate::partition::{self, Partition};
use crate::record::State;
use crate::shared::Shared;
use crate::store::{StoredHost, StoredRecord};
use crate::unread::Unread;

/// Hosts read at a time.
const PIECE: usize = 1024;
/// Lines between two looks at how full memory is.
const LINES_PER_LOOK: u64 = 1024;

/// Why an export has no end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The frontier cannot be read.
    #[error(transparent)]
    Frontier(#[from] Error),
    /// Nobody takes what is written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
    /// Memory of the running crawl was full before the export had ended. Export faster (to a file, without compression),
    /// or stop the crawl for it.
    #[error(
        "the crawl has outrun the export: its memory is full, and only a merge, which the export keeps away, can empty \
         it; write to a faster place, or stop the crawl first"
    )]
    Outrun,
}

/// All stores at one instant.
struct Picture<'p> {
    shared: &'p Shared,
    /// As long as these are held no merge begins.
    _no_merge: Vec<MutexGuard<'p, Checkpoint>>,
    books: Books,
    covered: Vec<Sequence>,
}

/// Writes lines and counts them.
struct Lines<'a> {
    shared: &'a Shared,
    out: &'a mut dyn Write,
    totals: Totals,
    written: u64,
}

/// The hosts of one partition, in order, and its records.
struct Hosts<'p> {
    partition: &'p Partition,
    covered: Sequence,
    read: VecDeque<(String, StoredHost)>,
    after: Option<String>,
    done: bool,
    records: Records<'p>,
}

impl Frontier {
    /// Writes the whole frontier as it is at one instant, in the format of [`transfer`](crate::transfer), in bounded memory.
    /// Other verbs go on meanwhile, merges do not.
    ///
    /// # Errors
    /// [`ExportError`]. What was written is then not whole, and has no last line.
    pub fn export(&self, out: &mut dyn Write) -> Result<Totals, ExportError> {
        let shared = &*self.shared;
        let picture = Picture::take(shared)?;
        let mut lines = Lines { shared, out, totals: Totals::default(), written: 0 };
        lines.out.write_all(line::json(&Head::of(self.rules())).as_bytes())?;
        let covered = |p: &Partition| picture.covered[usize::from(p.number)];
        let mut all: Vec<Hosts<'_>> = shared.partitions.iter().map(|p| Hosts::new(p, covered(p))).collect();
        while let Some((hosts, key, host)) = next_host(&mut all)? {
            lines.host(&key, &host)?;
            robots_of(hosts.partition, &key, &mut lines)?;
            finished(&mut hosts.records, &key, &mut lines)?;
            queued(hosts.partition, &key, host.counts.queued, hosts.covered, &mut lines)?;
        }
        let totals = lines.totals;
        check(&totals, &picture)?;
        out.write_all(line::json(&End { end: totals }).as_bytes())?;
        out.flush()?;
        Ok(totals)
    }
}

impl<'p> Picture<'p> {
    fn take(shared: &'p Shared) -> Result<Self, Error> {
        let mut no_merge: Vec<_> = shared.partitions.iter().map(|p| p.merging.lock()).collect();
        shared.health()?;
        let mut books = Books::default();
        let snapshots: Vec<_> = {
            // Every event is made under the lock of a partition: with all of them held none comes between.
            let mut states: Vec<_> = shared.partitions.iter().map(|p| p.state.lock()).collect();
            let sequence = shared.journal.last();
            states.iter().for_each(|state| books.add(&state.books));
            let freeze = |(partition, state): (&Partition, &mut MutexGuard<'_, partition::State>)| {
                state.has_changed().then(|| merge::freeze_at(shared, partition, state, sequence))
            };
            shared.partitions.iter().zip(&mut states).map(freeze).collect()
        };
        for ((partition, checkpoint), snapshot) in shared.partitions.iter().zip(&mut no_merge).zip(snapshots) {
            if let Some(snapshot) = snapshot {
                merge::write(shared, partition, checkpoint, &snapshot, After::Reopen)?;
            }
        }
        (shared.wake)();
        let covered = shared.partitions.iter().map(|p| p.state.lock().covered.sequence).collect();
        Ok(Self { shared, _no_merge: no_merge, books, covered })
    }
}

/// What was read must be what the books say is there.
fn check(totals: &Totals, picture: &Picture<'_>) -> Result<(), Error> {
    let (mut totals, mut books) = (*totals, picture.books);
    for (state, word) in State::WORDS {
        let (read, booked) = (*totals.count(state), *count_of(&mut books, state));
        if i64::try_from(read) != Ok(booked) {
            let what = format!("the books count {booked} URLs that are {word}, the stores hold {read}");
            return Err(Error::corrupt(picture.shared.partitions[0].store.dir(), what));
        }
    }
    Ok(())
}

/// The next host over all partitions.
fn next_host<'h, 'p>(all: &'h mut [Hosts<'p>]) -> Result<Option<(&'h mut Hosts<'p>, String, StoredHost)>, Error> {
    for hosts in &mut *all {
        hosts.fill()?;
    }
    let with_host = all.iter_mut().filter(|hosts| !hosts.read.is_empty());
    let first = with_host.min_by(|a, b| a.read[0].0.cmp(&b.read[0].0));
    Ok(first.and_then(|hosts| hosts.read.pop_front().map(|(key, host)| (hosts, key, host))))
}

impl<'p> Hosts<'p> {
    fn new(partition: &'p Partition, covered: Sequence) -> Self {
        Self {
            partition,
            covered,
            read: VecDeque::new(),
            after: None,
            done: false,
            records: Records::new(&partition.store),
        }
    }

    fn fill(&mut self) -> Result<(), Error> {
        while self.read.is_empty() && !self.done {
            let hosts = self.partition.store.hosts_after(self.after.as_deref(), self.covered, PIECE)?;
            self.done = hosts.len() < PIECE;
            self.after = hosts.last().map(|(key, _)| key.clone());
            self.read.extend(hosts.into_iter().filter_map(|(key, host)| Some((key, host?))));
        }
        Ok(())
    }
}

/// What robots.txt of the host's origins says, in the order of their names.
fn robots_of(partition: &Partition, host: &str, lines: &mut Lines<'_>) -> Result<(), ExportError> {
    let prefix = format!("{host})");
    let mut after: Option<String> = None;
    // One at a time: each may be large.
    while let Some((name, memory)) = partition.store.robots_after(&prefix, after.as_deref(), 1)?.pop() {
        lines.totals.robots += 1;
        lines.write(&line::robots_txt(&name[prefix.len()..], &memory))?;
        after = Some(name);
    }
    Ok(())
}

/// The URLs of a host that are not queued, in the order of their keys.
fn finished(records: &mut Records<'_>, host: &str, lines: &mut Lines<'_>) -> Result<(), ExportError> {
    // No key is only this: a path follows.
    let prefix = format!("{host})");
    records.seek(&prefix)?;
    while let Some((key, stored)) = records.next(&prefix)? {
        if !matches!(stored.record.state, State::Queued | State::Forgotten) {
            lines.url(&key, &stored, None)?;
        }
    }
    Ok(())
}

/// The queue of a host, in its order.
fn queued(
    partition: &Partition,
    host: &str,
    mut left: i64,
    covered: Sequence,
    lines: &mut Lines<'_>,
) -> Result<(), ExportError> {
    let mut unread = Unread::any();
    while left > 0
        && let Some((id, block)) = partition.store.next_block(host, &unread.cursors(), covered)?
    {
        unread.read(id);
        for item in &block.0 {
            let Some(stored) = partition.store.record(&item.key)? else { continue };
            // Only the block that the record names counts.
            if stored.record.state == State::Queued && stored.record.block == id.number {
                lines.url(&item.key, &stored, item.referrer.as_deref())?;
                left -= 1;
            }
        }
    }
    Ok(())
}

impl Lines<'_> {
    fn host(&mut self, key: &str, host: &StoredHost) -> Result<(), ExportError> {
        self.totals.hosts += 1;
        self.write(&line::host(key, &host.state))
    }

    fn url(&mut self, key: &str, stored: &StoredRecord, referrer: Option<&str>) -> Result<(), ExportError> {
        let StoredRecord { record, alternate, trace } = stored;
        *self.totals.count(record.state) += 1;
        match alternate {
            Some(url) => self.write(&line::url(url, record, referrer, trace.as_deref())),
            None => self.write(&line::url(&url_of_key(key), record, referrer, trace.as_deref())),
        }
    }

    fn write(&mut self, line: &str) -> Result<(), ExportError> {
        self.written += 1;
        if self.written.is_multiple_of(LINES_PER_LOOK) && self.shared.is_any_full() {
            return Err(ExportError::Outrun);
        }
        Ok(self.out.write_all(line.as_bytes())?)
    }
}
