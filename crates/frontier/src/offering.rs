//! The seen-test of a whole batch: from found URLs to verdicts, with every partition that they concern locked.
//!
//! Cheapest question first. Twins within the batch, then what each partition's memory knows, under its lock; what that
//! leaves open is put to the filter, as one batch so that its waits for memory overlap; for those that it calls maybe, the
//! exact set is read outside the locks, and everything is asked again under them: a merge may have come between, or
//! another page may have brought the same URL.

use ahash::{AHashMap, AHashSet};
use parking_lot::MutexGuard;

use crate::books::Books;
use crate::canonical::host_of_key;
use crate::error::Error;
use crate::event::NewUrl;
use crate::fingerprint::{Fingerprint, Secret};
use crate::found::{Found, FoundUrl, Refused};
use crate::ledger::Accounts;
use crate::partition::{Partition, Recall, State};
use crate::steps::{Step, step};
use crate::store::Held;

/// After so many rounds of reading outside the locks the reads are made under them: progress is certain.
const ROUNDS: usize = 4;

/// One URL under test.
pub(crate) struct Offer<'a> {
    pub(crate) partition: u16,
    pub(crate) url: &'a FoundUrl,
    pub(crate) fingerprint: Fingerprint,
    verdict: Verdict,
    /// What the exact set said, and the epoch in which it was asked.
    read: Option<(u64, Held)>,
    reads: u32,
    standing: Standing,
    /// The depth that it has if it is known and unfinished, up to 255; else zero.
    open_depth: u16,
}

/// What the budgets say of a new URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Within,
    /// Over a budget: kept, not fetched.
    Parked,
    /// Over a budget, and not kept.
    Dropped,
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
    /// The filter said maybe, because of a URL that was forgotten.
    Stale,
    /// There was no filter, the exact set said no.
    Bypassed,
}

/// Partitions under lock, in ascending order.
pub(crate) struct Locked<'p>(pub(crate) Vec<(u16, MutexGuard<'p, State>)>);

impl<'p> Locked<'p> {
    pub(crate) fn new(partitions: &'p [Partition], numbers: &[u16]) -> Self {
        Self(numbers.iter().map(|n| (*n, partitions[usize::from(*n)].state.lock())).collect())
    }

    /// The partition, where only one is locked.
    pub(crate) fn only(&self) -> &State {
        debug_assert_eq!(self.0.len(), 1);
        &self.0[0].1
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
        let standing = Standing::Within;
        offers.push(Offer { partition, url, fingerprint, verdict, read: None, reads: 0, standing, open_depth: 0 });
    }
    offers
}

/// Decides every offer; returns with the partitions of the batch (and `others`) still locked, so that what the verdicts
/// say is still so when they are acted on.
pub(crate) fn decide<'p>(
    partitions: &'p [Partition],
    offers: &mut [Offer<'_>],
    others: impl IntoIterator<Item = u16>,
) -> Result<Locked<'p>, Error> {
    let mut numbers: Vec<u16> = offers.iter().map(|o| o.partition).chain(others).collect();
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
        step(Step::ExactSetRead);
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
    let mut open = Vec::new();
    for (i, offer) in offers.iter_mut().enumerate().filter(|(_, offer)| offer.verdict != Verdict::Twin) {
        match locked.state(offer.partition).recall(offer.fingerprint) {
            Recall::Seen { open_depth } => (offer.verdict, offer.open_depth) = (Verdict::Seen, open_depth),
            Recall::Forgotten { stale } => open.push((offer.partition, i, Some(stale))),
            Recall::Unknown => open.push((offer.partition, i, None)),
        }
    }
    open.sort_unstable();
    let mut unread = Vec::new();
    for of_partition in open.chunk_by(|one, other| one.0 == other.0) {
        let state = locked.state(of_partition[0].0);
        let fingerprints: Vec<Fingerprint> = of_partition.iter().map(|(_, i, _)| offers[*i].fingerprint).collect();
        let answers = state.ask_filter(&fingerprints);
        for ((_, i, forgotten), answer) in of_partition.iter().zip(answers) {
            let offer = &mut offers[*i];
            let read = offer.read.filter(|(epoch, _)| *epoch == state.epoch).map(|(_, held)| held);
            match verdict(answer, *forgotten, read) {
                Some(verdict) => {
                    offer.verdict = verdict;
                    offer.open_depth = if let Some(Held::Yes { open_depth }) = read { open_depth } else { 0 };
                }
                None => {
                    offer.read = Some((state.epoch, Held::No));
                    offer.verdict = Verdict::Open;
                    unread.push(*i);
                }
            }
        }
    }
    unread
}

