//! The budgets of hosts and registrable domains, and what each has used of them; in memory, for every host of a partition.
//!
//! Only where a budget is configured: then the counts of all hosts are read from the store at the start, and every event
//! is counted. So a new URL is judged without reading anything, under the lock under which it is recorded. Some 30 bytes
//! per host and per domain. Invariant: a registrable domain lies in one partition, so its counts are all here.

use ahash::AHashMap;

use crate::canonical::{host_name, registrable_domain};
use crate::fingerprint::Secret;
use crate::parking::Grant;
use crate::record::{Counts, HostState};

/// How much of a site is taken. A number of 0 is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// URLs of one host that are known, parked ones not counted.
    pub urls_per_host: u64,
    /// The same of one registrable domain.
    pub urls_per_domain: u64,
    /// Pages fetched of one host.
    pub pages_per_host: u64,
    /// The same of one registrable domain.
    pub pages_per_domain: u64,
    /// Whether new URLs over a budget are kept, parked; else they are not kept.
    pub park: bool,
}

/// What a host or a registrable domain has used of its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetUse {
    /// URLs known, parked ones not counted.
    pub urls: u64,
    /// Of these, fetched.
    pub pages: u64,
    /// Of these, not finished: each may become a page, and counts as one.
    pub queued: u64,
    /// What it was granted beyond its budgets.
    pub granted: Grant,
}

impl Budget {
    pub(crate) fn is_on(&self) -> bool {
        [self.urls_per_host, self.urls_per_domain, self.pages_per_host, self.pages_per_domain].iter().any(|n| *n > 0)
    }
}

/// Names of a host and of its registrable domain in a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accounts {
    pub(crate) host: u64,
    pub(crate) domain: u64,
    /// The host's name is the domain's name: what is granted to the one is granted to the other.
    is_domain: bool,
}

impl Accounts {
    /// Of the host part of a key.
    pub(crate) fn of(secret: &Secret, host: &str) -> Self {
        let name = host_name(host);
        let domain = registrable_domain(&name);
        // Half a fingerprint: two of ten million names collide once in a few hundred thousand crawls.
        Self {
            host: secret.fingerprint(&name) as u64,
            domain: secret.fingerprint(domain) as u64,
            is_domain: domain == name,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    counts: Counts,
    granted: u32,
}

/// What hosts and domains have used.
#[derive(Debug)]
pub(crate) struct Ledger {
    budget: Budget,
    hosts: AHashMap<u64, Account>,
    domains: AHashMap<u64, Account>,
}

impl Ledger {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, hosts: AHashMap::new(), domains: AHashMap::new() }
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Counts a change.
    pub(crate) fn add(&mut self, accounts: Accounts, change: &Counts) {
        self.hosts.entry(accounts.host).or_default().counts.add(change);
        self.domains.entry(accounts.domain).or_default().counts.add(change);
    }

    /// Takes in what a host's state grants.
    pub(crate) fn grant(&mut self, accounts: Accounts, state: &HostState) {
        // Nothing granted is what an account begins with.
        if state.granted > 0 || self.hosts.get(&accounts.host).is_some_and(|account| account.granted > 0) {
            self.hosts.entry(accounts.host).or_default().granted = state.granted;
            if accounts.is_domain {
                self.domains.entry(accounts.domain).or_default().granted = state.granted;
            }
        }
    }

    /// What host and domain have used, and the first budget that has no room for one more new URL, by its name in the
    /// config.
    pub(crate) fn explain(&self, accounts: Accounts) -> (BudgetUse, BudgetUse, Option<&'static str>) {
        let Budget { urls_per_host, urls_per_domain, pages_per_host, pages_per_domain, .. } = self.budget;
        let host = self.hosts.get(&accounts.host).copied().unwrap_or_default();
        let domain = self.domains.get(&accounts.domain).copied().unwrap_or_default();
        let held_by = [
            ("max_urls_per_host", host.admits(0, urls_per_host, 0)),
            ("max_pages_per_host", host.admits(0, 0, pages_per_host)),
            ("max_urls_per_domain", domain.admits(0, urls_per_domain, 0)),
            ("max_pages_per_domain", domain.admits(0, 0, pages_per_domain)),
        ];
        let held_by = held_by.into_iter().find(|(_, admits)| !admits).map(|(name, _)| name);
        (host.used(), domain.used(), held_by)
    }

    /// Whether one more new URL is within the budgets, when so many of host and domain are on their way in.
    pub(crate) fn admits(&self, accounts: Accounts, host_more: i64, domain_more: i64) -> bool {
        let Budget { urls_per_host, urls_per_domain, pages_per_host, pages_per_domain, .. } = self.budget;
        let host = self.hosts.get(&accounts.host).copied().unwrap_or_default();
        let domain = self.domains.get(&accounts.domain).copied().unwrap_or_default();
        host.admits(host_more, urls_per_host, pages_per_host)
            && domain.admits(domain_more, urls_per_domain, pages_per_domain)
    }
}

impl Account {
    fn used(&self) -> BudgetUse {
        let count = |n: i64| n.max(0) as u64;
        BudgetUse {
            urls: count(self.counts.urls),
            pages: count(self.counts.pages),
            queued: count(self.counts.queued),
            granted: Grant::of(self.granted),
        }
    }

