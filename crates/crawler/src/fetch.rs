//! One request, one response: the crawler's only way to the network.
//!
//! * [`Fetch`] starts a request and returns once the head of the response is there.
//! * [`Exchange`] is that response: its [`Head`], then its body in decoded pieces, under one cap and two clocks.
//! * [`Recording`] keeps all of it, for the outputs.
//! * [`HttpFetch`] is the real one; a scripted one in memory serves the tests of everything above.
//!
//! Not here: redirects (a redirect is a response like any other), retries, robots, politeness, charsets, links.
//!
//! Invariants: one call is at most one request to one server. No request leaves for an address that
//! [`address`](crate::address) refuses, whoever named it: name, IP literal, redirect target or operator's table. Cost
//! is bounded by [`Settings`] whatever the server sends; every end has a name.

mod brotli;
mod error;
mod exchange;
mod failure;
mod http;
mod message;
mod names;
mod recording;
#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;

pub use error::FetchError;
pub use exchange::{Exchange, Limits, Piece};
pub use http::{HttpBody, HttpFetch, SetupError};
pub use message::Messages;
pub use recording::{End, Recorded, Recording, Sha1, Spool, sha1};

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use url::Url;

/// A body of up to this many bytes is cheaper to read and throw away, so that the connection can be used again, than
/// to cut off: a new connection costs a round trip or three, about what 64 KiB cost at 10 Mbit/s. For
/// [`Exchange::drain`].
pub const DRAIN_BYTES: u64 = 64 * 1024;

/// Starts requests.
pub trait Fetch: Send + Sync {
    /// What the bodies of its responses are read from.
    type Body: Body;

    /// Sends one GET request and waits for the head of the response.
    ///
    /// # Errors
    /// [`FetchError`], for each way that no head came.
    fn start(&self, request: &Request<'_>) -> impl Future<Output = Result<Exchange<Self::Body>, FetchError>> + Send;

    /// The address that stands for the host of a URL: the lowest of those that may be connected to, so that hosts with the
    /// same addresses have the same one in whatever order they are named. `None` when there is none.
    fn address(&self, url: &Url) -> impl Future<Output = Option<IpAddr>> + Send;
}

/// A body as it arrives, without any limits: those are [`Exchange`]'s.
pub trait Body: Send {
    /// The next decoded piece; `None` at the end. Not called again after an end or an error.
    ///
    /// # Errors
    /// [`FetchError`], when the rest will not come.
    fn next(&mut self) -> impl Future<Output = Result<Option<impl AsRef<[u8]> + Send + use<Self>>, FetchError>> + Send;
}

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The fetch URL. A fragment is not sent; a user and password in it are, as Basic authorization.
    pub url: &'a Url,
    /// Cap on the decoded body, in bytes, in place of [`Settings::max_body_bytes`].
    pub max_body_bytes: Option<u64>,
    /// `If-None-Match`: the `ETag` of what is known already.
    pub if_none_match: Option<&'a str>,
    /// `If-Modified-Since`: the `Last-Modified` of what is known already.
    pub if_modified_since: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A request with the limits of the settings.
    #[must_use]
    pub fn new(url: &'a Url) -> Self {
        Self { url, max_body_bytes: None, if_none_match: None, if_modified_since: None }
    }

    /// Whether the answer may be 304.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.if_none_match.is_some() || self.if_modified_since.is_some()
    }
}

/// What is known before the body. Texts from the server are bounded: the whole header section by the HTTP parser (about
/// 400 KiB), and each text here as said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// HTTP status, 100–999.
    pub status: u16,
    /// `Content-Type`, cut at 256 bytes.
    pub content_type: Option<String>,
    /// `Location`, as sent; invalid UTF-8 replaced.
    pub location: Option<String>,
    /// `Retry-After`, as sent, cut at 256 bytes: seconds or a date.
    pub retry_after: Option<String>,
    /// `ETag`, as sent; `None` where it is longer than 256 bytes or no text.
    pub etag: Option<String>,
    /// `Last-Modified`, as sent; `None` as for the `ETag`.
    pub last_modified: Option<String>,
    /// `Cache-Control`, all of them joined with commas, cut at 256 bytes.
    pub cache_control: Option<String>,
    /// `X-Robots-Tag`, one a line (a name in one counts to its end), cut at 4,096 bytes.
    pub x_robots_tag: Option<String>,
    /// `Link`, all of them joined with commas, cut at 16,384 bytes.
    pub link: Option<String>,
    /// `Refresh`; `None` where it is longer than 8,192 bytes.
    pub refresh: Option<String>,
    /// `Content-Length` in bytes; `None` also where the body is compressed, so that it always counts decoded bytes.
    pub content_length: Option<u64>,
    /// The address that answered.
    pub address: Option<SocketAddr>,
    /// Both heads as text, where they are wanted ([`Settings::keep_messages`]).
    pub messages: Option<Box<Messages>>,
}

impl Head {
    /// The media type, without parameters; empty where the server names none. As sent: its case does not matter.
    #[must_use]
    pub fn media_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim()
    }

    /// Whether the status says success (2xx).
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the status names a redirect (301, 302, 303, 307, 308) and there is a `Location` to go to.
    #[must_use]
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308) && self.location.is_some()
    }
}

/// All that a [`HttpFetch`] is made from.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `User-Agent` header.
    pub user_agent: String,
    /// From the start of a request to the end of its body.
    pub timeout: Duration,
    /// Name resolution, TCP and TLS together.
    pub connect_timeout: Duration,
    /// The longest silence while a body is read. The head must come within this after `connect_timeout`.
    pub idle_timeout: Duration,
    /// Cap on the decoded body, in bytes.
    pub max_body_bytes: u64,
    /// Whether addresses that are not public may be connected to. Cloud metadata services may not even then.
    pub allow_private_networks: bool,
    /// Host names (not IP literals) that are not looked up: the address and, if given, the TCP port to connect to
    /// instead. URL and `Host` header keep what they say. The addresses are guarded like any other.
    pub resolve: HashMap<String, (IpAddr, Option<u16>)>,
    /// Idle connections kept per host, at most.
    pub connections_per_host: usize,
    /// Whether heads are kept as text ([`Head::messages`]).
    pub keep_messages: bool,
}
