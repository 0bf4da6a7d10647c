//! A response being read: cap, clocks and counters around a [`Body`].
//!
//! Not HTTP, and no network: any body will do. Invariant: whatever the body does, reading it ends, at the latest at the
//! deadline, and hands out at most the cap.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Body, End, FetchError, Head, Recording};

/// How long and how much.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When the whole body must have been read.
    pub deadline: Instant,
    /// The longest silence.
    pub idle_timeout: Duration,
    /// Cap on the decoded body, in bytes.
    pub max_body_bytes: u64,
}

/// A response whose head is there. Dropping it gives up the rest of the body, and the connection with it.
pub struct Exchange<B> {
    head: Head,
    body: B,
    limits: Limits,
    body_bytes: u64,
    truncated: bool,
    ended: bool,
    recording: Option<Recording>,
}

impl<B: Body> Exchange<B> {
    /// A response of which nothing but the head was read.
    pub fn new(head: Head, body: B, limits: Limits) -> Self {
        Self { head, body, limits, body_bytes: 0, truncated: false, ended: false, recording: None }
    }

    /// Records the body as it is read; [`drain`](Self::drain) then reads it whole.
    pub fn record(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// The head of the response.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Decoded body bytes read so far, those thrown away by [`drain`](Self::drain) included. What a compressed body
    /// took on the wire is not known.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether the body was cut because it is longer than its cap. Then [`chunk`](Self::chunk) ends like at a real end:
    /// what was read is good, and the crawl log notes `truncated`.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Lowers the cap on the body, in bytes; what was read beyond stays.
    pub fn lower_cap(&mut self, max_body_bytes: u64) {
        self.limits.max_body_bytes = self.limits.max_body_bytes.min(max_body_bytes).max(self.body_bytes);
    }

    /// Says that nobody reads on: what is recorded is the body as far as it was read, cut. (What nobody says this of, and
    /// what is not read to its end, counts as given up, and is not kept.)
    pub fn leave(&self) {
        if let Some(recording) = &self.recording {
            recording.end(End::Cut);
        }
    }

    /// The next decoded piece of the body; `None` at its end or its cap, and ever after. A piece may be empty.
    ///
    /// # Errors
    /// [`FetchError::Timeout`] after too long a silence or at the deadline, or what the body failed of. After an error
    /// there is no more body.
    pub async fn chunk(&mut self) -> Result<Option<Piece<impl AsRef<[u8]> + Send + use<B>>>, FetchError> {
        if self.ended {
            return Ok(None);
        }
        let next = self.read().await;
        if let Some(recording) = &self.recording {
            match &next {
                Ok(Some(piece)) => recording.write(piece.as_ref()),
                Ok(None) => recording.end(if self.truncated { End::Cut } else { End::Whole }),
                Err(error) => recording.end(End::Failed(*error)),
            }
            if self.truncated {
                recording.end(End::Cut);
            }
        }
        next
    }

    async fn read(&mut self) -> Result<Option<Piece<impl AsRef<[u8]> + Send + use<B>>>, FetchError> {
        // Pessimistic, so that every early return below, and a dropped future, leaves an ended body.
        self.ended = true;
        let now = Instant::now();
        // timeout_at polls the body first: one that is always ready would outlive its deadline.
        if now >= self.limits.deadline {
            return Err(FetchError::Timeout);
        }
        let due = self.limits.deadline.min(now + self.limits.idle_timeout);
        let Ok(next) = timeout_at(due, self.body.next()).await else {
            return Err(FetchError::Timeout);
        };
        let Some(bytes) = next? else {
            return Ok(None);
        };
        let got = bytes.as_ref().len();
        let left = self.limits.max_body_bytes - self.body_bytes;
        let len = usize::try_from(left).map_or(got, |left| got.min(left));
        self.body_bytes += len as u64;
        self.truncated = len < got;
        self.ended = self.truncated;
        if self.truncated && len == 0 {
            return Ok(None);
        }
        Ok(Some(Piece { bytes, len }))
    }

    /// Reads what is left of the body and throws it away, at most `limit_bytes` (and a piece), so that the connection
    /// can be used for the next request. Returns whether the end was reached; failures do not matter any more and
    /// count as *no*. Does not even begin where the body says that it is longer. One that is recorded is read up to its
    /// cap.
    pub async fn drain(&mut self, limit_bytes: u64) -> bool {
        let limit_bytes = if self.recording.is_some() { u64::MAX } else { limit_bytes };
        if self.head.content_length.is_some_and(|length| length > limit_bytes) {
            return false;
        }
        let stop = self.body_bytes.saturating_add(limit_bytes);
        while self.body_bytes <= stop {
            match self.chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => return !self.truncated,
                Err(_) => return false,
            }
        }
        false
    }
}

