//! What the frontier remembers of one URL (its record) and of one host (its state), and how both are written.

use crate::Millis;
use crate::block_reason::BlockReason;
use crate::found::Priority;
use crate::growth::Growth;
use crate::wire::{Reader, WireError, Writer};

/// Number of a merge: the sequence that it covers. Names the queue blocks that the merge wrote; zero is "none".
pub(crate) type BlockNumber = u64;

/// A URL's present state. Each URL is in exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    Queued = 0,
    Fetched = 1,
    Failed = 2,
    RobotsDenied = 3,
    Excluded = 4,
    /// Not known any more, but the filter may still say maybe to it: kept until the filter is rebuilt.
    Forgotten = 5,
    /// Imported as seen, without having been fetched here.
    ImportedSeen = 6,
    /// Held back by a budget: known, and not to be fetched.
    Parked = 7,
}

impl State {
    /// The states of URLs that are known, each with its word in an export and on the command line.
    pub(crate) const WORDS: [(Self, &'static str); 7] = [
        (Self::Queued, "queued"),
        (Self::Fetched, "fetched"),
        (Self::Failed, "failed"),
        (Self::RobotsDenied, "robots_denied"),
        (Self::Excluded, "excluded"),
        (Self::ImportedSeen, "imported_seen"),
        (Self::Parked, "parked"),
    ];

    /// Its word; `None` for a forgotten URL, which is not known.
    pub(crate) fn word(self) -> Option<&'static str> {
        Self::WORDS.iter().find(|(state, _)| *state == self).map(|(_, word)| *word)
    }

    /// The state that a word names.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(state, _)| *state)
    }

    /// How far the crawl has come with a URL in this state: of two words on one URL the further one counts.
    pub(crate) fn progress(self) -> u8 {
        match self {
            Self::Forgotten => 0,
            Self::Parked => 1,
            Self::Queued => 2,
            Self::ImportedSeen => 3,
            Self::Excluded => 4,
            Self::RobotsDenied => 5,
            Self::Failed => 6,
            Self::Fetched => 7,
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Result<Self, WireError> {
        Ok(match byte {
            0 => Self::Queued,
            1 => Self::Fetched,
            2 => Self::Failed,
            3 => Self::RobotsDenied,
            4 => Self::Excluded,
            5 => Self::Forgotten,
            6 => Self::ImportedSeen,
            7 => Self::Parked,
            _ => return Err(WireError("unknown state")),
        })
    }
}

/// What is remembered of a URL, beside its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) state: State,
    pub(crate) depth: u16,
    /// Attempts that ended without a final outcome.
    pub(crate) attempts: u8,
    /// Leases in a row that ended without any outcome (a crash), the present one included.
    pub(crate) starts: u8,
    /// HTTP status or negative code of the last attempt; zero before the first.
    pub(crate) status: i16,
    /// Seconds since the Unix epoch.
    pub(crate) first_seen_secs: u32,
    /// The queue block in the store that holds it; zero when none does.
    pub(crate) block: BlockNumber,
    /// Its class within its host's queue.
    pub(crate) priority: Priority,
    /// As in [`FoundUrl`](crate::FoundUrl): 0 for a page, else up to 15.
    pub(crate) sitemap_level: u8,
    /// When it is to be visited again, once it is fetched, in seconds since the Unix epoch; zero for never. It stays while
    /// the URL is queued for that visit: above zero, it was visited before.
    pub(crate) due_secs: u32,
    /// From one visit to the next, in seconds; zero where there is to be no next.
    pub(crate) interval_secs: u32,
}

impl Record {
    /// A URL that nobody has asked for yet.
    pub(crate) fn new(state: State, depth: u16, first_seen_secs: u32) -> Self {
        Self {
            state,
            depth,
            attempts: 0,
            starts: 0,
            status: 0,
            first_seen_secs,
            block: 0,
            priority: Priority::default(),
            sitemap_level: 0,
            due_secs: 0,
            interval_secs: 0,
        }
    }

    /// Whether it is fetched, and will be visited again.
    pub(crate) fn is_due_again(&self) -> bool {
        self.state == State::Fetched && self.due_secs > 0
    }

    /// How far the crawl has come with it: a page that is queued for a further visit was fetched.
    pub(crate) fn progress(&self) -> u8 {
        if self.is_revisit() { State::Fetched.progress() } else { self.state.progress() }
    }

    /// Whether it is to be, or is being, visited again.
    pub(crate) fn is_revisit(&self) -> bool {
        self.state == State::Queued && self.due_secs > 0
    }