/// What follows from the filter's answer (`None` for no filter), memory's word that the URL was forgotten (and whether it
/// may be in the filter still), and what the store said in this epoch. `None`: it must be asked.
fn verdict(maybe: Option<bool>, forgotten: Option<bool>, read: Option<Held>) -> Option<Verdict> {
    Some(match (maybe, forgotten, read) {
        (Some(false), _, _) => Verdict::Absent,
        (None, Some(_), _) | (None, None, Some(Held::No | Held::Forgotten)) => Verdict::Bypassed,
        (Some(true), Some(true), _) | (Some(true), None, Some(Held::Forgotten)) => Verdict::Stale,
        (Some(true), Some(false), _) | (Some(true), None, Some(Held::No)) => Verdict::FalsePositive,
        (_, None, Some(Held::Yes { .. })) => Verdict::Confirmed,
        (_, None, None) => return None,
    })
}

/// Confirmed URLs become hot, under the lock under which they were decided.
fn heat(locked: &mut Locked<'_>, offers: &[Offer<'_>]) {
    for offer in offers.iter().filter(|o| o.verdict == Verdict::Confirmed) {
        locked.state(offer.partition).hot.insert(offer.fingerprint, offer.open_depth);
    }
}

/// Puts the new ones to the budgets of their hosts and domains, in the order in which they were found.
pub(crate) fn hold_back(locked: &mut Locked<'_>, offers: &mut [Offer<'_>]) {
    if locked.0.iter().all(|(_, state)| state.ledger.is_none()) {
        return;
    }
    // What this batch brings in is counted when it is applied.
    let (mut of_host, mut of_domain) = (AHashMap::<u64, i64>::new(), AHashMap::<u64, i64>::new());
    let mut last: Option<(&str, Accounts)> = None;
    for offer in offers.iter_mut().filter(|offer| offer.is_new()) {
        let state = locked.state(offer.partition);
        let Some(ledger) = &state.ledger else { continue };
        let host = host_of_key(offer.url.canonical.key());
        let accounts = match last {
            Some((known, accounts)) if known == host => accounts,
            _ => Accounts::of(&state.secret, host),
        };
        last = Some((host, accounts));
        let host_more = of_host.entry(accounts.host).or_default();
        let domain_more = of_domain.entry(accounts.domain).or_default();
        if ledger.admits(accounts, *host_more, *domain_more) {
            *host_more += 1;
            *domain_more += 1;
        } else {
            offer.standing = if ledger.budget().park { Standing::Parked } else { Standing::Dropped };
        }
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
        let answers = partitions[usize::from(partition)].store.holds(keys)?;
        for (i, held) in these.iter().zip(answers) {
            offers[*i].reads += 1;
            if let Some((_, answer)) = &mut offers[*i].read {
                *answer = held;
            }
        }
    }
    Ok(())
}

/// The new URLs of one partition, in the order in which they were found, and what they add to its books.
pub(crate) struct NewUrls<'a> {
    pub(crate) partition: u16,
    pub(crate) urls: Vec<NewUrl<'a>>,
    pub(crate) books: Books,
}

