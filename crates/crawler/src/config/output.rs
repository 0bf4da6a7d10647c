//! `[output]`: what is kept of what is fetched, and where.
//!
//! Not the formats ([`output`](crate::output)). Invariant: as in `keys`.

use serde::Serialize;

use super::section::Section;

/// A GiB.
const GIB: u64 = 1 << 30;

/// `[output]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Output {
    /// What is written; nothing where it is empty.
    pub kinds: Vec<SinkKind>,
    /// Where; empty = `output` in the data directory.
    pub dir: String,
    /// Start of the files' names.
    pub prefix: String,
    /// How WARC records are compressed.
    pub compression: Compression,
    /// Size at which a file is closed; 0 = no limit.
    pub max_file_bytes: u64,
    /// Age at which a file is closed; 0 = no limit.
    pub max_file_age_secs: u64,
    /// Bytes of a body that are kept in memory.
    pub spool_bytes: u64,
    /// Bodies that are remembered, so that the same again is a `revisit` record.
    pub revisit_entries: u64,
    /// Links in JSON Lines.
    pub outlinks: bool,
}

impl Default for Output {
    fn default() -> Self {
        Output {
            kinds: Vec::new(),
            dir: String::new(),
            prefix: "crawld".to_owned(),
            compression: Compression::Gzip,
            max_file_bytes: GIB,
            max_file_age_secs: 86_400,
            spool_bytes: 256 << 10,
            revisit_entries: 100_000,
            outlinks: false,
        }
    }
}

/// One of `output.kinds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SinkKind {
    /// WARC/1.1 files.
    Warc,
    /// JSON Lines of pages.
    Jsonl,
}

/// `output.compression`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// None.
    None,
    /// A gzip member for each record.
    Gzip,
    /// A zstd frame for each record.
    Zstd,
}

/// Reads the section.
pub(super) fn read(s: &mut Section<'_>, out: &mut Output) {
    s.texts("kinds", kind, &mut out.kinds);
    // In one order, each once.
    out.kinds.sort_unstable();
    out.kinds.dedup();
    s.text("dir", |text| Ok(text.to_owned()), &mut out.dir);
    s.text("prefix", prefix, &mut out.prefix);
    s.text("compression", compression, &mut out.compression);
    s.integer("max_file_bytes", 0..=1 << 40, &mut out.max_file_bytes);
    s.integer("max_file_age_secs", 0..=3650 * 86_400, &mut out.max_file_age_secs);
    s.integer("spool_bytes", 0..=GIB, &mut out.spool_bytes);
    s.integer("revisit_entries", 0..=100_000_000, &mut out.revisit_entries);
    s.boolean("outlinks", &mut out.outlinks);
}

fn kind(text: &str) -> Result<SinkKind, String> {
    match text {
        "warc" => Ok(SinkKind::Warc),
        "jsonl" => Ok(SinkKind::Jsonl),
        _ => Err(format!("must be \"warc\" or \"jsonl\", found {text:?}")),
    }
}

fn compression(text: &str) -> Result<Compression, String> {
    match text {
        "none" => Ok(Compression::None),
        "gzip" => Ok(Compression::Gzip),
        "zstd" => Ok(Compression::Zstd),
        _ => Err(format!("must be \"none\", \"gzip\" or \"zstd\", found {text:?}")),
    }
}

/// The start of a file's name, the same on every system.
fn prefix(text: &str) -> Result<String, String> {
    const MAX_BYTES: usize = 64;
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if text.is_empty() || text.len() > MAX_BYTES || text.starts_with('.') || !text.bytes().all(is_in_name) {
        return Err(format!("must be 1 to {MAX_BYTES} letters, digits, _, - and . (not first), found {text:?}"));
    }
    Ok(text.to_owned())
}
