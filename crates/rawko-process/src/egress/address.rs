//! Addresses of this machine and of private networks. Services there often trust every client that can reach them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a, b, c) == (192, 0, 0)
}

/// Also checks embedded IPv4 addresses.
fn is_private_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let last = Ipv4Addr::from(((u32::from(parts[6])) << 16) | u32::from(parts[7]));
    let carried = match parts {
        [0, 0, 0, 0, 0, 0xffff | 0, _, _] | [0x64, 0xff9b, ..] => Some(last),
        [0x2002, high, low, ..] => Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        _ => None,
    };
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || (parts[0] & 0xfe00) == 0xfc00
        || (parts[0] & 0xffc0) == 0xfe80
        || (parts[0] & 0xffc0) == 0xfec0
        || (parts[0] == 0x2001 && parts[1] == 0xdb8)
        || carried.is_some_and(is_private_v4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_public_or_not() {
        for (address, expected) in [
            ("8.8.8.8", false),
            ("93.184.216.34", false),
            ("2606:2800:220:1::1", false),
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("172.16.0.1", true),
            ("192.168.1.1", true),
            ("169.254.169.254", true),
            ("100.64.0.1", true),
            ("0.0.0.0", true),
            ("255.255.255.255", true),
            ("224.0.0.1", true),
            ("::1", true),
            ("::", true),
            ("fe80::1", true),
            ("fd00::1", true),
            ("::ffff:127.0.0.1", true),
            ("::ffff:8.8.8.8", false),
            ("64:ff9b::10.0.0.1", true),
            ("2002:7f00:1::", true),
        ] {
            assert_eq!(is_private(address.parse().unwrap()), expected, "{address}");
        }
    }
}
