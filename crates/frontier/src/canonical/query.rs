//! What rules do to a query.
//!
//! Not which parameters those are (`parameters`). A query is its pieces between `&`; nothing is decoded, so that what stays
//! is written as it was: `?a` is not `?a=`. Invariant: pieces are dropped or moved, never changed.

use std::borrow::Cow;

use ahash::AHashSet;

/// Pieces up to which every one is compared with every other, without a set.
const FEW: usize = 16;

/// Drops each piece of which name, value and whole query are judged so; a query that loses its last piece is gone. True if
/// one went.
pub(super) fn drop_pieces(query: &mut Option<Cow<'_, str>>, is_out: impl Fn(&str, &str, &str) -> bool) -> bool {
    let Some(text) = query else { return false };
    let judge = |piece: &str| {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        is_out(name, value, text)
    };
    let Some(first) = text.split('&').position(judge) else { return false };
    let mut kept: Vec<&str> = text.split('&').take(first).collect();
    kept.extend(text.split('&').skip(first + 1).filter(|piece| !judge(piece)));
    let kept = kept.join("&");
    *query = (!kept.is_empty()).then_some(Cow::Owned(kept));
    true
}

/// Drops each piece that stands in the query already. True if one went.
pub(super) fn drop_repeated(query: &mut Option<Cow<'_, str>>) -> bool {
    let Some(text) = query else { return false };
    if !has_repeated(text) {
        return false;
    }
    let mut known = AHashSet::new();
    let kept: Vec<&str> = text.split('&').filter(|piece| known.insert(*piece)).collect();
    let kept = kept.join("&");
    *query = (!kept.is_empty()).then_some(Cow::Owned(kept));
    true
}

fn has_repeated(text: &str) -> bool {
    let mut pieces = text.split('&');
    let mut few = [""; FEW];
    for (count, piece) in pieces.by_ref().take(FEW).enumerate() {
        if few[..count].contains(&piece) {
            return true;
        }
        few[count] = piece;
    }
    // A page may have made it long so that comparing takes long.
    let Some(next) = pieces.next() else { return false };
    let mut known: AHashSet<&str> = few.into_iter().collect();
    !known.insert(next) || pieces.any(|piece| !known.insert(piece))
}

/// Sorts the pieces by name; those of one name stay in their order, which may mean something. True if one moved.
pub(super) fn sort(query: &mut Option<Cow<'_, str>>) -> bool {
    let Some(text) = query else { return false };
    let name = |piece: &&str| piece.split_once('=').map_or(*piece, |(name, _)| name).len();
    let mut pieces: Vec<&str> = text.split('&').collect();
    if pieces.is_sorted_by(|a, b| a[..name(a)] <= b[..name(b)]) {
        return false;
    }
    pieces.sort_by(|a, b| a[..name(a)].cmp(&b[..name(b)]));
    *query = Some(Cow::Owned(pieces.join("&")));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: impl Fn(&mut Option<Cow<'_, str>>) -> bool, rows: &[(&str, Option<&str>)]) {
        for (text, expect) in rows {
            let mut query = Some(Cow::Borrowed(*text));
            let changed = rule(&mut query);
            assert_eq!(query.as_deref(), *expect, "{text}");
            assert_eq!(changed, query.as_deref() != Some(text), "{text}");
            assert!(!rule(&mut query), "{text} again");
        }
    }

    #[test]
    fn what_is_dropped_leaves_the_rest_as_it_was() {
        check(
            |query| drop_pieces(query, |name, value, _| name == "x" && value != "keep"),
            &[
                ("a&b=&&c=%20+", Some("a&b=&&c=%20+")),
                ("x=1&a", Some("a")),
                ("a&x=1", Some("a")),
                ("a&x&b=1&x=keep&x=", Some("a&b=1&x=keep")),
                ("x=1", None),
                ("x&x=2", None),
                ("", Some("")),
            ],
        );
    }

    #[test]
    fn what_is_repeated_stays_once() {
        let many: String = (0..40).map(|n| format!("{}&", n % 20)).collect();
        let once: String = (0..20).map(|n| format!("{n}&")).collect();
        check(
            drop_repeated,
            &[
                ("q=&q=", Some("q=")),
                ("a=1&a=2&b&a=1", Some("a=1&a=2&b")),
                ("a&&b&", Some("a&&b")),
                ("&", None),
                ("a&a=", Some("a&a=")),
                ("a", Some("a")),
                (&many, Some(&once)),
            ],
        );
    }

    #[test]
    fn sorting_is_by_name_and_stable() {
        check(
            sort,
            &[("b=1&a=2&a=1", Some("a=2&a=1&b=1")), ("a=2&a=1&b", Some("a=2&a=1&b")), ("a-b&a=1", Some("a=1&a-b"))],
        );
    }
}