/// A piece of a body, at most as long as its cap allowed.
#[derive(Debug)]
pub struct Piece<T> {
    bytes: T,
    len: usize,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Piece<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes.as_ref()[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{ScriptedBody, Step};
    use super::*;

    fn exchange(steps: Vec<Step>, max_body_bytes: u64) -> Exchange<ScriptedBody> {
        let limits = Limits {
            deadline: Instant::now() + Duration::from_secs(60),
            idle_timeout: Duration::from_secs(10),
            max_body_bytes,
        };
        Exchange::new(Head::default(), ScriptedBody::new(steps), limits)
    }

    async fn read(exchange: &mut Exchange<ScriptedBody>) -> (String, Result<bool, FetchError>) {
        let mut text = String::new();
        loop {
            match exchange.chunk().await {
                Ok(Some(piece)) => text.push_str(&String::from_utf8_lossy(piece.as_ref())),
                Ok(None) => return (text, Ok(exchange.truncated())),
                Err(error) => return (text, Err(error)),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_cap_cuts_and_what_was_read_is_kept() {
        async fn check(steps: &[&str], cap: u64, text: &str, truncated: bool) {
            let steps = steps.iter().map(|step| Step::bytes(step)).collect();
            let mut exchange = exchange(steps, cap);
            assert_eq!(read(&mut exchange).await, (text.to_owned(), Ok(truncated)), "cap {cap}");
            assert_eq!(exchange.body_bytes(), text.len() as u64, "cap {cap}");
            assert!(matches!(exchange.chunk().await, Ok(None)), "an end stays an end");
        }
        check(&[], 0, "", false).await;
        check(&["abc", "def"], 100, "abcdef", false).await;
        check(&["abc", "def"], 6, "abcdef", false).await;
        check(&["abc", "def"], 5, "abcde", true).await;
        check(&["abc", "def"], 3, "abc", true).await;
        check(&["abc", "", "def"], 3, "abc", true).await;
        check(&["abc", ""], 3, "abc", false).await;
        check(&["abc"], 0, "", true).await;
        check(&["abc"], u64::MAX, "abc", false).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_lowered_cap_cuts_what_follows() {
        let steps = ["abc", "def", "ghi"].map(Step::bytes).to_vec();
        for (cap, text) in [(0, "abc"), (3, "abc"), (5, "abcde"), (6, "abcdef"), (9, "abcdefghi"), (20, "abcdefghi")] {
            let mut exchange = exchange(steps.clone(), 9);
            assert!(matches!(exchange.chunk().await, Ok(Some(piece)) if piece.as_ref() == b"abc"));
            exchange.lower_cap(cap);
            let (rest, ended) = read(&mut exchange).await;
            assert_eq!((format!("abc{rest}").as_str(), ended), (text, Ok(cap < 9)), "cap {cap}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_body_times_out_and_an_endless_one_meets_its_deadline() {
        let mut silent = exchange(vec![Step::bytes("abc"), Step::Hang], 100);
        let began = Instant::now();
        assert_eq!(read(&mut silent).await, ("abc".to_owned(), Err(FetchError::Timeout)));
        assert_eq!(began.elapsed(), Duration::from_secs(10));

        let drip = (0..100).flat_map(|_| [Step::Wait(Duration::from_secs(7)), Step::bytes("a")]);
        let mut drip = exchange(drip.collect(), 1_000);
        let began = Instant::now();
        assert_eq!(read(&mut drip).await, ("a".repeat(8), Err(FetchError::Timeout)));
        assert_eq!(began.elapsed(), Duration::from_secs(60));

        let mut late = exchange(vec![Step::bytes("abc")], 100);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(read(&mut late).await, (String::new(), Err(FetchError::Timeout)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_the_end() {
        let steps = vec![Step::bytes("abc"), Step::Fail(FetchError::Lost), Step::bytes("def")];
        let mut exchange = exchange(steps, 100);
        assert_eq!(read(&mut exchange).await, ("abc".to_owned(), Err(FetchError::Lost)));
        assert!(matches!(exchange.chunk().await, Ok(None)));
    }

    #[tokio::test(start_paused = true)]
    async fn drain_reads_short_bodies_only() {
        async fn check(content_length: Option<u64>, steps: Vec<Step>, ended: bool, bytes: u64) {
            let mut exchange = exchange(steps, 100);
            exchange.head.content_length = content_length;
            assert_eq!((exchange.drain(5).await, exchange.body_bytes()), (ended, bytes));
        }
        check(None, vec![Step::bytes("abc")], true, 3).await;
        check(None, vec![Step::bytes("abcde")], true, 5).await;
        check(None, vec![Step::bytes("abc"), Step::bytes("def"), Step::bytes("ghi")], false, 6).await;
        check(Some(6), vec![Step::bytes("abcdef")], false, 0).await;
        check(None, vec![Step::bytes("a"), Step::Fail(FetchError::Lost)], false, 1).await;
        check(None, vec![Step::bytes("a"), Step::Hang], false, 1).await;
    }
}
