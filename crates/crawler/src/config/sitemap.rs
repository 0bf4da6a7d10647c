//! `[sitemap]`: whether sitemaps are asked for, which, and how much is taken of them.
//!
//! Not how they are read ([`crate::sitemap`]). Invariant: as in `keys`.

use serde::Serialize;

use super::section::Section;

const MIB: u64 = 1 << 20;

/// `[sitemap]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sitemap {
    /// Ask for sitemaps, and take what they list.
    pub enabled: bool,
    /// Paths that are asked for where robots.txt names no sitemap.
    pub well_known: Vec<String>,
    /// Sitemaps that may lead to one another.
    pub max_nesting: u8,
    /// Entries taken of one.
    pub max_entries: u32,
    /// Bytes read of one, after decompression.
    pub max_bytes: u64,
    /// Classes by which a priority of 1.0 or 0.0 brings an entry forward or puts it back.
    pub priority_classes: u8,
}

impl Default for Sitemap {
    fn default() -> Self {
        Sitemap {
            enabled: true,
            well_known: vec!["/sitemap.xml".to_owned()],
            max_nesting: 3,
            max_entries: 50_000,
            max_bytes: 50 * MIB,
            priority_classes: 2,
        }
    }
}

/// Reads the section.
pub(super) fn read(s: &mut Section<'_>, out: &mut Sitemap) {
    s.boolean("enabled", &mut out.enabled);
    s.texts("well_known", path, &mut out.well_known);
    // A level has four bits in the frontier's record, and the first is that of robots.txt.
    s.integer("max_nesting", 0..=u64::from(frontier::FoundUrl::MAX_SITEMAP_LEVEL) - 1, &mut out.max_nesting);
    s.integer("max_entries", 1..=10_000_000, &mut out.max_entries);
    s.integer("max_bytes", 1 << 10..=1 << 30, &mut out.max_bytes);
    s.integer("priority_classes", 0..=frontier::Priority::LAST.class().into(), &mut out.priority_classes);
}

/// A path, as a URL writes it.
fn path(text: &str) -> Result<String, String> {
    const MAX_BYTES: usize = 256;
    let in_path = |b: u8| b.is_ascii_graphic() && b != b'#';
    if !text.starts_with('/') || text.len() > MAX_BYTES || !text.bytes().all(in_path) || text.starts_with("//") {
        return Err(format!("must be a path from the root, as in \"/sitemap.xml\", found {text:?}"));
    }
    Ok(text.to_owned())
}
