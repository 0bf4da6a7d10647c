//! Why a host is being left alone: a closed set, kept with the host over restarts.
//!
//! Not how long (that is `completion`'s `after`). Invariant: a number on disk means the same reason in every version.

use crate::wire::WireError;

/// What made the crawler leave a host alone for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum BlockReason {
    /// It answered 429.
    TooManyRequests = 1,
    /// It answered 503.
    Unavailable = 2,
    /// Its name did not resolve.
    DnsFailed = 3,
    /// No connection could be made.
    ConnectFailed = 4,
    /// A connection ended before the response did.
    ConnectionLost = 5,
    /// No response came in time.
    Timeout = 6,
    /// Its robots.txt could not be had, for a reason that is none of the others.
    RobotsUnreachable = 7,
}

impl BlockReason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::TooManyRequests,
        Self::Unavailable,
        Self::DnsFailed,
        Self::ConnectFailed,
        Self::ConnectionLost,
        Self::Timeout,
        Self::RobotsUnreachable,
    ];

    /// Its word in logs and config files.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooManyRequests => "too_many_requests",
            Self::Unavailable => "unavailable",
            Self::DnsFailed => "dns_failed",
            Self::ConnectFailed => "connect_failed",
            Self::ConnectionLost => "connection_lost",
            Self::Timeout => "timeout",
            Self::RobotsUnreachable => "robots_unreachable",
        }
    }

    /// Zero stands for none.
    pub(crate) fn to_byte(reason: Option<Self>) -> u8 {
        reason.map_or(0, |reason| reason as u8)
    }

    pub(crate) fn from_byte(byte: u8) -> Result<Option<Self>, WireError> {
        match byte {
            0 => Ok(None),
            byte => match Self::ALL.into_iter().find(|reason| *reason as u8 == byte) {
                Some(reason) => Ok(Some(reason)),
                None => Err(WireError("unknown block reason")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_disk_mean_the_same_for_ever() {
        let numbers = BlockReason::ALL.map(|reason| (BlockReason::to_byte(Some(reason)), reason.name()));
        let expect = [
            (1, "too_many_requests"),
            (2, "unavailable"),
            (3, "dns_failed"),
            (4, "connect_failed"),
            (5, "connection_lost"),
            (6, "timeout"),
            (7, "robots_unreachable"),
        ];
        assert_eq!(numbers, expect);
        for byte in 0..=7 {
            assert_eq!(BlockReason::from_byte(byte).map(BlockReason::to_byte), Ok(byte));
        }
        assert!(BlockReason::from_byte(8).is_err());
    }
}
