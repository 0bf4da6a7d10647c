//! Pages as WARC/1.1 records (ISO 28500:2017), each compressed on its own.
//!
//! For each request that got an answer (pages, their redirects, robots.txt): a `response`, its `request`, and for the page
//! itself a `metadata` record with `via`, `hopsFromSeed` and `fetchTimeMs`. In place of the `response` stands a `revisit`
//! where the same body is archived already (profile *identical-payload-digest*; what counts as known:
//! [`originals`](super::originals)) or the server has said 304 to a condition (*server-not-modified*). A request without an
//! answer leaves a `metadata` record with `fetchFailure`. Each file begins with a `warcinfo`. There are no `dns` and no
//! `conversion` records, and no `WARC-Warcinfo-ID`: the file says it.
//!
//! Heads are recorded as the HTTP client tells them ([`Messages`](crate::fetch::Messages)) and bodies decoded, so the
//! headers of a response say so ([`head`]). Digests are SHA-1 in base32, the form by which indexes and replay tools find
//! the original of a revisit; not a defence against forgery, for which an archive would need another.
//!
//! Invariant: `Content-Length` and digests are of what stands in the record.

mod head;
mod record;

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use data_encoding::BASE32;
use frontier::Millis;
use tempfile::SpooledTempFile;
use url::Url;
use uuid::Uuid;

use super::originals::Originals;
use super::{Captured, Failure, Kept, Original, Page, Sink, warc_suffix};
use crate::config::{Compression, Config};
use crate::fetch::{End, FetchError, Messages, Recorded, Sha1};
use record::Record;

const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The sink.
pub(super) struct Warc {
    compression: Compression,
    about: String,
    originals: Mutex<Originals>,
}

/// A digest as it stands in records.
pub(super) fn digest_text(digest: &Sha1) -> String {
    format!("sha1:{}", BASE32.encode(digest))
}

/// Reads what [`digest_text`] writes.
pub(super) fn parse_digest(text: &str) -> Option<Sha1> {
    BASE32.decode(text.strip_prefix("sha1:")?.as_bytes()).ok()?.try_into().ok()
}

impl Warc {
    /// A sink that knows what earlier runs have written to `dir`.
    pub(super) fn open(config: &Config, dir: &Path) -> io::Result<Self> {
        let robots = if config.politeness.obey_robots { "obey" } else { "ignore" };
        let about = format!(
            "software: crawld/{}\r\nformat: WARC File Format 1.1\r\nconformsTo: \
             http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\nrobots: {robots}\r\n\
             http-header-user-agent: {}\r\n",
            env!("CARGO_PKG_VERSION"),
            config.crawl.user_agent
        );
        let capacity = usize::try_from(config.output.revisit_entries).unwrap_or(usize::MAX);
        let originals = Mutex::new(Originals::open(dir, capacity)?);
        Ok(Self { compression: config.output.compression, about, originals })
    }

