//! Which of the known URLs: by host or prefix, age, status and state; forgotten, counted or listed.
//!
//! A host or a prefix is one stretch of one partition's store, because keys are host-reversed; nothing else is read. What
//! has neither goes through everything, in bounded pieces and without any lock between them, so that the other verbs go
//! on. A URL that is known from beginning to end is met exactly once; one that comes or goes meanwhile, at most once.

use std::net::Ipv6Addr;
use std::ops::RangeInclusive;

use ahash::AHashSet;

use crate::canonical::{Canonical, Rules, UrlError, host_of_key, url_of_key};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::forgetting::{self, Forgotten, Terms};
use crate::frontier::Frontier;
use crate::memory::{Entry, Generation};
use crate::partition::Partition;
use crate::record::{Record, State};
use crate::shared::Shared;
use crate::transfer::ExportError;

/// Records read at a time.
const CHUNK: usize = 1024;

/// A choice of known URLs; what is not set does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    place: Option<Place>,
    state: Option<State>,
    /// First seen before this, in seconds since the Unix epoch.
    pub first_seen_before_secs: Option<u32>,
    /// HTTP status or negative failure code of the last attempt.
    pub status: Option<RangeInclusive<i16>>,
}

/// A stretch of the keys, within one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    registrable_domain: String,
    /// What the keys start with.
    prefix: String,
}

/// One URL that was selected.
struct Selected {
    key: String,
    alternate: Option<String>,
}

impl Selection {
    /// All URLs.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The URLs of one host, whatever their scheme and port; not those of its sub-domains, unless the rules of the crawl
    /// make one host of them.
    ///
    /// # Errors
    /// When it is not the name of a host.
    pub fn of_host(rules: &Rules, name: &str) -> Result<Self, UrlError> {
        // A selection by one port would be another one.
        let is_ipv6 = name.parse::<Ipv6Addr>().is_ok() || (name.starts_with('[') && name.ends_with(']'));
        if name.contains(':') && !is_ipv6 {
            return Err(UrlError::Invalid(url::ParseError::InvalidPort));
        }
        let canonical = rules.front_page(name)?;
        let prefix = format!("{})", host_of_key(canonical.key()));
        Ok(Self::of_keys(&canonical, prefix))
    }

    /// The URLs that start with this one: scheme, host and port as in it, and a path (and query) that begins like its, by
    /// the spelling of the crawl's keys. What its rules leave out at the end of a URL does count in a prefix: `…/a/` is not
    /// `…/a`.
    ///
    /// # Errors
    /// When it is not an absolute URL.
    pub fn of_prefix(rules: &Rules, url: &str) -> Result<Self, UrlError> {
        let canonical = rules.of_prefixes().parse(url)?;
        Ok(Self::of_keys(&canonical, canonical.key().to_owned()))
    }

    fn of_keys(canonical: &Canonical, prefix: String) -> Self {
        let registrable_domain = canonical.registrable_domain().to_owned();
        Self { place: Some(Place { registrable_domain, prefix }), ..Self::default() }
    }

    /// Of those, the ones in this state: `queued`, `fetched`, `failed`, `robots_denied`, `excluded`, `imported_seen`,
    /// `parked`.
    /// `None` when the word names no state.
    #[must_use]
    pub fn in_state(self, word: &str) -> Option<Self> {
        Some(Self { state: Some(State::from_word(word)?), ..self })
    }

    fn prefix(&self) -> &str {
        self.place.as_ref().map_or("", |place| &place.prefix)
    }

    fn matches(&self, record: &Record) -> bool {
        record.state != State::Forgotten
            && self.state.is_none_or(|state| state == record.state)
            && self.first_seen_before_secs.is_none_or(|before| record.first_seen_secs < before)
            && self.status.as_ref().is_none_or(|status| status.contains(&record.status))
    }
}

