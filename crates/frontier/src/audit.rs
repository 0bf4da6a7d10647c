//! What the filter promises, asked of the live data with evidence: query semantics, sizing, deletes, placement, worth.
//!
//! Nothing is recorded and nothing is changed but the hot cache. Each check says PASS, WARN or FAIL: FAIL is a promise
//! broken, WARN a filter that costs more than it gives.

use std::fmt;
use std::time::Duration;

use bloom::Kind;

use crate::canonical::Canonical;
use crate::error::Error;
use crate::found::{Found, FoundUrl};
use crate::offering;
use crate::partition::Partition;
use crate::shared::Shared;
use crate::statistics::Statistics;
use crate::store::Held;

mod filters;

use filters::Filters;

/// Keys of the exact set that are tested against each partition's filter at most.
const KEYS_PER_PARTITION: usize = 1_000_000;
/// Keys tested under one lock.
const KEYS_PER_LOCK: usize = 1024;
/// Absent keys put to each partition's filter. At a rate of 1 % over 16 partitions the measured rate is then good to 1 %.
const ABSENT_PER_PARTITION: u64 = 65_536;
/// Of those that a filter calls maybe, so many go through the real seen-test.
const SEEN_TESTS: usize = 1000;
/// Below so many URLs a plain hash set of fingerprints would take less than 2 MB.
const SMALL_SET: u64 = 100_000;

/// The verdict on one promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Holds.
    Pass,
    /// Holds, at a price that may not be worth it.
    Warn,
    /// Broken.
    Fail,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        })
    }
}

/// One promise, the verdict on it, and the evidence.
#[derive(Debug, Clone)]
pub struct Check {
    /// Which promise.
    pub name: &'static str,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What was seen, in words and numbers.
    pub evidence: String,
}

impl Check {
    fn new(name: &'static str, verdict: Verdict, evidence: String) -> Self {
        Self { name, verdict, evidence }
    }

    fn judge(name: &'static str, holds: bool, evidence: String) -> Self {
        Self::new(name, if holds { Verdict::Pass } else { Verdict::Fail }, evidence)
    }
}

/// What probing with absent keys showed.
#[derive(Default)]
struct Probed {
    absent: u64,
    maybe: u64,
    /// URLs that a filter called maybe.
    doubtful: Vec<Canonical>,
}

/// Puts every check to the frontier.
pub(crate) fn audit(shared: &Shared) -> Result<Vec<Check>, Error> {
    let statistics = Statistics::collect(shared)?;
    let probed = probe_absent(shared);
    let filters = Filters::collect(shared);
    Ok(vec![
        absent_means_absent(shared)?,
        maybe_is_no_yes(shared, &probed)?,
        books_balance(&statistics),
        sizing(shared, &filters),
        rate(shared, &probed, &filters),
        deletes(shared, &statistics, &filters),
        placement(shared, &statistics),
        worth(&statistics),
    ])
}

/// Every key that store or memory holds, up to a number, is put to the filter: none may be called absent.
fn absent_means_absent(shared: &Shared) -> Result<Check, Error> {
    let (mut tested, mut bypassed, mut missing) = (0u64, 0u32, Vec::new());
    for partition in &shared.partitions {
        if partition.state.lock().filter.is_none() {
            bypassed += 1;
            continue;
        }
        let mut batch: Vec<String> = Vec::with_capacity(KEYS_PER_LOCK);
        let mut left = KEYS_PER_PARTITION;
        partition.store.scan(|key, held| {
            if left > 0 && matches!(held, Held::Yes { .. }) {
                left -= 1;
                batch.push(key.to_owned());
            }
            if batch.len() == KEYS_PER_LOCK {
                tested += batch.len() as u64;
                missing.extend(called_absent(shared, partition, &mut batch));
            }
        })?;
        tested += batch.len() as u64;
        missing.extend(called_absent(shared, partition, &mut batch));
        let state = partition.state.lock();
        let frozen = state.frozen.as_ref().map(|f| &*f.generation);
        for generation in frozen.into_iter().chain([&state.active]) {
            for (fingerprint, entry) in generation.known() {
                // What the active generation says of a frozen one's URL counts.
                let forgotten = state.remembered(fingerprint).is_some_and(|r| r.entry.is_forgotten());
                tested += u64::from(!forgotten);
                if !forgotten && state.filter.as_ref().is_some_and(|filter| !filter.contains(fingerprint)) {
                    missing.push(generation.key(entry).to_owned());
                }
            }
        }
    }
    let first = missing.first().map_or(String::new(), |key| format!(", the first is {key}"));
    let evidence = format!(
        "{tested} keys of store and memory put to the filters, {} called absent{first}; {bypassed} filters bypassed",
        missing.len()
    );
    let verdict = match (missing.is_empty(), bypassed) {
        (false, _) => Verdict::Fail,
        (true, 0) => Verdict::Pass,
        // Nothing is claimed where a filter is not asked, but every new URL costs a read.
        (true, 1..) => Verdict::Warn,
    };
    Ok(Check::new("absent means absent", verdict, evidence))
}

