//! The records of one host after another, read ahead: each seek in a store goes through a whole leaf.
//!
//! Invariant: what is held is every record after `from`, up to the last one held or, at the end, to the last there is.

use std::collections::VecDeque;

use crate::error::Error;
use crate::store::{Store, StoredRecord};

/// Records read at a time.
const PIECE: usize = 1024;

/// A place among the records of one store.
pub(super) struct Records<'s> {
    store: &'s Store,
    from: String,
    read: VecDeque<(String, StoredRecord)>,
    end: bool,
}

impl<'s> Records<'s> {
    pub(super) fn new(store: &'s Store) -> Self {
        Self { store, from: String::new(), read: VecDeque::new(), end: false }
    }

    /// Goes to the first record after `key`, which is cheap if that has been read ahead.
    pub(super) fn seek(&mut self, key: &str) -> Result<(), Error> {
        let is_held = *key >= *self.from && (self.end || self.read.back().is_some_and(|(last, _)| **last > *key));
        if !is_held {
            return self.read_after(key);
        }
        while self.read.pop_front_if(|(next, _)| **next <= *key).is_some() {}
        self.from = key.to_owned();
        Ok(())
    }

    /// The next record, if its key starts like this.
    pub(super) fn next(&mut self, prefix: &str) -> Result<Option<(String, StoredRecord)>, Error> {
        if self.read.is_empty() && !self.end {
            let from = std::mem::take(&mut self.from);
            self.read_after(&from)?;
        }
        let next = self.read.pop_front_if(|(key, _)| key.starts_with(prefix));
        if let Some((key, _)) = &next {
            self.from.clone_from(key);
        }
        Ok(next)
    }

    fn read_after(&mut self, key: &str) -> Result<(), Error> {
        self.read = self.store.records("", Some(key), PIECE)?.into();
        self.end = self.read.len() < PIECE;
        self.from = key.to_owned();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, State};
    use crate::store::put_record;

    #[test]
    fn any_order_of_hosts_finds_all_their_records() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("blocks")).expect("a directory");
        let store = Store::open(&dir.path().join("store"), &dir.path().join("blocks"), 1 << 20).expect("opens");
        let record = Record::new(State::Fetched, 0, 0);
        // "!" comes before ")": the keys of the second host lie before those of the first.
        let hosts: [(&str, usize); 5] = [("com,a", 3), ("com,a!b", 2000), ("com,b", 0), ("com,c", 1024), ("com,d", 1)];
        let key = |host: &str, n: usize| format!("{host})/{n:05}");
        let keys = hosts.iter().flat_map(|(host, count)| (0..*count).map(move |n| key(host, n)));
        store.write(keys.map(|key| put_record(&key, &record, None, None)).collect()).expect("writes");
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 1, 0, 4, 2]] {
            let mut records = Records::new(&store);
            for (host, count) in order.map(|i: usize| hosts[i]) {
                let prefix = format!("{host})");
                records.seek(&prefix).expect("reads");
                let mut found = Vec::new();
                while let Some((key, _)) = records.next(&prefix).expect("reads") {
                    found.push(key);
                }
                assert_eq!(found, (0..count).map(|n| key(host, n)).collect::<Vec<_>>(), "{order:?}");
            }
        }
    }
}