impl Frontier {
    /// Un-sees all URLs of a selection, as [`Frontier::forget`] does. `go_on` is asked before each piece of work; what was
    /// forgotten when it says no stays so.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn forget_selected(&self, selection: &Selection, go_on: &dyn Fn() -> bool) -> Result<Forgotten, Error> {
        forget(&self.shared, selection, false, go_on)
    }

    /// What [`Frontier::forget_selected`] would come to now; nothing is forgotten.
    ///
    /// # Errors
    /// What the disk says.
    pub fn would_forget_selected(&self, selection: &Selection, go_on: &dyn Fn() -> bool) -> Result<Forgotten, Error> {
        forget(&self.shared, selection, true, go_on)
    }

    /// Hands each URL of a selection to `each`, as it is fetched; in no particular order. Returns how many.
    ///
    /// # Errors
    /// What the disk says, and what `each` says.
    pub fn list(
        &self,
        selection: &Selection,
        mut each: impl FnMut(&str) -> std::io::Result<()>,
    ) -> Result<u64, ExportError> {
        let mut count = 0;
        scan(&self.shared, selection, &|| true, |_, urls| {
            for url in urls {
                count += 1;
                match &url.alternate {
                    Some(alternate) => each(alternate)?,
                    None => each(&url_of_key(&url.key))?,
                }
            }
            Ok::<(), ExportError>(())
        })?;
        Ok(count)
    }
}

fn forget(shared: &Shared, selection: &Selection, dry_run: bool, go_on: &dyn Fn() -> bool) -> Result<Forgotten, Error> {
    let terms = Terms { dry_run, matches: &|record| selection.matches(record) };
    let mut all = Forgotten::default();
    scan(shared, selection, go_on, |partition, urls| {
        let keys = urls.iter().map(|url| &*url.key);
        all.add(forgetting::forget_keys(shared, partition.number, keys, terms)?);
        Ok::<(), Error>(())
    })?;
    Ok(all)
}

/// Hands the selected URLs to `each`, up to [`CHUNK`] of one partition at a time; no lock is held meanwhile.
fn scan<E: From<Error>>(
    shared: &Shared,
    selection: &Selection,
    go_on: &dyn Fn() -> bool,
    mut each: impl FnMut(&Partition, &[Selected]) -> Result<(), E>,
) -> Result<(), E> {
    let owner = selection.place.as_ref().map(|place| {
        let count = shared.partitions.len() as u16;
        shared.secret.partition(&place.registrable_domain, count)
    });
    for partition in shared.partitions.iter().filter(|p| owner.is_none_or(|owner| owner == p.number)) {
        // Memory first: what a merge takes from it to the store meanwhile is then known to have been met.
        let (selected, met) = of_memory(partition, selection);
        for chunk in selected.chunks(CHUNK) {
            if !go_on() {
                return Ok(());
            }
            each(partition, chunk)?;
        }
        let mut after: Option<String> = None;
        loop {
            if !go_on() {
                return Ok(());
            }
            let records = partition.store.records(selection.prefix(), after.as_deref(), CHUNK)?;
            let Some((last, _)) = records.last() else { break };
            after = Some(last.clone());
            let state = partition.state.lock();
            let selected = records.into_iter().filter_map(|(key, stored)| {
                let fingerprint = shared.secret.fingerprint(&key);
                let record = state.remembered(fingerprint).map_or(stored.record, |r| r.entry.record);
                let is_selected = !met.contains(&fingerprint) && selection.matches(&record);
                is_selected.then_some(Selected { key, alternate: stored.alternate })
            });
            let selected: Vec<Selected> = selected.collect();
            drop(state);
            each(partition, &selected)?;
        }
    }
    Ok(())
}

/// The URLs that a partition's memory knows: those selected, and the fingerprints of all. As large as memory at most.
fn of_memory(partition: &Partition, selection: &Selection) -> (Vec<Selected>, AHashSet<Fingerprint>) {
    let (mut selected, mut met) = (Vec::new(), AHashSet::new());
    let state = partition.state.lock();
    let mut take = |generation: &Generation, fingerprint: Fingerprint, entry: &Entry| {
        let key = generation.key(entry);
        // What the active generation says of a frozen one's URL counts.
        let is_known = state.remembered(fingerprint).is_some_and(|r| std::ptr::eq(r.entry, entry));
        if is_known && key.starts_with(selection.prefix()) {
            met.insert(fingerprint);
            if selection.matches(&entry.record) {
                let alternate = generation.alternate(entry).map(str::to_owned);
                selected.push(Selected { key: key.to_owned(), alternate });
            }
        }
    };
    for generation in state.frozen.iter().map(|frozen| &*frozen.generation).chain([&state.active]) {
        generation.known().for_each(|(fingerprint, entry)| take(generation, fingerprint, entry));
    }
    (selected, met)
}

#[cfg(test)]
mod tests;
