//! The grammar of keys: written from a URL's parts, and read back.
//!
//! Not here: which parts a URL has after the rules. Invariant: writing is injective, and what is read back from a key is
//! the URL that its parts spell.

use super::parts::Parts;

/// What a label may hold (WHATWG forbids it only `%` and what ends a host), but a key must not: `,` and `)` are the key's
/// own, and `*` and `+` sort between the two, so that another domain's keys would stand among those of one domain.
const ESCAPED: [(char, &str); 4] = [(',', "%2C"), (')', "%29"), ('*', "%2A"), ('+', "%2B")];

/// The key of a URL that has these parts; `length` is a good guess at its length.
pub(super) fn of_parts(parts: &Parts<'_>, length: usize) -> String {
    let mut key = String::with_capacity(length);
    if parts.is_domain {
        push_labels(&mut key, parts.host);
    } else {
        key.push_str(parts.host);
    }
    key.push(')');
    if parts.is_http {
        key.push_str("http");
    }
    if !parts.port.is_empty() {
        key.push(':');
        key.push_str(parts.port);
    }
    if !parts.userinfo.is_empty() {
        key.push('@');
        key.push_str(parts.userinfo);
    }
    key.push_str(&parts.path);
    if let Some(query) = &parts.query {
        key.push('?');
        key.push_str(query);
    }
    key
}

fn push_labels(key: &mut String, domain: &str) {
    for (i, label) in domain.rsplit('.').enumerate() {
        if i > 0 {
            key.push(',');
        }
        if label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            key.push_str(label);
        } else {
            push_escaped(key, label);
        }
    }
}

fn push_escaped(key: &mut String, label: &str) {
    for c in label.chars() {
        match ESCAPED.iter().find(|(escaped, _)| *escaped == c) {
            Some((_, escape)) => key.push_str(escape),
            None => key.push(c),
        }
    }
}

/// The part of a key that names the host: the unit of politeness (host without port).
pub(crate) fn host_of_key(key: &str) -> &str {
    key.split_once(')').map_or(key, |(host, _)| host)
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
    push_host(&mut url, host);
    url.push_str(port);
    url.push_str(path);
    url
}

/// Host name (as in a URL) of a key's host part.
pub(crate) fn host_name(host_key: &str) -> String {
    let mut name = String::with_capacity(host_key.len());
    push_host(&mut name, host_key);
    name
}

fn push_host(out: &mut String, host: &str) {
    if host.starts_with('[') || host.contains('.') {
        out.push_str(host);
        return;
    }
    for (i, label) in host.rsplit(',').enumerate() {
        if i > 0 {
            out.push('.');
        }
        if label.contains('%') {
            let plain =
                ESCAPED.iter().fold(label.to_owned(), |label, (c, escape)| label.replace(escape, &c.to_string()));
            out.push_str(&plain);
        } else {
            out.push_str(label);
        }
    }
}