    fn originals(&self) -> MutexGuard<'_, Originals> {
        // A table that is not whole after a panic knows less, nothing wrong.
        self.originals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, kind: &'static str, at: Millis) -> Record {
        Record::new(self.compression, kind, at)
    }

    /// The records of one answer. Gives the original that it is.
    fn exchange(
        &self,
        recorded: &mut Recorded,
        page: Option<&Page>,
        out: &mut SpooledTempFile,
    ) -> io::Result<Option<Original>> {
        let uri = target_uri(&recorded.url);
        let none = Messages::default();
        let messages = recorded.head.messages.take();
        let messages = messages.as_deref().unwrap_or(&none);
        let head = head::decoded(&messages.response, recorded.head.status, recorded.body_bytes);
        let about = |record: &mut Record| {
            record.field("WARC-Target-URI", &uri);
            if let Some(address) = recorded.head.address {
                record.field("WARC-IP-Address", &address.ip().to_canonical().to_string());
            }
            if !messages.protocol.is_empty() {
                record.field("WARC-Protocol", messages.protocol);
            }
        };
        let digest = recorded.digest();
        let (known, profile) = self.known(recorded, &uri, &digest);
        let mut original = None;
        let mut response = self.record(if profile.is_some() { "revisit" } else { "response" }, recorded.at);
        about(&mut response);
        let response_id = response.id;
        response.field("Content-Type", "application/http; msgtype=response");
        if let Some(profile) = profile {
            response.field("WARC-Profile", profile);
            if profile == IDENTICAL {
                response.field("WARC-Payload-Digest", &digest_text(&digest));
            }
            response.field("WARC-Refers-To-Target-URI", known.as_ref().map_or(&uri, |known| &known.url));
            if let Some(known) = known {
                response.field("WARC-Refers-To-Date", &crate::clock::iso(known.at));
            }
            response.write(&head, None, out)?;
        } else {
            response.field("WARC-Payload-Digest", &digest_text(&digest));
            if let Some(why) = truncated(recorded.end) {
                response.field("WARC-Truncated", why);
            } else if recorded.body_bytes > 0 {
                original = Some(Original { digest, url: uri.clone(), at: recorded.at });
            }
            response.write(&head, Some((&mut recorded.body, recorded.body_bytes)), out)?;
        }
        let mut request = self.record("request", recorded.at);
        about(&mut request);
        request.concurrent_to(response_id);
        request.field("Content-Type", "application/http; msgtype=request");
        request.write(&messages.request, None, out)?;
        if let Some(page) = page {
            self.metadata(&uri, recorded.at, Some(response_id), &facts(page), out)?;
        }
        Ok(original)
    }

    /// The record that this answer refers to, and why; neither for a new body.
    fn known(&self, recorded: &Recorded, uri: &str, digest: &Sha1) -> (Option<Original>, Option<&'static str>) {
        if recorded.is_conditional && recorded.head.status == 304 {
            return (self.originals().of_url(uri).cloned(), Some(NOT_MODIFIED));
        }
        // No body is like any other none; it is cheaper than a reference.
        let is_whole = recorded.body_bytes > 0 && recorded.end == End::Whole;
        let known = is_whole.then(|| self.originals().with_digest(digest).cloned()).flatten();
        let profile = known.is_some().then_some(IDENTICAL);
        (known, profile)
    }

    fn failure(&self, failure: &Failure, page: Option<&Page>, out: &mut SpooledTempFile) -> io::Result<()> {
        let reason = format!("fetchFailure: {} ({})\r\n", failure.error.reason(), failure.error.code());
        let facts = page.map(facts).unwrap_or_default() + &reason;
        self.metadata(&target_uri(&failure.url), failure.at, None, &facts, out)
    }

    fn metadata(
        &self,
        uri: &str,
        at: Millis,
        of: Option<Uuid>,
        facts: &str,
        out: &mut SpooledTempFile,
    ) -> io::Result<()> {
        let mut metadata = self.record("metadata", at);
        metadata.field("WARC-Target-URI", uri);
        if let Some(of) = of {
            metadata.concurrent_to(of);
        }
        metadata.field("Content-Type", "application/warc-fields");
        metadata.write(facts.as_bytes(), None, out)
    }
}

impl Sink for Warc {
    fn suffix(&self) -> &'static str {
        warc_suffix(self.compression)
    }

    fn wants_body(&self) -> bool {
        true
    }

    fn opening(&self, file_name: &str, now: Millis) -> io::Result<Vec<u8>> {
        let mut info = self.record("warcinfo", now);
        info.field("WARC-Filename", file_name);
        info.field("Content-Type", "application/warc-fields");
        let mut bytes = Vec::new();
        info.write(self.about.as_bytes(), None, &mut bytes)?;
        Ok(bytes)
    }

    fn encode(&self, captured: &mut Captured, out: &mut SpooledTempFile) -> io::Result<Vec<Original>> {
        let mut originals = Vec::new();
        let last = captured.kept.len().saturating_sub(1);
        for (i, kept) in captured.kept.iter_mut().enumerate() {
            let page = captured.page.as_ref().filter(|_| i == last);
            match kept {
                Kept::Exchange(recorded) => originals.extend(self.exchange(recorded, page, out)?),
                Kept::Failure(failure) => self.failure(failure, page, out)?,
            }
        }
        out.flush()?;
        Ok(originals)
    }

    fn stored(&self, originals: Vec<Original>) -> io::Result<()> {
        self.originals().add(originals)
    }
}

/// The URL without user and password.
fn target_uri(url: &Url) -> String {
    let mut url = url.clone();
    // Fails for URLs that cannot have any.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.set_fragment(None);
    url.into()
}

fn facts(page: &Page) -> String {
    let via = page.referrer.as_ref().map_or(String::new(), |referrer| format!("via: {referrer}\r\n"));
    format!("{via}hopsFromSeed: {}\r\nfetchTimeMs: {}\r\n", page.depth, page.duration_ms)
}

/// Why a body is not whole, in the words of the standard.
fn truncated(end: End) -> Option<&'static str> {
    match end {
        End::Whole => None,
        End::Cut => Some("length"),
        End::Failed(FetchError::Timeout) => Some("time"),
        End::Failed(FetchError::Lost) => Some("disconnect"),
        End::Failed(_) | End::Open => Some("unspecified"),
    }
}
