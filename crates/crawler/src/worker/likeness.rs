//! Whether the content of a page is that of another, as far as anybody wants to know.
//!
//! Not the comparing ([`duplicates`](crate::duplicates), [`sketch`](crate::sketch)). Invariant: a copy is noted and counted,
//! and never a reason to drop a URL.

use frontier::{Found, Lease};

use super::{Crawl, Visit};
use crate::duplicates::{self, Likeness};
use crate::sketch::{SimHash, Sketcher};

/// What makes the sketches that are wanted.
pub(super) fn sketcher<F>(crawl: &Crawl<F>) -> Option<Sketcher> {
    let wants_simhash = crawl.duplicates.wants_simhash();
    let sketcher = (crawl.config.growth_guard.enabled || wants_simhash).then(Sketcher::default);
    if wants_simhash { sketcher.map(Sketcher::with_simhash) } else { sketcher }
}

/// Notes whether the page is a copy of another.
pub(super) fn compare<F>(
    crawl: &Crawl<F>,
    lease: &Lease,
    visit: &mut Visit,
    content: Option<&duplicates::Digest>,
    simhash: Option<SimHash>,
) {
    match crawl.duplicates.judge(lease.url(), content, simhash) {
        Some(Likeness::Same) => {
            visit.notes.push("duplicate".into());
            if !crawl.config.duplicates.take_links {
                visit.found = Found { sketch: visit.found.sketch, ..Found::default() };
            }
        }
        Some(Likeness::Near) => visit.notes.push("near_duplicate".into()),
        None => {}
    }
}
