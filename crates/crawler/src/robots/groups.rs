//! The groups of a robots.txt: which of its lines are meant for one crawler (RFC 9309 section 2.2.1).
//!
//! Not the lines and not the comparison of patterns. Invariant: only rules and delays end a group; other lines change
//! nothing (section 2.2.4).

use super::pattern::{Undo, normal_escapes};
use super::{MAX_SITEMAPS, Robots, Rule};
use robotstxt::RobotsParseHandler;
use std::time::Duration;
use url::Url;

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
pub(super) struct Groups<'a> {
    /// Whether the value of a user-agent line means the crawler.
    is_named: &'a dyn Fn(&str) -> bool,
    /// The `*` groups are of its name, too.
    is_everyone: bool,
    named: Group,
    any: Group,
    sitemaps: Vec<Url>,
    /// Some group named the crawler, so the `*` groups do not count.
    named_ever: bool,
    /// A crawl delay above all groups holds where a group has none of its own.
    top_delay: Option<Duration>,
    agent_ever: bool,
    /// Closed by rules only: other lines do not end a group (RFC 9309 section 2.2.4).
    rule_scope: Scope,
    /// Closed by crawl delays, too, so that a list of agents with nothing but delays works.
    delay_scope: Scope,
}

impl<'a> Groups<'a> {
    pub(super) fn new(is_named: &'a dyn Fn(&str) -> bool, is_everyone: bool) -> Self {
        Groups {
            is_named,
            is_everyone,
            named: Group::default(),
            any: Group::default(),
            sitemaps: Vec::new(),
            named_ever: false,
            top_delay: None,
            agent_ever: false,
            rule_scope: Scope::default(),
            delay_scope: Scope::default(),
        }
    }

    /// The group that counts, in file order.
    pub(super) fn finish(self) -> Robots {
        let group = if self.named_ever { self.named } else { self.any };
        Robots { rules: group.rules, crawl_delay: group.crawl_delay.or(self.top_delay), sitemaps: self.sitemaps }
    }

    fn add_rule(&mut self, line: u32, pattern: &str, allow: bool) {
        self.rule_scope.closed = true;
        self.delay_scope.closed = true;
        if pattern.is_empty() {
            return; // "Disallow:" without a value forbids nothing
        }
        let pattern = normal_escapes(pattern, if allow { Undo::Tilde } else { Undo::Unreserved });
        // Only at the end does a dollar sign not mean itself.
        let (body, end) = pattern.split_at(pattern.len() - usize::from(pattern.ends_with('$')));
        let body = body.replace('$', "%24");
        // Where it forbids, it may mean itself there as well.
        if !end.is_empty() && !allow {
            self.push(Rule { pattern: format!("{body}%24"), allow, line });
        }
        self.push(Rule { pattern: body + end, allow, line });
    }

    fn push(&mut self, rule: Rule) {
        if self.rule_scope.named {
            self.named.rules.push(rule.clone());
        }
        if self.rule_scope.any {
            self.any.rules.push(rule);
        }
    }

    fn add_delay(&mut self, delay: Duration) {
        self.delay_scope.closed = true;
        if !self.agent_ever {
            self.top_delay.get_or_insert(delay);
        }
        if self.delay_scope.named {
            self.named.crawl_delay.get_or_insert(delay);
        }
        if self.delay_scope.any {
            self.any.crawl_delay.get_or_insert(delay);
        }
    }
}

impl RobotsParseHandler for Groups<'_> {
    fn handle_robots_start(&mut self) {}

    fn handle_robots_end(&mut self) {}

    fn handle_user_agent(&mut self, _line: u32, value: &str) {
        // "* something" still means everyone, as in Google's parser.
        let any = value == "*" || value.starts_with("* ") || value.starts_with("*\t");
        let named = if any { self.is_everyone } else { (self.is_named)(value) };
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
        if self.sitemaps.len() < MAX_SITEMAPS
            && let Ok(url) = Url::parse(value)
            && matches!(url.scheme(), "http" | "https")
        {
            self.sitemaps.push(url);
        }
    }

    fn handle_unknown_action(&mut self, _line: u32, key: &str, value: &str) {
        let is_delay = |name: &&str| key.eq_ignore_ascii_case(name);
        if ["crawl-delay", "crawl delay", "crawldelay"].iter().any(is_delay) {
            // What is no delay is an unknown line like any other.
            let secs = value.parse::<f64>().ok();
            if let Some(delay) = secs.and_then(|secs| Duration::try_from_secs_f64(secs).ok()) {
                self.add_delay(delay);
            }
        }
    }
}
