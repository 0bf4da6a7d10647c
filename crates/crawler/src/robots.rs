//! What a host's robots.txt allows us: parsed once, asked for every URL. RFC 9309, with the tolerance of Google's parser.
//!
//! Not the fetching, caching or retrying of robots.txt (the worker does that) and not the delay between requests (the
//! frontier keeps that); what a page says of itself is [`directives`]. Invariant: for any bytes there are rules, and none
//! make anything panic. Parsing costs O(n log n) of the file's n bytes, at most [`MAX_BYTES`]. A question costs one search
//! through the path for each rule: O(rules × path), whatever stars there are, for nothing is ever tried again. The worst
//! files known (some 60,000 rules, a URL of 8 KiB) take 60 ms, honest ones microseconds.
//!
//! The lines are read by the `robotstxt` crate, a port of Google's open-source parser, so that its tolerance (`disalow`,
//! a missing colon) is ours too; `text` makes them of the bytes. `groups` and `pattern` are done here, by RFC 9309
//! sections 2.2.1 and 2.2.2: the port's own matcher parses the file anew for each URL, takes quadratic time on hostile
//! patterns, and ends a group at unknown lines.
//!
//! # Where the RFC leaves a choice, and where others differ
//!
//! `cases` runs what other parsers test themselves with. All that holds for RFC 9309 and Google's parser holds here.
//! Others are not followed where they
//!
//! * let any unknown line end a group (protego, texting-robots): section 2.2.4 says that it must not.
//! * count rules above the first `user-agent` line for everyone (texting-robots, reppy): the grammar of section 2.2 has no
//!   place for them.
//! * always allow `/robots.txt` as a page (crawler-commons, reppy): Google's parser asks the rules. The file itself is
//!   asked for without asking.
//! * take `%62` in an allowing pattern for `b` (protego, crawler-commons): section 2.2.2 says so too, Google's parser does
//!   not. The stricter reading counts, here and elsewhere: escapes of a pattern are undone where it forbids; where
//!   it allows, only that of `~` is. Those of a URL are, as the section says.
//! * forbid everything when a Crawl-delay is long (crawler-commons): ours is capped, `politeness.max_crawl_delay_secs`.
//! * see through HTML tags after `*` or a value (crawler-commons, heritrix), or take the words of one `user-agent` line for
//!   as many crawlers (crawler-commons): only the first word counts, as with Google's parser.
//! * overlook half a surrogate pair (robots-parser-js): a file of bytes has none, only U+FFFD, a character like any other.
//!
//! A dollar sign at the end of a forbidding pattern is read both ways, as the end and as itself: in the convention of
//! 1994 it was a character like any other, and protego still has it so.

pub mod directives;
mod groups;
mod inspect;
mod pattern;
mod text;

pub use inspect::inspect;

use groups::Groups;
use pattern::{Undo, escape_specials, matches, normal_escapes};
use robotstxt::parse_robotstxt;
use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;
use url::{Position, Url};

/// Bytes of a robots.txt that are read; the rest is ignored (RFC 9309 section 2.5 asks for
/// at least 500 KiB).
pub const MAX_BYTES: usize = 500 * 1024;

/// Sitemaps that one robots.txt may name; further ones are ignored. The largest honest ones name some hundreds.
pub const MAX_SITEMAPS: usize = 1_000;

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
    sitemaps: Vec<Url>,
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

/// As it stands in a robots.txt.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.allow { "Allow" } else { "Disallow" }, self.pattern)
    }
}

impl Robots {
    /// Reads a robots.txt as the crawler `user_agent_product` (see [`product_token`]), compared without regard to ASCII
    /// case. All groups that name it are merged; if none does, the `*` groups count. Bytes beyond [`MAX_BYTES`] are
    /// ignored, and then the line that they cut, too: half a rule may forbid more than the whole one.
    pub fn parse(user_agent_product: &str, body: &[u8]) -> Robots {
        let is_named = |value: &str| {
            !user_agent_product.is_empty() && product_token(value).eq_ignore_ascii_case(user_agent_product)
        };
        Robots::read(Groups::new(&is_named, false), body)
    }

    /// Reads a robots.txt as a crawler that goes by any of `names`. A name with characters that no product token has
    /// (`bot2`) is compared with the first word of a line; `*` stands for the `*` groups.
    pub fn parse_for<S: AsRef<str>>(names: &[S], body: &[u8]) -> Robots {
        let names: Vec<String> = names.iter().map(|name| text::lines_of(name.as_ref().as_bytes())).collect();
        let is_named = |value: &str| {
            let word = value.split([' ', '\t', '/']).next().unwrap_or_default();
            names.iter().filter(|name| !name.is_empty()).any(|name| {
                let of_line = if product_token(name) == name { product_token(value) } else { word };
                name.eq_ignore_ascii_case(of_line)
            })
        };
        Robots::read(Groups::new(&is_named, names.iter().any(|name| name == "*")), body)
    }

    fn read(mut groups: Groups<'_>, body: &[u8]) -> Robots {
        parse_robotstxt(&text::lines_of(body), &mut groups);
        let mut robots = groups.finish();
        robots.rules.sort_by_key(|rule| (Reverse(rule.pattern.len()), !rule.allow));
        robots
    }

    /// A robots.txt as it is parsed, line for line, to be parsed again another time; `None` where that is too long.
    pub fn text_of(body: &[u8]) -> Option<String> {
        Some(text::lines_of(body)).filter(|text| text.len() < MAX_BYTES)
    }

    /// No rules at all: what a missing robots.txt means.
    pub fn allow_all() -> Robots {
        Robots::default()
    }

    /// Whether the rules let us fetch `url`. The longest matching pattern decides; of two of the same length the allowing
    /// one does. (`/robots.txt` found as a link is a page like any other; the fetch of the rules themselves never asks.)
    pub fn allows(&self, url: &Url) -> bool {
        self.decisive(url).is_none_or(|rule| rule.allow)
    }

    /// The rule that decides on `url`; without one it is allowed.
    pub fn decisive(&self, url: &Url) -> Option<&Rule> {
        self.decisive_on(&url[Position::BeforePath..Position::AfterQuery])
    }

    /// The rule that decides on a path with its query. What is no ASCII in it must be escaped: else it is like nothing
    /// that a rule can say.
    pub fn decisive_on(&self, path: &str) -> Option<&Rule> {
        if self.rules.is_empty() {
            return None;
        }
        let path = escape_specials(path);
        let as_written = normal_escapes(&path, Undo::Tilde);
        let decoded = normal_escapes(&path, Undo::Unreserved);
        let is_same = as_written == decoded;
        self.rules.iter().find(|rule| {
            matches(&rule.pattern, &decoded) || (rule.allow && !is_same && matches(&rule.pattern, &as_written))
        })
    }

    /// The group's first valid `Crawl-delay`. Not in RFC 9309, but widely used; the caller decides on an upper bound.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Bytes of memory that they take, roughly.
    pub fn bytes(&self) -> usize {
        let of_rules = self.rules.iter().map(|rule| size_of::<Rule>() + rule.pattern.capacity()).sum::<usize>();
        let of_sitemaps = self.sitemaps.iter().map(|url| size_of::<Url>() + url.as_str().len()).sum::<usize>();
        size_of::<Self>() + of_rules + of_sitemaps
    }

    /// The URLs of all `Sitemap` lines, of whatever group, in file order: those that are absolute and of http or https,
    /// at most [`MAX_SITEMAPS`].
    pub fn sitemaps(&self) -> &[Url] {
        &self.sitemaps
    }
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
