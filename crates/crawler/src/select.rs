//! Which of the known URLs the options `--host`, `--prefix`, `--older-than`, `--status` and `--state` mean.
//!
//! Not the search for them; that is the frontier's. Invariant: a selection that is not understood selects nothing, and
//! says why.

use std::ops::RangeInclusive;

use frontier::{Millis, Rules, Selection};

use crate::cli::Select;

/// The selection at this time in a crawl of these rules, or what is wrong with it, whatever the rules.
///
/// # Errors
/// Names the option and the text.
pub fn selection(select: &Select, rules: &Rules, now: Millis) -> Result<Selection, String> {
    let place = match (&select.host, &select.prefix) {
        (Some(_), Some(_)) => return Err("--host and --prefix: only one of them".to_owned()),
        (Some(host), None) => Selection::of_host(rules, host).map_err(|error| format!("--host {host:?}: {error}"))?,
        (None, Some(url)) => Selection::of_prefix(rules, url).map_err(|error| format!("--prefix {url:?}: {error}"))?,
        (None, None) => Selection::everything(),
    };
    let mut selection = match &select.state {
        None => place,
        Some(word) => place.in_state(word).ok_or_else(|| format!("--state {word:?}: there is no such state"))?,
    };
    if let Some(text) = &select.older_than {
        let secs = age_secs(text).ok_or_else(|| format!("--older-than {text:?}: not an age like 30d, 12h or 45m"))?;
        let before = (now / 1000).saturating_sub(secs);
        selection.first_seen_before_secs = Some(u32::try_from(before).unwrap_or(u32::MAX));
    }
    if let Some(text) = &select.status {
        let what = "not a status like 404, 5xx, 200-299 or -4";
        selection.status = Some(status(text).ok_or_else(|| format!("--status {text:?}: {what}"))?);
    }
    Ok(selection)
}

/// A number of seconds, minutes, hours, days or weeks.
fn age_secs(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let secs = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    digits(&text[..text.len() - 1])?.checked_mul(secs)
}

fn status(text: &str) -> Option<RangeInclusive<i16>> {
    if let Some(hundred) = text.strip_suffix("xx") {
        let hundred = i16::try_from(digits(hundred)?).ok().filter(|n| (1..=9).contains(n))?;
        return Some(hundred * 100..=hundred * 100 + 99);
    }
    if let Some(code) = text.strip_prefix('-') {
        let code = -i16::try_from(digits(code)?).ok()?;
        return Some(code..=code);
    }
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let [from, to] = [from, to].map(|text| digits(text).and_then(|n| i16::try_from(n).ok()));
    Some(from?..=to?).filter(|range| !range.is_empty())
}

/// Nothing but digits: no sign, no space.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_statuses_are_read_or_refused() {
        for (text, secs) in [("45s", 45), ("90m", 5400), ("12h", 43_200), ("30d", 2_592_000), ("2w", 1_209_600)] {
            assert_eq!(age_secs(text), Some(secs), "{text}");
        }
        for text in ["", "d", "30", "-1d", "1.5h", "30 d", "1y", "99999999999999999999d", "1é"] {
            assert_eq!(age_secs(text), None, "{text}");
        }
        for (text, range) in [("404", 404..=404), ("5xx", 500..=599), ("200-299", 200..=299), ("-4", -4..=-4)] {
            assert_eq!(status(text), Some(range), "{text}");
        }
        for text in ["", "xx", "0xx", "10xx", "+404", "299-200", "-", "--4", "4-", "40000", "4 4"] {
            assert_eq!(status(text), None, "{text}");
        }
    }

    #[test]
    fn every_mistake_names_its_option() {
        let select = |change: fn(&mut Select)| {
            let mut select = Select::default();
            change(&mut select);
            selection(&select, &Rules::default(), 1_000_000)
        };
        let old = select(|s| s.older_than = Some("10m".into())).expect("is understood");
        assert_eq!(old.first_seen_before_secs, Some(400));
        let older_than_time = select(|s| s.older_than = Some("1w".into())).expect("is understood");
        assert_eq!(older_than_time.first_seen_before_secs, Some(0));
        for (change, option) in [
            ((|s| s.host = Some("a/b".into())) as fn(&mut Select), "--host"),
            (|s| s.prefix = Some("a/b".into()), "--prefix"),
            (|s| s.older_than = Some("long".into()), "--older-than"),
            (|s| s.status = Some("bad".into()), "--status"),
            (|s| s.state = Some("forgotten".into()), "--state"),
            (|s| (s.host, s.prefix) = (Some("a.test".into()), Some("http://a.test".into())), "--host and --prefix"),
        ] {
            let error = select(change).expect_err(option);
            assert!(error.starts_with(option), "{error}");
        }
    }
}
