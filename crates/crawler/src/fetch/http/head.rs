//! From the HTTP client's headers to a [`Head`], and to text.
//!
//! Not what the headers mean. Invariant: what a server chooses is cut to the length that [`Head`] says, where it says one.

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED,
    LINK, LOCATION, REFRESH, RETRY_AFTER,
};
use reqwest::{Response, Version};
use url::Url;

use super::{ACCEPTED, ENCODINGS};
use crate::fetch::message::{self, cut};
use crate::fetch::{Head, Messages};

/// Longest `ETag` or `Last-Modified` that is taken, in bytes.
const MAX_VALIDATOR_BYTES: usize = 256;

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// The head of a response. `is_plain`: the client leaves nothing of its body to be decoded by us.
pub(super) fn read(response: &Response, is_plain: bool) -> Head {
    let headers = response.headers();
    let first = |name: HeaderName| headers.get(name).map(text);
    let joined = |name: HeaderName, between: &str, max_bytes| {
        let all: Vec<String> = headers.get_all(name).iter().map(text).collect();
        (!all.is_empty()).then(|| cut(all.join(between), max_bytes))
    };
    Head {
        status: response.status().as_u16(),
        content_type: first(CONTENT_TYPE).map(|text| cut(text, 256)),
        location: first(LOCATION),
        retry_after: first(RETRY_AFTER).map(|text| cut(text, 256)),
        etag: headers.get(ETAG).and_then(validator),
        last_modified: headers.get(LAST_MODIFIED).and_then(validator),
        cache_control: joined(CACHE_CONTROL, ",", 256),
        x_robots_tag: joined(X_ROBOTS_TAG, "\n", 4096),
        link: joined(LINK, ",", 16_384),
        // Whole or not at all: half of a URL is another one.
        refresh: first(REFRESH).filter(|text| text.len() <= 8192),
        content_length: response.content_length().filter(|_| is_plain),
        address: response.remote_addr(),
        messages: None,
    }
}

/// What leaves: the headers of this request, then those that the client adds to each.
pub(super) fn sent(url: &Url, headers: &HeaderMap, agent: &str) -> Vec<u8> {
    let added = [(ACCEPT.as_str(), ACCEPTED), ("user-agent", agent), (ACCEPT_ENCODING.as_str(), ENCODINGS)];
    let added = added.into_iter().map(|(name, value)| (name, value.as_bytes()));
    let of_this = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    message::request(url, of_this.chain(added))
}

/// Both heads as text.
pub(super) fn messages(request: Vec<u8>, response: &Response) -> Messages {
    let (version, protocol) = match response.version() {
        Version::HTTP_2 => ("HTTP/1.1", "h2"),
        Version::HTTP_10 => ("HTTP/1.0", "http/1.0"),
        _ => ("HTTP/1.1", "http/1.1"),
    };
    let status = response.status();
    let headers = response.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let reason = status.canonical_reason().unwrap_or_default();
    Messages { request, response: message::response(version, status.as_u16(), reason, headers), protocol }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Whole or not at all: half of one would never match again.
fn validator(value: &HeaderValue) -> Option<String> {
    value.to_str().ok().filter(|text| text.len() <= MAX_VALIDATOR_BYTES).map(str::to_owned)
}
