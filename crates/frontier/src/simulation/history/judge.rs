//! How a history is judged: by what the frontier says of itself, and by what is found in its memory, stores and filters.

use std::collections::BTreeSet;

use super::{HOSTS, History, URLS, host_of, url};
use crate::Canonical;
use crate::record::State;
use crate::statistics::Statistics;
use crate::store::StoredHost;

/// A host as keys begin.
fn url_of_host(host: &str) -> String {
    let canonical = Canonical::parse(&format!("http://{host}/")).expect("a URL");
    crate::canonical::host_of_key(canonical.key()).to_owned()
}

impl History {
    /// That all that is known is known: to books, exact set and filter.
    pub(super) fn judge(&self) {
        let frontier = self.frontier();
        for partition in &frontier.shared.partitions {
            let there = partition.state.lock().filter.is_some();
            assert!(there || self.filter_may_miss, "the filter of partition {} is lost", partition.number);
        }
        self.model.known.check(&Statistics::collect(&frontier.shared).expect("answers").books);
        for n in 0..URLS as u16 {
            let url = url(n);
            let known = self.model.known.urls.get(&n);
            assert_eq!(frontier.seen(&url).expect("answers"), known.is_some(), "seen: {}", url.key());
            let shared = &frontier.shared;
            let number = shared.secret.partition(url.registrable_domain(), shared.partitions.len() as u16);
            let partition = &shared.partitions[usize::from(number)];
            let fingerprint = shared.secret.fingerprint(url.key());
            let state = partition.state.lock();
            let remembered = state.remembered(fingerprint).map(|remembered| remembered.entry.record);
            let answer = state.filter.as_ref().map(|filter| filter.contains(fingerprint));
            drop(state);
            let record = remembered.or_else(|| partition.store.record(url.key()).expect("reads").map(|r| r.record));
            let record = record.filter(|record| record.state != State::Forgotten);
            let found = record.map(|record| (record.state, record.attempts));
            assert_eq!(found, known.map(|known| (known.state, known.attempts)), "record: {}", url.key());
            assert!(known.is_none() || answer != Some(false), "the filter says absent: {}", url.key());
        }
    }

    /// When all is finished and merged: that every host is there, and none waits.
    pub(super) fn look_at_hosts(&self) {
        let frontier = self.frontier();
        let statistics = Statistics::collect(&frontier.shared).expect("answers");
        let known: BTreeSet<usize> = self.model.known.urls.keys().map(|n| host_of(*n)).collect();
        assert_eq!(statistics.hosts_waiting, 0, "a host waits with nothing to do");
        assert!((known.len()..=HOSTS.len()).contains(&(statistics.hosts as usize)), "{} hosts", statistics.hosts);
        let mut counts = [0; HOSTS.len()];
        for partition in &frontier.shared.partitions {
            let covered = partition.state.lock().covered.sequence;
            let each = |name: &str, host: &StoredHost| {
                assert_eq!(host.counts.queued, 0, "queued of {name}");
                let place = HOSTS.iter().position(|host| url_of_host(host) == name).expect("a host of this web");
                counts[place] += host.counts.urls;
            };
            partition.store.hosts(covered, each).expect("reads");
        }
        for (host, count) in counts.into_iter().enumerate() {
            let known = self.model.known.urls.keys().filter(|n| host_of(**n) == host).count();
            assert_eq!(count, known as i64, "URLs of {}", HOSTS[host]);
        }
    }

    /// That nothing has gone astray meanwhile.
    pub(super) fn look(&self) {
        let books = |partition: &crate::partition::Partition| partition.state.lock().books;
        let mut all = crate::Books::default();
        self.frontier().shared.partitions.iter().map(books).for_each(|books| all.add(&books));
        self.model.known.check(&all);
    }
}
