//! The numbers that stand in the status column of `crawl.log` where no server gave one.
//!
//! Not HTTP statuses (those are positive and pass through unchanged) and not the reason in words: that is
//! [`FetchError::reason`](crate::fetch::FetchError::reason). Invariant: a number means here what Heritrix's
//! `FetchStatusCodes` means by it; a number that Heritrix does not have is marked *ours*.
//!
//! | code | meaning | retried |
//! |---|---|---|
//! | -1 | the name did not resolve | yes |
//! | -2 | no connection: refused, unreachable, timed out, or TLS failed | yes (TLS: no) |
//! | -3 | the connection ended before the response did | yes |
//! | -4 | no response in time, or the body stalled or took too long | yes |
//! | -7 | not something that can be asked for: scheme or URL | no |
//! | -8 | every retry failed | no |
//! | -10 | the answer is not HTTP, or is framed wrongly (*ours*) | no |
//! | -11 | the header section is too large (*ours*) | no |
//! | -12 | the body does not decode as its `Content-Encoding` says (*ours*) | no |
//! | -61 | robots.txt could not be had, so the page was not asked for | later |
//! | -4003 | too many redirects in a row (*ours*, beside Heritrix's -4001 and -4002, too many hops) | no |
//! | -5000 | out of scope | no |
//! | -5001 | refused by a setting: the address is not a public one | no |
//! | -7000 | the crawl stopped before the response ended | at the next start |
//! | -9998 | robots.txt forbids it | no |

/// The host name did not resolve.
pub const DNS_FAILED: i32 = -1;
/// No connection could be made.
pub const CONNECT_FAILED: i32 = -2;
/// The connection ended before the response did.
pub const CONNECTION_LOST: i32 = -3;
/// Nothing arrived in time.
pub const TIMEOUT: i32 = -4;
/// The URL cannot be asked for at all.
pub const UNFETCHABLE: i32 = -7;
/// Every retry failed.
pub const TOO_MANY_RETRIES: i32 = -8;
/// The answer is not HTTP, or is framed wrongly. Ours.
pub const MALFORMED_RESPONSE: i32 = -10;
/// The header section is too large. Ours.
pub const HEADERS_TOO_LARGE: i32 = -11;
/// The body does not decode as its `Content-Encoding` says. Ours.
pub const BAD_ENCODING: i32 = -12;
/// robots.txt could not be had.
pub const ROBOTS_UNREACHABLE: i32 = -61;
/// Too many redirects in a row. Ours.
pub const REDIRECT_LIMIT: i32 = -4003;
/// Out of scope.
pub const OUT_OF_SCOPE: i32 = -5000;
/// Refused by a setting.
pub const BLOCKED: i32 = -5001;
/// The crawl stopped before the response ended.
pub const INTERRUPTED: i32 = -7000;
/// robots.txt forbids it.
pub const ROBOTS_DENIED: i32 = -9998;
