//! The head of a response beside a body that was decoded.
//!
//! Readers undo what `Transfer-Encoding` and `Content-Encoding` name and stop at `Content-Length`; so these lines go, and
//! `Content-Length` becomes the length that is there. What the server had sent is kept under `X-Crawl-…`, as Common Crawl
//! does, as far as the HTTP client has told it (it keeps to itself what it has decoded itself). Invariant: all other lines
//! stay as they are, in their order.

/// Lines that would be wrong.
const WRONG: [&str; 3] = ["content-length", "content-encoding", "transfer-encoding"];

/// The head as it is recorded, for a body of so many bytes.
pub(super) fn decoded(head: &[u8], status: u16, body_bytes: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + 64);
    let mut has_length = false;
    let right_length = body_bytes.to_string();
    for (i, line) in lines(head).enumerate() {
        let (name, value) = split(line);
        let is_right_length = name == b"content-length" && value == right_length.as_bytes();
        has_length |= is_right_length;
        if i > 0 && !is_right_length && WRONG.iter().any(|wrong| name == wrong.as_bytes()) {
            out.extend_from_slice(b"x-crawl-");
        }
        out.extend_from_slice(line);
        out.extend_from_slice(b"\r\n");
    }
    if out.is_empty() {
        // A network that tells no heads.
        out.extend_from_slice(format!("HTTP/1.1 {status} \r\n").as_bytes());
    }
    let needs_length = body_bytes > 0 || !matches!(status, 100..200 | 204 | 304);
    if needs_length && !has_length {
        out.extend_from_slice(format!("content-length: {right_length}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out
}

/// The lines of a head without their ends, and without the empty one.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
}

/// Name and value; names are in lower case already.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b':') {
        Some(colon) => (&line[..colon], line[colon + 1..].trim_ascii()),
        None => (line, b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_would_be_wrong_are_renamed() {
        let check = |head: &str, status, bytes, expect: &str| {
            let head = head.replace('\n', "\r\n");
            let got = decoded(head.as_bytes(), status, bytes);
            assert_eq!(String::from_utf8_lossy(&got).replace("\r\n", "\n"), expect);
        };
        let ok = "HTTP/1.1 200 OK\n";
        check(&format!("{ok}a: b\ncontent-length: 5\n\n"), 200, 5, &format!("{ok}a: b\ncontent-length: 5\n\n"));
        check(
            &format!("{ok}content-encoding: br\na: b: c\ncontent-length: 3\n\n"),
            200,
            5,
            &format!("{ok}x-crawl-content-encoding: br\na: b: c\nx-crawl-content-length: 3\ncontent-length: 5\n\n"),
        );
        check(
            &format!("{ok}transfer-encoding: chunked\n\n"),
            200,
            0,
            &format!("{ok}x-crawl-transfer-encoding: chunked\ncontent-length: 0\n\n"),
        );
        check("HTTP/1.1 304 Not Modified\netag: x\n\n", 304, 0, "HTTP/1.1 304 Not Modified\netag: x\n\n");
        check("", 404, 2, "HTTP/1.1 404 \ncontent-length: 2\n\n");
    }
}
