//! The switches of the rules, as a config names them and a data directory records them.
//!
//! Not the rules (`rules`). Invariant: options are valid as they are; a [`Rewrite`] is compiled when it is made.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use url::Host;

/// Memory that one compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Which rules are on, in the order in which they are applied (but for `rewrites`, which follow
/// `fold_percent_encoding`). The default is what cannot change the resource, and what is known to be noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleOptions {
    /// `http` and `https` are one. Off: a site may serve different pages, and one of the two may not answer.
    pub fold_scheme: bool,
    /// `user:password@` is left out. Off: what is shown depends on who asks.
    pub drop_userinfo: bool,
    /// `example.com.` is `example.com`.
    pub fold_trailing_dot: bool,
    /// `www.example.com` is `example.com`. Off: mostly so, but not by any standard.
    pub fold_www: bool,
    /// `%7e` is `~`, `%c3` is `%C3` and `|` is `%7C` (RFC 3986 sections 2 and 6.2.2); a stray `%` stays.
    pub fold_percent_encoding: bool,
    /// `;jsessionid=…`, `PHPSESSID=…` and other known session ids are left out.
    pub drop_session_ids: bool,
    /// Letters of the path in lower case. Off: paths are case-sensitive, on most servers.
    pub fold_path_case: bool,
    /// `//` in the path is `/`. Off: an empty segment is a segment.
    pub fold_slashes: bool,
    /// `/a/` is `/a`. Off: relative links mean different pages there.
    pub fold_trailing_slash: bool,
    /// `/index.html`, `/index.php`, … are `/`. Off: mostly so, but not by any standard.
    pub drop_index_pages: bool,
    /// `utm_*`, `gclid`, `fbclid` and other known tracking parameters are left out.
    pub drop_tracking_parameters: bool,
    /// Parameters of these names are left out, too; `*` at the end stands for any rest. The case of letters does not
    /// matter.
    pub drop_parameters: Vec<String>,
    /// A parameter that is in the query already, with the same value, is left out: `?q=&q=` is `?q=`.
    pub drop_repeated_parameters: bool,
    /// Parameters sorted by name. Off: order may mean something.
    pub sort_query: bool,
    /// `?` and nothing after it is nothing.
    pub fold_empty_query: bool,
    /// Replacements by regular expressions.
    pub rewrites: Vec<Rewrite>,
}

impl Default for RuleOptions {
    fn default() -> Self {
        Self {
            fold_trailing_dot: true,
            fold_percent_encoding: true,
            drop_session_ids: true,
            drop_tracking_parameters: true,
            drop_repeated_parameters: true,
            fold_empty_query: true,
            ..Self::none()
        }
    }
}

impl RuleOptions {
    /// Every rule off: a key for each URL.
    pub fn none() -> Self {
        Self {
            fold_scheme: false,
            drop_userinfo: false,
            fold_trailing_dot: false,
            fold_www: false,
            fold_percent_encoding: false,
            drop_session_ids: false,
            fold_path_case: false,
            fold_slashes: false,
            fold_trailing_slash: false,
            drop_index_pages: false,
            drop_tracking_parameters: false,
            drop_parameters: Vec::new(),
            drop_repeated_parameters: false,
            sort_query: false,
            fold_empty_query: false,
            rewrites: Vec::new(),
        }
    }

    /// Names of the rules that are not the same in `other`.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let fields = |options: &Self| match serde_json::to_value(options) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => unreachable!("options are a table of switches and lists"),
        };
        let (ours, theirs) = (fields(self), fields(other));
        ours.iter().filter(|(name, value)| theirs.get(*name) != Some(value)).map(|(name, _)| name.clone()).collect()
    }
}

/// A replacement in path and query, by a regular expression; every match is replaced.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Rewrite {
    host: Option<Box<str>>,
    pattern: Regex,
    replacement: Box<str>,
}

/// A [`Rewrite`] as text.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    pattern: String,
    replacement: String,
}

/// Why a [`Rewrite`] cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RewriteError {
    /// The pattern is not a regular expression, or one that is too large.
    #[error("not a regular expression: {0}")]
    Pattern(#[from] regex::Error),
    /// The replacement holds what a URL cannot.
    #[error("must be printable ASCII without a space and without #: it becomes a part of URLs")]
    Replacement,
    /// The replacement names a group that the pattern does not have. (A name ends at the first character that is no
    /// letter, digit or `_`: `${1}a`, not `$1a`.)
    #[error("${{{0}}} is no group of the pattern")]
    Group(String),
    /// Not the name of a host.
    #[error("must be the name of a host, as in \"example.org\"")]
    Host,
}

