//! What an origin's robots.txt said: remembered over restarts, so that a crawl need not ask every host again.
//!
//! Not the rules and not how long they hold: here it is a text with a time and with what a server needs to say "not
//! modified". Invariant: what is remembered is bounded ([`RobotsMemory::MAX_TEXT_BYTES`]), stands in journal, memory and
//! store like every event, and counts as memory of its partition; what is not durable yet may be lost, which costs one
//! request.

use crate::Millis;
use crate::canonical::{Canonical, host_of_key};
use crate::error::Error;
use crate::event::Event;
use crate::frontier::Frontier;
use crate::host::Stored;
use crate::offering::Locked;
use crate::partition::Partition;
use crate::wire::{Reader, WireError, Writer};

/// Longest validator that is kept, in bytes: a cut one would be none.
const MAX_VALIDATOR_BYTES: usize = 256;

/// What robots.txt of one origin (scheme, host and port) said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RobotsMemory {
    /// The text, as it is parsed; `None` where there are no rules (the file is missing).
    pub text: Option<String>,
    /// The `ETag` that came with it.
    pub etag: Option<String>,
    /// The `Last-Modified` that came with it.
    pub last_modified: Option<String>,
    /// When it was asked for, or when the server last said that it is still so; 0 where no answer ever came.
    pub fetched: Millis,
    /// Since when the server has answered with errors only; `None` where its last answer was one.
    pub unreachable_since: Option<Millis>,
    /// How many seconds the server said that it holds.
    pub max_age_secs: Option<u32>,
}

/// What there is of a [`RobotsMemory`], in its first byte. Those without times are as they always were.
const HAS_TEXT: u8 = 1;
const HAS_UNREACHABLE_SINCE: u8 = 2;
const HAS_MAX_AGE: u8 = 4;

impl RobotsMemory {
    /// Longest text that is remembered, in bytes: as much as RFC 9309 asks crawlers to read.
    pub const MAX_TEXT_BYTES: usize = 500 * 1024;

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<Self>() + length(&self.text) + length(&self.etag) + length(&self.last_modified)
    }

    pub(crate) fn is_bounded(&self) -> bool {
        let within = |text: &Option<String>, most: usize| text.as_ref().is_none_or(|text| text.len() <= most);
        within(&self.text, Self::MAX_TEXT_BYTES)
            && within(&self.etag, MAX_VALIDATOR_BYTES)
            && within(&self.last_modified, MAX_VALIDATOR_BYTES)
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        let flag = |is_there: bool, flag: u8| if is_there { flag } else { 0 };
        out.byte(
            flag(self.text.is_some(), HAS_TEXT)
                | flag(self.unreachable_since.is_some(), HAS_UNREACHABLE_SINCE)
                | flag(self.max_age_secs.is_some(), HAS_MAX_AGE),
        );
        out.text(self.text.as_deref().unwrap_or_default());
        out.optional_text(self.etag.as_deref());
        out.optional_text(self.last_modified.as_deref());
        out.varint(self.fetched);
        [self.unreachable_since, self.max_age_secs.map(u64::from)]
            .into_iter()
            .flatten()
            .for_each(|time| out.varint(time));
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let flags = input.byte()?;
        if flags > (HAS_TEXT | HAS_UNREACHABLE_SINCE | HAS_MAX_AGE) {
            return Err(WireError("a robots.txt of a later version"));
        }
        let text = input.text()?.to_owned();
        Ok(Self {
            text: (flags & HAS_TEXT > 0).then_some(text),
            etag: input.optional_text()?.map(str::to_owned),
            last_modified: input.optional_text()?.map(str::to_owned),
            fetched: input.varint()?,
            unreachable_since: (flags & HAS_UNREACHABLE_SINCE > 0).then(|| input.varint()).transpose()?,
            max_age_secs: (flags & HAS_MAX_AGE > 0).then(|| input.narrow()).transpose()?,
        })
    }
}

impl Frontier {
    /// What robots.txt of the URL's origin said when it was last asked for, however long ago.
    ///
    /// # Errors
    /// What the disk says.
    pub fn robots(&self, url: &Canonical) -> Result<Option<RobotsMemory>, Error> {
        known(&self.shared.partitions[usize::from(self.owner(url))], &name(url))
    }

    /// Remembers what robots.txt of the URL's origin says; it is durable with the next commit. A text that is too long is
    /// not remembered, and what was known before stays. Waits while memory is full.
    ///
    /// # Errors
    /// What the disk says; [`Error::Poisoned`].
    pub fn remember_robots(&self, url: &Canonical, memory: RobotsMemory) -> Result<(), Error> {
        if !memory.is_bounded() {
            return Ok(());
        }
        let (number, origin) = (self.owner(url), name(url));
        self.shared.wait_for_room([number])?;
        let mut locked = Locked::new(&self.shared.partitions, &[number]);
        self.shared.record(&mut locked, &[(number, Event::Robots { origin: &origin, memory })])?;
        Ok(())
    }

    fn owner(&self, url: &Canonical) -> u16 {
        self.shared.secret.partition(url.registrable_domain(), self.shared.partitions.len() as u16)
    }
}

/// What is known of an origin by this name: memory overrides the store, which is read outside the lock.
pub(crate) fn known(partition: &Partition, name: &str) -> Result<Option<RobotsMemory>, Error> {
    let mut read: Option<(u64, Option<RobotsMemory>)> = None;
    loop {
        let state = partition.state.lock();
        let frozen = state.frozen.as_ref().and_then(|frozen| frozen.generation.robots(name));
        if let Some(memory) = state.active.robots(name).or(frozen) {
            return Ok(Some(memory.clone()));
        }
        if let Some((_, memory)) = read.take().filter(|(epoch, _)| *epoch == state.epoch) {
            return Ok(memory);
        }
        // Most hosts are new to the crawl: the store knows nothing of them.
        let id = state.queues.id(host_of_key(name));
        if id.is_some_and(|id| state.queues.host(id).stored == Stored::Absent) {
            return Ok(None);
        }
        let epoch = state.epoch;
        drop(state);
        read = Some((epoch, partition.store.robots(name)?));
    }
}

/// The name of a URL's origin: the host part of its key, so that the origins of a host stand together, then the origin.
pub(crate) fn name(url: &Canonical) -> String {
    format!("{}){}", host_of_key(url.key()), origin_of(url))
}

/// Scheme, userinfo, host and port as the fetch URL writes them.
pub(crate) fn origin_of(url: &Canonical) -> &str {
    let start = url.url().find("://").map_or(0, |at| at + 3);
    let end = url.url()[start..].find('/').map_or(url.url().len(), |at| start + at);
    &url.url()[..end]
}

#[cfg(test)]
mod tests;
