//! Which IP addresses a crawler may connect to.
//!
//! A page chooses the names and addresses that are asked next; a page must not be able to point the crawler at the
//! network that it runs in. This file only judges an address. Who calls it, and when, is in [`fetch`](crate::fetch):
//! after resolution, before connecting, for every request.
//!
//! Invariant: an IPv6 address that carries an IPv4 address is never better than the IPv4 address in it.
//!
//! Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates), RFC 4291, RFC 6052
//! (NAT64), RFC 3056 (6to4), RFC 4380 (Teredo).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where cloud providers serve their machines' credentials and settings. Never a page, so these stay refused even
/// where private networks are allowed. In turn: AWS, Azure, GCP and others; AWS containers; Alibaba; Oracle;
/// Azure's WireServer (a public address that only its own machines reach); AWS and GCP over IPv6.
const METADATA: [IpAddr; 7] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Whether a crawler with this setting may connect to `address`.
///
/// With `allow_private_networks` everything is allowed except the metadata services of cloud providers.
#[must_use]
pub fn is_allowed(address: IpAddr, allow_private_networks: bool) -> bool {
    if allow_private_networks { !is_metadata(address) } else { is_public(address) }
}

/// Whether `address` belongs to the public Internet: unicast, globally reachable, not set aside for any purpose.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    if is_metadata(address) {
        return false;
    }
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_metadata(address: IpAddr) -> bool {
    let embedded = match address {
        IpAddr::V6(v6) => v6.to_ipv4().or_else(|| nat64(v6)).or_else(|| six_to_four(v6)),
        IpAddr::V4(_) => None,
    };
    METADATA.contains(&address) || embedded.is_some_and(|v4| METADATA.contains(&IpAddr::V4(v4)))
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match (a, b, c) {
        (0, ..) => true,            // this network; connects to the own machine on Linux
        (10, ..) => true,           // private
        (100, 64..=127, _) => true, // carrier-grade NAT
        (127, ..) => true,          // loopback
        (169, 254, _) => true,      // link-local
        (172, 16..=31, _) => true,  // private
        (192, 0, 0) => true,        // protocol assignments
        (192, 0, 2) => true,        // documentation
        (192, 88, 99) => true,      // 6to4 relays
        (192, 168, _) => true,      // private
        (198, 18..=19, _) => true,  // benchmarking
        (198, 51, 100) => true,     // documentation
        (203, 0, 113) => true,      // documentation
        (224..=255, ..) => true,    // multicast, reserved, broadcast
        _ => false,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = address.to_ipv4_mapped().or_else(|| nat64(address)) {
        return is_public_v4(v4);
    }
    let segments = address.segments();
    match segments {
        [0x2002, ..] => six_to_four(address).is_some_and(is_public_v4),
        // Teredo carries its server and, inverted, its client.
        [0x2001, 0, a, b, _, _, c, d] => is_public_v4(joined(a, b)) && is_public_v4(joined(!c, !d)),
        [0x2001, 0..=0x1ff, ..] => false,  // protocol assignments, benchmarking, ORCHID
        [0x2001, 0x0db8, ..] => false,     // documentation
        [0x3fff, 0..=0x0fff, ..] => false, // documentation
        // Only 2000::/3 is handed out. This refuses loopback, unspecified, IPv4-compatible and IPv4-translated,
        // local NAT64, discard, unique-local, link-local, site-local and multicast in one go.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// The IPv4 address in the well-known NAT64 prefix `64:ff9b::/96`.
fn nat64(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

/// The IPv4 address of the router in a 6to4 address.
fn six_to_four(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, public: bool, with_private_networks: bool) {
        let address: IpAddr = text.parse().expect("the table holds addresses");
        assert_eq!(is_public(address), public, "{text}");
        assert_eq!(is_allowed(address, false), public, "{text}");
        assert_eq!(is_allowed(address, true), with_private_networks, "{text}, private networks allowed");
    }

    #[test]
    fn public_addresses_are_allowed() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.0.3.1",
            "192.88.98.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.1",
            "203.0.112.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2620:4f:8000::1",
            "3ffe::1",
            "3fff:1000::1",
            // carriers of public IPv4 addresses
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2001:0:808:808:0:0:fefe:fefe",
        ] {
            check(text, true, true);
        }
    }

    #[test]
    fn private_and_special_addresses_are_refused() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "3fff::1",
            "5f00::1",
            // carriers: mapped, compatible, translated, NAT64 (well-known and local), 6to4, Teredo by server and
            // by client
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:0:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::808:808",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2001:0:a00:1:0:0:fefe:fefe",
            "2001:0:808:808:0:0:f5ff:fffe",
        ] {
            check(text, false, true);
        }
    }

    #[test]
    fn metadata_services_are_refused_always() {
        for text in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
        ] {
            check(text, false, false);
        }
    }
}
