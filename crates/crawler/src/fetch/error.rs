//! Why a request ended without a whole response.
//!
//! Not HTTP statuses: a 404 is a response. Invariant: every failure, however hostile its cause, is one of these; each
//! has one closed name, one number and one answer to *does it make sense to ask again?*

use frontier::BlockReason;

use crate::fetch_code;

/// A failed request. Small and without texts from outside, so that it can be counted and logged safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FetchError {
    /// The host name did not resolve.
    #[error("the host name did not resolve")]
    Dns,
    /// No connection: refused, unreachable, or not made in time, a name server that does not answer included.
    #[error("no connection could be made")]
    Connect,
    /// The server does not speak TLS with us, or its certificate is not good.
    #[error("TLS failed")]
    Tls,
    /// The connection ended before the response did.
    #[error("the connection was lost")]
    Lost,
    /// No response in time, or the body stalled or took longer than the whole request may.
    #[error("timed out")]
    Timeout,
    /// The answer is not HTTP, or is framed wrongly.
    #[error("the response is malformed")]
    Malformed,
    /// The header section is too large.
    #[error("the response headers are too large")]
    HeadersTooLarge,
    /// The body does not decode as its `Content-Encoding` says.
    #[error("the content encoding is broken")]
    BadEncoding,
    /// The address, or all addresses of the name, are refused by [`address`](crate::address).
    #[error("the address is not a public one")]
    PrivateAddress,
    /// Neither `http` nor `https`.
    #[error("the scheme is not http or https")]
    BadScheme,
    /// A URL that HTTP cannot carry: no host, or longer than 65,534 bytes.
    #[error("the URL cannot be requested")]
    BadUrl,
    /// Too many redirects in a row. Decided by whoever follows redirects, never by a [`Fetch`](super::Fetch).
    #[error("too many redirects")]
    RedirectLimit,
}

impl FetchError {
    /// The number for the status column, see [`fetch_code`].
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            Self::Dns => fetch_code::DNS_FAILED,
            Self::Connect | Self::Tls => fetch_code::CONNECT_FAILED,
            Self::Lost => fetch_code::CONNECTION_LOST,
            Self::Timeout => fetch_code::TIMEOUT,
            Self::Malformed => fetch_code::MALFORMED_RESPONSE,
            Self::HeadersTooLarge => fetch_code::HEADERS_TOO_LARGE,
            Self::BadEncoding => fetch_code::BAD_ENCODING,
            Self::PrivateAddress => fetch_code::BLOCKED,
            Self::BadScheme | Self::BadUrl => fetch_code::UNFETCHABLE,
            Self::RedirectLimit => fetch_code::REDIRECT_LIMIT,
        }
    }

    /// The name of the failure in logs and counters, one of a closed set.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Dns => "dns_failed",
            Self::Connect => "connect_failed",
            Self::Tls => "tls_failed",
            Self::Lost => "connection_lost",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed_response",
            Self::HeadersTooLarge => "headers_too_large",
            Self::BadEncoding => "bad_encoding",
            Self::PrivateAddress => "private_address",
            Self::BadScheme => "bad_scheme",
            Self::BadUrl => "bad_url",
            Self::RedirectLimit => "redirect_limit",
        }
    }

    /// Why the host is to be left alone after it, if it is.
    #[must_use]
    pub fn block_reason(self) -> Option<BlockReason> {
        match self {
            Self::Dns => Some(BlockReason::DnsFailed),
            Self::Connect => Some(BlockReason::ConnectFailed),
            Self::Lost => Some(BlockReason::ConnectionLost),
            Self::Timeout => Some(BlockReason::Timeout),
            _ => None,
        }
    }

    /// Whether asking again later may go better. The others are the server's settled way, or ours.
    #[must_use]
    pub fn transient(self) -> bool {
        self.block_reason().is_some()
    }

    /// Whether a rule of ours refused the request; then the URL is *excluded*, not *failed*.
    #[must_use]
    pub fn excluded(self) -> bool {
        matches!(self, Self::PrivateAddress | Self::BadScheme | Self::BadUrl | Self::RedirectLimit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_what_to_do() {
        #[track_caller]
        fn check(error: FetchError, code: i32, reason: &str, transient: bool, excluded: bool) {
            assert_eq!(
                (error.code(), error.reason(), error.transient(), error.excluded()),
                (code, reason, transient, excluded)
            );
        }
        check(FetchError::Dns, -1, "dns_failed", true, false);
        check(FetchError::Connect, -2, "connect_failed", true, false);
        check(FetchError::Tls, -2, "tls_failed", false, false);
        check(FetchError::Lost, -3, "connection_lost", true, false);
        check(FetchError::Timeout, -4, "timeout", true, false);
        check(FetchError::Malformed, -10, "malformed_response", false, false);
        check(FetchError::HeadersTooLarge, -11, "headers_too_large", false, false);
        check(FetchError::BadEncoding, -12, "bad_encoding", false, false);
        check(FetchError::PrivateAddress, -5001, "private_address", false, true);
        check(FetchError::BadScheme, -7, "bad_scheme", false, true);
        check(FetchError::BadUrl, -7, "bad_url", false, true);
        check(FetchError::RedirectLimit, -4003, "redirect_limit", false, true);
    }
}
