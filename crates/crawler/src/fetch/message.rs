//! Heads of requests and responses as text, for who writes down what was said.
//!
//! Not what was on the wire byte for byte: the HTTP client tells names in lower case, values without the space around them
//! and no reason phrase, takes away `Content-Encoding` and `Content-Length` of a body that it decodes, and keeps lines of
//! one name together. HTTP/2 has no such text; it is written as HTTP/1.1 would be. Invariants: no line end within a value,
//! so a head ends where it says; no password.

use std::fmt::Write as _;

use url::{Position, Url};

/// What was said before the body, both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// The request: its line, its headers, an empty line.
    pub request: Vec<u8>,
    /// The head of the response: its line, its headers, an empty line.
    pub response: Vec<u8>,
    /// The protocol by its ALPN name, in lower case: `http/1.1`, `h2`.
    pub protocol: &'static str,
}

/// One header: name in lower case, value as sent.
pub(super) type Line<'a> = (&'a str, &'a [u8]);

/// The head of a GET request. `Authorization` is left out: it is for the server only.
pub(super) fn request<'a>(url: &Url, headers: impl Iterator<Item = Line<'a>>) -> Vec<u8> {
    let mut head = format!("GET {} HTTP/1.1\r\n", &url[Position::BeforePath..Position::AfterQuery]).into_bytes();
    let headers: Vec<_> = headers.filter(|(name, _)| *name != "authorization").collect();
    let names_host = headers.iter().any(|(name, _)| *name == "host");
    headers.into_iter().for_each(|line| push(&mut head, line));
    if !names_host {
        push(&mut head, ("host", url[Position::BeforeHost..Position::AfterPort].as_bytes()));
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// The head of a response.
pub(super) fn response<'a>(
    version: &str,
    status: u16,
    reason: &str,
    headers: impl Iterator<Item = Line<'a>>,
) -> Vec<u8> {
    let mut line = String::new();
    let _ = write!(line, "{version} {status} {reason}\r\n");
    let mut head = line.into_bytes();
    headers.for_each(|line| push(&mut head, line));
    head.extend_from_slice(b"\r\n");
    head
}

fn push(head: &mut Vec<u8>, (name, value): Line<'_>) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend(value.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
    head.extend_from_slice(b"\r\n");
}

/// Cuts at a character boundary at or below `max_bytes`, and gives the memory back.
pub(super) fn cut(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.shrink_to_fit();
    }
    text
}
