//! The rules by which two URLs are one: their order, and how they make a key of a URL.
//!
//! Not their switches (`options`), nor what each does to a path, a query or an escape (the files of those names). Invariant:
//! a rule changes the parts of which the key is made, never the URL that is fetched.

use std::borrow::Cow;
use std::net::Ipv6Addr;
use std::sync::LazyLock;

use url::{Position, Url};

use super::options::RuleOptions;
use super::parameters::{self, Names};
use super::parts::Parts;
use super::{Canonical, MAX_URL_BYTES, UrlError, escapes, key, path, query, registrable_domain, without_trailing_dots};

/// A rule; its meaning stands with its switch in [`RuleOptions`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    FoldScheme,
    DropUserinfo,
    FoldTrailingDot,
    FoldWww,
    FoldPercentEncoding,
    Rewrites,
    DropSessionIds,
    FoldPathCase,
    FoldSlashes,
    FoldTrailingSlash,
    DropIndexPages,
    DropTrackingParameters,
    DropParameters,
    DropRepeatedParameters,
    SortQuery,
    FoldEmptyQuery,
}

/// Every rule with the name of its switch and whether it is on, in order: parameters are known by one spelling of their
/// names, what a rewrite leaves behind is cleaned up, and what is dropped may leave an empty query.
pub(super) fn switches(options: &RuleOptions) -> [(Rule, &'static str, bool); 16] {
    [
        (Rule::FoldScheme, "fold_scheme", options.fold_scheme),
        (Rule::DropUserinfo, "drop_userinfo", options.drop_userinfo),
        (Rule::FoldTrailingDot, "fold_trailing_dot", options.fold_trailing_dot),
        (Rule::FoldWww, "fold_www", options.fold_www),
        (Rule::FoldPercentEncoding, "fold_percent_encoding", options.fold_percent_encoding),
        (Rule::Rewrites, "rewrites", !options.rewrites.is_empty()),
        (Rule::DropSessionIds, "drop_session_ids", options.drop_session_ids),
        (Rule::FoldPathCase, "fold_path_case", options.fold_path_case),
        (Rule::FoldSlashes, "fold_slashes", options.fold_slashes),
        (Rule::FoldTrailingSlash, "fold_trailing_slash", options.fold_trailing_slash),
        (Rule::DropIndexPages, "drop_index_pages", options.drop_index_pages),
        (Rule::DropTrackingParameters, "drop_tracking_parameters", options.drop_tracking_parameters),
        (Rule::DropParameters, "drop_parameters", !options.drop_parameters.is_empty()),
        (Rule::DropRepeatedParameters, "drop_repeated_parameters", options.drop_repeated_parameters),
        (Rule::SortQuery, "sort_query", options.sort_query),
        (Rule::FoldEmptyQuery, "fold_empty_query", options.fold_empty_query),
    ]
}

/// A set of rules, ready to make URLs canonical. Those of a crawl are fixed with its data directory.
#[derive(Debug, Clone)]
pub struct Rules {
    options: RuleOptions,
    active: Vec<(Rule, &'static str)>,
    parameters: Names,
}

/// How a URL came to its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The URL, made canonical.
    pub canonical: Canonical,
    /// What changed it, in order; empty where the key stands for the text as it was.
    pub steps: Vec<Step>,
}

/// One rule that changed a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rule's switch in [`RuleOptions`]; or `whatwg` (parsing and writing it by that standard: dot segments,
    /// default port, case of the host, …) or `drop_fragment`, which have none and change what is fetched, too.
    pub rule: &'static str,
    /// The URL before it.
    pub before: String,
    /// The URL after it; for a switched rule, only as far as the key is concerned.
    pub after: String,
}

impl Rules {
    /// Compiles rules.
    pub fn new(options: RuleOptions) -> Self {
        let active = switches(&options).into_iter().filter(|(_, _, is_on)| *is_on).map(|(rule, name, _)| (rule, name));
        Self { active: active.collect(), parameters: Names::new(&options.drop_parameters), options }
    }

    /// What they were made of.
    pub fn options(&self) -> &RuleOptions {
        &self.options
    }

    /// Those of the rules by which the beginning of a URL can be made canonical: each piece of it by itself, in its place.
    pub(crate) fn of_prefixes(&self) -> Self {
        Self::new(RuleOptions {
            rewrites: Vec::new(),
            drop_session_ids: false,
            fold_trailing_slash: false,
            drop_index_pages: false,
            drop_tracking_parameters: false,
            drop_parameters: Vec::new(),
            drop_repeated_parameters: false,
            sort_query: false,
            fold_empty_query: false,
            ..self.options.clone()
        })
    }

    /// Makes an absolute URL canonical.
    ///
    /// # Errors
    /// [`UrlError`] when it cannot be crawled.
    pub fn parse(&self, input: &str) -> Result<Canonical, UrlError> {
        self.canonical(Url::parse(input)?)
    }

    /// The front page of a host, by the host's name: an IPv6 address may stand with or without its brackets, and a port
    /// does not matter.
    ///
    /// # Errors
    /// [`UrlError`] when it is not the name of a host.
    pub fn front_page(&self, host: &str) -> Result<Canonical, UrlError> {
        if host.is_empty() || host.contains(['/', '?', '#', '@', '\\']) {
            return Err(UrlError::Invalid(url::ParseError::InvalidDomainCharacter));
        }
        match host.parse::<Ipv6Addr>() {
            Ok(address) => self.parse(&format!("http://[{address}]/")),
            Err(_) => self.parse(&format!("http://{host}/")),
        }
    }

