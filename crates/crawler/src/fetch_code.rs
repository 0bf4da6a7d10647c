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
//! | -4003 | too many redirects in a row (*ours*, beside Heritrix's -4001 and -4002, too many hops) | no |
//! | -5000 | out of scope | no |
//! | -5001 | refused by a setting: the address is not a public one | no |
//! | -7000 | the crawl stopped before the response ended | at the next start |
//! | -9998 | robots.txt forbids it | no |

/// What a number in the status column means, in words; `None` for one that stands for nothing known here.
pub fn words(status: i32) -> Option<&'static str> {
    Some(match status {
        DNS_FAILED => "the name did not resolve",
        CONNECT_FAILED => "no connection could be made",
        CONNECTION_LOST => "the connection ended before the response did",
        TIMEOUT => "no response in time",
        UNFETCHABLE => "not something that can be asked for",
        TOO_MANY_RETRIES => "every retry failed",
        MALFORMED_RESPONSE => "the answer is not HTTP, or is framed wrongly",
        HEADERS_TOO_LARGE => "the header section is too large",
        BAD_ENCODING => "the body does not decode as it says",
        REDIRECT_LIMIT => "too many redirects in a row",
        OUT_OF_SCOPE => "out of scope",
        BLOCKED => "the address is not a public one",
        INTERRUPTED => "the crawl stopped before the response ended",
        ROBOTS_DENIED => "robots.txt forbids it",
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return of_class(status),
    })
}

fn of_class(status: i32) -> Option<&'static str> {
    match status {
        200..300 => Some("success"),
        300..400 => Some("a redirect"),
        400..500 => Some("refused by the server"),
        500..600 => Some("a failure of the server"),
        _ => None,
    }
}

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
