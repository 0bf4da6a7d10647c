//! What is captured under one lease, as the sinks take it.
//!
//! Not how it was read (`worker`). Invariant: where there is a [`Page`], the last capture is its last request.

use std::io;

use frontier::Millis;
use serde_json::{Map, Value};
use url::Url;

use crate::fetch::{End, FetchError, Recorded, Recording};

/// A request while its lease goes on.
pub enum Capture {
    /// There is an answer, or the beginning of one.
    Exchange(Recording),
    /// There is none.
    Failure(Failure),
}

/// A request that was made and has ended.
pub enum Kept {
    /// With an answer.
    Exchange(Box<Recorded>),
    /// Without.
    Failure(Failure),
}

/// A request without an answer.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What was asked for.
    pub url: Url,
    /// When it had failed.
    pub at: Millis,
    /// Why.
    pub error: FetchError,
}

/// What is known of the page itself.
#[derive(Debug, Default)]
pub struct Page {
    /// The URL of the lease; that of the last request differs after a redirect.
    pub url: String,
    /// Links from a seed.
    pub depth: u16,
    /// The page it was first found on.
    pub referrer: Option<String>,
    /// From the request to the end of the body, all hops, in milliseconds.
    pub duration_ms: u64,
    /// Words on how it was fetched and read, as in `crawl.log`.
    pub notes: Vec<String>,
    /// Text of its `<title>`.
    pub title: Option<String>,
    /// Its `[[fields]]`.
    pub fields: Option<Map<String, Value>>,
    /// URLs of its links, where they are wanted (`output.outlinks`).
    pub outlinks: Option<Vec<String>>,
}

/// All that came of one lease.
pub struct Captured {
    /// Every request that was made, in order.
    pub kept: Vec<Kept>,
    /// The page itself, if it was asked for.
    pub page: Option<Page>,
}

impl Captured {
    /// Takes what was recorded and has ended.
    ///
    /// # Errors
    /// When the disk did not take a body.
    pub fn new(captures: Vec<Capture>, page: Option<Page>) -> io::Result<Self> {
        let mut kept = Vec::with_capacity(captures.len());
        for capture in captures {
            match capture {
                Capture::Failure(failure) => kept.push(Kept::Failure(failure)),
                Capture::Exchange(recording) => {
                    // What nobody has read to its end was given up, and will be fetched again.
                    let recorded = recording.take()?.filter(|recorded| recorded.end != End::Open);
                    kept.extend(recorded.map(|recorded| Kept::Exchange(Box::new(recorded))));
                }
            }
        }
        Ok(Self { kept, page })
    }

    /// Bytes of all bodies.
    pub fn body_bytes(&self) -> u64 {
        let bytes = |kept: &Kept| match kept {
            Kept::Exchange(recorded) => recorded.body_bytes,
            Kept::Failure(_) => 0,
        };
        self.kept.iter().map(bytes).sum()
    }
}