impl Rewrite {
    /// Replaces what `pattern` matches in path and query (`/path?query`) by `replacement`, in which `$1`, `${1}` and
    /// `${name}` are groups and `$$` is `$`; on `host` and the hosts below it, or on all.
    ///
    /// # Errors
    /// [`RewriteError`] says which of the three is not valid, and why.
    pub fn new(host: Option<&str>, pattern: &str, replacement: &str) -> Result<Self, RewriteError> {
        let host = match host.map(Host::parse) {
            None => None,
            Some(Ok(Host::Domain(name))) => Some(name.into()),
            Some(_) => return Err(RewriteError::Host),
        };
        let pattern = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build()?;
        if !replacement.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
            return Err(RewriteError::Replacement);
        }
        match groups(replacement).find(|group| !has_group(&pattern, group)) {
            Some(group) => Err(RewriteError::Group(group.to_owned())),
            None => Ok(Self { host, pattern, replacement: replacement.into() }),
        }
    }

    /// Path and query after the replacement; `None` where nothing matches.
    pub(super) fn apply(&self, host: &str, text: &str) -> Option<String> {
        if !self.host.as_deref().is_none_or(|wanted| is_at_or_below(host, wanted)) {
            return None;
        }
        match self.pattern.replace_all(text, &*self.replacement) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(text) => Some(text),
        }
    }
}

fn is_at_or_below(host: &str, wanted: &str) -> bool {
    let host = super::without_trailing_dots(host);
    host.strip_suffix(wanted).is_some_and(|below| below.is_empty() || below.ends_with('.'))
}

/// What a replacement takes for names of groups.
fn groups(replacement: &str) -> impl Iterator<Item = &str> {
    let mut rest = replacement;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('$')? + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                rest = after;
                continue;
            }
            let (group, after) = match rest.strip_prefix('{') {
                Some(braced) => braced.split_once('}')?,
                None => {
                    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()))
                }
            };
            rest = after;
            if !group.is_empty() {
                return Some(group);
            }
        }
    })
}

fn has_group(pattern: &Regex, group: &str) -> bool {
    match group.parse::<usize>() {
        Ok(number) => number < pattern.captures_len(),
        Err(_) => pattern.capture_names().flatten().any(|name| name == group),
    }
}

impl PartialEq for Rewrite {
    fn eq(&self, other: &Self) -> bool {
        Written::from(self.clone()) == Written::from(other.clone())
    }
}

impl TryFrom<Written> for Rewrite {
    type Error = RewriteError;

    fn try_from(written: Written) -> Result<Self, RewriteError> {
        Self::new(written.host.as_deref(), &written.pattern, &written.replacement)
    }
}

impl From<Rewrite> for Written {
    fn from(rewrite: Rewrite) -> Self {
        let Rewrite { host, pattern, replacement } = rewrite;
        Self { host: host.map(Into::into), pattern: pattern.as_str().to_owned(), replacement: replacement.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_says_what_is_wrong_with_it() {
        let error = |host, pattern, replacement| Rewrite::new(host, pattern, replacement).err();
        assert!(matches!(error(None, "(", ""), Some(RewriteError::Pattern(_))));
        assert!(matches!(error(None, r"\w{1000}{1000}", ""), Some(RewriteError::Pattern(_))));
        assert_eq!(error(None, "a", "b c"), Some(RewriteError::Replacement));
        assert_eq!(error(None, "a", "#"), Some(RewriteError::Replacement));
        assert_eq!(error(None, "(a)", "$1b"), Some(RewriteError::Group("1b".into())));
        assert_eq!(error(None, "(a)", "$$1${1}b$2"), Some(RewriteError::Group("2".into())));
        assert_eq!(error(None, "(?<x>a)", "${x}$0$$y$"), None);
        assert_eq!(error(Some("http://a/"), "a", ""), Some(RewriteError::Host));
        assert_eq!(error(Some("127.0.0.1"), "a", ""), Some(RewriteError::Host));
    }

    #[test]
    fn a_rewrite_keeps_to_its_host() {
        let rewrite = Rewrite::new(Some("Example.org"), "^/old/", "/new/").expect("valid");
        for (host, hit) in
            [("example.org", true), ("www.example.org", true), ("example.org.", true), ("myexample.org", false)]
        {
            assert_eq!(rewrite.apply(host, "/old/a?b").as_deref(), hit.then_some("/new/a?b"), "{host}");
        }
        assert_eq!(rewrite.apply("example.org", "/a"), None);
    }

    #[test]
    fn options_are_written_and_read_back() {
        let rewrite = Rewrite::new(None, r"[?&]page=\d+$", "").expect("valid");
        let options = RuleOptions { fold_www: true, rewrites: vec![rewrite], ..RuleOptions::default() };
        let text = serde_json::to_string(&options).expect("writes");
        assert_eq!(serde_json::from_str::<RuleOptions>(&text).expect("reads"), options);
        assert_eq!(options.differing(&RuleOptions::default()), ["fold_www", "rewrites"]);
        assert!(options.differing(&options).is_empty());
    }
}