    /// Its depth while it is not finished, else zero: what can be lowered.
    pub(crate) fn open_depth(&self) -> u16 {
        if self.state == State::Queued { self.depth } else { 0 }
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        out.byte(self.state as u8);
        out.varint(u64::from(self.depth));
        out.byte(self.attempts);
        out.byte(self.starts);
        out.signed(i64::from(self.status));
        out.varint(u64::from(self.first_seen_secs));
        out.varint(self.block);
        out.byte(self.sitemap_level << 3 | self.priority.class());
        // One byte where nothing is visited again.
        out.varint(u64::from(self.interval_secs));
        if self.interval_secs > 0 {
            out.varint(u64::from(self.due_secs));
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut record = Self {
            state: State::from_byte(input.byte()?)?,
            depth: input.narrow()?,
            attempts: input.byte()?,
            starts: input.byte()?,
            status: i16::try_from(input.signed()?).map_err(|_| WireError("status out of range"))?,
            first_seen_secs: input.narrow()?,
            block: input.varint()?,
            ..Self::new(State::Queued, 0, 0)
        };
        let packed = input.byte()?;
        record.priority = Priority::new(u64::from(packed & 7));
        record.sitemap_level = packed >> 3 & 15;
        record.interval_secs = input.narrow()?;
        if record.interval_secs > 0 {
            record.due_secs = input.narrow()?;
        }
        Ok(record)
    }
}

/// What is remembered of a host: when it may be asked again. Durable, so that a crash loop cannot hammer a site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HostState {
    /// Earliest next request.
    pub(crate) next_slot: Millis,
    /// Its full delay between the end of a response and the next request, in milliseconds.
    pub(crate) delay_ms: u64,
    /// Back-off: failures not yet made good.
    pub(crate) failures: u16,
    /// Not asked before this, whatever the slot says.
    pub(crate) blocked_until: Millis,
    /// Why; `None` once it has answered again.
    pub(crate) blocked_by: Option<BlockReason>,
    /// URLs and pages that an operator granted it beyond its budget; [`HostState::LIFTED`] for no budget at all.
    pub(crate) granted: u32,
    /// Whether it grows without end.
    pub(crate) growth: Growth,
}

impl HostState {
    pub(crate) const LIFTED: u32 = u32::MAX;

    /// When it may be asked.
    pub(crate) fn due(&self) -> Millis {
        self.next_slot.max(self.blocked_until)
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        out.varint(self.next_slot);
        out.varint(self.delay_ms);
        out.varint(u64::from(self.failures));
        out.varint(self.blocked_until);
        out.byte(BlockReason::to_byte(self.blocked_by));
        out.varint(u64::from(self.granted));
        self.growth.encode(out);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            next_slot: input.varint()?,
            delay_ms: input.varint()?,
            failures: input.narrow()?,
            blocked_until: input.varint()?,
            blocked_by: BlockReason::from_byte(input.byte()?)?,
            granted: input.narrow()?,
            growth: Growth::decode(input)?,
        })
    }
}

/// How many URLs a host has, or changes of that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Unfinished, those in flight included.
    pub(crate) queued: i64,
    /// Known, but for parked ones.
    pub(crate) urls: i64,
    /// Fetched.
    pub(crate) pages: i64,
    pub(crate) parked: i64,
}

impl Counts {
    /// One URL in this state.
    pub(crate) fn of(state: State) -> Self {
        let known = Self { urls: 1, ..Self::default() };
        match state {
            State::Queued => Self { queued: 1, ..known },
            State::Fetched => Self { pages: 1, ..known },
            State::Failed | State::RobotsDenied | State::Excluded | State::ImportedSeen => known,
            State::Parked => Self { parked: 1, ..Self::default() },
            State::Forgotten => Self::default(),
        }
    }

    /// A URL that goes from one state to another.
    pub(crate) fn change(before: State, after: State) -> Self {
        let [before, mut after] = [before, after].map(Self::of);
        after.queued -= before.queued;
        after.urls -= before.urls;
        after.pages -= before.pages;
        after.parked -= before.parked;
        after
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.queued += other.queued;
        self.urls += other.urls;
        self.pages += other.pages;
        self.parked += other.parked;
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        [self.queued, self.urls, self.pages, self.parked].iter().for_each(|n| out.signed(*n));
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { queued: input.signed()?, urls: input.signed()?, pages: input.signed()?, parked: input.signed()? })
    }
}
