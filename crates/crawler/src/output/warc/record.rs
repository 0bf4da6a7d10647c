//! One WARC record: its named fields, its block, and the compression around it.
//!
//! Not which records there are. Invariants: a record is one gzip member or one zstd frame, so that each can be read by
//! itself; its length and block digest are counted from the bytes that are then written; no field holds a line end.

use std::io::{self, Read, Seek, Write};

use flate2::write::GzEncoder;
use frontier::Millis;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use tempfile::SpooledTempFile;
use uuid::Uuid;

use super::digest_text;
use crate::clock::iso;
use crate::config::Compression;
use crate::fetch::sha1;

/// zstd's own default: between gzip's 6 and 9 in size, at ten times the speed.
const ZSTD_LEVEL: i32 = 3;

const END: &[u8] = b"\r\n\r\n";

/// A record being put together.
pub(super) struct Record {
    pub id: Uuid,
    compression: Compression,
    fields: String,
}

/// A body that follows the head, and its length.
type Body<'a> = (&'a mut SpooledTempFile, u64);

impl Record {
    pub(super) fn new(compression: Compression, kind: &str, at: Millis) -> Self {
        let mut record = Self { id: Uuid::new_v4(), compression, fields: "WARC/1.1\r\n".to_owned() };
        record.field("WARC-Type", kind);
        record.field("WARC-Record-ID", &urn(record.id));
        record.field("WARC-Date", &iso(at));
        record
    }

    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.fields.push_str(name);
        self.fields.push_str(": ");
        self.fields.extend(value.chars().map(|c| if c.is_control() { ' ' } else { c }));
        self.fields.push_str("\r\n");
    }

    pub(super) fn concurrent_to(&mut self, other: Uuid) {
        self.field("WARC-Concurrent-To", &urn(other));
    }

    /// Writes it with a block of `head` and body.
    pub(super) fn write(mut self, head: &[u8], mut body: Option<Body<'_>>, out: &mut impl Write) -> io::Result<()> {
        let mut digest = Digest(Context::new(&SHA1_FOR_LEGACY_USE_ONLY));
        write_block(head, &mut body, &mut digest)?;
        let block_bytes = head.len() as u64 + body.as_ref().map_or(0, |(_, bytes)| *bytes);
        self.field("WARC-Block-Digest", &digest_text(&sha1(digest.0)));
        self.field("Content-Length", &block_bytes.to_string());
        self.fields.push_str("\r\n");
        let mut parts = |out: &mut dyn Write| {
            out.write_all(self.fields.as_bytes())?;
            write_block(head, &mut body, out)?;
            out.write_all(END)
        };
        match self.compression {
            Compression::None => parts(out),
            Compression::Gzip => {
                let mut member = GzEncoder::new(out, flate2::Compression::default());
                parts(&mut member)?;
                member.finish().map(drop)
            }
            Compression::Zstd => {
                let mut frame = zstd::Encoder::new(out, ZSTD_LEVEL)?;
                // So that a torn or damaged frame is one that cannot be decoded.
                frame.include_checksum(true)?;
                frame.set_pledged_src_size(Some((self.fields.len() + END.len()) as u64 + block_bytes))?;
                parts(&mut frame)?;
                frame.finish().map(drop)
            }
        }
    }
}

fn urn(id: Uuid) -> String {
    format!("<{}>", id.urn())
}

fn write_block(head: &[u8], body: &mut Option<Body<'_>>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(head)?;
    if let Some((body, bytes)) = body {
        body.rewind()?;
        let written = io::copy(&mut body.take(*bytes), out)?;
        if written != *bytes {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a recorded body has lost its end"));
        }
    }
    Ok(())
}

struct Digest(Context);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