fn called_absent(shared: &Shared, partition: &Partition, keys: &mut Vec<String>) -> Vec<String> {
    let state = partition.state.lock();
    let Some(filter) = &state.filter else { return std::mem::take(keys) };
    let is_missing = |key: &String| {
        let fingerprint = shared.secret.fingerprint(key);
        // Forgotten since the store was read?
        let forgotten = || state.remembered(fingerprint).is_some_and(|r| r.entry.is_forgotten());
        !filter.contains(fingerprint) && !forgotten()
    };
    keys.drain(..).filter(is_missing).collect()
}

/// Probes each filter with keys that cannot be in it: hosts under the reserved name `.invalid` (RFC 2606).
fn probe_absent(shared: &Shared) -> Probed {
    let mut probed = Probed::default();
    let total = ABSENT_PER_PARTITION * shared.partitions.len() as u64;
    for n in 0..total {
        // One registrable domain in 64 URLs: the partition is found by domain.
        let (domain, page) = (n / 64, n % 64);
        let url = format!("https://audit-{domain:x}.invalid/{page}");
        let Ok(canonical) = Canonical::parse(&url) else { continue };
        let number = shared.secret.partition(canonical.registrable_domain(), shared.partitions.len() as u16);
        let state = shared.partitions[usize::from(number)].state.lock();
        let Some(filter) = &state.filter else { continue };
        if filter.contains(shared.secret.fingerprint(canonical.key())) {
            probed.maybe += 1;
            if probed.doubtful.len() < SEEN_TESTS {
                probed.doubtful.push(canonical);
            }
        } else {
            probed.absent += 1;
        }
    }
    probed
}

/// Absent URLs that a filter calls maybe go through the real seen-test, unrecorded: all must come out new.
fn maybe_is_no_yes(shared: &Shared, probed: &Probed) -> Result<Check, Error> {
    let urls = probed.doubtful.iter().map(|canonical| FoundUrl::new(canonical.clone(), 0)).collect();
    let found = Found { urls, ..Found::default() };
    let mut offers = offering::assign(&found, &shared.secret, shared.partitions.len() as u16);
    drop(offering::decide(&shared.partitions, &mut offers, None)?);
    let new = offers.iter().filter(|offer| offer.is_new()).count();
    let evidence =
        format!("{} absent URLs that a filter calls maybe put through the seen-test: {new} new", offers.len());
    Ok(Check::judge("maybe is never a yes", new == offers.len(), evidence))
}

fn books_balance(statistics: &Statistics) -> Check {
    match statistics.books.check() {
        Ok(()) => {
            let evidence = format!("all identities hold over {} URLs found", statistics.books.urls_found);
            Check::new("the books balance", Verdict::Pass, evidence)
        }
        Err(broken) => Check::new("the books balance", Verdict::Fail, broken),
    }
}

/// Each filter within its budget: what its layers were made for, what they hold, what rate that predicts.
fn sizing(shared: &Shared, filters: &Filters) -> Check {
    let fullest = filters.layers.iter().max_by(|a, b| a.predicted_rate.total_cmp(&b.predicted_rate));
    let fullest = fullest.map_or(String::new(), |layer| {
        let (index, design, len, rate) = (layer.index, layer.design_capacity, layer.len, layer.predicted_rate);
        format!("; the fullest: layer {index} made for {design}, holds {len}, predicts {:.4} %", rate * 100.0)
    });
    let touched = match shared.filtering.kind {
        Kind::Cuckoo => "2 buckets of 4 tags a key",
        _ => "8 bits or counters a key",
    };
    let evidence = format!(
        "{} layers, {:.1} bits per key, {touched}, {} filters over the budget{fullest}{}",
        filters.layers.len(),
        filters.bits_per_key(),
        filters.over,
        filters.waived_text()
    );
    Check::new("sized from items and rate", filters.verdict(filters.over == 0), evidence)
}

