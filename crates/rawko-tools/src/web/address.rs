//! Addresses that may be fetched. This machine and private networks are excluded unless settings name them: services
//! there often trust every client that can reach them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

use crate::outcome::{Failure, Refused};
use crate::pattern::wildcard;
use crate::settings::WebSettings;

const SOURCE: &str = "the project's settings (`tools.web` in .rawko/config.yaml)";

/// Resolves a URL to addresses and checks all of them.
pub(super) async fn checked(settings: &WebSettings, url: &Url) -> Result<Vec<SocketAddr>, Failure> {
    if !["http", "https"].contains(&url.scheme()) {
        let why = format!("`{}` is neither http nor https", url.scheme());
        return Err(Refused::new("address_blocked", "WebFetch", why).into());
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(format!("`{url}` names no host").into());
    };
    let bare = host.trim_matches(['[', ']']);
    let is_private_allowed = names(&settings.private, bare, port);
    let is_listed = settings.hosts.as_ref().is_none_or(|hosts| names(hosts, bare, port));
    if !is_listed && !is_private_allowed {
        let hosts = settings.hosts.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        let why = format!("the host `{host}` is not among those allowed: {hosts}");
        return Err(Refused::new("host_not_allowed", SOURCE, why).into());
    }
    let addresses = resolved(bare, port).await?;
    match addresses.iter().find(|address| is_private(address.ip())) {
        Some(address) if !is_private_allowed => {
            let why =
                format!("`{host}` is at {}, an address of this machine or a private network", address.ip());
            Err(Refused::new("address_private", SOURCE, why).into())
        }
        Some(_) | None => Ok(addresses),
    }
}

async fn resolved(host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let found = tokio::net::lookup_host((host, port)).await;
    let found: Vec<SocketAddr> = found.map_err(|error| format!("`{host}` is not known: {error}"))?.collect();
    if found.is_empty() { Err(format!("`{host}` has no address").into()) } else { Ok(found) }
}

/// Returns true if a list contains a host: `example.com`, `*.example.com`, `localhost:3000`.
fn names(list: &[String], host: &str, port: u16) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let with_port = format!("{host}:{port}");
    list.iter()
        .map(|entry| entry.to_ascii_lowercase())
        .any(|entry| wildcard(&entry, &host) || wildcard(&entry, &with_port))
}

fn is_private(address: IpAddr) -> bool {
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

    #[test]
    fn hosts_are_named_with_or_without_port() {
        let list = ["docs.rs".to_owned(), "*.example.com".to_owned(), "localhost:3000".to_owned()];
        for (host, port, expected) in [
            ("docs.rs", 443, true),
            ("DOCS.rs.", 443, true),
            ("a.example.com", 80, true),
            ("example.com", 80, false),
            ("evilexample.com", 80, false),
            ("localhost", 3000, true),
            ("localhost", 3001, false),
        ] {
            assert_eq!(names(&list, host, port), expected, "{host}:{port}");
        }
    }
}
