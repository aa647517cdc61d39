//! Origin checks: rejects requests from pages of other sites, and unknown host names, which indicate DNS rebinding.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Method, Uri, header};

use super::roles::is_api;
use crate::http::problem::{ErrorResponse, ProblemCode};

/// Host names of the server.
pub(crate) struct HostNames {
    /// In addition to loopback; if empty, any name is accepted unless the server is on loopback.
    hosts: Vec<String>,
    loopback: bool,
}

impl HostNames {
    pub(crate) fn new(hosts: &[String], address: SocketAddr) -> HostNames {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        HostNames { hosts, loopback: address.ip().is_loopback() }
    }

    /// Accepts a request, or returns the reason for its rejection.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        let host = authority(uri, headers);
        if !self.knows(host) {
            let detail = "unknown host name in the request; add it to `server.hosts` in the settings";
            return Err(ErrorResponse::new(ProblemCode::UnknownHost, detail));
        }
        if is_own_page(host, headers) || is_visit(method, uri, headers) {
            return Ok(());
        }
        Err(ErrorResponse::new(ProblemCode::CrossSite, "requests from pages of other sites are refused"))
    }

    fn knows(&self, authority: &str) -> bool {
        let name = name_of(authority).to_ascii_lowercase();
        if self.hosts.iter().any(|host| *host == name || *host == authority.to_ascii_lowercase()) {
            return true;
        }
        let address: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        let is_local =
            address.is_some_and(|ip| ip.is_loopback()) || name == "localhost" || name.ends_with(".localhost");
        if self.loopback { is_local } else { self.hosts.is_empty() || is_local }
    }
}

/// Returns the host that the client addressed.
fn authority<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> &'r str {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    host.or_else(|| uri.authority().map(|authority| authority.as_str())).unwrap_or_default()
}

/// Returns the authority without the port.
fn name_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => authority,
    }
}

/// Browsers name the requesting page in a header; other programs send none.
fn is_own_page(host: &str, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let by_site = text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    let by_origin = text("origin").is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, asked_by)| asked_by.eq_ignore_ascii_case(host))
    });
    by_site && by_origin
}

/// Returns true for a link to the page from another site: the browser navigates to it, and sends no cookie.
fn is_visit(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let is = |name: &str, expected: &str| headers.get(name).is_some_and(|value| value == expected);
    method == Method::GET
        && !is_api(uri.path())
        && !headers.contains_key(header::ORIGIN)
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(names: &HostNames, path: &str, pairs: &[(&'static str, &'static str)]) -> &'static str {
        let mut headers = HeaderMap::new();
        pairs.iter().for_each(|(name, value)| drop(headers.insert(*name, value.parse().unwrap())));
        match names.check(&Method::GET, &path.parse().unwrap(), &headers) {
            Ok(()) => "passes",
            Err(problem) => problem.code().as_str(),
        }
    }

    #[test]
    fn names_that_a_server_on_loopback_goes_by() {
        let names = HostNames::new(&["rawko.test".to_owned()], "127.0.0.1:7411".parse().unwrap());
        let table = [
            ("127.0.0.1:7411", "passes"),
            ("localhost", "passes"),
            ("LOCALHOST:80", "passes"),
            ("rawko.localhost:7411", "passes"),
            ("[::1]:7411", "passes"),
            ("Rawko.test", "passes"),
            ("rawko.test:8443", "passes"),
            ("evil.example", "unknown_host"),
            ("127.0.0.1.evil.example:7411", "unknown_host"),
            ("localhost.evil.example", "unknown_host"),
            ("evillocalhost", "unknown_host"),
            ("192.168.1.2:7411", "unknown_host"),
        ];
        for (host, expected) in table {
            assert_eq!(outcome(&names, "/v1/instances", &[("host", host)]), expected, "{host}");
        }
        assert_eq!(outcome(&names, "/v1/instances", &[]), "unknown_host", "no name at all");
    }

    #[test]
    fn elsewhere_any_name_will_do_unless_some_are_given() {
        let address = "0.0.0.0:7411".parse().unwrap();
        let any = HostNames::new(&[], address);
        assert_eq!(outcome(&any, "/", &[("host", "box.example:7411")]), "passes");
        let some = HostNames::new(&["rawko.example".to_owned()], address);
        assert_eq!(outcome(&some, "/", &[("host", "rawko.example")]), "passes");
        assert_eq!(outcome(&some, "/", &[("host", "box.example")]), "unknown_host");
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let names = HostNames::new(&[], "127.0.0.1:7411".parse().unwrap());
        let own = ("host", "localhost:7411");
        let (navigate, document) = (("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"));
        let foreign = ("sec-fetch-site", "cross-site");
        let api = "/v1/instances";
        assert_eq!(outcome(&names, api, &[own]), "passes");
        assert_eq!(outcome(&names, api, &[own, ("origin", "http://localhost:7411")]), "passes");
        assert_eq!(
            outcome(&names, api, &[own, ("origin", "https://localhost:7411")]),
            "passes",
            "a proxy ends TLS"
        );
        assert_eq!(outcome(&names, api, &[own, ("sec-fetch-site", "same-origin")]), "passes");
        assert_eq!(outcome(&names, api, &[own, ("origin", "http://localhost:3000")]), "cross_site");
        assert_eq!(outcome(&names, api, &[own, ("origin", "null")]), "cross_site");
        assert_eq!(outcome(&names, api, &[own, ("sec-fetch-site", "same-site")]), "cross_site");
        assert_eq!(outcome(&names, api, &[own, foreign]), "cross_site");
        assert_eq!(outcome(&names, api, &[own, foreign, navigate, document]), "cross_site");
        assert_eq!(outcome(&names, "/", &[own, foreign, navigate, document]), "passes", "a link to the page");
        assert_eq!(
            outcome(&names, "/", &[own, foreign, navigate, ("sec-fetch-dest", "iframe")]),
            "cross_site"
        );
    }
}
