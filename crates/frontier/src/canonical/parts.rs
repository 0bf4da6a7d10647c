//! A URL taken apart, for rules to change.
//!
//! Not a parser: it borrows from a URL that was parsed. Invariant: without a change the parts spell that URL.

use std::borrow::Cow;
use std::fmt::{Display, Formatter};

use url::{Host, Position, Url};

/// What a key is made of. Nothing is owned until a rule changes it.
#[derive(Debug, Clone)]
pub(super) struct Parts<'u> {
    /// `http`; else `https`.
    pub(super) is_http: bool,
    /// `user:password`; empty when there is none.
    pub(super) userinfo: &'u str,
    /// As in the URL; IPv6 in brackets.
    pub(super) host: &'u str,
    /// A name, not an address.
    pub(super) is_domain: bool,
    /// Digits; empty for the scheme's default.
    pub(super) port: &'u str,
    /// Starts with `/`.
    pub(super) path: Cow<'u, str>,
    /// Without its `?`.
    pub(super) query: Option<Cow<'u, str>>,
}

impl<'u> Parts<'u> {
    /// The parts of an http or https URL; its fragment is left out.
    pub(super) fn of(url: &'u Url) -> Self {
        Self {
            is_http: url.scheme() == "http",
            userinfo: url[Position::BeforeUsername..Position::BeforeHost].strip_suffix('@').unwrap_or_default(),
            host: url.host_str().unwrap_or_default(),
            is_domain: matches!(url.host(), Some(Host::Domain(_))),
            port: &url[Position::BeforePort..Position::AfterPort],
            path: Cow::Borrowed(url.path()),
            query: url.query().map(Cow::Borrowed),
        }
    }
}

/// As a URL.
impl Display for Parts<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_http { "http://" } else { "https://" })?;
        if !self.userinfo.is_empty() {
            write!(f, "{}@", self.userinfo)?;
        }
        f.write_str(self.host)?;
        if !self.port.is_empty() {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)?;
        match &self.query {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}
