//! Fetch politely, find links, tell the frontier.
//!
//! This crate is the upper floor of the crawler: everything that speaks HTTP, reads HTML or talks to an operator. Which URL
//! comes next, and whether a URL was seen before, is the [`frontier`]'s business below; the Bloom filter below that is
//! not even named here.
//!
//! # The life of a URL, as far as this crate sees it
//!
//! 1. **Found.** [`seeds`] reads the first ones; later ones are links of a page ([`extract`]) or targets of a redirect
//!    ([`worker`]).
//! 2. **Made one.** [`frontier::Canonical`] parses it and makes the key by which two URLs are one. [`inspect`] shows what
//!    comes of it.
//! 3. **Judged.** [`scope`] says whether it belongs to the crawl; depth and the limits of a page are counted in
//!    [`worker`].
//! 4. **Told.** All URLs of a page go to the frontier in one verb, together with what became of the page. It tests, records
//!    and queues them; there is no step between.
//! 5. **Leased.** The dispatcher in [`daemon`] asks the frontier for the next URL that may be fetched now, and gives it to
//!    a worker. [`politeness`] says how long a host rests; the frontier keeps the schedule.
//! 6. **Fetched.** [`worker::journey`], to be read from top to bottom: the rules of the host's robots.txt ([`robots`],
//!    remembered in [`robots_cache`]), then the page through [`fetch`], past the guard of [`address`]; a sitemap goes through
//!    [`sitemap`] and counts like a page whose links are its entries; HTML goes through
//!    [`extract`] while it arrives ([`charset`] says in which encoding), and through [`fields`] where fields are wanted.
//! 7. **Kept.** Where outputs are wanted ([`output`]), what was fetched is on the disk before the page counts as done.
//! 8. **Completed.** Outcome, host report and URLs found are one verb again. When that is durable, the page gets its line in
//!    [`crawl_log`]; failures stand there under the numbers of [`fetch_code`].
//!
//! # Around it
//!
//! | | |
//! |---|---|
//! | [`cli`], [`config`], [`exit`] | command line, config file, exit codes |
//! | [`daemon`], [`signals`], [`disk`], [`clock`] | the process: start, watch, stop |
//! | [`statistics`] | the lines of the statistics logs |
//! | [`control`], [`questions`], [`audit`], [`explain`] | asking a crawl, running or stopped |
//! | [`forget`], [`export`], [`import`], [`select`] | changing and moving what a crawl knows |
//! | [`duplicates`], [`sketch`] | pages with the content of others |
//! | [`demo`] | a site on loopback and a crawl of it |
//!
//! # Invariants
//!
//! Only [`fetch`] names the HTTP client and only [`fields`] the DOM. Nobody but [`fetch`] opens a connection, so no request
//! passes [`address`] by. Nothing is counted here that the frontier counts: its books are the only ones.

pub mod address;
pub mod addresses;
pub mod audit;
pub mod budget;
pub mod charset;
pub mod cli;
pub mod clock;
pub mod config;
pub mod control;
pub mod crawl_log;
pub mod daemon;
pub mod demo;
pub mod disk;
pub mod duplicates;
pub mod exit;
pub mod explain;
pub mod export;
pub mod extract;
pub mod fetch;
pub mod fetch_code;
pub mod fields;
pub mod forget;
pub mod import;
pub mod inspect;
mod log_file;
pub mod output;
pub mod politeness;
pub mod questions;
pub mod rekey;
pub mod robots;
pub mod robots_cache;
pub mod scope;
pub mod seeds;
pub mod select;
pub mod signals;
pub mod sitemap;
pub mod sketch;
pub mod statistics;
pub mod traps;
mod url_batch;
pub mod worker;
