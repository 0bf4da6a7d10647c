//! What the frontier remembers of one URL (its record) and of one host (its state), and how both are written.

use crate::Millis;
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
}

impl State {
    fn from_byte(byte: u8) -> Result<Self, WireError> {
        Ok(match byte {
            0 => Self::Queued,
            1 => Self::Fetched,
            2 => Self::Failed,
            3 => Self::RobotsDenied,
            4 => Self::Excluded,
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
}

impl Record {
    pub(crate) fn encode(&self, out: &mut Writer) {
        out.byte(self.state as u8);
        out.varint(u64::from(self.depth));
        out.byte(self.attempts);
        out.byte(self.starts);
        out.signed(i64::from(self.status));
        out.varint(u64::from(self.first_seen_secs));
        out.varint(self.block);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            state: State::from_byte(input.byte()?)?,
            depth: input.narrow()?,
            attempts: input.byte()?,
            starts: input.byte()?,
            status: i16::try_from(input.signed()?).map_err(|_| WireError("status out of range"))?,
            first_seen_secs: input.narrow()?,
            block: input.varint()?,
        })
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
}

impl HostState {
    /// When it may be asked.
    pub(crate) fn due(&self) -> Millis {
        self.next_slot.max(self.blocked_until)
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        out.varint(self.next_slot);
        out.varint(self.delay_ms);
        out.varint(u64::from(self.failures));
        out.varint(self.blocked_until);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            next_slot: input.varint()?,
            delay_ms: input.varint()?,
            failures: input.narrow()?,
            blocked_until: input.varint()?,
        })
    }
}
