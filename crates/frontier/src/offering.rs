//! The seen-test of a whole batch: from found URLs to verdicts, with every partition that they concern locked.
//!
//! Cheapest question first. Twins within the batch, then what each partition knows without its store, under its lock; for
//! those that a filter calls maybe, the exact set is read outside the locks, and everything is asked again under them: a
//! merge may have come between, or another page may have brought the same URL.

use ahash::AHashSet;
use parking_lot::MutexGuard;

use crate::books::Books;
use crate::error::Error;
use crate::event::NewUrl;
use crate::fingerprint::{Fingerprint, Secret};
use crate::found::{Found, FoundUrl};
use crate::partition::{Answer, Partition, State};

/// After so many rounds of reading outside the locks the reads are made under them: progress is certain.
const ROUNDS: usize = 4;

/// One URL under test.
pub(crate) struct Offer<'a> {
    pub(crate) partition: u16,
    pub(crate) url: &'a FoundUrl,
    fingerprint: Fingerprint,
    verdict: Verdict,
    /// What the exact set said, and the epoch in which it was asked.
    read: Option<(u64, bool)>,
    reads: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Not decided yet.
    Open,
    /// Earlier in the same batch.
    Twin,
    /// Answered from memory.
    Seen,
    /// The filter said absent.
    Absent,
    /// The filter said maybe, the exact set yes.
    Confirmed,
    /// The filter said maybe, the exact set no.
    FalsePositive,
    /// There was no filter, the exact set said no.
    Bypassed,
}

/// Partitions under lock, in ascending order.
pub(crate) struct Locked<'p>(pub(crate) Vec<(u16, MutexGuard<'p, State>)>);

impl<'p> Locked<'p> {
    fn new(partitions: &'p [Partition], numbers: &[u16]) -> Self {
        Self(numbers.iter().map(|n| (*n, partitions[usize::from(*n)].state.lock())).collect())
    }

    pub(crate) fn state(&mut self, number: u16) -> &mut State {
        let found = self.0.binary_search_by_key(&number, |(n, _)| *n).expect("every partition of the batch is locked");
        &mut self.0[found].1
    }
}

/// Computes fingerprint and partition of each URL, twins found.
pub(crate) fn assign<'a>(found: &'a Found, secret: &Secret, partitions: u16) -> Vec<Offer<'a>> {
    let mut batch = AHashSet::with_capacity(found.urls.len());
    let mut last: Option<(&str, u16)> = None;
    let mut offers = Vec::with_capacity(found.urls.len());
    for url in &found.urls {
        let fingerprint = secret.fingerprint(url.canonical.key());
        let host = url.canonical.host();
        let partition = match last {
            Some((known, partition)) if known == host => partition,
            _ => secret.partition(url.canonical.registrable_domain(), partitions),
        };
        last = Some((host, partition));
        let verdict = if batch.insert(fingerprint) { Verdict::Open } else { Verdict::Twin };
        offers.push(Offer { partition, url, fingerprint, verdict, read: None, reads: 0 });
    }
    offers
}

/// Decides every offer; returns with the partitions of the batch (and `home`) still locked, so that what the verdicts
/// say is still so when they are acted on.
pub(crate) fn decide<'p>(
    partitions: &'p [Partition],
    offers: &mut [Offer<'_>],
    home: Option<u16>,
) -> Result<Locked<'p>, Error> {
    let mut numbers: Vec<u16> = offers.iter().map(|o| o.partition).chain(home).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for _ in 0..ROUNDS {
        let mut locked = Locked::new(partitions, &numbers);
        let unread = judge(&mut locked, offers);
        if unread.is_empty() {
            heat(&mut locked, offers);
            return Ok(locked);
        }
        drop(locked);
        read(partitions, offers, &unread)?;
    }
    let mut locked = Locked::new(partitions, &numbers);
    let unread = judge(&mut locked, offers);
    read(partitions, offers, &unread)?;
    judge(&mut locked, offers);
    heat(&mut locked, offers);
    Ok(locked)
}

