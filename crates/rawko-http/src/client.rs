//! `HttpClients`: one pool of connections for this machine and one for everything else, each built on first use.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{ClientBuilder, Url};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Reading certificates takes a while, and most charts call nothing over HTTP: both pools are built on first use.
#[derive(Default)]
pub struct HttpClients {
    /// Ignores proxies: a proxy elsewhere cannot reach this machine's loopback address.
    loopback: ClientPool,
    remote: ClientPool,
}

type ClientPool = OnceLock<Result<reqwest::Client, ClientError>>;

/// The reason why no client could be built, without any address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError(String);

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HTTP is not available: {}", self.0)
    }
}

impl std::error::Error for ClientError {}

impl HttpClients {
    /// Returns the client for an address.
    pub fn for_url(&self, url: &Url) -> Result<&reqwest::Client, ClientError> {
        let client = if is_loopback(url) {
            self.loopback.get_or_init(|| build(ClientBuilder::no_proxy))
        } else {
            self.remote.get_or_init(|| build(|builder| builder))
        };
        client.as_ref().map_err(Clone::clone)
    }
}

/// Reports whether an address is on this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Builds a client. On a system without certificates plain HTTP still works, and TLS trusts no server.
pub fn build(adapt: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<reqwest::Client, ClientError> {
    let client = adapt(builder()).build().or_else(|_| adapt(builder()).tls_certs_only([]).build());
    client.map_err(|error| ClientError(error.without_url().to_string()))
}

/// The settings that all clients have. Redirects are not followed, because they would carry credentials to another
/// server; retries are decided durably by the chart, not here.
pub fn builder() -> ClientBuilder {
    // Fails if the embedding program installed a provider; that one is used then.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("rawko/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::is_loopback;

    #[test]
    fn loopback_addresses_are_recognised() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.1/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:80/", true),
            ("http://localhost.example.test/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
