//! Which addresses may be reached: one rule for WebFetch, MCP over HTTP and the proxy of confined programs.

mod address;
mod hint;
mod proxy;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use address::is_private;
pub use hint::network_hint;
pub(crate) use proxy::Proxy;
pub use rules::{HostList, HostRule, HostRules};

/// Hosts that one program can ask for. More would only make a request unreadable.
const WANTED_MAX: usize = 10;

/// Hosts that may be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// `docs.rs`, `*.example.com`, `localhost:3000`; `None` allows any public host.
    pub hosts: Option<Vec<String>>,
    /// Hosts that may be reached although their address is one of this machine or a private network.
    pub private: Vec<String>,
    /// Decisions on single hosts.
    pub rules: HostRules,
}

/// The hosts that a program reached through its proxy, and those that need an approval; noted while it runs.
#[derive(Clone, Debug, Default)]
pub struct ReachedHosts(Arc<Mutex<NotedHosts>>);

#[derive(Debug, Default)]
struct NotedHosts {
    reached: BTreeSet<String>,
    wanted: BTreeMap<String, String>,
}

impl ReachedHosts {
    fn noted(&self) -> std::sync::MutexGuard<'_, NotedHosts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, host: &str) {
        self.noted().reached.insert(host.to_owned());
    }

    pub(crate) fn want(&self, host: &str, rule: &str) {
        let mut noted = self.noted();
        if noted.wanted.len() < WANTED_MAX {
            let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
            noted.wanted.insert(host, rule.to_owned());
        }
    }

    /// Returns the hosts so far, in order.
    pub fn hosts(&self) -> Vec<String> {
        self.noted().reached.iter().cloned().collect()
    }

    /// Returns the hosts that a person has to approve first, each with the rule that asks.
    pub fn wanted(&self) -> Vec<(String, String)> {
        self.noted().wanted.iter().map(|(host, rule)| (host.clone(), rule.clone())).collect()
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
    /// A rule denies the host.
    Denied {
        /// The requested host.
        host: String,
        /// The rule and its file.
        rule: String,
    },
    /// A person has to approve the host first.
    Unapproved {
        /// The requested host.
        host: String,
        /// The rule that asks.
        rule: String,
    },
    /// The list of an agent does not name the host.
    OutsideAgent {
        /// The requested host.
        host: String,
        /// The file of the list.
        source: String,
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
            EgressRefusal::NotListed { host, hosts } if hosts.is_empty() => {
                write!(f, "the host `{host}` is not among those allowed: there are none")
            }
            EgressRefusal::Denied { host, rule } => write!(f, "the host `{host}` is denied by {rule}"),
            EgressRefusal::Unapproved { host, rule } => {
                write!(f, "the host `{host}` needs the approval of a person, by {rule}")
            }
            EgressRefusal::OutsideAgent { host, source } => {
                write!(f, "the host `{host}` is not in `tools.network` of {source}")
            }
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
        Egress { hosts, private, rules: self.rules }
    }

    /// Decides on a name, without resolving it.
    pub fn decide(&self, host: &str, port: u16) -> Result<(), EgressRefusal> {
        let rules = &self.rules;
        let bare = host.trim_matches(['[', ']']);
        let by = |list: &[HostRule]| list.iter().find(|rule| is_named(&rule.pattern, bare, port)).cloned();
        if let Some(HostRule { source, .. }) = by(&rules.denied) {
            return Err(EgressRefusal::Denied { host: host.to_owned(), rule: source });
        }
        if by(&rules.approved).is_some() {
            return Ok(());
        }
        let unapproved = |rule: String| EgressRefusal::Unapproved { host: host.to_owned(), rule };
        let is_host = rules::is_host(bare);
        if let Some(HostRule { source, .. }) = by(&rules.asked) {
            return Err(unapproved(source));
        }
        let is_listed = self.hosts.as_ref().is_none_or(|hosts| names(hosts, bare, port));
        if !is_listed && !names(&self.private, bare, port) {
            if rules.asks_unlisted && is_host {
                return Err(unapproved("no list of the settings names it".to_owned()));
            }
            let hosts = self.hosts.clone().unwrap_or_default();
            return Err(EgressRefusal::NotListed { host: host.to_owned(), hosts });
        }
        match rules.within.iter().find(|list| !names(&list.hosts, bare, port)) {
            Some(list) if rules.asks_unlisted && is_host => {
                Err(unapproved(format!("`tools.network` of {} does not name it", list.source)))
            }
            Some(list) => {
                Err(EgressRefusal::OutsideAgent { host: host.to_owned(), source: list.source.clone() })
            }
            None => Ok(()),
        }
    }

    /// Resolves a host, once, and checks the name and every address. Connect to exactly the returned addresses: a second
    /// answer of the name service could be another one.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressRefusal> {
        self.decide(host, port)?;
        let bare = host.trim_matches(['[', ']']);
        // An approval is of a name; that it leads to this machine is not known to the person.
        let is_private_allowed = names(&self.private, bare, port);
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
    list.iter().any(|entry| is_named(entry, host, port))
}

fn is_named(entry: &str, host: &str, port: u16) -> bool {
    let (entry, host) = (entry.to_ascii_lowercase(), host.trim_end_matches('.').to_ascii_lowercase());
    matches(&entry, &host) || matches(&entry, &format!("{host}:{port}"))
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
    /// Each row decides on `host`: the settings list `listed.com`, and the rules are those of the row.
    #[test]
    fn a_denial_wins_over_an_approval_and_that_over_a_question() {
        let rule =
            |pattern: &str| vec![HostRule { pattern: pattern.to_owned(), source: "a rule".to_owned() }];
        let none = HostRules::default();
        let asking = HostRules { asks_unlisted: true, ..none.clone() };
        let within = |hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            vec![HostList { hosts, source: "an agent".to_owned() }]
        };
        for (rules, host, expected) in [
            (none.clone(), "listed.com", "ok"),
            (none.clone(), "other.com", "NotListed"),
            (asking.clone(), "listed.com", "ok"),
            (asking.clone(), "other.com", "Unapproved"),
            (asking.clone(), "other.com\u{1b}[2J", "NotListed"),
            (HostRules { denied: rule("*"), ..asking.clone() }, "other.com", "Denied"),
            (HostRules { denied: rule("listed.com"), ..none.clone() }, "LISTED.com.", "Denied"),
            (HostRules { denied: rule("x.com"), approved: rule("x.com"), ..none.clone() }, "x.com", "Denied"),
            (HostRules { approved: rule("x.com"), asked: rule("*"), ..none.clone() }, "x.com", "ok"),
            (HostRules { asked: rule("*"), ..none.clone() }, "listed.com", "Unapproved"),
            (HostRules { within: within(&[]), ..none.clone() }, "listed.com", "OutsideAgent"),
            (HostRules { within: within(&["listed.com"]), ..none.clone() }, "listed.com", "ok"),
            (HostRules { within: within(&["other.com"]), ..none.clone() }, "other.com", "NotListed"),
            (HostRules { within: within(&[]), ..asking.clone() }, "listed.com", "Unapproved"),
            (HostRules { within: within(&[]), approved: rule("x.com"), ..asking }, "x.com", "ok"),
        ] {
            let egress = Egress { hosts: Some(vec!["listed.com".to_owned()]), private: Vec::new(), rules };
            let decided = egress.decide(host, 443);
            let found = decided.map_or_else(|refusal| format!("{refusal:?}"), |()| "ok".to_owned());
            assert!(found.starts_with(expected), "{host:?}: {found} instead of {expected}, {egress:?}");
        }
    }
}
