//! The HTTP client that the services of one host share: one pool of connections, certificates read once.

use std::net::IpAddr;
use std::sync::OnceLock;

use reqwest::{ClientBuilder, Url};

use crate::services::ServiceError;

/// Built on first use: most charts make no HTTP calls, and reading certificates is slow.
#[derive(Default)]
pub(crate) struct Client {
    /// Bypasses any proxy, for services on this machine: a remote proxy could not reach them.
    here: Lazy,
    elsewhere: Lazy,
}

type Lazy = OnceLock<Result<reqwest::Client, String>>;

impl Client {
    pub(crate) fn ready(&self, url: &Url) -> Result<&reqwest::Client, ServiceError> {
        let client = if is_here(url) {
            self.here.get_or_init(|| build(|builder| builder.no_proxy()))
        } else {
            self.elsewhere.get_or_init(|| build(|builder| builder))
        };
        client.as_ref().map_err(|why| ServiceError::not_here(format!("cannot set up HTTP: {why}")))
    }
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Builds a client. Without system certificates, plain HTTP still works and TLS connections fail as untrusted.
fn build(adapt: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<reqwest::Client, String> {
    let client = adapt(builder()).build().or_else(|_| adapt(builder()).tls_certs_only([]).build());
    client.map_err(|error| error.without_url().to_string())
}

fn builder() -> ClientBuilder {
    // Fails if the embedding program has installed a provider, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("rawko/", env!("CARGO_PKG_VERSION")))
        // Redirects are followed by our own code, within one host. Retries are the chart's decision.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::is_here;

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.1/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:80/", true),
            ("http://localhost.example.test/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_here(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
