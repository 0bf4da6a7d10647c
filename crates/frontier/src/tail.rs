//! The URLs of a host that are not merged yet, in the order in which they go out: by priority, then as they came.
//!
//! Not whether one still stands there: its entry in memory says so. Invariant: a class that is listed has a URL.

use std::collections::VecDeque;

use crate::fingerprint::Fingerprint;
use crate::found::Priority;
use crate::memory::Order;

/// The unmerged end of a host's queue. Nearly always of one class, so a list does.
#[derive(Debug, Default)]
pub(crate) struct Tail(Vec<(Priority, VecDeque<(Fingerprint, Order)>)>);

/// The URL that is next, with its class.
pub(crate) type Front = (Priority, Fingerprint, Order);

impl Tail {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn front(&self) -> Option<Front> {
        let (priority, urls) = self.0.first()?;
        urls.front().map(|(fingerprint, order)| (*priority, *fingerprint, *order))
    }

    pub(crate) fn pop_front(&mut self) {
        if let Some((_, urls)) = self.0.first_mut() {
            urls.pop_front();
            if urls.is_empty() {
                self.0.remove(0);
            }
        }
    }

    pub(crate) fn push(&mut self, priority: Priority, fingerprint: Fingerprint, order: Order) {
        let place = match self.0.binary_search_by_key(&priority, |(class, _)| *class) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (priority, VecDeque::new()));
                place
            }
        };
        self.0[place].1.push_back((fingerprint, order));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_class_goes_out_first_and_each_as_it_came() {
        let mut tail = Tail::default();
        let pushed = [(4, 1), (4, 2), (0, 3), (7, 4), (0, 5), (4, 6)];
        for (class, place) in pushed {
            let order = Order { sequence: 1, place };
            tail.push(Priority::new(class), Fingerprint::default(), order);
        }
        let mut out = Vec::new();
        while let Some((class, _, order)) = tail.front() {
            out.push((class.class(), order.place));
            tail.pop_front();
        }
        assert_eq!(out, [(0, 3), (0, 5), (4, 1), (4, 2), (4, 6), (7, 4)]);
        assert!(tail.is_empty());
    }
}
