//! What a page says to robots of itself, where that is heeded, and that the log tells of it.
//!
//! Not the reading of the words ([`directives`](crate::robots::directives)), nor what becomes of the links.

use super::{Crawl, Visit};
use crate::fetch::Head;
use crate::robots::directives::Directives;

/// What the response's header says to the crawler.
pub(super) fn of_header<F>(crawl: &Crawl<F>, head: &Head) -> Directives {
    let mut says = Directives::default();
    if let Some(lines) = head.x_robots_tag.as_deref().filter(|_| crawl.config.extract.obey_meta_robots) {
        says.add_header(lines, crawl.config.crawl.robots_product());
    }
    says
}

/// Lets the log tell it.
pub(super) fn note(visit: &mut Visit, says: Directives) {
    let words = [(says.noindex, "noindex"), (says.nofollow, "nofollow")];
    visit.notes.extend(words.iter().filter(|(is_said, _)| *is_said).map(|(_, word)| (*word).into()));
}
