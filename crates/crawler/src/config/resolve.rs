//! The entries of `fetch.resolve`: a host that is answered from the config instead of DNS, like curl's `--resolve`.
//!
//! Not here: whether the address may be connected to (the fetcher's guard, which these entries do not bypass).
//! Invariant: hosts are in the one spelling in which `Url::host_str` gives them, so that a lookup finds them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};
use url::Host;

/// Where a host is to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address connected to.
    pub ip: IpAddr,
    /// The port connected to; without it, the URL's.
    pub port: Option<u16>,
}

impl Address {
    /// Reads `192.0.2.1`, `192.0.2.1:8080`, `[2001:db8::1]` or `[2001:db8::1]:8080`.
    pub fn parse(text: &str) -> Result<Address, String> {
        let (ip, rest) = match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
            Some((v6, rest)) => (v6.parse::<Ipv6Addr>().ok().map(IpAddr::V6), rest),
            None => {
                let end = text.find(':').unwrap_or(text.len());
                let v4 = text[..end].parse::<Ipv4Addr>();
                (v4.ok().map(IpAddr::V4), &text[end..])
            }
        };
        let port = match rest.strip_prefix(':') {
            // `parse` alone would take a sign
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().filter(|&port| port != 0).map(Some)
            }
            None if rest.is_empty() => Some(None),
            _ => None,
        };
        match (ip, port) {
            (Some(ip), Some(port)) => Ok(Address { ip, port }),
            _ => Err(format!(
                "expected an IP address with or without a port, as in \"192.0.2.1:8080\" or \"[2001:db8::1]\", found \
                 {text:?}"
            )),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            IpAddr::V4(ip) => write!(f, "{ip}")?,
            IpAddr::V6(ip) => write!(f, "[{ip}]")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The host as URLs spell it: lower case, punycode. An address is refused, since it is never looked up.
pub(super) fn parse_host(text: &str) -> Result<String, String> {
    match Host::parse(text) {
        Ok(Host::Domain(domain)) => Ok(domain),
        Ok(_) => Err(format!("{text:?} is an address already: only names can be resolved")),
        Err(error) => Err(format!("{text:?} is not a host name: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for good in ["192.0.2.1", "192.0.2.1:8080", "[2001:db8::1]", "[2001:db8::1]:65535", "127.0.0.1:1"] {
            let address = Address::parse(good).unwrap_or_else(|error| panic!("{good}: {error}"));
            assert_eq!(address.to_string(), good);
        }
        for bad in [
            "",
            "localhost",
            "localhost:80",
            "192.0.2.1:",
            "192.0.2.1:0",
            "192.0.2.1:+80",
            "192.0.2.1:65536",
            "192.0.2.256",
            "::1",
            "[::1",
            "[::1]80",
            "[::1]:",
            "[192.0.2.1]:80",
            "192.0.2.1 ",
            "192.0.2.1:80:80",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn hosts() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(parse_host(text).ok().as_deref(), expect, "{text:?}");
        };
        check("example.test", Some("example.test"));
        check("Example.TEST", Some("example.test"));
        check("bücher.test", Some("xn--bcher-kva.test"));
        check("192.0.2.1", None);
        check("[::1]", None);
        check("", None);
        check("a b", None);
        check("host:80", None);
    }
}
