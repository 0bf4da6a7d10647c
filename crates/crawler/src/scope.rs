//! Which URLs belong to the crawl: the rules of `[scope]` made ready for the seeds at hand.
//!
//! A URL is asked three questions, in this order, and the first answer stands (as in Heritrix, where accepting rules add
//! and the rejecting ones have the last word; as in Scrapy, where `deny` beats `allow`):
//! 1. Does a pattern of `scope.exclude` match? Then it is out, be it a seed.
//! 2. Does `scope.mode` admit it, given the seeds? Then it is in.
//! 3. Does a pattern of `scope.include` match? Then it is in too: include *adds* to the mode, it does not narrow it.
//!
//! Patterns match anywhere in the fetch URL's text unless they are anchored.
//!
//! Not here: depth, traps and budgets; who is whose registrable domain (the frontier knows the public-suffix list).
//! Invariant: a judgement allocates nothing, and its cost does not grow with the number of seeds (prefix mode: with its
//! logarithm).

use ahash::HashSet;
use url::{Position, Url};

use crate::config::{Mode, Pattern, ScopeRules};

/// Judges URLs. Cheap to share; fixed once made.
#[derive(Debug)]
pub struct Scope {
    exclude: Vec<Pattern>,
    opened: Opened,
    include: Vec<Pattern>,
}

/// What the mode and the seeds open together.
#[derive(Debug)]
enum Opened {
    Hosts(HashSet<Box<str>>),
    Domains(HashSet<Box<str>>),
    Prefixes(Prefixes),
    Any,
}

/// The answer to "does this URL belong to the crawl?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    In,
    /// It does not, by this rule.
    Out(Rule),
}

/// What decided on a URL, in or out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum By<'s> {
    /// This pattern of `scope.exclude`.
    Exclude(&'s Pattern),
    /// `scope.mode`.
    Mode(Mode),
    /// This pattern of `scope.include`.
    Include(&'s Pattern),
}

/// The rule that keeps a URL out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A pattern of `scope.exclude` matches.
    Exclude,
    /// The host is none of the seeds' hosts.
    Host,
    /// The registrable domain is none of the seeds'.
    Domain,
    /// The URL starts like none of the seeds.
    Prefix,
}

impl Rule {
    /// One lower-case word for logs.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Exclude => "exclude",
            Rule::Host => "host",
            Rule::Domain => "domain",
            Rule::Prefix => "prefix",
        }
    }
}

impl Scope {
    /// Makes the rules ready for `seeds`. `registrable_domain` maps a host, as `Url::host_str` prints it, to its
    /// registrable domain (to itself where it has none), exactly as the caller does for [`Scope::judge`].
    pub fn new(rules: &ScopeRules, seeds: &[Url], registrable_domain: impl for<'h> Fn(&'h str) -> &'h str) -> Scope {
        let hosts = seeds.iter().filter_map(Url::host_str);
        let opened = match rules.mode {
            Mode::Host => Opened::Hosts(hosts.map(without_dot).map(Box::from).collect()),
            Mode::Domain => Opened::Domains(hosts.map(registrable_domain).map(Box::from).collect()),
            Mode::Prefix => Opened::Prefixes(Prefixes::new(seeds)),
            Mode::Any => Opened::Any,
        };
        Scope { exclude: rules.exclude.clone(), opened, include: rules.include.clone() }
    }

    /// Judges one fetch URL (WHATWG-serialised, http or https), with its host as `Url::host_str` prints it and that
    /// host's registrable domain. Scheme, port and userinfo make no difference in modes "host" and "domain".
    pub fn judge(&self, url: &str, host: &str, registrable_domain: &str) -> Verdict {
        self.decide(url, host, registrable_domain).0
    }

    /// The same, and what decided.
    pub fn decide(&self, url: &str, host: &str, registrable_domain: &str) -> (Verdict, By<'_>) {
        if let Some(pattern) = first_match(&self.exclude, url) {
            return (Verdict::Out(Rule::Exclude), By::Exclude(pattern));
        }
        let (admitted, rule, mode) = match &self.opened {
            Opened::Hosts(hosts) => (hosts.contains(without_dot(host)), Rule::Host, Mode::Host),
            Opened::Domains(domains) => (domains.contains(registrable_domain), Rule::Domain, Mode::Domain),
            Opened::Prefixes(prefixes) => (prefixes.admit(url), Rule::Prefix, Mode::Prefix),
            Opened::Any => return (Verdict::In, By::Mode(Mode::Any)),
        };
        if admitted {
            return (Verdict::In, By::Mode(mode));
        }
        match first_match(&self.include, url) {
            Some(pattern) => (Verdict::In, By::Include(pattern)),
            None => (Verdict::Out(rule), By::Mode(mode)),
        }
    }
}

/// The host without the one trailing dot that makes no other host of it (nor another key in the frontier).
fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

fn first_match<'p>(patterns: &'p [Pattern], url: &str) -> Option<&'p Pattern> {
    patterns.iter().find(|pattern| pattern.is_match(url))
}

/// The seeds' URLs up to the last `/` of their paths, from the host on: scheme and userinfo are left out, so that a site
/// that moves from http to https stays in scope; a port other than the scheme's own counts.
///
/// Sorted, and none starts with another one: so a URL is admitted if and only if the last prefix not above it is its own.
#[derive(Debug)]
struct Prefixes(Vec<Box<str>>);

impl Prefixes {
    fn new(seeds: &[Url]) -> Prefixes {
        let mut all: Vec<&str> = seeds.iter().map(prefix).collect();
        all.sort_unstable();
        // In sorted order everything that starts with a prefix follows it directly.
        all.dedup_by(|next, kept| next.starts_with(*kept));
        Prefixes(all.into_iter().map(Box::from).collect())
    }

    fn admit(&self, url: &str) -> bool {
        let url = from_host(url);
        let above = self.0.partition_point(|prefix| prefix.as_ref() <= url);
        above > 0 && url.starts_with(self.0[above - 1].as_ref())
    }
}

fn prefix(seed: &Url) -> &str {
    let text = &seed[Position::BeforeHost..Position::AfterPath];
    let end = text.rfind('/').map_or(text.len(), |slash| slash + 1);
    &text[..end]
}

/// The URL's text after scheme and userinfo.
fn from_host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..authority_end].rfind('@').map_or(0, |at| at + 1);
    &rest[host..]
}

#[cfg(test)]
mod tests;
