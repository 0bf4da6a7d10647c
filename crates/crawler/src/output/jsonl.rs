//! Pages as JSON Lines: one line for each answer to a page's own request.
//!
//! Not the bodies and not robots.txt. Keys, `null` where something is not known:
//!
//! | key | value |
//! |---|---|
//! | `url` | what was fetched; after redirects under one lease, the last hop |
//! | `requested_url` | the URL of the crawl |
//! | `time` | when the head of the answer was there, ISO 8601, UTC |
//! | `duration_ms` | from the request to the end of the body, all hops |
//! | `status` | HTTP status |
//! | `content_type` | as sent |
//! | `bytes` | decoded body bytes |
//! | `complete` | whether the body came to its end |
//! | `digest` | `sha1:` and base32, as in WARC; of the decoded body |
//! | `depth`, `referrer` | links from a seed; the page it was first found on |
//! | `title` | of an HTML page |
//! | `notes` | words of `crawl.log` on how it was fetched and read: `truncated`, `redirects_1`, `duplicate` |
//! | `fields` | of `[[fields]]` |
//! | `outlinks` | URLs of its links, with `output.outlinks` |
//!
//! Invariant: a line is whole JSON of valid UTF-8, whatever the site sends.

use std::io::{self, Write};

use frontier::Millis;
use serde_json::json;
use tempfile::SpooledTempFile;

use super::warc::digest_text;
use super::{Captured, Kept, Original, Sink};
use crate::clock::iso;
use crate::fetch::End;

/// The sink.
pub(super) struct Jsonl;

impl Sink for Jsonl {
    fn suffix(&self) -> &'static str {
        "jsonl"
    }

    fn wants_body(&self) -> bool {
        false
    }

    fn opening(&self, _file_name: &str, _now: Millis) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn encode(&self, captured: &mut Captured, out: &mut SpooledTempFile) -> io::Result<Vec<Original>> {
        let (Some(page), Some(Kept::Exchange(last))) = (&captured.page, captured.kept.last()) else {
            return Ok(Vec::new());
        };
        // A 304 has no body that a digest could be of.
        let digest = (last.head.status != 304).then(|| digest_text(&last.digest()));
        let mut line = json!({
            "url": last.url.as_str(),
            "requested_url": page.url,
            "time": iso(last.at),
            "duration_ms": page.duration_ms,
            "status": last.head.status,
            "content_type": last.head.content_type,
            "bytes": last.body_bytes,
            "complete": last.end == End::Whole,
            "digest": digest,
            "depth": page.depth,
            "referrer": page.referrer,
            "title": page.title,
            "notes": page.notes,
            "fields": page.fields,
        });
        if let Some(outlinks) = &page.outlinks {
            line["outlinks"] = outlinks.clone().into();
        }
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        Ok(Vec::new())
    }

    fn stored(&self, _originals: Vec<Original>) -> io::Result<()> {
        Ok(())
    }
}
