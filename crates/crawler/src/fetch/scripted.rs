//! A [`Fetch`] that answers from a script: for tests that want no sockets.
//!
//! Not a server: no HTTP, no addresses, no guard. Invariant: what is asked is written down in order, and a URL that is
//! not in the script fails like an unknown host.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::{Body, Exchange, Fetch, FetchError, Head, Limits, Request};

/// One step of a body.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A piece.
    Bytes(Vec<u8>),
    /// Time that passes before the next step.
    Wait(Duration),
    /// Silence for ever.
    Hang,
    /// A failure.
    Fail(FetchError),
}

impl Step {
    /// A piece made of text.
    pub(crate) fn bytes(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

/// A body that follows its steps.
#[derive(Debug)]
pub(crate) struct ScriptedBody(VecDeque<Step>);

impl ScriptedBody {
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        Self(steps.into())
    }
}

impl Body for ScriptedBody {
    async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send + use<>>, FetchError> {
        loop {
            match self.0.pop_front() {
                None => return Ok(None),
                Some(Step::Bytes(bytes)) => return Ok(Some(bytes)),
                Some(Step::Fail(error)) => return Err(error),
                Some(Step::Wait(time)) => tokio::time::sleep(time).await,
                Some(Step::Hang) => std::future::pending().await,
            }
        }
    }
}

/// Answers by URL, the same each time it is asked, but for a 304 to who names the `ETag`.
#[derive(Debug)]
pub(crate) struct Scripted {
    answers: HashMap<String, Result<(Head, Vec<Step>), FetchError>>,
    asked: Mutex<Vec<(Instant, String)>>,
    addresses: HashMap<String, IpAddr>,
    /// Limits of every exchange, counted from its start.
    pub(crate) timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_body_bytes: u64,
}

impl Scripted {
    /// An empty script: one minute for all, ten seconds of silence, 1 MiB of body.
    pub(crate) fn new() -> Self {
        Self {
            answers: HashMap::new(),
            asked: Mutex::default(),
            addresses: HashMap::new(),
            timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(10),
            max_body_bytes: 1 << 20,
        }
    }

    /// Sets the answer to `url`.
    pub(crate) fn answer(&mut self, url: &str, head: Head, steps: Vec<Step>) {
        self.answers.insert(url.to_owned(), Ok((head, steps)));
    }

    /// Sets a 200 with an HTML body.
    pub(crate) fn page(&mut self, url: &str, html: &str) {
        let head = Head {
            status: 200,
            content_type: Some("text/html".to_owned()),
            content_length: Some(html.len() as u64),
            ..Head::default()
        };
        self.answer(url, head, vec![Step::bytes(html)]);
    }

    /// Sets a redirect (302) without a body.
    pub(crate) fn redirect(&mut self, url: &str, location: &str) {
        let head = Head { status: 302, location: Some(location.to_owned()), ..Head::default() };
        self.answer(url, head, Vec::new());
    }

    /// Lets `url` fail before any head.
    pub(crate) fn failure(&mut self, url: &str, error: FetchError) {
        self.answers.insert(url.to_owned(), Err(error));
    }

    /// Gives a host an address.
    pub(crate) fn resolve(&mut self, host: &str, address: IpAddr) {
        self.addresses.insert(host.to_owned(), address);
    }

    /// Every URL asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panics inside").iter().map(|(_, url)| url.clone()).collect()
    }

    /// When URLs with this text in them were asked for, in order.
    pub(crate) fn times(&self, text: &str) -> Vec<Instant> {
        let asked = self.asked.lock().expect("no test panics inside");
        asked.iter().filter(|(_, url)| url.contains(text)).map(|(at, _)| *at).collect()
    }
}

impl Fetch for Scripted {
    type Body = ScriptedBody;

    async fn start(&self, request: &Request<'_>) -> Result<Exchange<ScriptedBody>, FetchError> {
        let url = request.url.as_str();
        let mut asked = self.asked.lock().expect("no test panics inside");
        asked.push((Instant::now(), url.to_owned()));
        let answer = self.answers.get(url).cloned();
        let (mut head, mut steps) = answer.unwrap_or(Err(FetchError::Dns))?;
        if request.if_none_match.is_some() && request.if_none_match == head.etag.as_deref() {
            (head.status, steps) = (304, Vec::new());
        }
        let limits = Limits {
            deadline: Instant::now() + self.timeout,
            idle_timeout: self.idle_timeout,
            max_body_bytes: request.max_body_bytes.unwrap_or(self.max_body_bytes),
        };
        Ok(Exchange::new(head, ScriptedBody::new(steps), limits))
    }

    async fn address(&self, url: &Url) -> Option<IpAddr> {
        self.addresses.get(url.host_str()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_and_remembers() {
        let mut script = Scripted::new();
        script.page("http://a.test/", "<a href=b>");
        script.redirect("http://a.test/b", "/c");
        script.failure("http://a.test/c", FetchError::Lost);
        let urls = ["http://a.test/", "http://a.test/b", "http://a.test/c", "http://d.test/"];
        let mut seen = Vec::new();
        for url in urls {
            let url = url::Url::parse(url).expect("a URL");
            let started = script.start(&Request::new(&url)).await;
            seen.push(started.map(|exchange| exchange.head().status));
        }
        assert_eq!(seen, [Ok(200), Ok(302), Err(FetchError::Lost), Err(FetchError::Dns)]);
        assert_eq!(script.asked(), urls);
    }
}
