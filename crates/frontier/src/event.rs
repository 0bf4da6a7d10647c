//! The journal's events. State is a fold of them, in the order of their numbers; time is in the event.
//!
//! One frame (one append) holds the parts of one verb, each tagged with the partition that it concerns, so that a page's
//! completion and all new URLs found on it become durable together or not at all.

use crate::Millis;
use crate::books::Books;
use crate::found::{FoundUrl, Priority};
use crate::record::{HostState, Record, State};
use crate::robots::RobotsMemory;
use crate::store::StoredRecord;
use crate::wire::{Reader, WireError, Writer};

/// The byte of [`Event::Imported`].
const IMPORTED: u8 = 6;
/// The byte of [`Event::Released`].
const RELEASED: u8 = 17;
/// The byte of [`Event::Lowered`].
const LOWERED: u8 = 18;
/// The byte of [`Event::Advanced`].
const ADVANCED: u8 = 19;
/// The byte of [`Event::Revisit`].
const REVISIT: u8 = 20;
/// The byte of [`Event::Hinted`].
const HINTED: u8 = 21;
/// The byte of [`Event::Robots`].
const ROBOTS: u8 = 22;

/// One partition's part of a frame. All values are absolute, except the differences of the books.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event<'a> {
    /// New URLs, queued at the end of their hosts' queues.
    Found { at: Millis, referrer: Option<&'a str>, urls: Vec<NewUrl<'a>>, books: Books },
    /// A lease began (or ended without outcome): how many have, in a row. The queue is as before.
    Leased(Change<'a>),
    /// A lease ended with an outcome. If `change.record.state` is queued, the URL goes to the end of its host's queue.
    Completed { change: Change<'a>, host: Option<HostState>, books: Books },
    /// A host was asked (for its robots.txt) without a URL being done.
    Host { host: &'a str, state: HostState, books: Books },
    /// URLs that are not known any more, each as it was.
    Forgotten { changes: Vec<Change<'a>>, books: Books },
    /// Parked URLs that go to the end of their hosts' queues, each as it is then.
    Released { changes: Vec<Change<'a>>, books: Books },
    /// URLs not finished that were found nearer to a seed, each as it is then.
    Lowered { changes: Vec<Change<'a>>, books: Books },
    /// Hosts and URLs that an import brought, none of the URLs known before; the queued ones go to the end of their
    /// hosts' queues. `revived`: those of them that the filter said maybe to because they had been forgotten.
    Imported { hosts: Vec<(&'a str, HostState)>, urls: Vec<Change<'a>>, revived: u64, books: Books },
    /// URLs of which an import knows more than was known here: the state in which each was, and what it is then.
    Advanced { changes: Vec<(State, Change<'a>)>, books: Books },
    /// Fetched pages that are due again and go to the end of their hosts' queues, each as it is then.
    Revisit { changes: Vec<Change<'a>>, books: Books },
    /// URLs with another interval, and so another due time, each as it is then: fetched ones, and new ones in memory.
    Hinted { changes: Vec<Change<'a>>, books: Books },
    /// What an origin's robots.txt says. `origin`: as `robots::name` writes it.
    Robots { origin: &'a str, memory: RobotsMemory },
}

/// A URL that was never seen before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NewUrl<'a> {
    pub(crate) key: &'a str,
    /// The fetch URL where the key does not give it back.
    pub(crate) alternate: Option<&'a str>,
    pub(crate) depth: u16,
    pub(crate) priority: Priority,
    /// 0 for a page.
    pub(crate) sitemap_level: u8,
    /// Held back by a budget.
    pub(crate) parked: bool,
}

/// The new record of a URL that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change<'a> {
    pub(crate) key: &'a str,
    pub(crate) alternate: Option<&'a str>,
    pub(crate) referrer: Option<&'a str>,
    pub(crate) record: Record,
    /// What is remembered of the last visit, as [`Trace`](crate::trace::Trace) writes it.
    pub(crate) trace: Option<&'a str>,
}

impl<'a> Change<'a> {
    /// That a URL is what its record says. Where it was found stands in its queue only.
    pub(crate) fn of(key: &'a str, stored: &'a StoredRecord) -> Self {
        let StoredRecord { record, alternate, trace } = stored;
        Self { key, alternate: alternate.as_deref(), referrer: None, record: *record, trace: trace.as_deref() }
    }
}

fn encode_part(out: &mut Writer, partition: u16, event: &Event<'_>) {
    out.varint(u64::from(partition));
    match event {
        Event::Found { at, referrer, urls, books } => {
            out.byte(1);
            out.varint(*at);
            out.optional_text(*referrer);
            books.encode(out);
            out.varint(urls.len() as u64);
            for url in urls {
                out.text(url.key);
                out.optional_text(url.alternate);
                // One byte for pages at the first eight depths; above 20 bits, what few URLs have.
                let class = u64::from(url.priority.class());
                let level = u64::from(url.sitemap_level) << 20;
                out.varint(level | u64::from(url.depth) << 4 | class << 1 | u64::from(url.parked));
            }
        }
        Event::Leased(change) => {
            out.byte(2);
            encode_change(out, change);
        }
        Event::Completed { change, host, books } => {
            out.byte(3);
            encode_change(out, change);
            out.byte(u8::from(host.is_some()));
            if let Some(state) = host {
                state.encode(out);
            }
            books.encode(out);
        }
        Event::Host { host, state, books } => {
            out.byte(4);
            out.text(host);
            state.encode(out);
            books.encode(out);
        }
        Event::Forgotten { changes, books } => encode_changes(out, 5, changes, books),
        Event::Released { changes, books } => encode_changes(out, RELEASED, changes, books),
        Event::Lowered { changes, books } => encode_changes(out, LOWERED, changes, books),
        Event::Imported { hosts, urls, revived, books } => {
            out.byte(IMPORTED);
            books.encode(out);
            out.varint(*revived);
            encode_hosts(out, hosts);
            out.varint(urls.len() as u64);
            urls.iter().for_each(|change| encode_change(out, change));
        }
        Event::Advanced { changes, books } => encode_advanced(out, changes, books),
        Event::Revisit { changes, books } => encode_changes(out, REVISIT, changes, books),
        Event::Hinted { changes, books } => encode_changes(out, HINTED, changes, books),
        Event::Robots { origin, memory } => {
            out.byte(ROBOTS);
            out.text(origin);
            memory.encode(out);
        }
    }
}

fn encode_changes(out: &mut Writer, kind: u8, changes: &[Change<'_>], books: &Books) {
    out.byte(kind);
    books.encode(out);
    out.varint(changes.len() as u64);
    changes.iter().for_each(|change| encode_change(out, change));
}

fn encode_hosts(out: &mut Writer, hosts: &[(&str, HostState)]) {
    out.varint(hosts.len() as u64);
    for (host, state) in hosts {
        out.text(host);
        state.encode(out);
    }
}

fn encode_advanced(out: &mut Writer, changes: &[(State, Change<'_>)], books: &Books) {
    out.byte(ADVANCED);
    books.encode(out);
    out.varint(changes.len() as u64);
    for (before, change) in changes {
        out.byte(*before as u8);
        encode_change(out, change);
    }
}

/// A frame of these parts.
pub(crate) fn frame(parts: &[(u16, &Event<'_>)]) -> Vec<u8> {
    let mut out = Writer::default();
    parts.iter().for_each(|(partition, event)| encode_part(&mut out, *partition, event));
    out.into_bytes()
}

/// All parts of a frame.
pub(crate) fn decode_parts(frame: &[u8]) -> Result<Vec<(u16, Event<'_>)>, WireError> {
    let mut input = Reader::new(frame);
    let mut parts = Vec::new();
    while !input.is_empty() {
        let partition = input.narrow()?;
        let event = match input.byte()? {
            1 => decode_found(&mut input)?,
            2 => Event::Leased(decode_change(&mut input)?),
            3 => Event::Completed {
                change: decode_change(&mut input)?,
                host: if input.byte()? == 1 { Some(HostState::decode(&mut input)?) } else { None },
                books: Books::decode(&mut input)?,
            },
            4 => Event::Host {
                host: input.text()?,
                state: HostState::decode(&mut input)?,
                books: Books::decode(&mut input)?,
            },
            5 => {
                let (books, changes) = (Books::decode(&mut input)?, decode_many(&mut input, decode_change)?);
                Event::Forgotten { changes, books }
            }
            IMPORTED => decode_imported(&mut input)?,
            RELEASED => {
                let (books, changes) = (Books::decode(&mut input)?, decode_many(&mut input, decode_change)?);
                Event::Released { changes, books }
            }
            LOWERED => {
                let (books, changes) = (Books::decode(&mut input)?, decode_many(&mut input, decode_change)?);
                Event::Lowered { changes, books }
            }
            ADVANCED => {
                let (books, changes) = (Books::decode(&mut input)?, decode_many(&mut input, decode_advanced)?);
                Event::Advanced { changes, books }
            }
            kind @ (REVISIT | HINTED) => {
                let (books, changes) = (Books::decode(&mut input)?, decode_many(&mut input, decode_change)?);
                if kind == REVISIT { Event::Revisit { changes, books } } else { Event::Hinted { changes, books } }
            }
            ROBOTS => Event::Robots { origin: input.text()?, memory: RobotsMemory::decode(&mut input)? },
            _ => return Err(WireError("unknown event")),
        };
        parts.push((partition, event));
    }
    Ok(parts)
}

fn decode_found<'a>(input: &mut Reader<'a>) -> Result<Event<'a>, WireError> {
    let at = input.varint()?;
    let referrer = input.optional_text()?;
    let books = Books::decode(input)?;
    let count = input.varint()?;
    let mut urls = Vec::new();
    for _ in 0..count {
        let (key, alternate) = (input.text()?, input.optional_text()?);
        let packed: u32 = input.narrow()?;
        let depth = (packed >> 4 & 0xffff) as u16;
        let sitemap_level = u8::try_from(packed >> 20).ok().filter(|level| *level <= FoundUrl::MAX_SITEMAP_LEVEL);
        let sitemap_level = sitemap_level.ok_or(WireError("depth out of range"))?;
        let priority = Priority::new(u64::from(packed >> 1 & 7));
        urls.push(NewUrl { key, alternate, depth, priority, sitemap_level, parked: packed & 1 == 1 });
    }
    Ok(Event::Found { at, referrer, urls, books })
}

fn decode_imported<'a>(input: &mut Reader<'a>) -> Result<Event<'a>, WireError> {
    let (books, revived) = (Books::decode(input)?, input.varint()?);
    let hosts = decode_many(input, |input| Ok((input.text()?, HostState::decode(input)?)))?;
    Ok(Event::Imported { hosts, urls: decode_many(input, decode_change)?, revived, books })
}

fn decode_advanced<'a>(input: &mut Reader<'a>) -> Result<(State, Change<'a>), WireError> {
    Ok((State::from_byte(input.byte()?)?, decode_change(input)?))
}

/// A count, and so many.
fn decode_many<'a, T>(
    input: &mut Reader<'a>,
    decode: impl Fn(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let count = input.varint()?;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(decode(input)?);
    }
    Ok(all)
}

fn encode_change(out: &mut Writer, change: &Change<'_>) {
    out.text(change.key);
    out.optional_text(change.alternate);
    out.optional_text(change.referrer);
    change.record.encode(out);
    out.optional_text(change.trace);
}

fn decode_change<'a>(input: &mut Reader<'a>) -> Result<Change<'a>, WireError> {
    Ok(Change {
        key: input.text()?,
        alternate: input.optional_text()?,
        referrer: input.optional_text()?,
        record: Record::decode(input)?,
        trace: input.optional_text()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block_reason::BlockReason;
    use crate::growth::Growth;

    #[test]
    fn every_event_survives_the_wire() {
        let record = Record {
            state: State::Queued,
            depth: 3,
            attempts: 1,
            starts: 2,
            status: -4,
            first_seen_secs: 1_700_000_000,
            block: 77,
            priority: Priority::LAST,
            sitemap_level: 15,
            due_secs: 1_800_000_000,
            interval_secs: 86_400,
        };
        let change = Change {
            key: "com,example)/a",
            alternate: Some("https://example.com./a"),
            referrer: None,
            record,
            trace: Some("+0123456789abcdef\n\"e\""),
        };
        let blocked_by = Some(BlockReason::Timeout);
        let host = HostState {
            next_slot: 5,
            delay_ms: 1000,
            failures: 2,
            blocked_until: 9,
            blocked_by,
            granted: 3,
            growth: Growth::trusted(),
        };
        let books = Books { fetches: 1, queued: -1, ..Books::default() };
        let page = NewUrl {
            key: "com,example)/b",
            alternate: None,
            depth: 4,
            priority: Priority::LAST,
            sitemap_level: 0,
            parked: true,
        };
        let sitemap = NewUrl { sitemap_level: FoundUrl::MAX_SITEMAP_LEVEL, depth: u16::MAX, parked: false, ..page };
        let urls = vec![page, sitemap];
        let memory = RobotsMemory {
            text: Some("user-agent: *\n".into()),
            last_modified: Some("Thu, 01 Jan 1970 00:00:00 GMT".into()),
            fetched: 12,
            ..RobotsMemory::default()
        };
        let parts = [
            (0, Event::Found { at: 8, referrer: Some("https://example.com/"), urls, books }),
            (1, Event::Leased(change)),
            (2, Event::Completed { change, host: Some(host), books }),
            (2, Event::Completed { change, host: None, books }),
            (9, Event::Host { host: "com,example", state: host, books }),
            (9, Event::Forgotten { changes: vec![change, change], books }),
            (9, Event::Released { changes: vec![change], books }),
            (9, Event::Lowered { changes: vec![change], books }),
            (9, Event::Imported { hosts: vec![("com,example", host)], urls: vec![change], revived: 1, books }),
            (9, Event::Advanced { changes: vec![(State::Parked, change)], books }),
            (9, Event::Revisit { changes: vec![change], books }),
            (9, Event::Hinted { changes: vec![change, change], books }),
            (9, Event::Robots { origin: "com,example)https://example.com", memory }),
        ];
        let frame = frame(&parts.each_ref().map(|(partition, event)| (*partition, event)));
        assert_eq!(decode_parts(&frame), Ok(parts.to_vec()));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_events_or_an_error(bytes: Vec<u8>) {
            let _ = decode_parts(&bytes);
        }
    }
}
