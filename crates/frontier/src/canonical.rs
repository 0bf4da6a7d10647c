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
//! label    = the ASCII (IDNA) label, "%" never occurs in it; "," written "%2C", ")" written "%29"
//! "http"   = the scheme http; https is written as nothing
//! port     = only when it is not the scheme's default
//! path     = starts with "/"
//! ```
//!
//! The grammar is injective: after the first `)` comes `h`, `:`, `@` or `/`, a port ends at `@` or `/`, and WHATWG
//! serialisation percent-encodes `/` and `@` in userinfo. An IPv4 address holds dots, which a reversed domain never does.
//!
//! Equal keys come only from these rules ([`RULES_VERSION`]): the fragment is cut, an empty query (`?` and nothing) is
//! dropped, trailing dots of the host are dropped (but of a host that is nothing else). Where one of the last two changed the URL, the record
//! keeps the fetch URL, because the key no longer gives it back.

use std::ops::Range;

use url::{Host, Url};

/// Version of the rules above; written into the data directory, since stored keys depend on it.
pub const RULES_VERSION: u32 = 1;

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
    rewritten: bool,
}

impl Canonical {
    /// Parses an absolute URL.
    ///
    /// # Errors
    /// [`UrlError`] when it cannot be crawled.
    pub fn parse(input: &str) -> Result<Self, UrlError> {
        Self::from_url(Url::parse(input)?)
    }

    /// Makes one of a parsed URL.
    ///
    /// # Errors
    /// [`UrlError::Scheme`] and [`UrlError::TooLong`].
    pub fn from_url(mut url: Url) -> Result<Self, UrlError> {
        let default_scheme = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(UrlError::Scheme),
        };
        url.set_fragment(None);
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        let mut key = String::with_capacity(url.as_str().len());
        let mut rewritten = push_host(&mut key, &url)?;
        key.push(')');
        if !default_scheme {
            key.push_str("http");
        }
        if let Some(port) = url.port() {
            key.push(':');
            key.push_str(&port.to_string());
        }
        if !url.username().is_empty() || url.password().is_some() {
            key.push('@');
            key.push_str(url.username());
            if let Some(password) = url.password() {
                key.push(':');
                key.push_str(password);
            }
        }
        key.push_str(url.path());
        match url.query() {
            Some("") => rewritten = true,
            Some(query) => {
                key.push('?');
                key.push_str(query);
            }
            None => {}
        }
        let host = host_range(&url);
        Ok(Self { url: String::from(url).into(), key: key.into(), host, rewritten })
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
        self.rewritten.then_some(&*self.url)
    }
}

/// The part of a key that names the host: the unit of politeness (host without port).
pub(crate) fn host_of_key(key: &str) -> &str {
    key.split_once(')').map_or(key, |(host, _)| host)
}

