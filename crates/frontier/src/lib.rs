//! # frontier — which URL next, and never the same twice?
//!
//! A durable, polite crawl frontier: synchronous, no HTTP, no async runtime. It owns the exact seen-set (sled), a
//! scalable Bloom filter in front of it, the per-host queues and the politeness schedule. What it acknowledges as durable
//! survives `kill -9` at any instant.
//!
//! ## The life of a URL in here
//! 1. **Made one** ([`canonical`]): the *fetch URL* is what the page said; the *key* is what is compared.
//! 2. **Tested**, cheapest question first (`offering`, `partition`): twin in the batch? in the `hot_cache` or in `memory`?
//!    does the filter say *absent* (then it is new, and the store is not read)? it says *maybe*: the `store` decides.
//!    "Maybe" is never taken for "yes".
//! 3. **Recorded** (`event`, `journal`): new URLs enter the journal in the same event that says they are seen. There is no
//!    moment when a URL is seen but not queued.
//! 4. **Leased** (`leasing`, `queue`, `host`): when its event is durable and its host may be asked again.
//! 5. **Completed** ([`Frontier::complete`]): the outcome and all URLs found on the page are one event.
//! 6. **Merged** (`merge`): in the background, sorted by key, into the partition's store and a file of queue blocks beside
//!    it; its filter is checkpointed there too (`checkpoint`); the journal is trimmed.
//!
//! ## Invariants, as absences
//! * Nobody acts on an event before it is durable: no lease for a URL, no page counted as done.
//! * State is a fold of events in the order of their numbers, never by time; replaying one twice changes nothing.
//! * A merge takes only durable events. A crash in mid-merge loses nothing and doubles nothing.
//! * The filter never answers "absent" for a URL that store or journal holds; when it cannot be read it answers nothing.
//! * No reading of the disk under a partition's lock (but for a last resort that bounds the number of tries).
//!
//! ## Where is …
//! | question | file |
//! |---|---|
//! | where are two URLs made one? | `canonical.rs` |
//! | what does an event change? | `apply.rs` |
//! | what is counted? | `books.rs` |
//! | what is on disk? | `journal.rs`, `store.rs`, `store/blocks.rs`, `checkpoint.rs`, `directory.rs` |
//! | which URL of a host is next? | `leasing.rs` (`next_step`), `tail.rs`, `unread.rs` |
//! | who decides to retry? | `completion.rs` (`end_of`) |
//! | when may a host be asked? | `completion.rs` (`after`), `queue.rs`; without a lease: `booking.rs` |
//! | who waits when memory is full? | `room.rs` |
//! | what does a crash leave? | `merge.rs`; its steps: `steps.rs` |
//! | when has the disk failed? | `watch.rs`; which file system is it? `disk.rs` |
//! | how does a lease end? | `frontier/ending.rs` |
//! | how is a URL forgotten? | `forgetting.rs`; which ones: `selection.rs` |
//! | who lowers a depth? | `lowering.rs` |
//! | when is a page visited again? | `recrawl.rs` (`plan`); who takes it up: `revisiting.rs`; what sitemaps say: `hinting.rs` |
//! | how much of a site is taken? | `ledger.rs`, `offering.rs` (`hold_back`), `parking.rs` |
//! | which sites grow without end? | `growth.rs` |
//! | how does a whole frontier move? | [`transfer`]; to other rules: `rekey.rs` |
//! | what is known of one URL, and why? | `explain.rs` |
//! | when is a filter made anew? | `rebuild.rs` (`reason`) |
//! | what is remembered of robots.txt? | `robots.rs` |
//! | is the filter true to its promises? | `audit.rs` |

pub mod canonical;
pub mod transfer;

mod apply;
mod audit;
mod block_reason;
mod booking;
mod books;
mod checkpoint;
mod completion;
mod directory;
mod disk;
mod error;
mod event;
mod explain;
mod fingerprint;
mod forgetting;
mod found;
mod frontier;
mod growth;
mod hinting;
mod host;
mod hot_cache;
mod journal;
mod lease;
mod leasing;
mod ledger;
mod lowering;
mod memory;
mod merge;
mod offering;
mod opening;
mod options;
mod parking;
mod partition;
mod queue;
mod rebuild;
mod record;
mod recrawl;
mod rekey;
mod returns;
mod revisiting;
mod robots;
mod room;
mod selection;
mod shared;
#[cfg(test)]
mod simulation;
mod statistics;
mod steps;
mod store;
mod tail;
mod trace;
mod unread;
mod watch;
mod wire;

pub use audit::{Check, Verdict};
pub use block_reason::BlockReason;
pub use books::Books;
pub use canonical::{Canonical, RuleOptions, Rules, UrlError, registrable_domain};
pub use completion::{Completed, Completion, Health, HostReport, Outcome, Tally};
pub use error::Error;
pub use explain::{BudgetView, Explanation, FilterView, HostView, Known, LayerView, Referrer, Trace};
pub use forgetting::Forgotten;
pub use found::{Found, FoundUrl, Hint, Priority, Refused};
pub use frontier::{Frontier, Offered};
pub use growth::{GrowthGuard, Slowed, TextSketch};
pub use lease::{Lease, Next};
pub use ledger::{Budget, BudgetUse};
pub use options::{FilterKind, FilterOptions, Options};
pub use parking::{Grant, HostUsage, Released};
pub use recrawl::{Recrawl, Visit};
pub use rekey::{Built, LeftOver, Rekey, RekeyError, Rekeyed, Replaced};
pub use robots::RobotsMemory;
pub use selection::Selection;
pub use statistics::Statistics;

/// Milliseconds since the Unix epoch.
pub type Millis = u64;
