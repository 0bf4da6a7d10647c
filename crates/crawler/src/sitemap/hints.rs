//! What the words of an entry say, in those of the frontier: when it changed, how often it does, how much it matters.
//!
//! Not what is made of it (the frontier's `hinting`). Invariant: a word that cannot be read says nothing.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::fmt::{rfc2822, temporal};
use jiff::tz::TimeZone;

use super::Entry;

const DAY_SECS: u32 = 86_400;

/// Seconds between two changes, by word (sitemaps.org, `changefreq`). "Always" is at each visit: the shortest interval that
/// the config allows; "never" is an archive: the longest.
const INTERVALS: [(&str, u32); 7] = [
    ("always", 1),
    ("hourly", 3600),
    ("daily", DAY_SECS),
    ("weekly", 7 * DAY_SECS),
    ("monthly", 30 * DAY_SECS),
    ("yearly", 365 * DAY_SECS),
    ("never", u32::MAX),
];

impl Entry {
    /// When the page was last changed, in seconds since the Unix epoch: W3C datetime (also without a zone, which is taken
    /// for UTC, and with less than a day), or the date of RFC 822 that feeds use. Of a day, a month or a year, its
    /// beginning.
    pub fn changed_at_secs(&self) -> Option<u32> {
        let text = self.lastmod.as_deref()?;
        let at = timestamp(text).or_else(|| beginning(text))?;
        u32::try_from(at.as_second()).ok()
    }

    /// How often the page changes: its interval, in seconds.
    pub fn interval_secs(&self) -> Option<u32> {
        let word = self.changefreq.as_deref()?;
        INTERVALS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, secs)| *secs)
    }

    /// How many classes before (below zero) or behind the others of its host it goes out, where at most `most` are given:
    /// 0.5, which is what an entry without a word has, is none of them.
    pub fn class_shift(&self, most: u8) -> i32 {
        let priority = self.priority.as_deref().and_then(|text| text.parse::<f64>().ok());
        let priority = priority.filter(|priority| (0.0..=1.0).contains(priority)).unwrap_or(0.5);
        ((0.5 - priority) * 2.0 * f64::from(most)).round() as i32
    }
}

fn timestamp(text: &str) -> Option<Timestamp> {
    const W3C: temporal::DateTimeParser = temporal::DateTimeParser::new();
    const RFC822: rfc2822::DateTimeParser = rfc2822::DateTimeParser::new().relaxed_weekday(true);
    W3C.parse_timestamp(text).or_else(|_| RFC822.parse_timestamp(text)).ok()
}

/// The first moment of what has no zone, or no day.
fn beginning(text: &str) -> Option<Timestamp> {
    let whole = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        _ => text.to_owned(),
    };
    let at = whole.parse::<DateTime>().or_else(|_| whole.parse::<Date>().map(DateTime::from)).ok()?;
    at.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let check = |text: &str, want: Option<u32>| {
            let entry = Entry { lastmod: Some(text.to_owned()), ..Entry::default() };
            assert_eq!(entry.changed_at_secs(), want, "{text}");
        };
        check("2004-10-01T18:23:17+00:00", Some(1_096_654_997));
        check("2004-10-01T18:23:17.5Z", Some(1_096_654_997));
        check("2004-10-01T18:23+02:00", Some(1_096_647_780));
        check("2004-10-01T18:23:17", Some(1_096_654_997));
        check("2004-10-01 18:23:17", Some(1_096_654_997));
        check("2004-10-01", Some(1_096_588_800));
        check("2004-10", Some(1_096_588_800));
        check("2004", Some(1_072_915_200));
        check("Fri, 01 Oct 2004 18:23:17 GMT", Some(1_096_654_997));
        check("Mon, 1 Oct 2004 18:23:17 +0000", Some(1_096_654_997));
        check("1 Oct 04 13:23:17 EST", Some(1_096_654_997));
        check("1969-12-31", None);
        check("2004-13-01", None);
        check("yesterday", None);
        check("9999-12-31", None);
        check("", None);
    }

    #[test]
    fn intervals_and_classes() {
        let entry = |changefreq: &str, priority: &str| Entry {
            changefreq: Some(changefreq.to_owned()),
            priority: Some(priority.to_owned()),
            ..Entry::default()
        };
        let check = |word, want| assert_eq!(entry(word, "").interval_secs(), want, "{word}");
        check("Daily", Some(86_400));
        check("always", Some(1));
        check("never", Some(u32::MAX));
        check("often", None);
        let check = |priority, want: [i32; 3]| {
            assert_eq!([0, 2, 7].map(|most| entry("", priority).class_shift(most)), want, "{priority}");
        };
        check("1.0", [0, -2, -7]);
        check("0.8", [0, -1, -4]);
        check("0.5", [0, 0, 0]);
        check("0", [0, 2, 7]);
        check("10", [0, 0, 0]);
        check("NaN", [0, 0, 0]);
        check("high", [0, 0, 0]);
    }
}