    /// Makes a parsed URL canonical.
    ///
    /// # Errors
    /// [`UrlError::Scheme`] and [`UrlError::TooLong`].
    pub fn canonical(&self, url: Url) -> Result<Canonical, UrlError> {
        self.make(url, |_, _| {})
    }

    /// Makes an absolute URL canonical, and says what each rule did to it.
    ///
    /// # Errors
    /// [`UrlError`] when it cannot be crawled.
    pub fn explain(&self, input: &str) -> Result<Explained, UrlError> {
        let mut url = Url::parse(input)?;
        let (mut steps, mut before) = (Vec::new(), input.to_owned());
        let mut step = |rule, after: String| {
            if after != before {
                steps.push(Step { rule, before: std::mem::replace(&mut before, after.clone()), after });
            }
        };
        step("whatwg", url.as_str().to_owned());
        url.set_fragment(None);
        step("drop_fragment", url.as_str().to_owned());
        let canonical = self.make(url, |rule, parts| step(rule, parts.to_string()))?;
        Ok(Explained { canonical, steps })
    }

    /// Makes a URL canonical; `changed` is told of every rule that changed something.
    fn make(&self, mut url: Url, mut changed: impl FnMut(&'static str, &Parts<'_>)) -> Result<Canonical, UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme);
        }
        url.set_fragment(None);
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        let mut parts = Parts::of(&url);
        if parts.host.is_empty() {
            return Err(UrlError::Invalid(url::ParseError::EmptyHost));
        }
        let mut is_rewritten = false;
        for (rule, name) in &self.active {
            if self.apply(*rule, &mut parts) {
                is_rewritten = true;
                changed(name, &parts);
            }
        }
        let key = key::of_parts(&parts, url.as_str().len());
        let start = url[..Position::BeforeHost].len() as u32;
        let host = start..start + url.host_str().unwrap_or_default().len() as u32;
        Ok(Canonical { url: String::from(url).into(), key: key.into(), host, is_rewritten })
    }

    /// Applies one rule; true if it changed something.
    fn apply(&self, rule: Rule, parts: &mut Parts<'_>) -> bool {
        let path = &mut parts.path;
        match rule {
            Rule::FoldScheme => std::mem::take(&mut parts.is_http),
            Rule::DropUserinfo => !std::mem::take(&mut parts.userinfo).is_empty(),
            Rule::FoldTrailingDot => shorten(&mut parts.host, without_trailing_dots),
            Rule::FoldWww => shorten(&mut parts.host, without_www),
            Rule::FoldPercentEncoding => {
                replace(path, escapes::normalised)
                    | parts.query.as_mut().is_some_and(|q| replace(q, escapes::normalised))
            }
            Rule::Rewrites => self.options.rewrites.iter().fold(false, |changed, rewrite| {
                changed | rewrite.apply(parts.host, &path_and_query(parts)).is_some_and(|text| set(parts, text))
            }),
            Rule::DropSessionIds => {
                replace(path, path::without_session_ids)
                    | query::drop_pieces(&mut parts.query, parameters::is_session_id)
            }
            Rule::FoldPathCase => replace(path, path::lower_case),
            Rule::FoldSlashes => replace(path, path::single_slashes),
            Rule::FoldTrailingSlash => replace(path, path::without_trailing_slash),
            Rule::DropIndexPages => {
                replace(path, |path| path::without_index_page(path, self.options.fold_trailing_slash))
            }
            Rule::DropTrackingParameters => drop_named(parts, parameters::tracking()),
            Rule::DropParameters => drop_named(parts, &self.parameters),
            Rule::DropRepeatedParameters => query::drop_repeated(&mut parts.query),
            Rule::SortQuery => query::sort(&mut parts.query),
            Rule::FoldEmptyQuery => parts.query.take_if(|query| query.is_empty()).is_some(),
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::new(RuleOptions::default())
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

/// The default rules, made once.
pub(super) fn default_rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(Rules::default);
    &RULES
}

fn shorten<'u>(text: &mut &'u str, shorter: fn(&'u str) -> &'u str) -> bool {
    let before = text.len();
    *text = shorter(text);
    text.len() < before
}

fn replace(text: &mut Cow<'_, str>, rule: impl FnOnce(&str) -> Option<String>) -> bool {
    let changed = rule(text);
    let is_changed = changed.is_some();
    if let Some(changed) = changed {
        *text = Cow::Owned(changed);
    }
    is_changed
}

fn drop_named(parts: &mut Parts<'_>, names: &Names) -> bool {
    query::drop_pieces(&mut parts.query, |name, _, _| names.contain(name))
}

/// Without labels `www` at the front, down to the registrable domain: that of `www.com` is itself.
fn without_www(host: &str) -> &str {
    let mut stem = host;
    while let Some(rest) = stem.strip_prefix("www.") {
        if rest.len() < registrable_domain(host).len() {
            break;
        }
        stem = rest;
    }
    stem
}

fn path_and_query(parts: &Parts<'_>) -> String {
    match &parts.query {
        Some(query) => format!("{}?{query}", parts.path),
        None => parts.path.to_string(),
    }
}

/// Takes what a rewrite made for path and query, unless it is too long to be a URL; true if it is another.
fn set(parts: &mut Parts<'_>, mut text: String) -> bool {
    if !text.starts_with('/') {
        text.insert(0, '/');
    }
    if text.len() > MAX_URL_BYTES || text == path_and_query(parts) {
        return false;
    }
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(Cow::Owned(query.to_owned()))),
        None => (text, None),
    };
    (parts.path, parts.query) = (Cow::Owned(path), query);
    true
}