    fn admits(&self, more: i64, urls: u64, pages: u64) -> bool {
        let within = |used: i64, limit: u64| {
            let limit = limit.saturating_add(u64::from(self.granted));
            (used.saturating_add(more).max(0) as u64) < limit
        };
        if self.granted == HostState::LIFTED {
            return true;
        }
        // Every unfinished URL may become a page.
        (urls == 0 || within(self.counts.urls, urls))
            && (pages == 0 || within(self.counts.pages + self.counts.queued, pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(host: &str) -> Accounts {
        Accounts::of(&Secret::new([1; 16]), host)
    }

    #[test]
    fn a_domain_s_budget_is_shared_by_its_hosts() {
        let mut ledger = Ledger::new(Budget { urls_per_host: 2, urls_per_domain: 3, ..Budget::default() });
        let (a, b) = (accounts("com,example,a"), accounts("com,example,b"));
        assert!(a.domain == b.domain && a.host != b.host);
        let one = Counts { urls: 1, queued: 1, ..Counts::default() };
        ledger.add(a, &one);
        assert!(ledger.admits(a, 0, 0) && !ledger.admits(a, 1, 1), "two of the host");
        ledger.add(a, &one);
        assert!(!ledger.admits(a, 0, 0) && ledger.admits(b, 0, 0) && !ledger.admits(b, 0, 1), "three of the domain");
        let held_by = |ledger: &Ledger, accounts| ledger.explain(accounts).2;
        assert_eq!((held_by(&ledger, a), held_by(&ledger, b)), (Some("max_urls_per_host"), None));
        ledger.add(b, &one);
        assert_eq!(held_by(&ledger, b), Some("max_urls_per_domain"));
    }

    #[test]
    fn a_page_s_place_is_free_again_when_it_fails() {
        let mut ledger = Ledger::new(Budget { pages_per_host: 1, ..Budget::default() });
        let a = accounts("com,a");
        ledger.add(a, &Counts { urls: 1, queued: 1, ..Counts::default() });
        assert!(!ledger.admits(a, 0, 0), "the queued one may become the page");
        assert_eq!(ledger.explain(a).2, Some("max_pages_per_host"));
        ledger.add(a, &Counts { queued: -1, ..Counts::default() });
        assert!(ledger.admits(a, 0, 0), "it failed");
        ledger.add(a, &Counts { urls: 1, pages: 1, ..Counts::default() });
        assert!(!ledger.admits(a, 0, 0));
    }

    #[test]
    fn what_is_granted_to_a_host_named_like_its_domain_is_granted_to_both() {
        let mut ledger = Ledger::new(Budget { urls_per_domain: 1, ..Budget::default() });
        let (domain, sub) = (accounts("com,example"), accounts("com,example,sub"));
        ledger.add(sub, &Counts { urls: 1, ..Counts::default() });
        assert!(!ledger.admits(sub, 0, 0));
        ledger.grant(domain, &HostState { granted: 1, ..HostState::default() });
        assert!(ledger.admits(sub, 0, 0) && !ledger.admits(sub, 1, 1));
        ledger.grant(domain, &HostState { granted: HostState::LIFTED, ..HostState::default() });
        assert!(ledger.admits(sub, 1 << 40, 1 << 40));
        ledger.grant(domain, &HostState::default());
        assert!(!ledger.admits(sub, 0, 0), "taken back");
    }
}