/// What a decided batch comes to: the new URLs, by partition, and what all others add to the books, whichever partition
/// keeps them.
pub(crate) fn outcome<'a>(offers: &[Offer<'a>]) -> (Vec<NewUrls<'a>>, Books) {
    let (mut new, mut known) = (Vec::<NewUrls<'a>>::new(), Books::default());
    for offer in offers {
        if !offer.is_new() {
            count(offer, &mut known);
            continue;
        }
        let partition = offer.partition;
        let place = new.iter().position(|of| of.partition == partition).unwrap_or_else(|| {
            new.push(NewUrls { partition, urls: Vec::new(), books: Books::default() });
            new.len() - 1
        });
        count(offer, &mut new[place].books);
        if offer.standing != Standing::Dropped {
            new[place].urls.push(NewUrl {
                key: offer.url.canonical.key(),
                alternate: offer.url.canonical.alternate(),
                depth: offer.url.depth,
                priority: offer.url.priority,
                sitemap_level: offer.url.sitemap_level.min(FoundUrl::MAX_SITEMAP_LEVEL),
                parked: offer.standing == Standing::Parked,
            });
        }
    }
    (new, known)
}

/// Takes one offer into the books.
fn count(offer: &Offer<'_>, books: &mut Books) {
    books.urls_found += 1;
    books.offered += 1;
    books.store_reads += i64::from(offer.reads);
    let (answer, is_maybe) = match offer.verdict {
        Verdict::Twin | Verdict::Seen => (&mut books.hot_cache_seen, false),
        Verdict::Absent => (&mut books.filter_absent, false),
        Verdict::Confirmed => (&mut books.confirmed_seen, true),
        Verdict::FalsePositive => (&mut books.false_positives, true),
        Verdict::Stale => (&mut books.stale_positives, true),
        Verdict::Bypassed => (&mut books.filter_bypassed, true),
        Verdict::Open => unreachable!("every offer is decided before the books are made"),
    };
    *answer += 1;
    books.filter_maybe += i64::from(is_maybe);
    if offer.is_new() {
        let (kept, is_over) = match offer.standing {
            Standing::Within => (&mut books.queued, false),
            Standing::Parked => (&mut books.parked, false),
            Standing::Dropped => (&mut books.over_budget, true),
        };
        *kept += 1;
        books.discovered += i64::from(!is_over);
    }
}

/// What the page says of URLs that were not offered.
pub(crate) fn page_books(found: &Found) -> Books {
    let Refused {
        depth,
        page_links,
        path_segments,
        repeated_segments,
        query_bytes,
        query_parameters,
        nofollow,
        sitemap_location,
    } = found.refused;
    let count = |n: u64| n as i64;
    let mut books = Books {
        page_duplicates: count(found.page_duplicates),
        invalid: count(found.invalid),
        out_of_scope: count(found.out_of_scope),
        refused_depth: count(depth),
        refused_page_links: count(page_links),
        refused_path_segments: count(path_segments),
        refused_repeated_segments: count(repeated_segments),
        refused_query_bytes: count(query_bytes),
        refused_query_parameters: count(query_parameters),
        refused_nofollow: count(nofollow),
        refused_sitemap_location: count(sitemap_location),
        ..Books::default()
    };
    books.refused = books.refused_by_rule().iter().sum();
    books.urls_found = books.page_duplicates + books.invalid + books.refused + books.out_of_scope;
    books
}

impl Offer<'_> {
    /// Whether it is known, and was found nearer to a seed now.
    pub(crate) fn is_shallower(&self) -> bool {
        self.url.depth < self.open_depth
    }

    /// Whether it is new because it was forgotten, and the filter does not know.
    pub(crate) fn is_stale(&self) -> bool {
        self.verdict == Verdict::Stale
    }

    pub(crate) fn is_new(&self) -> bool {
        matches!(self.verdict, Verdict::Absent | Verdict::FalsePositive | Verdict::Stale | Verdict::Bypassed)
    }
}
