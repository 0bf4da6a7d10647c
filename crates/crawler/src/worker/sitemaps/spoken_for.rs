//! Who may speak for whom (sitemaps.org, "Sitemap file location" and "Sitemaps & Cross Submits"): a sitemap for its own
//! host and directory ([`Location`]); beyond that for those whose robots.txt names it, or names the index that lists it,
//! or the URL that redirected to it.
//!
//! Not a request: only what is known of robots.txt counts, and what a URL was found in is what it was found in first. (So a
//! sitemap that is in an index, and that another host's robots.txt named before, speaks for that host and for its
//! directory.) Invariant: of one sitemap at most [`MAX_HOSTS_LOOKED_UP`] origins are looked up; of more it is not believed.

use std::collections::HashMap;
use std::sync::Arc;

use frontier::{Canonical, Lease};
use url::{Position, Url};

use super::super::remembered;
use super::super::trip::Trip;
use crate::fetch::Fetch;
use crate::robots::{Robots, product_token};
use crate::sitemap::Location;

/// Origins whose robots.txt is looked up for the entries of one sitemap. A store is read for each.
const MAX_HOSTS_LOOKED_UP: usize = 64;

/// For whom a sitemap may speak.
pub(super) struct SpokenFor<'a, 't, F> {
    trip: &'a Trip<'t, F>,
    lease: &'a Lease,
    url: &'a Url,
    /// What the robots.txt of each origin says of it, by those that were looked up.
    by_origin: HashMap<String, bool>,
}

impl<'a, 't, F: Fetch> SpokenFor<'a, 't, F> {
    /// Nothing is looked up yet. `url` is where the sitemap came from.
    pub(super) fn new(trip: &'a Trip<'t, F>, lease: &'a Lease, url: &'a Url) -> Self {
        Self { trip, lease, url, by_origin: HashMap::new() }
    }

    /// Whether it may speak for the target.
    pub(super) async fn has(&mut self, target: &Url) -> bool {
        if Location::of(self.url, target) == Location::Within || self.was_named_for(target) {
            return true;
        }
        let origin = &target[..Position::BeforePath];
        if let Some(known) = self.by_origin.get(origin) {
            return *known;
        }
        if self.by_origin.len() >= MAX_HOSTS_LOOKED_UP {
            return false;
        }
        let names = robots_of(self.trip, target).await.is_some_and(|robots| self.is_named(&robots));
        self.by_origin.insert(origin.to_owned(), names);
        names
    }

    /// Whether it was found in the robots.txt of the target's host.
    fn was_named_for(&self, target: &Url) -> bool {
        let referrer = self.lease.referrer().and_then(|referrer| Url::parse(referrer).ok());
        let is_of_host = |by: &Url| by.path() == "/robots.txt" && Location::of(by, target) != Location::OtherHost;
        self.lease.sitemap_level() == 1 && referrer.as_ref().is_some_and(is_of_host)
    }

    /// Whether this robots.txt, of the target's origin, names it or what it was found in.
    fn is_named(&self, robots: &Robots) -> bool {
        let rules = self.trip.crawl.frontier.rules();
        let found_in = self.lease.referrer().and_then(|referrer| rules.parse(referrer).ok());
        let is_it = |named: Canonical| {
            named.key() == self.lease.key() || found_in.as_ref().is_some_and(|index| index.key() == named.key())
        };
        robots.sitemaps().iter().any(|named| rules.canonical(named.clone()).is_ok_and(is_it))
    }
}

/// What is known of the robots.txt of a URL's origin, however old it is.
async fn robots_of<F: Fetch>(trip: &Trip<'_, F>, url: &Url) -> Option<Arc<Robots>> {
    let crawl = trip.crawl;
    if let Some(answer) = crawl.robots.known(&url[..Position::BeforePath], crawl.clock.now()) {
        return answer.rules;
    }
    let text = remembered::recall(trip, url).await?.text?;
    Some(Arc::new(Robots::parse(product_token(&crawl.config.crawl.user_agent), text.as_bytes())))
}
