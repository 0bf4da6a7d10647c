//! What a host's robots.txt allows us: parsed once, asked for every URL.
//!
//! Not the fetching, caching or retrying of robots.txt (the worker does that) and not the
//! delay between requests (the frontier keeps that). Invariant: no robots.txt can make a
//! question cost more than one pass over its rules, and none can make it panic.
//!
//! The lines are read by the `robotstxt` crate, a port of Google's open-source parser, so
//! that its tolerance (`disalow`, a missing colon) is ours too. Groups and patterns are done
//! here, by RFC 9309 sections 2.2.1 and 2.2.2: the port's own matcher parses the file anew
//! for each URL, takes quadratic time on hostile patterns, and ends a group at unknown lines.

mod pattern;

use pattern::{escape_specials, matches, normal_escapes, to_ascii};
use robotstxt::{RobotsParseHandler, parse_robotstxt};
use std::time::Duration;
use url::{Position, Url};

/// Bytes of a robots.txt that are read; the rest is ignored (RFC 9309 section 2.5 asks for
/// at least 500 KiB).
pub const MAX_BYTES: usize = 500 * 1024;

/// What to do after robots.txt was asked for, by the status of the answer
/// (RFC 9309 section 2.3.1). Redirects are followed by the caller before it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// 2xx: the body holds the rules.
    Parse,
    /// 4xx, or a redirect that the caller no longer follows: there are no rules.
    AllowAll,
    /// 5xx (or no answer at all): nothing of this host may be asked for until a later try.
    Unreachable,
}

/// The meaning of the HTTP `status` of a robots.txt.
pub fn from_status(status: u16) -> Availability {
    match status {
        200..=299 => Availability::Parse,
        300..=499 => Availability::AllowAll,
        _ => Availability::Unreachable,
    }
}

/// The part of a `User-Agent` header that robots.txt groups name: its start, up to the first
/// character that is not a letter, `-` or `_` (RFC 9309 section 2.2.1).
pub fn product_token(user_agent: &str) -> &str {
    let is_outside = |c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_');
    &user_agent[..user_agent.find(is_outside).unwrap_or(user_agent.len())]
}

/// The rules of one robots.txt for one user agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Robots {
    /// Longest pattern first, and allow before disallow of the same length: the first that
    /// matches decides.
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
}

/// One line of the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What it matches: the value of the line, escapes in one spelling.
    pub pattern: String,
    /// Whether it allows; else it forbids.
    pub allow: bool,
    /// Its line in the file, from 1.
    pub line: u32,
}

impl Robots {
    /// Reads a robots.txt as the crawler `user_agent_product` (see [`product_token`]),
    /// compared without regard to ASCII case. All groups that name it are merged; if none
    /// does, the `*` groups count. Bytes beyond [`MAX_BYTES`] are ignored.
    pub fn parse(user_agent_product: &str, body: &[u8]) -> Robots {
        let mut groups = Groups { product: user_agent_product, ..Groups::default() };
        parse_robotstxt(&to_ascii(body), &mut groups);
        let mut group = if groups.named_ever { groups.named } else { groups.any };
        group.rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.len()), !rule.allow));
        Robots { rules: group.rules, crawl_delay: group.crawl_delay.or(groups.top_delay), sitemaps: groups.sitemaps }
    }

    /// A robots.txt as it is parsed, line for line, to be parsed again another time; `None` where that is too long.
    pub fn text_of(body: &[u8]) -> Option<String> {
        Some(to_ascii(body)).filter(|text| text.len() <= MAX_BYTES)
    }

    /// No rules at all: what a missing robots.txt means.
    pub fn allow_all() -> Robots {
        Robots::default()
    }

    /// Whether the rules let us fetch `url`. The longest matching pattern decides; of two of
    /// the same length the allowing one does. (`/robots.txt` found as a link is a page like
    /// any other; the fetch of the rules themselves never asks.)
    ///
    /// Whether `%61` in a pattern means `a` is disputed: RFC 9309 section 2.2.2 says yes,
    /// Google's matcher no. The stricter reading counts: it does where it forbids, and does
    /// not where it allows.
    pub fn allows(&self, url: &Url) -> bool {
        self.decisive(url).is_none_or(|rule| rule.allow)
    }

    /// The rule that decides on `url`; without one it is allowed.
    pub fn decisive(&self, url: &Url) -> Option<&Rule> {
        if self.rules.is_empty() {
            return None;
        }
        let path = escape_specials(&url[Position::BeforePath..Position::AfterQuery]);
        let as_written = normal_escapes(&path, false);
        let decoded = normal_escapes(&path, true);
        self.rules.iter().find(|rule| {
            let path = if rule.allow { &as_written } else { &decoded };
            matches(&rule.pattern, path)
        })
    }

    /// The group's first valid `Crawl-delay`. Not in RFC 9309, but widely used; the caller
    /// decides on an upper bound.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The values of all `Sitemap` lines, of whatever group, in file order; not yet URLs.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