/// The measured rate against the budget, with three standard deviations for chance.
fn rate(shared: &Shared, probed: &Probed, filters: &Filters) -> Check {
    const NAME: &str = "the rate is measured";
    let budget = shared.filtering.settings.false_positive_rate;
    let tried = probed.absent + probed.maybe;
    if tried == 0 {
        return Check::new(NAME, Verdict::Warn, "no filter to measure: all are being rebuilt".into());
    }
    let measured = probed.maybe as f64 / tried as f64;
    let chance = 3.0 * (budget * (1.0 - budget) / tried as f64).sqrt();
    let evidence = format!(
        "{:.4} % of {tried} absent keys called maybe, budget {:.4} %{}",
        measured * 100.0,
        budget * 100.0,
        filters.waived_text()
    );
    Check::new(NAME, filters.verdict(measured <= budget + chance), evidence)
}

fn deletes(shared: &Shared, statistics: &Statistics, filters: &Filters) -> Check {
    let how = match shared.filtering.kind {
        Kind::Blocked | Kind::Classic => "bits are never cleared, by design: no space is paid for deletes".to_owned(),
        Kind::Counting => format!("counters are taken back: {:.1} bits per key pay for it", filters.bits_per_key()),
        Kind::Cuckoo => format!("tags are taken out: {:.1} bits per key pay for it", filters.bits_per_key()),
    };
    let evidence = format!(
        "{how}; {} URLs forgotten, {} of them stale in a filter until its next rebuild, {} stale positives met",
        statistics.books.forgotten, statistics.filter_stale_keys, statistics.books.stale_positives
    );
    Check::new("deletes", Verdict::Pass, evidence)
}

/// The filter's files cover what the store covers: else a start would have to rebuild.
fn placement(shared: &Shared, statistics: &Statistics) -> Check {
    let (mut behind, mut oldest) = (Vec::new(), None::<(u64, Duration)>);
    for partition in &shared.partitions {
        // A merge holds this while it writes both.
        let checkpoint = partition.merging.lock();
        let covered = partition.state.lock().covered.sequence;
        let files = checkpoint.verify().unwrap_or_else(|damage| {
            behind.push(damage);
            None
        });
        if covered > 0 && files.is_none_or(|(files, _)| files < covered) {
            let files = files.map(|(files, _)| files);
            behind.push(format!("partition {}: filter {files:?}, store {covered}", partition.number));
        }
        let age = files.map(|(sequence, written)| (sequence, written.elapsed().unwrap_or_default()));
        oldest = oldest.into_iter().chain(age).min_by_key(|(sequence, _)| *sequence);
    }
    let checkpoints = oldest.map_or("no checkpoint yet".to_owned(), |(sequence, age)| {
        format!("the oldest checkpoint covers event {sequence}, {} s ago", age.as_secs())
    });
    let evidence = format!(
        "filter files lie beside each partition's store; {} bytes resident in one budget of {}; {checkpoints}; {} \
         partitions whose files do not cover their store{}",
        statistics.filter_bytes,
        shared.filtering.settings.max_bytes.unwrap_or(u64::MAX).saturating_mul(shared.partitions.len() as u64),
        behind.len(),
        behind.first().map_or(String::new(), |first| format!(" ({first})"))
    );
    Check::judge("the filter lives with its data", behind.is_empty(), evidence)
}

/// What the filter saves: reads that new URLs would cost.
fn worth(statistics: &Statistics) -> Check {
    let books = &statistics.books;
    let probes = books.filter_absent + books.filter_maybe;
    let saved = books.filter_absent as f64 / probes.max(1) as f64;
    let known = (books.discovered + books.imported - books.forgotten).max(0) as u64;
    let (verdict, why) = match () {
        () if known < SMALL_SET => (Verdict::Warn, "; the set is so small that a plain hash set would do"),
        () if saved < 0.05 => (Verdict::Warn, "; nearly all probes are hits, so the filter only adds cost"),
        () => (Verdict::Pass, ""),
    };
    let evidence = format!("{saved:.3} store reads saved per probe, over {probes} probes and {known} URLs{why}");
    Check::new("worth its cost", verdict, evidence)
}

#[cfg(test)]
mod tests;
