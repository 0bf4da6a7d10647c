//! What a history should have come to: a fold of what its verbs said, which can be cut at any number.

use std::collections::{BTreeMap, BTreeSet};

use crate::Millis;
use crate::books::Books;
use crate::journal::Sequence;
use crate::record::State;

/// One verb's word, under the number of its event.
#[derive(Debug, Clone)]
pub(super) enum Said {
    /// URLs that were new.
    New(BTreeSet<u16>),
    /// A URL's lease ended. `url` is not there when it was forgotten meanwhile.
    Ended { url: Option<(u16, State, u8)>, host: usize, blocked_until: Millis, new: BTreeSet<u16> },
    /// A URL that was known is not known any more.
    Forgotten(u16),
}

/// A URL that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) state: State,
    pub(super) attempts: u8,
    /// The event that put it into the queue.
    pub(super) queued_at: Sequence,
}

/// What is known after some events.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) urls: BTreeMap<u16, Url>,
    pub(super) blocked_until: BTreeMap<usize, Millis>,
    pub(super) discovered: i64,
    pub(super) forgotten: i64,
}

/// All that was said, and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Model {
    said: Vec<(Sequence, Said)>,
    pub(super) known: Known,
    /// The newest event that was reported as durable.
    pub(super) durable: Sequence,
    /// The newest event.
    pub(super) last: Sequence,
}

impl Model {
    pub(super) fn say(&mut self, sequence: Sequence, said: Said) {
        self.known.fold(sequence, &said);
        self.said.push((sequence, said));
    }

    /// A crash: nothing after `last` ever was.
    pub(super) fn cut(&mut self, last: Sequence) {
        self.said.retain(|(sequence, _)| *sequence <= last);
        self.known = Known::default();
        for (sequence, said) in &self.said {
            self.known.fold(*sequence, said);
        }
        (self.last, self.durable) = (last, last);
    }
}

impl Known {
    fn fold(&mut self, sequence: Sequence, said: &Said) {
        match said {
            Said::New(urls) => self.enter(sequence, urls),
            Said::Ended { url, host, blocked_until, new } => {
                self.enter(sequence, new);
                if let Some((url, state, attempts)) = url {
                    self.urls.insert(*url, Url { state: *state, attempts: *attempts, queued_at: sequence });
                }
                let blocked = self.blocked_until.entry(*host).or_default();
                *blocked = (*blocked).max(*blocked_until);
            }
            Said::Forgotten(url) => {
                self.urls.remove(url);
                self.forgotten += 1;
            }
        }
    }

    fn enter(&mut self, sequence: Sequence, urls: &BTreeSet<u16>) {
        self.discovered += urls.len() as i64;
        let url = Url { state: State::Queued, attempts: 0, queued_at: sequence };
        self.urls.extend(urls.iter().map(|n| (*n, url)));
    }

    fn count(&self, state: State) -> i64 {
        self.urls.values().filter(|url| url.state == state).count() as i64
    }

    /// That the books say the same.
    pub(super) fn check(&self, books: &Books) {
        assert_eq!(books.check(), Ok(()), "the books balance");
        assert_eq!((books.discovered, books.forgotten), (self.discovered, self.forgotten), "discovered and forgotten");
        let counted = (books.queued, books.fetched, books.failed);
        let expected = (self.count(State::Queued), self.count(State::Fetched), self.count(State::Failed));
        assert_eq!(counted, expected, "queued, fetched and failed");
    }
}
