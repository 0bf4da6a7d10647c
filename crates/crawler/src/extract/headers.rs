//! Links in the head of a response: `Link` (RFC 8288) and `Refresh`.
//!
//! Not HTTP: it sees the text of a header. Invariant: the URLs are relative to the page's own URL, never to a `<base>`,
//! and the cost is linear.

use super::found::Found;
use super::kinds::{LinkKind, Source};
use super::{refresh, rules};
use url::Url;

/// Adds the links of both headers to what was found. More than one `Link` header are one, joined by commas.
pub(super) fn read(link: Option<&str>, refresh: Option<&str>, document: &Url, found: &mut Found) {
    for value in link.iter().flat_map(|text| values(text)) {
        let rel = value.rel.as_deref().unwrap_or_default();
        // With an anchor it is a link of another resource than the page.
        if let (Some(kind), None) = (rules::link_kind(rel, found.settings.take()), &value.anchor) {
            found.add_relative_to(document, value.target, Source::new(kind, "header", "link"), Some(rel));
        }
    }
    if let Some(target) = refresh.and_then(refresh::target)
        && found.settings.links.has(LinkKind::Refresh)
    {
        found.add_relative_to(document, target, Source::new(LinkKind::Refresh, "header", "refresh"), None);
    }
}

#[derive(Debug, Default, PartialEq)]
struct Value<'a> {
    target: &'a str,
    rel: Option<String>,
    anchor: Option<String>,
}

/// The values of a `Link` header, by RFC 8288, appendix B.2. What is no value is skipped up to the next comma.
fn values(mut rest: &str) -> Vec<Value<'_>> {
    let mut values = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return values;
        }
        let Some(in_brackets) = rest.strip_prefix('<') else {
            rest = rest.find(',').map_or("", |comma| &rest[comma..]);
            continue;
        };
        let Some((target, after)) = in_brackets.split_once('>') else {
            return values;
        };
        let mut value = Value { target, ..Value::default() };
        rest = parameters(after, &mut value);
        values.push(value);
    }
}

/// Reads the parameters of one value; gives what follows the comma that ends it. The first of a name counts.
fn parameters<'a>(mut rest: &'a str, value: &mut Value<'_>) -> &'a str {
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        if rest.is_empty() || rest.starts_with(',') {
            return rest;
        }
        let name_end = rest.find([' ', '\t', '=', ';', ',']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        rest = after.trim_start_matches([' ', '\t']);
        let mut text = String::new();
        if let Some(after) = rest.strip_prefix('=') {
            rest = parameter_value(after.trim_start_matches([' ', '\t']), &mut text);
        }
        let place = if name.eq_ignore_ascii_case("rel") {
            &mut value.rel
        } else if name.eq_ignore_ascii_case("anchor") {
            &mut value.anchor
        } else {
            continue;
        };
        place.get_or_insert(text);
    }
}

/// Reads a token or a quoted string; gives what follows it.
fn parameter_value<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some(quoted) = rest.strip_prefix('"') else {
        let (token, after) = rest.split_at(rest.find([';', ',']).unwrap_or(rest.len()));
        text.push_str(token.trim_end_matches([' ', '\t']));
        return after;
    };
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return &quoted[at + 1..],
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => text.push(c),
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_headers() {
        let check = |text, want: &[(&str, Option<&str>, Option<&str>)]| {
            let got = values(text);
            let got: Vec<_> = got.iter().map(|v| (v.target, v.rel.as_deref(), v.anchor.as_deref())).collect();
            assert_eq!(got, want, "{text}");
        };
        check("", &[]);
        check("<a>; rel=next", &[("a", Some("next"), None)]);
        check(
            "<a> ;\tREL = \"next prev\" ; title=\"x, <b>; y\" , <c>",
            &[("a", Some("next prev"), None), ("c", None, None)],
        );
        check("<a,b;c>;rel=next;rel=prev", &[("a,b;c", Some("next"), None)]);
        check("<a>; rel=\"ne\\xt\"; anchor=\"#x\"", &[("a", Some("next"), Some("#x"))]);
        check("<a>; rel=\"next", &[("a", Some("next"), None)]);
        check("nonsense, <a>; rel=next, <never closed", &[("a", Some("next"), None)]);
        check("<a>;;;rel;x=y,,,<b>;=;rel=up", &[("a", Some(""), None), ("b", Some("up"), None)]);
        check("<a> rel=next", &[("a", Some("next"), None)]);
    }

    proptest::proptest! {
        #[test]
        fn any_header_ends(text in "[<>;,=\"\\\\ a\u{e9}]{0,60}") {
            values(&text);
        }
    }
}
