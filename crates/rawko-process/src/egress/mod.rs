//! Which addresses may be reached: one rule for WebFetch, MCP over HTTP and the proxy of confined programs.

mod address;
mod proxy;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use address::is_private;
pub(crate) use proxy::Proxy;

/// Hosts that may be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// `docs.rs`, `*.example.com`, `localhost:3000`; `None` allows any public host.
    pub hosts: Option<Vec<String>>,
    /// Hosts that may be reached although their address is one of this machine or a private network.
    pub private: Vec<String>,
}

/// The hosts that a program reached through its proxy, noted while it runs.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<Mutex<BTreeSet<String>>>);

impl Connections {
    pub(crate) fn note(&self, host: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(host.to_owned());
    }

    /// Returns the hosts so far, in order.
    pub fn hosts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The reason why an address is not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EgressRefusal {
    /// The host matches neither [`Egress::hosts`] nor [`Egress::private`].
    NotListed {
        /// The requested host.
        host: String,
        /// The patterns of [`Egress::hosts`].
        hosts: Vec<String>,
    },
    /// An address of the host is private, and [`Egress::private`] does not list the host.
    Private {
        /// The requested host.
        host: String,
        /// The first private address that the name resolved to.
        address: IpAddr,
    },
    /// The name has no address.
    Unknown {
        /// The requested host, without brackets of an IPv6 address.
        host: String,
        /// The rest of the sentence: `has no address`, or `is not known: …` with the error of the resolver.
        why: String,
    },
}

impl fmt::Display for EgressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EgressRefusal::NotListed { host, hosts } => {
                write!(f, "the host `{host}` is not among those allowed: {}", hosts.join(", "))
            }
            EgressRefusal::Private { host, address } => {
                write!(f, "`{host}` is at {address}, an address of this machine or a private network")
            }
            EgressRefusal::Unknown { host, why } => write!(f, "`{host}` {why}"),
        }
    }
}

impl Egress {
    /// Returns the hosts of an inner file that an outer one allows, too.
    #[must_use]
    pub fn within(self, outer: Egress) -> Egress {
        let is_within = |host: &String| outer.private.iter().any(|wide| covers_host(wide, host));
        let private = self.private.into_iter().filter(is_within).collect();
        let hosts = match (self.hosts, outer.hosts) {
            (Some(inner), Some(outer)) => Some(common_hosts(&inner, &outer)),
            (inner, outer) => inner.or(outer),
        };
        Egress { hosts, private }
    }

    /// Resolves a host, once, and checks the name and every address. Connect to exactly the returned addresses: a second
    /// answer of the name service could be another one.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressRefusal> {
        let bare = host.trim_matches(['[', ']']);
        let is_private_allowed = names(&self.private, bare, port);
        let is_listed = self.hosts.as_ref().is_none_or(|hosts| names(hosts, bare, port));
        if !is_listed && !is_private_allowed {
            let hosts = self.hosts.clone().unwrap_or_default();
            return Err(EgressRefusal::NotListed { host: host.to_owned(), hosts });
        }
        let addresses = resolved(bare, port).await?;
        match addresses.iter().find(|address| is_private(address.ip())) {
            Some(address) if !is_private_allowed => {
                Err(EgressRefusal::Private { host: host.to_owned(), address: address.ip() })
            }
            Some(_) | None => Ok(addresses),
        }
    }
}

async fn resolved(host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressRefusal> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let unknown = |why: String| EgressRefusal::Unknown { host: host.to_owned(), why };
    let found = tokio::net::lookup_host((host, port)).await;
    let found: Vec<SocketAddr> = found.map_err(|error| unknown(format!("is not known: {error}")))?.collect();
    if found.is_empty() { Err(unknown("has no address".to_owned())) } else { Ok(found) }
}

/// Returns the hosts that both lists name.
pub fn common_hosts(one: &[String], other: &[String]) -> Vec<String> {
    let within = |host: &&String, list: &[String]| list.iter().any(|wide| covers_host(wide, host));
    let mut all: Vec<String> = one.iter().filter(|host| within(host, other)).cloned().collect();
    let more: Vec<String> =
        other.iter().filter(|host| within(host, one) && !all.contains(host)).cloned().collect();
    all.extend(more);
    all
}

/// Returns true if one pattern on hosts names everything that another does.
pub fn covers_host(wide: &str, narrow: &str) -> bool {
    let (wide, narrow) = (wide.to_ascii_lowercase(), narrow.to_ascii_lowercase());
    let without_port = narrow.rsplit_once(':').map_or(narrow.as_str(), |(host, _)| host);
    matches(&wide, &narrow) || matches(&wide, without_port)
}

/// Returns true if a list contains a host: `example.com`, `*.example.com`, `localhost:3000`.
fn names(list: &[String], host: &str, port: u16) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let with_port = format!("{host}:{port}");
    list.iter()
        .map(|entry| entry.to_ascii_lowercase())
        .any(|entry| matches(&entry, &host) || matches(&entry, &with_port))
}

/// A `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_with_or_without_port() {
        let list = ["docs.rs".to_owned(), "*.example.com".to_owned(), "localhost:3000".to_owned()];
        for (host, port, expected) in [
            ("docs.rs", 443, true),
            ("DOCS.rs.", 443, true),
            ("a.example.com", 80, true),
            ("example.com", 80, false),
            ("evilexample.com", 80, false),
            ("docs.rs.evil.com", 80, false),
            ("localhost", 3000, true),
            ("localhost", 3001, false),
        ] {
            assert_eq!(names(&list, host, port), expected, "{host}:{port}");
        }
    }
}
