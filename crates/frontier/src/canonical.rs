//! Decides that two URLs are one: the canonical *key* of a URL. The only place that does.
//!
//! A [`Canonical`] carries two things. The **fetch URL** is what the page said: the WHATWG serialisation without
//! fragment, never rewritten. The **key** is what deduplication compares, in host-reversed order so that the URLs of one
//! site are neighbours in the store:
//!
//! ```text
//! key      = host ")" [ "http" ] [ ":" port ] [ "@" userinfo ] path [ "?" query ]
//! host     = label *( "," label )          ; domain, last label first: com,example,www
//!          | IPv4 | "[" IPv6 "]"           ; addresses are not reversed
//! label    = the ASCII (IDNA) label, "%" never occurs in it; , ) * + are written %2C %29 %2A %2B
//! "http"   = the scheme http; https is written as nothing
//! port     = only when it is not the scheme's default
//! path     = starts with "/"
//! ```
//!
//! The grammar is injective: after the first `)` comes `h`, `:`, `@` or `/`, a port ends at `@` or `/`, and WHATWG
//! serialisation percent-encodes `/` and `@` in userinfo. An IPv4 address holds dots, which a reversed domain never does.
//! `)` sorts before `,`, and no label holds what sorts between: the keys of a registrable domain stand together, those of
//! each host of it, and those of each of its origins in the order of their paths.
//!
//! # Rules
//! Equal keys of different URLs come only from the [`Rules`], each with a name and a switch ([`RuleOptions`] lists them in
//! their order). By default only those are on that cannot change the resource, or drop what is known to be noise. Where a
//! rule changed the URL, the record keeps the fetch URL, because the key no longer gives it back. A data directory records
//! the rules it was made under ([`RULES_VERSION`], the options, a checksum of the built-in tables), and is not opened under
//! others.
//!
//! # Whose conventions
//! | | |
//! |---|---|
//! | WHATWG URL | the fetch URL, entirely; the key before any rule |
//! | RFC 3986 section 6.2.2 | entirely, by `fold_percent_encoding` (dots and case of the host are WHATWG's, too) |
//! | SURT (Internet Archive) | the order of the host, without a comma at its end; scheme, port and userinfo stand after `)`; what its programs fold by default (`www`, order of the query, `/` at the end, …) has switches here |
//! | crawler-commons, Nutch (basic) | with `fold_slashes`, `sort_query` and `drop_userinfo`; but `[` and `]` are reserved and stay, a stray `%` is not written `%25`, `ß` is no `ss` (IDNA 2008), and without a scheme it is no URL |
//! | Nutch (regex) | with `fold_slashes` and `drop_index_pages`; but nothing is taken out of fragments, and empty parameters stay |
//! | w3lib, scrapy | with `sort_query`, by name only; but no `=` is added to a parameter and no empty one is dropped |
//!
//! # Where is …
//! | | |
//! |---|---|
//! | `rules` | the order of the rules, and explaining what they did |
//! | `options` | their switches |
//! | `parts`, `key` | what a URL is taken apart into, and the key made of it |
//! | `path`, `query`, `escapes`, `parameters` | what single rules do, and the tables they know by heart |

use std::ops::Range;

mod escapes;
mod key;
mod options;
mod parameters;
mod parts;
mod path;
mod query;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use key::{host_name, host_of_key, url_of_key};
pub use options::{Rewrite, RewriteError, RuleOptions};
pub(crate) use parameters::tables_checksum;
pub use rules::{Explained, Rules, Step};

/// Version of the grammar above and of what the rules do; written into the data directory, since stored keys depend on it.
pub const RULES_VERSION: u32 = 2;

/// The public-suffix list in use, by the version of the crate that compiles it in: it decides partitions.
pub const PUBLIC_SUFFIX_LIST: &str = "psl 2.1.247";

/// The IDNA tables in use, by the version of the crate that holds them: they decide how hosts are spelled.
pub const IDNA: &str = "idna 1.1.0";

/// Longest fetch URL accepted, in bytes. Longer ones are [`UrlError::TooLong`]; 8 KiB is what common servers accept in a
/// request line.
pub const MAX_URL_BYTES: usize = 8192;

/// Why a text is not a URL that can be crawled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Not a URL by the WHATWG standard.
    #[error("not a URL: {0}")]
    Invalid(#[from] url::ParseError),
    /// A URL, but neither `http` nor `https`.
    #[error("scheme is neither http nor https")]
    Scheme,
    /// Longer than [`MAX_URL_BYTES`].
    #[error("longer than {MAX_URL_BYTES} bytes")]
    TooLong,
}

/// One URL, made one: what to fetch and what to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    url: Box<str>,
    key: Box<str>,
    host: Range<u32>,
    is_rewritten: bool,
}

impl Canonical {
    /// Makes an absolute URL canonical under the **default** rules. (Those of a crawl are
    /// [`Frontier::rules`](crate::Frontier::rules).)
    ///
    /// # Errors
    /// [`UrlError`] when it cannot be crawled.
    pub fn parse(input: &str) -> Result<Self, UrlError> {
        rules::default_rules().parse(input)
    }

    /// The fetch URL: WHATWG serialisation without fragment.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The canonical key; see the module's grammar.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The host as the fetch URL writes it, without port; IPv6 in brackets.
    pub fn host(&self) -> &str {
        &self.url[self.host.start as usize..self.host.end as usize]
    }

    /// The registrable domain by the public-suffix list (private section included); the host itself where there is
    /// none (an address, a single label, a public suffix).
    pub fn registrable_domain(&self) -> &str {
        registrable_domain(self.host())
    }

    /// The fetch URL where the key does not give it back, else `None`.
    pub(crate) fn alternate(&self) -> Option<&str> {
        self.is_rewritten.then_some(&*self.url)
    }
}

/// The registrable domain of a host name; the host itself (without trailing dots) where there is none.
pub fn registrable_domain(host: &str) -> &str {
    let host = without_trailing_dots(host);
    // An address, or nothing but dots.
    if host.starts_with('[') || host.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// `example.com.` names the same host as `example.com`; a host of nothing but dots stays as it is.
fn without_trailing_dots(host: &str) -> &str {
    match host.trim_end_matches('.') {
        "" => host,
        stem => stem,
    }
}
