//! The HTTP client that the services of one host share: one pool of connections, certificates read once.

use std::sync::OnceLock;

use crate::services::ServiceError;

/// Made when it is first needed: most charts call nothing over HTTP, and reading certificates takes a while.
#[derive(Default)]
pub(crate) struct Client(OnceLock<Result<reqwest::Client, String>>);

impl Client {
    pub(crate) fn ready(&self) -> Result<&reqwest::Client, ServiceError> {
        // Where the system has no certificates, plain HTTP still works, and TLS says that it trusts nobody.
        let client = self.0.get_or_init(|| {
            let client = builder().build().or_else(|_| builder().tls_certs_only([]).build());
            client.map_err(|error| error.without_url().to_string())
        });
        client.as_ref().map_err(|why| ServiceError::not_here(format!("HTTP cannot be set up: {why}")))
    }
}

fn builder() -> reqwest::ClientBuilder {
    // Refused when the embedding program has installed one: then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("rawko/", env!("CARGO_PKG_VERSION")))
        // Redirects are followed by hand, within one host. Trying again is the chart's decision.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
}
