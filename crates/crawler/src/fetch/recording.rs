//! A response kept whole while somebody else reads it: its body, digest and end.
//!
//! Not where it goes from here ([`output`](crate::output)). Invariants: what is kept is exactly what the reader was given,
//! so at most the exchange's cap; of a body beyond the spool's threshold no more than a buffer is in memory.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use frontier::Millis;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use tempfile::SpooledTempFile;
use url::Url;

use super::{FetchError, Head, Request};

/// A recording that an [`Exchange`](super::Exchange) adds to and its owner takes at the end.
#[derive(Clone)]
pub struct Recording(Arc<Mutex<Option<Recorded>>>);

/// How a recorded body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nobody has read it to its end.
    Open,
    /// Where the server ended it.
    Whole,
    /// At the cap.
    Cut,
    /// It failed.
    Failed(FetchError),
}

/// One request and what came back.
pub struct Recorded {
    /// What was asked for.
    pub url: Url,
    /// When the head was there.
    pub at: Millis,
    /// The answer might have been 304.
    pub is_conditional: bool,
    /// The head.
    pub head: Head,
    /// The decoded body so far; empty where it is not wanted.
    pub body: SpooledTempFile,
    /// The length of the body in bytes, wanted or not.
    pub body_bytes: u64,
    /// How the body ended.
    pub end: End,
    wants_body: bool,
    digest: Context,
    failure: Option<io::Error>,
}

/// How a body is kept.
#[derive(Clone, Debug)]
pub struct Spool {
    /// Whether it is. (Length and digest are known in any case.)
    pub wants_body: bool,
    /// Bytes that stay in memory.
    pub memory_bytes: usize,
    /// Where longer bodies go, to a file that has no name, so that nothing of it outlives the process.
    pub dir: PathBuf,
}

/// SHA-1, the digest that WARC readers and indexes expect.
pub type Sha1 = [u8; 20];

impl Recorded {
    /// SHA-1 of the body so far.
    pub fn digest(&self) -> Sha1 {
        sha1(self.digest.clone())
    }
}

/// The value of a SHA-1 that is complete.
pub fn sha1(digest: Context) -> Sha1 {
    digest.finish().as_ref().try_into().expect("SHA-1 has 20 bytes")
}

impl Recording {
    /// Begins with a head and no body.
    pub fn begin(request: &Request<'_>, head: &Head, at: Millis, spool: &Spool) -> Self {
        Self(Arc::new(Mutex::new(Some(Recorded {
            url: request.url.clone(),
            at,
            is_conditional: request.is_conditional(),
            head: head.clone(),
            body: tempfile::spooled_tempfile_in(spool.memory_bytes, &spool.dir),
            wants_body: spool.wants_body,
            body_bytes: 0,
            end: End::Open,
            digest: Context::new(&SHA1_FOR_LEGACY_USE_ONLY),
            failure: None,
        }))))
    }

    /// Takes in a piece of the body. What the disk does not take is said at the end.
    pub(super) fn write(&self, piece: &[u8]) {
        if let Some(recorded) = self.lock().as_mut().filter(|recorded| recorded.failure.is_none()) {
            if recorded.wants_body {
                recorded.failure = recorded.body.write_all(piece).err();
            }
            recorded.digest.update(piece);
            recorded.body_bytes += piece.len() as u64;
        }
    }

    /// Says how the body ended; the first word counts.
    pub(super) fn end(&self, end: End) {
        if let Some(recorded) = self.lock().as_mut().filter(|recorded| recorded.end == End::Open) {
            recorded.end = end;
        }
    }

    /// Whether the body was cut at its cap.
    pub fn is_cut(&self) -> bool {
        self.lock().as_ref().is_some_and(|recorded| recorded.end == End::Cut)
    }

    /// What was recorded; `None` when it was taken before.
    ///
    /// # Errors
    /// When the disk did not take the body.
    pub fn take(&self) -> io::Result<Option<Recorded>> {
        let mut recorded = self.lock().take();
        match recorded.as_mut().and_then(|recorded| recorded.failure.take()) {
            Some(failure) => Err(failure),
            None => Ok(recorded),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Recorded>> {
        // A holder that panicked has left at most a piece out, and its page is fetched again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};
    use std::path::Path;

    use super::*;

    fn spool(memory_bytes: usize, dir: &Path) -> Spool {
        Spool { wants_body: true, memory_bytes, dir: dir.to_owned() }
    }

    #[test]
    fn a_body_is_kept_whole_in_memory_and_beyond() {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let url = Url::parse("http://a.test/").expect("a URL");
        for (spool_bytes, is_rolled) in [(3, true), (100, false)] {
            let recording = Recording::begin(&Request::new(&url), &Head::default(), 7, &spool(spool_bytes, dir.path()));
            recording.write(b"ab");
            recording.write(b"c");
            recording.write(b"de");
            recording.end(End::Whole);
            recording.end(End::Cut);
            let mut recorded = recording.take().expect("written").expect("the first time");
            assert_eq!((recorded.body.is_rolled(), recorded.body_bytes, recorded.end), (is_rolled, 5, End::Whole));
            // From another program.
            assert_eq!(recorded.digest()[..4], [0x03, 0xde, 0x6c, 0x57]);
            let mut text = String::new();
            recorded.body.rewind().expect("rewound");
            recorded.body.read_to_string(&mut text).expect("read");
            assert_eq!(text, "abcde");
            assert!(recording.take().expect("no failure").is_none(), "taken once");
            assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0, "no name");
        }
    }

    #[test]
    fn a_disk_that_fails_is_told_at_the_end() {
        let url = Url::parse("http://a.test/").expect("a URL");
        let nowhere = spool(1, Path::new("/nowhere/at/all"));
        let recording = Recording::begin(&Request::new(&url), &Head::default(), 7, &nowhere);
        recording.write(b"ab");
        recording.write(b"cd");
        assert!(recording.take().is_err());
        let unwanted = Spool { wants_body: false, ..nowhere };
        let recording = Recording::begin(&Request::new(&url), &Head::default(), 7, &unwanted);
        recording.write(b"abcde");
        let recorded = recording.take().expect("nothing is written").expect("the first time");
        assert_eq!((recorded.body_bytes, recorded.digest()[0]), (5, 0x03));
    }
}
