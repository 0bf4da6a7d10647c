//! A leased URL: the right and the duty to fetch it once.

use std::sync::Arc;

use crate::Millis;
use crate::fingerprint::Fingerprint;
use crate::host::{HostId, Item};
use crate::returns::Returns;
use crate::trace::Trace;

/// One URL to fetch. Ends by [`Frontier::complete`](crate::Frontier::complete) or
/// [`Frontier::give_back`](crate::Frontier::give_back); a dropped lease gives its URL back by itself, and its host then
/// first waits its full delay.
#[derive(Debug)]
pub struct Lease {
    pub(crate) url: String,
    pub(crate) host_name: String,
    pub(crate) partition: u16,
    pub(crate) host: HostId,
    pub(crate) fingerprint: Fingerprint,
    /// `None` once the lease has ended.
    pub(crate) item: Option<Item>,
    /// The host's next slot before the lease and with it: the former comes back when no request was made.
    pub(crate) slots: (Millis, Millis),
    pub(crate) returns: Arc<Returns>,
}

impl Lease {
    /// The URL to fetch: what the page said, without fragment.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The canonical key.
    pub fn key(&self) -> &str {
        &self.item().key
    }

    /// The host without port: the unit of politeness. IPv6 in brackets.
    pub fn host(&self) -> &str {
        &self.host_name
    }

    /// Links from a seed.
    pub fn depth(&self) -> u16 {
        self.item().record.depth
    }

    /// Whether it is expected to be a sitemap, and which ([`FoundUrl::sitemap_level`](crate::FoundUrl::sitemap_level)).
    pub fn sitemap_level(&self) -> u8 {
        self.item().record.sitemap_level
    }

    /// Which attempt this is, counted from 1; attempts that ended without an outcome do not count.
    pub fn attempt(&self) -> u16 {
        u16::from(self.item().record.attempts) + 1
    }

    /// How often this URL was leased in a row without any outcome before, as after a crash. A page that kills the
    /// process shows here.
    pub fn unfinished(&self) -> u16 {
        u16::from(self.item().record.starts).saturating_sub(1)
    }

    /// The page it was first found on; `None` for a seed.
    pub fn referrer(&self) -> Option<&str> {
        self.item().referrer.as_deref()
    }

    /// Whether the page was fetched before.
    pub fn is_revisit(&self) -> bool {
        self.item().record.is_revisit()
    }

    /// The `ETag` of the last answer that brought its body, for a conditional request to exactly [`Lease::url`].
    pub fn etag(&self) -> Option<&str> {
        Trace::parse(self.item().trace.as_deref()).etag
    }

    /// The `Last-Modified` of that answer, as it was sent.
    pub fn last_modified(&self) -> Option<&str> {
        Trace::parse(self.item().trace.as_deref()).last_modified
    }

    fn item(&self) -> &Item {
        self.item.as_ref().expect("only the end of a lease takes its item, and consumes the lease")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.returns.push(self.partition, self.host, self.fingerprint, item);
        }
    }
}

/// The answer to [`Frontier::lease`](crate::Frontier::lease).
#[derive(Debug)]
pub enum Next {
    /// Fetch this.
    Lease(Lease),
    /// Nothing may be fetched now. Ask again at `until`, or when the frontier's wake function is called (a commit became
    /// durable, a merge ended), whichever is first.
    Wait {
        /// When the next host is due; `None` when no host is known to become due by time alone. Not later than now where
        /// the call has read so much that it leaves the rest to the next one.
        until: Option<Millis>,
    },
}