#[derive(Default)]
struct Group {
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

/// Which groups the lines being read belong to. User-agent lines in a row add to it; the
/// first one after a line that closed it starts anew.
#[derive(Default)]
struct Scope {
    named: bool,
    any: bool,
    closed: bool,
}

impl Scope {
    fn enter(&mut self, named: bool, any: bool) {
        if std::mem::take(&mut self.closed) {
            *self = Scope::default();
        }
        self.named |= named;
        self.any |= any;
    }
}

/// Sorts the lines of a file into the groups that matter to one crawler.
#[derive(Default)]
struct Groups<'a> {
    product: &'a str,
    named: Group,
    any: Group,
    sitemaps: Vec<String>,
    /// Some group named the crawler, so the `*` groups do not count.
    named_ever: bool,
    /// A crawl delay above all groups holds where a group has none of its own.
    top_delay: Option<Duration>,
    agent_ever: bool,
    /// Closed by rules only: other lines do not end a group (RFC 9309 section 2.2.4).
    rule_scope: Scope,
    /// Closed by crawl delays only, so that a list of agents with nothing but delays works.
    delay_scope: Scope,
}

impl Groups<'_> {
    fn add_rule(&mut self, line: u32, pattern: &str, allow: bool) {
        self.rule_scope.closed = true;
        if pattern.is_empty() {
            return; // "Disallow:" without a value forbids nothing
        }
        let pattern = normal_escapes(pattern, !allow);
        // Only at the end does a dollar sign not mean itself.
        let (body, end) = pattern.split_at(pattern.len() - usize::from(pattern.ends_with('$')));
        let pattern = body.replace('$', "%24") + end;
        let add = |group: &mut Group| {
            group.rules.push(Rule { pattern: pattern.clone(), allow, line });
        };
        if self.rule_scope.named {
            add(&mut self.named);
        }
        if self.rule_scope.any {
            add(&mut self.any);
        }
    }

    fn add_delay(&mut self, delay: Option<Duration>) {
        self.delay_scope.closed = true;
        if !self.agent_ever {
            self.top_delay = self.top_delay.or(delay);
        }
        if self.delay_scope.named {
            self.named.crawl_delay = self.named.crawl_delay.or(delay);
        }
        if self.delay_scope.any {
            self.any.crawl_delay = self.any.crawl_delay.or(delay);
        }
    }
}

impl RobotsParseHandler for Groups<'_> {
    fn handle_robots_start(&mut self) {}

    fn handle_robots_end(&mut self) {}

    fn handle_user_agent(&mut self, _line: u32, value: &str) {
        // "* something" still means everyone, as in Google's parser.
        let any = value == "*" || value.starts_with("* ") || value.starts_with("*\t");
        let named = !any && product_token(value).eq_ignore_ascii_case(self.product);
        self.agent_ever = true;
        self.named_ever |= named;
        self.rule_scope.enter(named, any);
        self.delay_scope.enter(named, any);
    }

    fn handle_allow(&mut self, line: u32, value: &str) {
        self.add_rule(line, value, true);
        // As in Google's matcher: who allows the index page allows its directory.
        if let Some(at) = value.rfind('/')
            && value[at..].starts_with("/index.htm")
        {
            self.add_rule(line, &format!("{}$", &value[..=at]), true);
        }
    }

    fn handle_disallow(&mut self, line: u32, value: &str) {
        self.add_rule(line, value, false);
    }

    fn handle_sitemap(&mut self, _line: u32, value: &str) {
        self.sitemaps.push(value.to_owned());
    }

    fn handle_unknown_action(&mut self, _line: u32, key: &str, value: &str) {
        let is_delay = |name: &&str| key.eq_ignore_ascii_case(name);
        if ["crawl-delay", "crawl delay", "crawldelay"].iter().any(is_delay) {
            let secs = value.parse::<f64>().ok();
            self.add_delay(secs.and_then(|secs| Duration::try_from_secs_f64(secs).ok()));
        }
    }
}

#[cfg(test)]
mod tests;
