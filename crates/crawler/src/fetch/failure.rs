//! From the errors of the HTTP client and what it is built on to one name.
//!
//! The client wraps its transport's errors, which are of types that it does not export: what those are is read from
//! their texts. The tests against a hostile server hold these texts in place across upgrades. Invariant: an unknown
//! error is a lost connection, the failure with the mildest consequence: asked again, a bounded number of times.

use std::error::Error;
use std::io::{self, ErrorKind};

use super::FetchError;

/// How far the request had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Name, TCP, TLS.
    Connecting,
    /// Connected, and no head yet.
    Head,
    /// Reading and decoding the body.
    Body,
}

/// What the transport found wrong, as far as it matters here.
#[derive(Clone, Copy)]
enum Transport {
    HeadTooLarge,
    BadMessage,
    Reading,
}

/// The name of the failure beneath `error`.
pub(super) fn name(error: &(dyn Error + 'static), stage: Stage) -> FetchError {
    let mut io_kind = None;
    let mut transport = None;
    let mut cause = beneath(error);
    while let Some(error) = cause {
        // The resolver and the guard name their failures themselves.
        if let Some(&named) = error.downcast_ref::<FetchError>() {
            return named;
        }
        if error.is::<rustls::Error>() {
            return FetchError::Tls;
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            io_kind = Some(io.kind());
        }
        transport = transport.or_else(|| Transport::of(&error.to_string()));
        cause = beneath(error);
    }
    match (stage, transport, io_kind) {
        (Stage::Connecting, ..) => FetchError::Connect,
        (_, _, Some(ErrorKind::TimedOut)) => FetchError::Timeout,
        (_, Some(Transport::HeadTooLarge), _) => FetchError::HeadersTooLarge,
        (_, Some(Transport::BadMessage), _) => FetchError::Malformed,
        (_, Some(Transport::Reading), Some(ErrorKind::InvalidInput | ErrorKind::InvalidData)) => FetchError::Malformed,
        (_, Some(Transport::Reading), _) => FetchError::Lost,
        // A failure of the body that the transport did not see is the decoder's.
        (Stage::Body, None, _) => FetchError::BadEncoding,
        (Stage::Head, None, _) => FetchError::Lost,
    }
}

/// The causes of an error in one line, the error itself left out.
pub(super) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut cause = beneath(error);
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = beneath(error);
    }
    text
}

/// The cause of an error. What an I/O error wraps is its cause too, although it does not say so itself.
fn beneath<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let io = error.downcast_ref::<io::Error>();
    match io.and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

impl Transport {
    fn of(text: &str) -> Option<Self> {
        match text {
            "message head is too large" => Some(Self::HeadTooLarge),
            "received unexpected message from connection" => Some(Self::BadMessage),
            "error reading a body from connection" | "connection error" => Some(Self::Reading),
            // "invalid HTTP version parsed", "invalid content-length parsed" and their like
            _ if text.ends_with(" parsed") => Some(Self::BadMessage),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error with a text and a cause, like those of the client.
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Says(&'static str, #[source] io::Error);

    #[test]
    fn causes_are_found_at_any_depth() {
        #[track_caller]
        fn check(stage: Stage, cause: io::Error, expect: FetchError) {
            let error = Says("outermost", io::Error::other(cause));
            assert_eq!(name(&error, stage), expect, "{error:?}");
        }
        let broken = |text, kind: ErrorKind| io::Error::other(Says(text, kind.into()));
        let reading = "error reading a body from connection";
        let refused = io::Error::other(FetchError::PrivateAddress);
        check(Stage::Connecting, refused, FetchError::PrivateAddress);
        let unknown = rustls::Error::HandshakeNotComplete;
        check(Stage::Connecting, io::Error::other(unknown), FetchError::Tls);
        check(Stage::Connecting, ErrorKind::TimedOut.into(), FetchError::Connect);
        check(Stage::Head, ErrorKind::TimedOut.into(), FetchError::Timeout);
        check(Stage::Head, ErrorKind::BrokenPipe.into(), FetchError::Lost);
        check(Stage::Body, ErrorKind::InvalidData.into(), FetchError::BadEncoding);
        check(Stage::Body, broken(reading, ErrorKind::ConnectionReset), FetchError::Lost);
        check(Stage::Body, broken(reading, ErrorKind::InvalidInput), FetchError::Malformed);
        check(Stage::Head, io::Error::other("message head is too large"), FetchError::HeadersTooLarge);
        check(Stage::Head, io::Error::other("something new"), FetchError::Lost);
    }

    #[test]
    fn causes_are_told_in_one_line() {
        let error = Says("outermost", io::Error::other(Says("inner", io::Error::other("innermost"))));
        // An I/O error and what it wraps say the same, once each.
        assert_eq!(causes(&error), "inner: inner: innermost: innermost");
    }
}
