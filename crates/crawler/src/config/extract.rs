//! `[extract]`: what is taken from a page.
//!
//! Not the extractor. Invariant: as of all of the config, only values that it can run on.

use serde::Serialize;

use super::section::Section;
use crate::extract::{LinkKind, Settings};

/// `[extract]`
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extract {
    /// Different links taken from one page; those beyond count as refused.
    pub max_links_per_page: u32,
    /// Length of a URL; longer ones count as invalid.
    pub max_url_bytes: u32,
    /// Heed what a page says of itself (`<meta name=robots>`, `X-Robots-Tag`): its links are refused, its text is not
    /// kept.
    pub obey_meta_robots: bool,
    /// Refuse links with `rel=nofollow`.
    pub obey_rel_nofollow: bool,
    /// Kinds of links that are taken.
    pub links: Vec<LinkKind>,
    /// What `rel=canonical` does.
    pub canonical: CanonicalLinks,
}

impl Default for Extract {
    fn default() -> Self {
        Extract {
            max_links_per_page: 100_000,
            max_url_bytes: 8192,
            obey_meta_robots: true,
            obey_rel_nofollow: false,
            links: LinkKind::NAVIGATION.to_vec(),
            canonical: CanonicalLinks::default(),
        }
    }
}

impl Extract {
    /// The limits of one page.
    pub fn settings(&self) -> Settings {
        Settings {
            max_links: self.max_links_per_page as usize,
            max_url_bytes: self.max_url_bytes as usize,
            links: self.links.iter().copied().collect(),
            canonical: self.canonical != CanonicalLinks::Ignore,
            ..Settings::default()
        }
    }
}

/// `extract.canonical`: what becomes of a URL that a page says it wants to be known by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CanonicalLinks {
    /// It is a link like any other.
    #[default]
    Follow,
    /// It takes the page's own depth and class, as the target of a redirect does.
    Prefer,
    /// It is no link.
    Ignore,
}

impl CanonicalLinks {
    /// Every one.
    pub const ALL: [CanonicalLinks; 3] = [CanonicalLinks::Follow, CanonicalLinks::Prefer, CanonicalLinks::Ignore];

    /// The word in the config file.
    pub fn name(self) -> &'static str {
        match self {
            CanonicalLinks::Follow => "follow",
            CanonicalLinks::Prefer => "prefer",
            CanonicalLinks::Ignore => "ignore",
        }
    }
}

/// Reads the table.
pub(super) fn read(s: &mut Section<'_>, out: &mut Extract) {
    s.integer("max_links_per_page", 1..=10_000_000, &mut out.max_links_per_page);
    // The frontier takes no longer ones (its `MAX_URL_BYTES`).
    s.integer("max_url_bytes", 256..=8_192, &mut out.max_url_bytes);
    s.boolean("obey_meta_robots", &mut out.obey_meta_robots);
    s.boolean("obey_rel_nofollow", &mut out.obey_rel_nofollow);
    s.texts("links", link_kind, &mut out.links);
    s.text("canonical", canonical_links, &mut out.canonical);
}

fn link_kind(text: &str) -> Result<LinkKind, String> {
    let found = LinkKind::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| format!("must be one of {}, found {text:?}", LinkKind::ALL.map(LinkKind::name).join(", ")))
}

fn canonical_links(text: &str) -> Result<CanonicalLinks, String> {
    let found = CanonicalLinks::ALL.into_iter().find(|word| word.name() == text);
    found.ok_or_else(|| format!("must be \"follow\", \"prefer\" or \"ignore\", found {text:?}"))
}
