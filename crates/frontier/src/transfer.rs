//! A whole frontier as a file and back: [`Frontier::export`](crate::Frontier::export) and
//! [`Frontier::import`](crate::Frontier::import).
//!
//! What changes the keys or the files of a data directory (other canonical rules, another format of the store) leaves old
//! directories unreadable; this file goes across. It says what is known, not how it is kept: no secret, no keys, no
//! partitions, no filters, so it can be read under other rules and with other options.
//!
//! # The format, version 2
//!
//! JSON Lines, UTF-8: an object a line, each line at most [`MAX_LINE_BYTES`] long. A field that says "0" or "none" here may
//! be left out; a field that is not named here is an error.
//!
//! ```text
//! {"format":"crawld frontier","version":2,"canonical_rules_version":2,"canonical_rules":{"fold_scheme":false,…}}
//! {"host":"example.com","next_slot_ms":1700000000500,"delay_ms":1000}
//! {"url":"https://example.com/","state":"fetched","status":200,"depth":0,"first_seen_secs":1700000000}
//! {"url":"https://example.com/a","state":"queued","depth":1,"first_seen_secs":1700000000,"referrer":"https://example.com/"}
//! {"end":{"hosts":1,"queued":1,"fetched":1,"failed":0,"robots_denied":0,"excluded":0,"imported_seen":0,"parked":0}}
//! ```
//!
//! **The first line** names format and version. `canonical_rules_version` and `canonical_rules` (the switches of
//! [`RuleOptions`](crate::RuleOptions)) say by which rules its URLs are apart. They only inform: an import makes keys of what
//! is fetched, by the rules of the frontier that it goes into, and URLs that are one under those become one.
//!
//! **A host** comes before its URLs. It is what politeness is kept for: a name without port, IPv6 in brackets.
//!
//! | field | unit | meaning |
//! |---|---|---|
//! | `host` | | the name |
//! | `next_slot_ms` | ms since the Unix epoch | earliest next request; 0: at once |
//! | `delay_ms` | ms | from the end of a response to the next request; always said |
//! | `failures` | | back-off: failures not yet made good; 0 |
//! | `blocked_until_ms` | ms since the Unix epoch | not asked before this, whatever the slot says; 0 |
//! | `blocked_by` | | why, by its [`BlockReason`](crate::BlockReason); none |
//! | `granted` | URLs and pages | what it was granted beyond its budgets; 0 |
//! | `lifted` | | `true`: it has no budgets; `false` |
//! | `growth` | | what the growth guard knows of it, in hexadecimal digits: to be carried, not to be read; none |
//!
//! **A robots.txt** comes after its host. A crawl that knows it need not ask again.
//!
//! | field | unit | meaning |
//! |---|---|---|
//! | `robots` | | the origin: scheme, host and port, as in `https://example.com` |
//! | `fetched_ms` | ms since the Unix epoch | when it was asked for, or last confirmed; 0: there was no answer; always said |
//! | `text` | | its text, as it is parsed; none: there are no rules |
//! | `etag`, `last_modified` | | what to ask with whether it has changed; none |
//! | `max_age_secs` | seconds | how long the server said that it holds; nothing |
//! | `unreachable_since_ms` | ms since the Unix epoch | since when the server answers with errors only; it does not |
//!
//! **A URL**: those of a host that are not queued in the order of their keys, then the queued ones in the order in which
//! they are to be fetched.
//!
//! | field | unit | meaning |
//! |---|---|---|
//! | `url` | | what is fetched: WHATWG serialisation without fragment |
//! | `state` | | `queued` (in flight counts as such), `fetched`, `failed`, `robots_denied`, `excluded`, `imported_seen`, `parked` |
//! | `status` | | HTTP status or negative failure code of the last attempt; 0 |
//! | `depth` | links | from a seed; 0 |
//! | `attempts` | | attempts that ended without a final outcome; 0 |
//! | `starts` | | leases in a row that ended without any outcome; 0 |
//! | `first_seen_secs` | s since the Unix epoch | when it was found; always said |
//! | `due_secs` | s since the Unix epoch | when it is visited again; of a queued one, when it was to be; 0: never |
//! | `interval_secs` | s | from one visit to the next; 0 |
//! | `interval_learnt` | | `true`: its own visits have said so; `false` |
//! | `digest` | hex | of the body that the last visit brought; none |
//! | `etag`, `last_modified` | | of the same, as they were sent; none |
//! | `referrer` | | the page it was first found on, kept while it is queued; none |
//! | `priority` | | its class within its host's queue, 0 to 7; 4 |
//! | `sitemap_level` | | it is expected to be a sitemap: 1 for one that a robots.txt names, one more for each that leads to it; 0 |
//!
//! **The last line** counts hosts, robots.txt (`robots`; 0), and URLs by state. A file without it was cut off; one whose lines do not add up to it was
//! changed by somebody who did not change it too.
//!
//! **Version 1** had neither parked URLs, nor `canonical_rules`, `blocked_by`, `granted`, `lifted` and what there is of
//! further visits. It is read.
//!
//! # What an export is
//!
//! The frontier at one instant: every partition is frozen at the same event, merged into its store, and the stores are
//! read while no merge may change them. So a page that is fetched and the links found on it are both in the file or
//! neither, and the counts of the last line are those of the books at that event (checked). Hosts come in the order of
//! their keys over all partitions, so the same frontier gives the same file, byte for byte, whatever its secret and its
//! number of partitions, and two exports can be compared line by line.
//!
//! On a running crawl, new events go to memory meanwhile, as during any merge. An export never holds the crawl up: when
//! the memory of a partition is full before the export has ended (its reader is slow, or the crawl very fast) it ends with
//! [`ExportError::Outrun`], and without a last line.
//!
//! # What an import is
//!
//! URLs that are not known are recorded as the file says, in the order of the file. Of one that is, here or by an earlier
//! line, the word counts with which the crawl has come further (from `parked` over `queued`, `imported_seen`, `excluded`,
//! `robots_denied` and `failed` to `fetched`), and of two that are queued the lesser depth. A host that is not known gets the
//! state in the file; of a known one each value becomes the more patient of the two, and the larger grant counts. Of two
//! that know a robots.txt the later one counts. So
//! importing a file twice changes nothing, two frontiers can be brought together, and one can go into a frontier of other
//! rules: what these make one is fetched if any of it was.
//!
//! Budgets count what is imported, and hold nothing of it back.
//!
//! Times that lie further ahead than a back-off may last are cut, so that no file silences a host for ever.
//!
//! Lines are taken in as events of [`CHUNK`] lines, each durable whole or not at all; what they say of known URLs follows
//! in an event of its own. At the first line that is not
//! understood the import ends, with the number of the line; all lines before it are in. So it is enough to import the
//! corrected file again.
//!
//! Not carried over: counts of events (`urls_found`, `fetches`, …), which tell of the crawl that has made them, and
//! forgotten URLs. In the new books the URLs are `imported`.

mod advancing;
mod batch;
mod export;
mod import;
mod line;
mod records;
#[cfg(test)]
mod tests;

pub use export::ExportError;
pub use import::{ImportError, Imported, ListedAs};
pub use line::{Totals, VERSION};

/// Longest line of the format, in bytes: the longest robots.txt ([`RobotsMemory::MAX_TEXT_BYTES`](crate::RobotsMemory)),
/// each byte escaped, and the rest.
pub const MAX_LINE_BYTES: usize = 1 << 22;

/// Lines of one event of an import.
pub const CHUNK: usize = 4096;
