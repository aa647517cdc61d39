//! The HTTP client that all providers share: one pool of connections, certificates read once, and only when somebody
//! asks a model at all.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{ClientBuilder, Url};

use crate::provider::{ErrorCode, ProviderError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(crate) struct Client {
    /// Past any proxy, for servers on this machine: a proxy elsewhere could not reach them.
    here: Lazy,
    elsewhere: Lazy,
}

type Lazy = OnceLock<Result<reqwest::Client, String>>;

impl Client {
    pub(crate) fn ready(&self, url: &Url) -> Result<&reqwest::Client, ProviderError> {
        let client = if is_here(url) {
            self.here.get_or_init(|| build(ClientBuilder::no_proxy))
        } else {
            self.elsewhere.get_or_init(|| build(|builder| builder))
        };
        client.as_ref().map_err(|why| {
            ProviderError::new(ErrorCode::InvalidRequest, format!("HTTP cannot be set up: {why}"))
        })
    }
}

pub(super) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Where the system has no certificates, plain HTTP still works, and TLS says that it trusts nobody.
fn build(adapt: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<reqwest::Client, String> {
    let client = adapt(builder()).build().or_else(|_| adapt(builder()).tls_certs_only([]).build());
    client.map_err(|error| error.without_url().to_string())
}

fn builder() -> ClientBuilder {
    // Refused when somebody has installed one before: then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("rawko/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        // A redirect would take the key elsewhere. Trying again is decided durably by whoever asks.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
}
