//! What goes over the wire and what is read from it: headers and encodings, one hand-written answer each.

use super::*;

/// Answers one request with these bytes, and returns the request.
pub(super) fn serve_once(answer: Vec<u8>) -> (String, std::thread::JoinHandle<String>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = vec![0; 8192];
        let length = stream.read(&mut request).expect("a request");
        stream.write_all(&answer).expect("a client that listens");
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    (url, served)
}

#[tokio::test]
async fn the_head_and_the_request() {
    let long = "t".repeat(1000);
    let answer = format!(
        "HTTP/1.1 503 Busy\r\nContent-Type: text/html;{long}\r\nRetry-After: 120\r\nX-Robots-Tag: noindex\r\n\
         Cache-Control: no-store\r\ncache-control: max-age=60\r\n\
         ETag: W/\"1\"\r\nLast-Modified: {long}\r\nLink: <a>; rel=next\r\nlink: <b>\r\nRefresh: 1;url=c\r\n\
         x-robots-tag: bot: nofollow\r\nLocation: /\u{fc}ber\r\nNot a header\r\nContent-Length: 2\r\n\r\nok"
    );
    let (url, served) = serve_once(answer.into_bytes());
    let url = url.replace("http://", "http://user:secret@") + "path?q#fragment";
    let got = get(&fetcher(&settings()), &url).await.expect("an answer");
    let expect = Head {
        status: 503,
        content_type: Some(format!("text/html;{long}")[..256].to_owned()),
        location: Some("/\u{fc}ber".to_owned()),
        retry_after: Some("120".to_owned()),
        etag: Some("W/\"1\"".to_owned()),
        last_modified: None,
        cache_control: Some("no-store,max-age=60".to_owned()),
        x_robots_tag: Some("noindex\nbot: nofollow".to_owned()),
        link: Some("<a>; rel=next,<b>".to_owned()),
        refresh: Some("1;url=c".to_owned()),
        content_length: Some(2),
        address: got.head.address,
        messages: None,
    };
    assert_eq!((got.head, got.start.as_slice()), (expect, b"ok".as_slice()));

    let request = served.join().expect("served").to_ascii_lowercase();
    assert!(request.starts_with("get /path?q http/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nuser-agent: crawld-test/1.0\r\n"), "{request}");
    for (header, times) in [("accept:", 1), ("host:", 1), ("authorization:", 1), ("cookie:", 0), ("referer:", 0)] {
        assert_eq!(request.matches(&format!("\n{header}")).count(), times, "{header} in {request}");
    }
    assert!(!request.contains("\nif-"), "no condition that nobody has made: {request}");
    for encoding in ["gzip", "br", "zstd", "deflate"] {
        assert!(request.contains(encoding), "{encoding} in {request}");
    }
}

#[tokio::test]
async fn a_condition_is_sent_as_it_was_received() {
    let (url, served) = serve_once(b"HTTP/1.1 304 Not Modified\r\nETag: W/\"1\"\r\n\r\n".to_vec());
    let url = Url::parse(&url).expect("a URL");
    let last_modified = "Thu, 01 Jan 2026 00:00:00 GMT";
    let request =
        Request { if_none_match: Some("W/\"1\""), if_modified_since: Some(last_modified), ..Request::new(&url) };
    let fetcher = fetcher(&settings());
    let mut exchange = fetcher.start(&request).await.expect("an answer");
    assert!(exchange.drain(DRAIN_BYTES).await);
    assert_eq!((exchange.head().status, exchange.body_bytes()), (304, 0));
    let request = served.join().expect("served");
    let has = |line: String| request.lines().any(|sent| sent.eq_ignore_ascii_case(&line));
    assert!(has("if-none-match: W/\"1\"".to_owned()), "{request}");
    assert!(has(format!("if-modified-since: {last_modified}")), "{request}");
}

#[tokio::test]
async fn messages_are_kept_as_they_were_sent() {
    let body: Vec<u8> =
        vec![0x1b, 0x0f, 0, 0xf8, 0x25, 0xf1, 0x7c, 0x5e, 0x4a, 0x14, 0x61, 0xaa, 0x95, 0x82, 0xda, 0x54, 0x26];
    let head = "HTTP/1.1 200 Sure\r\nX-One:  a \r\nContent-Encoding: br\r\nX-Two: \u{fc}\r\nX-One: b\r\nContent-Length: 17\r\n\r\n";
    let (url, served) = serve_once([head.as_bytes(), &body].concat());
    let url = url.replace("http://", "http://user:secret@") + "path?q#fragment";
    let settings = Settings { keep_messages: true, ..settings() };
    let fetcher = fetcher(&settings);
    let url = Url::parse(&url).expect("a URL");
    let request = Request { if_none_match: Some("\"1\""), ..Request::new(&url) };
    let exchange = fetcher.start(&request).await.expect("an answer");
    let messages = exchange.head().messages.clone().expect("kept");
    let sent = served.join().expect("served");
    let lines: Vec<_> = sent.lines().filter(|line| !line.starts_with("authorization: ")).collect();
    assert_eq!(String::from_utf8_lossy(&messages.request).lines().collect::<Vec<_>>(), lines, "all but the password");
    assert_eq!(lines.len() + 1, sent.lines().count(), "{sent}");
    let expect = "HTTP/1.1 200 OK\r\nx-one: a\r\nx-one: b\r\ncontent-encoding: br\r\nx-two: \u{fc}\r\ncontent-length: 17\r\n\r\n";
    assert_eq!((String::from_utf8_lossy(&messages.response).as_ref(), messages.protocol), (expect, "http/1.1"));
}

#[tokio::test]
async fn encodings_are_undone() {
    // "<a href=/x>x</a>", compressed by other programs
    for (encoding, hex) in [
        ("gzip", "1f8b0800000000000203b34954c8284a4db3d5afb0abb0d14fb40300d166cd0e10000000"),
        ("deflate", "789cb34954c8284a4db3d5afb0abb0d14fb403002b600507"),
        ("zstd", "28b52ffd04588100003c6120687265663d2f783e783c2f613e5f4d8e70"),
        ("br", "1b0f00f825f17c5e4a1461aa9582da5426"),
        ("identity", "3c6120687265663d2f783e783c2f613e"),
    ] {
        let body: Vec<u8> =
            (0..hex.len() / 2).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).expect("hex")).collect();
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {length}\r\n\r\n");
        let (url, _served) = serve_once([head.as_bytes(), &body].concat());
        let got = get(&fetcher(&settings()), &url).await.expect("an answer");
        assert_eq!((got.end, got.start.as_slice()), (Ok(()), b"<a href=/x>x</a>".as_slice()), "{encoding}");
        let identity = encoding == "identity";
        assert_eq!(got.head.content_length.is_some(), identity, "{encoding}");
    }
}

#[tokio::test]
async fn an_encoding_that_nobody_asked_for_is_named() {
    for (encoding, body, expect) in [
        ("compress", "xxxx", "200 bad_encoding"),
        ("gzip, br", "xxxx", "200 bad_encoding"),
        ("br", "<p>plain text, nothing compressed</p>", "200 bad_encoding"),
        ("compress", "", "200"),
        ("br", "", "200"),
        ("gzip", "", "200"),
    ] {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {length}\r\n\r\n");
        let (url, _served) = serve_once((head + body).into_bytes());
        assert_eq!(outcome(&fetcher(&settings()), &url).await, expect, "{encoding} {body}");
    }
}

#[test]
fn settings_that_make_no_client_are_an_error() {
    let settings = Settings { user_agent: "two\nlines".to_owned(), ..settings() };
    HttpFetch::new(&settings).expect_err("a header has one line");
}
