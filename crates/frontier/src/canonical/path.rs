//! What rules do to a path.
//!
//! Not the query. Invariant: a path starts with `/` before and after, and no `.` or `..` segment comes into being: those
//! would mean another path. Each function gives `None` where it changes nothing.

use super::escapes::is_escape;
use super::parameters::is_session_id;

/// Names under which servers show what is at `/`: one of these, a dot …
pub(super) const INDEX_STEMS: &[&str] = &["default", "index"];

/// … and one of these.
pub(super) const INDEX_EXTENSIONS: &[&str] = &[
    "asp", "aspx", "cfm", "cgi", "htm", "html", "jsp", "jspx", "php", "php3", "php4", "php5", "phtml", "pl", "shtml",
    "xhtml",
];

/// Fewest characters of a ticket that ASP.NET writes into the path (its session ids have 24).
const MIN_TICKET: usize = 16;

/// Characters of a session id of ASP.NET, of the alphabet `a` to `z` and `0` to `5`.
const PLAIN_TICKET: usize = 24;

/// Without `;jsessionid=…` and its like, and without ASP.NET's `(S(…))` segments.
pub(super) fn without_session_ids(path: &str) -> Option<String> {
    if !path.as_bytes().contains(&b';') && !path.as_bytes().contains(&b'(') {
        return None;
    }
    let mut out = String::with_capacity(path.len());
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let start = out.len();
        out.push('/');
        let mut pieces = segment.split(';');
        let name = pieces.next().unwrap_or_default();
        out.push_str(name);
        for piece in pieces {
            let (key, value) = piece.split_once('=').unwrap_or((piece, ""));
            if is_dot_segment(name) || !is_session_id(key, value, "") {
                out.push(';');
                out.push_str(piece);
            }
        }
        if segments.peek().is_some() && is_ticket(&out[start + 1..]) {
            out.truncate(start);
        }
    }
    (out != path).then_some(out)
}

/// `.` and `..` as the WHATWG standard knows them.
fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

/// `(S(lit3py55t21z5v55vlm25s55))`, or with further letters: anonymous (A) and forms (F) tickets; in ASP.NET 1 just
/// `(lit3py55t21z5v55vlm25s55)`.
fn is_ticket(segment: &str) -> bool {
    let Some(inside) = segment.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return false };
    let is_plain = inside.len() == PLAIN_TICKET && inside.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'5'));
    let is_lettered = |ticket: &str| match ticket.as_bytes() {
        [letter, b'(', id @ ..] => {
            letter.is_ascii_alphabetic()
                && id.len() >= MIN_TICKET
                && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        }
        _ => false,
    };
    is_plain || inside.strip_suffix(')').is_some_and(|tickets| tickets.split(')').all(is_lettered))
}

/// In lower case, but for the hex digits of escapes.
pub(super) fn lower_case(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let in_escape = |at: usize| (at.saturating_sub(2)..at).any(|start| is_escape(bytes, start));
    let lower = |(at, c): (usize, char)| if in_escape(at) { c } else { c.to_ascii_lowercase() };
    if !path.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let out: String = path.char_indices().map(lower).collect();
    (out != path).then_some(out)
}

/// With single slashes.
pub(super) fn single_slashes(path: &str) -> Option<String> {
    path.contains("//").then(|| {
        let mut out = String::with_capacity(path.len());
        for c in path.chars() {
            if c != '/' || !out.ends_with('/') {
                out.push(c);
            }
        }
        out
    })
}

/// Without slashes at the end; the root stays.
pub(super) fn without_trailing_slash(path: &str) -> Option<String> {
    let stem = path.trim_end_matches('/');
    (path.len() > 1 && stem.len() < path.len()).then(|| if stem.is_empty() { "/".into() } else { stem.into() })
}

/// Without the name of an index page; what is left ends with a slash, unless those are `folded` too.
pub(super) fn without_index_page(path: &str, folded: bool) -> Option<String> {
    let (folder, name) = path.rsplit_once('/')?;
    let (stem, extension) = name.split_once('.')?;
    let is_one = |of: &[&str], name: &str| of.iter().any(|known| known.eq_ignore_ascii_case(name));
    if !is_one(INDEX_STEMS, stem) || !is_one(INDEX_EXTENSIONS, extension) {
        return None;
    }
    let rest = format!("{folder}/");
    if !folded {
        return Some(rest);
    }
    // `/index.html/index.html` would else be two steps away from its end.
    let rest = without_trailing_slash(&rest).unwrap_or(rest);
    Some(without_index_page(&rest, folded).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: impl Fn(&str) -> Option<String>, rows: &[(&str, &str)]) {
        for (path, expect) in rows {
            let once = rule(path).unwrap_or_else(|| (*path).to_owned());
            assert_eq!(once, *expect, "{path}");
            assert_eq!(rule(&once), None, "{path} again");
        }
    }

    #[test]
    fn session_ids_in_paths() {
        check(
            without_session_ids,
            &[
                ("/a;jsessionid=1E6FEC0D14D044541DD84D2D013D29ED", "/a"),
                ("/a;JSESSIONID=x;v=1/b;jsessionid=y", "/a;v=1/b"),
                ("/a;v=1", "/a;v=1"),
                ("/..;jsessionid=x", "/..;jsessionid=x"),
                ("/%2E%2e;jsessionid=x/b", "/%2E%2e;jsessionid=x/b"),
                ("/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", "/orders.aspx"),
                ("/x/(A(0123456789abcdefABCD)S(lit3py55t21z5v55vlm25s55))/y", "/x/y"),
                ("/x/(S(lit3py55t21z5v55vlm25s55))", "/x/(S(lit3py55t21z5v55vlm25s55))"),
                ("/(4hqa0555fwsecu455xqckv45)/a.aspx", "/a.aspx"),
                ("/(introduction-to-the-book)/a", "/(introduction-to-the-book)/a"),
                ("/f(x)/(S(short))/g", "/f(x)/(S(short))/g"),
                ("/()/(/", "/()/(/"),
            ],
        );
    }

    #[test]
    fn case_slashes_and_index_pages() {
        check(lower_case, &[("/A%2FB%c3É", "/a%2Fb%c3É"), ("/%A/%%4A", "/%a/%%4A"), ("/a", "/a")]);
        check(single_slashes, &[("//a///b//", "/a/b/"), ("/", "/")]);
        check(without_trailing_slash, &[("/", "/"), ("//", "/"), ("/a//", "/a"), ("/a", "/a")]);
        check(
            |path| without_index_page(path, false),
            &[
                ("/index.html", "/"),
                ("/a/Default.ASPX", "/a/"),
                ("/index.html/", "/index.html/"),
                ("/xindex.html", "/xindex.html"),
            ],
        );
        check(
            |path| without_index_page(path, true),
            &[("/a/index.html", "/a"), ("/index.php/index.html", "/"), ("/index.html", "/")],
        );
    }
}