/// The registrable domain of a host name; the host itself (without trailing dots) where there is none.
pub fn registrable_domain(host: &str) -> &str {
    let host = without_trailing_dots(host);
    if host.starts_with('[') || host.ends_with(|c: char| c.is_ascii_digit()) {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// The URL that a key stands for, where no rule rewrote it (else the record keeps the alternate).
pub(crate) fn url_of_key(key: &str) -> String {
    let (host, rest) = key.split_once(')').unwrap_or((key, "/"));
    let (scheme, rest) = match rest.strip_prefix("http") {
        Some(rest) => ("http", rest),
        None => ("https", rest),
    };
    let path = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(path);
    let (port, userinfo) = authority.split_once('@').map_or((authority, None), |(port, user)| (port, Some(user)));
    let mut url = String::with_capacity(key.len() + 12);
    url.push_str(scheme);
    url.push_str("://");
    if let Some(userinfo) = userinfo {
        url.push_str(userinfo);
        url.push('@');
    }
    push_host_of_key(&mut url, host);
    url.push_str(port);
    url.push_str(path);
    url
}

/// Host name (as in a URL) of a key's host part.
pub(crate) fn host_name(host_key: &str) -> String {
    let mut name = String::with_capacity(host_key.len());
    push_host_of_key(&mut name, host_key);
    name
}

fn push_host_of_key(out: &mut String, host: &str) {
    if host.starts_with('[') || host.contains('.') {
        out.push_str(host);
        return;
    }
    for (i, label) in host.rsplit(',').enumerate() {
        if i > 0 {
            out.push('.');
        }
        if label.contains('%') {
            out.push_str(&label.replace("%2C", ",").replace("%29", ")"));
        } else {
            out.push_str(label);
        }
    }
}

/// Appends the host in key order; true if a trailing dot was folded.
fn push_host(key: &mut String, url: &Url) -> Result<bool, UrlError> {
    let domain = match url.host() {
        Some(Host::Domain(domain)) => domain,
        Some(address) => {
            key.push_str(&address.to_string());
            return Ok(false);
        }
        None => return Err(UrlError::Invalid(url::ParseError::EmptyHost)),
    };
    let stem = without_trailing_dots(domain);
    let folded = stem.len() < domain.len();
    let domain = stem;
    for (i, label) in domain.rsplit('.').enumerate() {
        if i > 0 {
            key.push(',');
        }
        if label.contains([',', ')']) {
            key.push_str(&label.replace(',', "%2C").replace(')', "%29"));
        } else {
            key.push_str(label);
        }
    }
    Ok(folded)
}

/// `example.com.` names the same host as `example.com`; a host of nothing but dots stays as it is.
fn without_trailing_dots(host: &str) -> &str {
    match host.trim_end_matches('.') {
        "" => host,
        stem => stem,
    }
}

fn host_range(url: &Url) -> Range<u32> {
    let text = url.as_str();
    let host = url.host_str().unwrap_or_default();
    // `host_str` borrows from the serialisation, so the distance of the two pointers is the offset.
    let start = (host.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    if start > text.len() {
        return 0..0;
    }
    start as u32..(start + host.len()) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_follow_the_grammar() {
        for (url, key) in [
            ("https://www.example.com/path?query#frag", "com,example,www)/path?query"),
            ("http://www.example.com", "com,example,www)http/"),
            ("http://www.example.com:80/a", "com,example,www)http/a"),
            ("http://www.example.com:8080/a", "com,example,www)http:8080/a"),
            ("https://user:pw@example.com:1/", "com,example):1@user:pw/"),
            ("https://user@example.com/", "com,example)@user/"),
            ("http://127.0.0.1:8180/x", "127.0.0.1)http:8180/x"),
            ("https://[2001:db8::1]/", "[2001:db8::1])/"),
            ("https://example.com./a", "com,example)/a"),
            ("https://example.com/a?", "com,example)/a"),
            ("https://a,b.example.com/", "com,example,a%2Cb)/"),
            ("https://a)b.example.com/", "com,example,a%29b)/"),
            ("https://EXAMPLE.com/%7Ea/./b/../c", "com,example)/%7Ea/c"),
            ("https://bücher.example/", "example,xn--bcher-kva)/"),
            ("https://example.com../a", "com,example)/a"),
            ("https://./a", ",)/a"),
        ] {
            assert_eq!(Canonical::parse(url).map(|c| c.key().to_owned()), Ok(key.to_owned()), "{url}");
        }
    }

    #[test]
    fn what_cannot_be_crawled_is_named() {
        assert_eq!(Canonical::parse("mailto:a@example.com"), Err(UrlError::Scheme));
        assert_eq!(Canonical::parse("ftp://example.com/"), Err(UrlError::Scheme));
        assert!(matches!(Canonical::parse("https://"), Err(UrlError::Invalid(_))));
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL_BYTES));
        assert_eq!(Canonical::parse(&long), Err(UrlError::TooLong));
    }

    #[test]
    fn the_host_and_its_domain() {
        for (url, host, domain) in [
            ("https://www.example.co.uk:8/", "www.example.co.uk", "example.co.uk"),
            ("https://me.github.io/", "me.github.io", "me.github.io"),
            ("http://u:p@127.0.0.1:80/", "127.0.0.1", "127.0.0.1"),
            ("http://[::1]/", "[::1]", "[::1]"),
            ("http://localhost/", "localhost", "localhost"),
            ("http://example.com./", "example.com.", "example.com"),
        ] {
            let one = Canonical::parse(url).expect("a valid URL");
            assert_eq!((one.host(), one.registrable_domain()), (host, domain), "{url}");
        }
    }

    #[test]
    fn only_a_rewritten_url_needs_its_alternate() {
        for (url, needs) in [("https://e.com/a", false), ("https://e.com/a?", true), ("https://e.com./a", true)] {
            let one = Canonical::parse(url).expect("a valid URL");
            assert_eq!(one.alternate(), needs.then_some(url));
        }
    }

    fn urls() -> impl Strategy<Value = String> {
        let host =
            prop_oneof!["[a-z,)]{1,6}(\\.[a-z0-9-]{1,5}){0,3}\\.?", Just("10.0.0.1".into()), Just("[::1]".into())];
        ("https?", "([a-z@:/%2]{1,4}(:[a-z@:%]{0,3})?@)?", host, "(:[0-9]{1,4})?", "[ -~]{0,20}")
            .prop_map(|(scheme, user, host, port, rest)| format!("{scheme}://{user}{host}{port}/{rest}"))
    }

    proptest! {
        #[test]
        fn a_key_gives_its_url_back(input in urls()) {
            if let Ok(one) = Canonical::parse(&input) {
                if one.alternate().is_none() {
                    prop_assert_eq!(url_of_key(one.key()), one.url());
                }
                let again = Canonical::parse(&url_of_key(one.key())).expect("the key's URL is a URL");
                prop_assert_eq!(again.key(), one.key());
                prop_assert_eq!(host_name(host_of_key(one.key())), without_trailing_dots(one.host()));
            }
        }
    }
}
