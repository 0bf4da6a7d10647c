//! The journal's events. State is a fold of them, in the order of their numbers; time is in the event.
//!
//! One frame (one append) holds the parts of one verb, each tagged with the partition that it concerns, so that a page's
//! completion and all new URLs found on it become durable together or not at all.

use crate::Millis;
use crate::books::Books;
use crate::record::{HostState, Record};
use crate::wire::{Reader, WireError, Writer};

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
}

/// A URL that was never seen before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NewUrl<'a> {
    pub(crate) key: &'a str,
    /// The fetch URL where the key does not give it back.
    pub(crate) alternate: Option<&'a str>,
    pub(crate) depth: u16,
}

/// The new record of a URL that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change<'a> {
    pub(crate) key: &'a str,
    pub(crate) alternate: Option<&'a str>,
    pub(crate) referrer: Option<&'a str>,
    pub(crate) record: Record,
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
                out.varint(u64::from(url.depth));
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
        urls.push(NewUrl { key: input.text()?, alternate: input.optional_text()?, depth: input.narrow()? });
    }
    Ok(Event::Found { at, referrer, urls, books })
}

fn encode_change(out: &mut Writer, change: &Change<'_>) {
    out.text(change.key);
    out.optional_text(change.alternate);
    out.optional_text(change.referrer);
    change.record.encode(out);
}

fn decode_change<'a>(input: &mut Reader<'a>) -> Result<Change<'a>, WireError> {
    Ok(Change {
        key: input.text()?,
        alternate: input.optional_text()?,
        referrer: input.optional_text()?,
        record: Record::decode(input)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::State;

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
        };
        let change =
            Change { key: "com,example)/a", alternate: Some("https://example.com./a"), referrer: None, record };
        let host = HostState { next_slot: 5, delay_ms: 1000, failures: 2, blocked_until: 9 };
        let books = Books { fetches: 1, queued: -1, ..Books::default() };
        let urls = vec![NewUrl { key: "com,example)/b", alternate: None, depth: 4 }];
        let parts = [
            (0, Event::Found { at: 8, referrer: Some("https://example.com/"), urls, books }),
            (1, Event::Leased(change)),
            (2, Event::Completed { change, host: Some(host), books }),
            (2, Event::Completed { change, host: None, books }),
            (9, Event::Host { host: "com,example", state: host, books }),
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
