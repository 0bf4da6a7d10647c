//! Client and server on a real socket in a temporary directory.

use super::*;

async fn echo(request: Request) -> Answer {
    serde_json::to_value(request).expect("texts are JSON").into()
}

fn listen(dir: &Path) -> tokio::task::JoinHandle<io::Result<()>> {
    tokio::spawn(Socket::listen(dir).expect("listening").serve(echo))
}

async fn ask(dir: &Path, requests: Vec<Request>) -> Vec<Result<Value, ClientError>> {
    let dir = dir.to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let mut client = Client::connect(&dir).expect("connected").expect("running");
        requests.iter().map(|request| client.ask(request)).collect()
    });
    asked.await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_asks_many_questions() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let _server = listen(dir.path());
    let long = "x".repeat(MAX_LINE_BYTES);
    let seen = |url: &str| Request::Seen { url: url.to_owned() };
    let replies = ask(dir.path(), vec![Request::Stats, seen("http://a.test/\n\u{e9}"), seen(&long)]).await;
    assert_eq!(replies[0].as_ref().expect("a reply"), &json!({"verb": "stats"}));
    assert_eq!(replies[1].as_ref().expect("a reply"), &json!({"verb": "seen", "url": "http://a.test/\n\u{e9}"}));
    assert!(matches!(&replies[2], Err(ClientError::Refused { name, .. }) if name == "too_long"), "{:?}", replies[2]);
}

#[test]
fn what_is_no_request_is_named() {
    for (line, name) in [
        ("", "malformed"),
        ("{", "malformed"),
        ("\u{feff}{}", "malformed"),
        ("[]", "unknown_verb"),
        ("{}", "unknown_verb"),
        (r#"{"verb":7}"#, "unknown_verb"),
        (r#"{"verb":"halt"}"#, "unknown_verb"),
        (r#"{"verb":"seen"}"#, "malformed"),
        (r#"{"verb":"forget","select":{"hosts":"a.test"}}"#, "malformed"),
        (r#"{"verb":"import","urls":[]}"#, "malformed"),
        (r#"{"verb":"seen","url":1}"#, "malformed"),
    ] {
        let error = parse(line.as_bytes()).expect_err(line);
        assert_eq!(error["error"], name, "{line}");
    }
    assert_eq!(parse(br#" {"verb":"stats"} "#).expect("a request"), Request::Stats);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_may_connect_and_a_stale_socket_is_replaced() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    assert!(Client::connect(dir.path()).expect("no socket is no error").is_none());

    let first = Socket::listen(dir.path()).expect("listening");
    let path = dir.path().join("control.sock");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);

    // As after kill -9: the file stays, nobody listens.
    let stale = dir.path().join("stale");
    fs::hard_link(&path, &stale).expect("linked");
    drop(first);
    assert!(!path.exists(), "a clean end removes the file");
    fs::rename(&stale, &path).expect("moved back");
    assert!(Client::connect(dir.path()).expect("a stale socket is no error").is_none());

    let _server = listen(dir.path());
    assert!(ask(dir.path(), vec![Request::Stats]).await[0].is_ok());
    let names: Vec<_> =
        fs::read_dir(dir.path()).expect("read").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["control.sock"], "nothing else is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_path_does_not_matter() {
    let dir = tempfile::tempdir().expect("a directory for the test");
    let deep = dir.path().join("d".repeat(100)).join("e".repeat(100));
    fs::create_dir_all(&deep).expect("made");
    let _server = listen(&deep);
    assert!(ask(&deep, vec![Request::Stats]).await[0].is_ok());
}
