//! Whether the filter keeps what it predicts of itself, from line to line. Not a promise of the rate: that is the audit's.
//!
//! Invariant: a filter that is as good as its prediction raises no alarm but by a chance of less than one in a million.

use frontier::Statistics;

/// False positives so far, and what was predicted, at the last line.
#[derive(Debug, Clone, Copy)]
pub struct FilterWatch {
    absent: i64,
    false_positives: i64,
    predicted: f64,
}

impl FilterWatch {
    /// From this moment on.
    pub fn start(now: &Statistics) -> Self {
        Self {
            absent: now.books.filter_absent,
            false_positives: now.books.false_positives,
            predicted: now.false_positive_rate_predicted,
        }
    }

    /// The rate measured since the last call, if it is far above the predictions of then and now: more than twice the
    /// higher one, and five standard deviations beyond that.
    pub fn excess(&mut self, now: &Statistics) -> Option<f64> {
        let before = std::mem::replace(self, Self::start(now));
        let found = (self.false_positives - before.false_positives) as f64;
        let tried = found + (self.absent - before.absent) as f64;
        let twice = 2.0 * tried * self.predicted.max(before.predicted);
        // Counts of rare events have a standard deviation of their root; 10 keep one or two of few from being many.
        (found > twice + 5.0 * twice.sqrt() + 10.0).then(|| found / tried)
    }
}

#[cfg(test)]
mod tests {
    use frontier::Books;

    use super::*;

    fn at(absent: i64, false_positives: i64, predicted: f64) -> Statistics {
        let books = Books { filter_absent: absent, false_positives, ..Books::default() };
        Statistics { books, false_positive_rate_predicted: predicted, ..Statistics::default() }
    }

    #[test]
    fn only_what_is_far_above_the_prediction_is_told() {
        let check = |absent: i64, false_positives: i64, predicted, expect: Option<f64>| {
            let mut watch = FilterWatch::start(&at(5_000, 40, 0.005));
            let found = watch.excess(&at(5_000 + absent, 40 + false_positives, predicted));
            assert_eq!(found, expect, "{absent} {false_positives} {predicted}");
            assert_eq!(watch.excess(&at(5_000 + absent, 40 + false_positives, predicted)), None, "told once");
        };
        check(0, 0, 0.01, None);
        check(9_900, 100, 0.01, None);
        check(9_800, 200, 0.01, None);
        check(9_500, 500, 0.01, Some(0.05));
        // What was so before a rebuild is no news after it.
        check(9_950, 50, 0.0001, None);
        check(15, 9, 0.0, None);
    }
}
