//! Which URLs look like a crawler trap: spaces without end that one site makes of its own links.
//!
//! A rule sees one URL and nothing else: calendars and faceted searches that make decent URLs without end are for depth
//! and budgets. Not the scope ([`scope`](crate::scope)) and not for seeds: whoever gives a seed wants it. Invariant: a
//! judgement allocates nothing, and its cost is bounded by the URL's length.

use crate::config::Traps;

/// Segments of a path that are compared with each other; those beyond repeat as they like.
const MAX_COMPARED: usize = 256;

/// The rule that a URL breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trap {
    /// More than `traps.max_path_segments`.
    PathSegments,
    /// One segment occurs more often than `traps.max_repeated_segments`.
    RepeatedSegments,
    /// A query of more than `traps.max_query_bytes`.
    QueryBytes,
    /// More than `traps.max_query_parameters`.
    QueryParameters,
}

/// The first rule that a fetch URL (WHATWG-serialised, without fragment) breaks, if it breaks any.
pub fn judge(rules: &Traps, url: &str) -> Option<Trap> {
    let (path, query) = path_and_query(url);
    let is_over = |count: usize, limit: u32| limit > 0 && count > limit as usize;
    if let Some(query) = query {
        if is_over(query.len(), rules.max_query_bytes) {
            return Some(Trap::QueryBytes);
        }
        if is_over(parts(query, b'&'), rules.max_query_parameters) {
            return Some(Trap::QueryParameters);
        }
    }
    let segments = parts(path, b'/');
    if is_over(segments, rules.max_path_segments) {
        return Some(Trap::PathSegments);
    }
    // Fewer segments than may be alike cannot be too many of a kind.
    let repeats = is_over(segments, rules.max_repeated_segments) && is_repeating(path, rules.max_repeated_segments);
    repeats.then_some(Trap::RepeatedSegments)
}

fn path_and_query(url: &str) -> (&str, Option<&str>) {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = &after_scheme[after_scheme.find(['/', '?']).unwrap_or(after_scheme.len())..];
    match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    }
}

/// Parts that are not empty.
fn parts(text: &str, separator: u8) -> usize {
    let mut count = 0;
    let mut before = separator;
    for byte in text.bytes() {
        count += usize::from(before == separator && byte != separator);
        before = byte;
    }
    count
}

/// Whether one segment occurs more than `most` times.
fn is_repeating(path: &str, most: u32) -> bool {
    let segments = || path.split('/').filter(|segment| !segment.is_empty()).take(MAX_COMPARED);
    segments().enumerate().any(|(i, segment)| {
        // Those before it were counted from their own first place on.
        segments().skip(i).filter(|other| *other == segment).count() > most as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_and_its_limit() {
        let rules =
            Traps { max_path_segments: 5, max_repeated_segments: 2, max_query_bytes: 20, max_query_parameters: 3 };
        let check = |rest: &str, expect: Option<Trap>| {
            for host in ["http://a.test", "https://u:p@a.test:81", "http://[::1]"] {
                assert_eq!(judge(&rules, &format!("{host}{rest}")), expect, "{host}{rest}");
            }
        };
        check("/", None);
        check("/?", None);
        check("/1/2/3/4/5", None);
        check("/1/2/3/4/5/", None);
        check("//1//2//3//4//5//", None);
        check("/1/2/3/4/5/6", Some(Trap::PathSegments));
        check("/a/b/a/b", None);
        check("/a/b/a/b/a", Some(Trap::RepeatedSegments));
        check("/x/a/a/a", Some(Trap::RepeatedSegments));
        check("/a/aa/aaa/a", None);
        check("/?12345678901234567890", None);
        check("/?123456789012345678901", Some(Trap::QueryBytes));
        check("/?a=1&b=2&c=3", None);
        check("/?a=1&b=2&c=3&d", Some(Trap::QueryParameters));
        check("/?/a/a/a/a/a/a/a/a", None);
    }

    #[test]
    fn zero_is_no_limit_and_a_long_path_is_judged_in_bounded_time() {
        let none =
            Traps { max_path_segments: 0, max_repeated_segments: 0, max_query_bytes: 0, max_query_parameters: 0 };
        let long: String = (0..4000).map(|n| format!("/{n}")).collect();
        let url = format!("http://a.test{long}?{}", "a&".repeat(4000));
        assert_eq!(judge(&none, &url), None);
        let repeats = Traps { max_repeated_segments: 1, ..none };
        assert_eq!(judge(&repeats, &format!("http://a.test{long}/0")), None, "beyond what is compared");
        assert_eq!(judge(&repeats, &format!("http://a.test/0{long}")), Some(Trap::RepeatedSegments));
    }
}