/// Decides what can be decided now; returns the offers for which the exact set must be read.
fn judge(locked: &mut Locked<'_>, offers: &mut [Offer<'_>]) -> Vec<usize> {
    let mut unread = Vec::new();
    for (i, offer) in offers.iter_mut().enumerate() {
        if offer.verdict == Verdict::Twin {
            continue;
        }
        let state = locked.state(offer.partition);
        let answer = state.probe(offer.fingerprint);
        let read = offer.read.filter(|(epoch, _)| *epoch == state.epoch).map(|(_, held)| held);
        offer.verdict = match (answer, read) {
            (Answer::Seen, _) => Verdict::Seen,
            (Answer::Absent, _) => Verdict::Absent,
            (_, Some(true)) => Verdict::Confirmed,
            (Answer::Maybe, Some(false)) => Verdict::FalsePositive,
            (Answer::Bypassed, Some(false)) => Verdict::Bypassed,
            (_, None) => {
                offer.read = Some((state.epoch, false));
                unread.push(i);
                Verdict::Open
            }
        };
    }
    unread
}

/// Confirmed URLs become hot, under the lock under which they were decided.
fn heat(locked: &mut Locked<'_>, offers: &[Offer<'_>]) {
    for offer in offers.iter().filter(|o| o.verdict == Verdict::Confirmed) {
        locked.state(offer.partition).hot.insert(offer.fingerprint);
    }
}

/// Asks the exact set.
fn read(partitions: &[Partition], offers: &mut [Offer<'_>], unread: &[usize]) -> Result<(), Error> {
    let mut rest = unread;
    while let Some(first) = rest.first() {
        let partition = offers[*first].partition;
        let count = rest.iter().take_while(|i| offers[**i].partition == partition).count();
        let (these, others) = rest.split_at(count);
        rest = others;
        let keys = these.iter().map(|i| offers[*i].url.canonical.key());
        let answers = partitions[usize::from(partition)].store.contains(keys)?;
        for (i, held) in these.iter().zip(answers) {
            offers[*i].reads += 1;
            if let Some((_, answer)) = &mut offers[*i].read {
                *answer = held;
            }
        }
    }
    Ok(())
}

/// The new URLs of one partition, in the order in which they were found.
pub(crate) fn new_urls<'a>(offers: &[Offer<'a>], partition: u16) -> Vec<NewUrl<'a>> {
    offers
        .iter()
        .filter(|o| o.partition == partition && o.is_new())
        .map(|o| NewUrl { key: o.url.canonical.key(), alternate: o.url.canonical.alternate(), depth: o.url.depth })
        .collect()
}

/// What the offers of one partition add to its books.
pub(crate) fn books(offers: &[Offer<'_>], partition: u16) -> Books {
    let mut books = Books::default();
    for offer in offers.iter().filter(|o| o.partition == partition) {
        books.urls_found += 1;
        books.offered += 1;
        books.store_reads += i64::from(offer.reads);
        match offer.verdict {
            Verdict::Twin | Verdict::Seen => books.hot_cache_seen += 1,
            Verdict::Absent => books.filter_absent += 1,
            Verdict::Confirmed => {
                books.filter_maybe += 1;
                books.confirmed_seen += 1;
            }
            Verdict::FalsePositive => {
                books.filter_maybe += 1;
                books.false_positives += 1;
            }
            Verdict::Bypassed => {
                books.filter_maybe += 1;
                books.filter_bypassed += 1;
            }
            Verdict::Open => unreachable!("every offer is decided before the books are made"),
        }
        books.discovered += i64::from(offer.is_new());
        books.queued += i64::from(offer.is_new());
    }
    books
}

/// What the page says of URLs that were not offered.
pub(crate) fn page_books(found: &Found) -> Books {
    let [page_duplicates, invalid, refused, out_of_scope] =
        [found.page_duplicates, found.invalid, found.refused, found.out_of_scope].map(|n| n as i64);
    let urls_found = page_duplicates + invalid + refused + out_of_scope;
    Books { urls_found, page_duplicates, invalid, refused, out_of_scope, ..Books::default() }
}

impl Offer<'_> {
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.verdict, Verdict::Absent | Verdict::FalsePositive | Verdict::Bypassed)
    }
}
