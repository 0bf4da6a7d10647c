//! A small reader of WARC files, for tests that look at what was written.
//!
//! Not a tool: it reads a whole file into memory and panics at the first thing that is wrong. Invariant: it shares no code
//! with the writer but the libraries that decompress and digest, so that a mistake of the writer's is not made twice.

// Unit tests and the tests of the whole daemon include this file, and each uses a part of it.
#![allow(dead_code)]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use data_encoding::BASE32;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// One record.
#[derive(Debug, Clone)]
pub struct Record {
    /// Named fields, in order.
    pub fields: Vec<(String, String)>,
    /// What follows them.
    pub block: Vec<u8>,
}

impl Record {
    /// A field; none where there is none, or more than one.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str()).filter(|_| found.next().is_none())
    }

    /// `WARC-Type`
    pub fn kind(&self) -> &str {
        self.get("WARC-Type").unwrap_or_default()
    }

    /// `WARC-Target-URI`
    pub fn uri(&self) -> &str {
        self.get("WARC-Target-URI").unwrap_or_default()
    }

    /// The HTTP head of the block, without the empty line.
    pub fn head(&self) -> String {
        String::from_utf8_lossy(&self.block[..self.head_bytes()]).trim_end().to_owned()
    }

    /// What follows the HTTP head.
    pub fn payload(&self) -> &[u8] {
        &self.block[self.head_bytes()..]
    }

    fn head_bytes(&self) -> usize {
        let end = self.block.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or(self.block.len(), |at| at + 4)
    }

    /// What every record must have, and what its digests must be.
    fn check(&self) {
        for name in ["WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Type", "Content-Length", "WARC-Block-Digest"]
        {
            assert!(self.get(name).is_some_and(|value| !value.is_empty()), "{name} is missing: {self:?}");
        }
        assert_eq!(self.get("WARC-Block-Digest"), Some(sha1(&self.block).as_str()), "{self:?}");
        if self.kind() == "response" {
            assert_eq!(self.get("WARC-Payload-Digest"), Some(sha1(self.payload()).as_str()), "{self:?}");
            let length = format!("content-length: {}", self.payload().len());
            let has_no_length = self.payload().is_empty() && !self.head().contains("content-length");
            assert!(has_no_length || self.head().lines().any(|line| line == length), "{length} in {}", self.head());
        }
    }
}

/// A digest as records have it.
pub fn sha1(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref()))
}

/// The records of a file, each checked, its compression told by its name.
pub fn read(path: &Path) -> Vec<Record> {
    let (records, is_torn) = read_until_torn(path);
    assert!(!is_torn, "{} is torn after {} records", path.display(), records.len());
    records
}

/// The same up to the first record that is not whole, and whether there is one.
pub fn read_until_torn(path: &Path) -> (Vec<Record>, bool) {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.to_string_lossy();
    let name = name.strip_suffix(".open").unwrap_or(&name);
    let mut records = Vec::new();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let mut text = Vec::new();
        let (record, bytes) = if name.ends_with(".gz") {
            let mut member = flate2::bufread::GzDecoder::new(rest);
            if member.read_to_end(&mut text).is_err() {
                return (records, true);
            }
            rest = member.into_inner();
            parse(&text)
        } else if name.ends_with(".zst") {
            let mut frame = zstd::Decoder::with_buffer(rest).expect("a decoder").single_frame();
            if frame.read_to_end(&mut text).is_err() {
                return (records, true);
            }
            rest = frame.finish();
            parse(&text)
        } else {
            let (record, bytes) = parse(rest);
            rest = &rest[bytes..];
            text.resize(bytes, 0);
            (record, bytes)
        };
        assert_eq!(bytes, text.len(), "{name}: a record and nothing else in one piece");
        record.check();
        records.push(record);
    }
    assert!(records.first().is_none_or(|record| record.kind() == "warcinfo"), "{name} begins with {records:?}");
    (records, false)
}

/// The first record, and its length.
fn parse(bytes: &[u8]) -> (Record, usize) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("an empty line after the fields");
    let text = std::str::from_utf8(&bytes[..end]).expect("fields are UTF-8");
    let mut lines = text.split("\r\n");
    assert_eq!(lines.next(), Some("WARC/1.1"));
    let field = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("not a field: {line:?}"));
        (name.to_owned(), value.to_owned())
    };
    let mut record = Record { fields: lines.map(field).collect(), block: Vec::new() };
    let length: usize = record.get("Content-Length").expect("a length").parse().expect("a number");
    let (block, after) = bytes[end + 4..].split_at(length);
    record.block = block.to_vec();
    assert!(after.starts_with(b"\r\n\r\n"), "two line ends after the block");
    (record, end + 4 + length + 4)
}

/// The files of a directory with this in their names, in order; `.open` ones too.
pub fn files(dir: &Path, part: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part)));
    files.sort();
    files
}

/// All records of all WARC files of a directory, in order.
pub fn read_all(dir: &Path) -> Vec<Record> {
    files(dir, ".warc").iter().flat_map(|path| read(path)).collect()
}
