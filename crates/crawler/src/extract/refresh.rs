//! The URL in `<meta http-equiv=refresh content="5; url=next.html">`.
//!
//! Not a clock: the delay is parsed only to find what follows it. The steps are those of the
//! HTML standard, section 4.2.5.3 "shared declarative refresh steps".

/// The URL text of a refresh directive; none if it is malformed or only reloads the page.
pub(super) fn target(content: &str) -> Option<&str> {
    let rest = skip_space(content);
    let after_digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if after_digits.len() == rest.len() && !rest.starts_with('.') {
        return None;
    }
    let rest = after_digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let after_space = skip_space(rest);
    let after_sign = after_space.strip_prefix([';', ',']);
    if after_sign.is_none() && after_space.len() == rest.len() {
        return None;
    }
    let rest = skip_space(after_sign.unwrap_or(after_space));
    let url = match after_url_sign(rest) {
        UrlSign::Absent => unquoted(rest),
        UrlSign::Broken => rest,
        UrlSign::Present(value) => unquoted(value),
    };
    (!url.is_empty()).then_some(url)
}

enum UrlSign<'a> {
    /// Does not begin with a `u`: may be in quotes.
    Absent,
    /// Begins like `url=` but is not: taken whole.
    Broken,
    Present(&'a str),
}

fn after_url_sign(rest: &str) -> UrlSign<'_> {
    if !rest.starts_with(['u', 'U']) {
        return UrlSign::Absent;
    }
    let is_word = rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("url"));
    let value = is_word.then(|| skip_space(&rest[3..]).strip_prefix('='));
    match value.flatten() {
        Some(value) => UrlSign::Present(skip_space(value)),
        None => UrlSign::Broken,
    }
}

fn unquoted(value: &str) -> &str {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &value[1..];
            inner.find(quote).map_or(inner, |end| &inner[..end])
        }
        _ => value,
    }
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' '])
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn directives() {
        let check = |content, want| assert_eq!(target(content), want, "{content:?}");
        check("0; url=next.html", Some("next.html"));
        check("5;URL='next page.html' ignored", Some("next page.html"));
        check(" 1.5 , Url = \"a\"", Some("a"));
        check(".5;url=a", Some("a"));
        check("0 next.html", Some("next.html"));
        check("0;'next.html'", Some("next.html"));
        check("0;urn:isbn:1", Some("urn:isbn:1"));
        check("0;url", Some("url"));
        check("0;url='unclosed", Some("unclosed"));
        check("5", None);
        check("5;", None);
        check("0;url=", None);
        check("", None);
        check("next.html", None);
        check("0x;url=a", None);
        check("-1;url=a", None);
        check("0;\u{20ac}uro", Some("\u{20ac}uro"));
        check("0;u\u{20ac}", Some("u\u{20ac}"));
    }
}
