//! Sends one request and maps failures to errors. Shared by the ingress and the admin client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::{Client, Method, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::RestateError;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// One API of a server, or of the nodes of a cluster.
#[derive(Clone, Debug)]
pub(super) struct RestateApi {
    client: Client,
    nodes: Arc<[Url]>,
    /// The node that responded last.
    current: Arc<AtomicUsize>,
    /// Advice for an unreachable server.
    help: &'static str,
    /// Advice for a server that does not respond.
    slow: &'static str,
}

/// A request as text.
#[derive(Clone, Debug)]
pub(super) struct HttpRequest<'a> {
    pub(super) method: Method,
    /// Relative to the address, escaped.
    pub(super) path: &'a str,
    pub(super) body: Option<String>,
    pub(super) idempotency: Option<&'a str>,
    pub(super) within: Duration,
}

/// The body of an error response.
#[derive(Deserialize)]
struct RestateErrorBody {
    message: String,
}

impl RestateApi {
    /// Parses one address or several, comma-separated.
    pub(super) fn new(
        address: &str,
        help: &'static str,
        slow: &'static str,
    ) -> Result<RestateApi, RestateError> {
        let nodes: Arc<[Url]> = address.split(',').map(node).collect::<Result<_, _>>()?;
        let client = build(&nodes).map_err(|why| RestateError::Unreachable {
            place: address.to_owned(),
            why: why.to_string(),
            help: "HTTP cannot be set up",
        })?;
        Ok(RestateApi { client, nodes, current: Arc::default(), help, slow })
    }

    /// Returns all addresses, as configured.
    pub(super) fn address(&self) -> String {
        self.nodes.iter().map(shown).collect::<Vec<_>>().join(",")
    }

    /// Returns the address for messages.
    pub(super) fn place(&self) -> String {
        shown(self.node())
    }

    /// Returns the node that responded last.
    fn node(&self) -> &Url {
        &self.nodes[self.current.load(Ordering::Relaxed) % self.nodes.len()]
    }

    /// Sends the next request to another node, if there is one.
    pub(super) fn pass_over(&self) {
        self.current.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the text of a successful response. Skips unreachable nodes.
    pub(super) async fn ask(&self, asked: &HttpRequest<'_>) -> Result<String, RestateError> {
        let mut outcome = self.ask_node(self.node(), asked).await;
        for _ in 1..self.nodes.len() {
            if !matches!(outcome, Err(RestateError::Unreachable { .. })) {
                break;
            }
            self.pass_over();
            outcome = self.ask_node(self.node(), asked).await;
        }
        outcome
    }

    async fn ask_node(&self, node: &Url, asked: &HttpRequest<'_>) -> Result<String, RestateError> {
        let url = format!("{node}{}", asked.path);
        let mut request = self.client.request(asked.method.clone(), url).timeout(asked.within);
        request = request.header("accept", "application/json");
        if let Some(key) = asked.idempotency {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = &asked.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        let response = request.send().await.map_err(|error| self.fault(&error, asked))?;
        let status = response.status();
        let text = response.text().await.map_err(|error| self.fault(&error, asked))?;
        match status.as_u16() {
            200..=299 => Ok(text),
            404 => Err(RestateError::Missing(message(&text))),
            // The node is up, but not yet or no longer able to respond.
            429 | 502 | 503 | 504 => Err(self.unreachable(format!("status {status}: {}", message(&text)))),
            status => Err(RestateError::Refused { status, message: message(&text) }),
        }
    }

    /// Parses the response.
    pub(super) fn read<T: DeserializeOwned>(&self, text: &str) -> Result<T, RestateError> {
        // A handler without a result returns an empty body.
        let text = if text.is_empty() { "null" } else { text };
        serde_json::from_str(text)
            .map_err(|error| RestateError::Unreadable { place: self.place(), why: error.to_string() })
    }

    fn fault(&self, error: &reqwest::Error, asked: &HttpRequest<'_>) -> RestateError {
        if error.is_timeout() && !error.is_connect() {
            return RestateError::Slow {
                place: self.place(),
                seconds: asked.within.as_secs(),
                help: self.slow,
            };
        }
        self.unreachable(root_cause(error))
    }

    pub(super) fn unreachable(&self, why: String) -> RestateError {
        RestateError::Unreachable { place: self.place(), why, help: self.help }
    }
}

fn node(address: &str) -> Result<Url, RestateError> {
    let bad = || RestateError::BadAddress(address.to_owned());
    let url = Url::parse(&format!("{}/", address.trim().trim_end_matches('/'))).map_err(|_| bad())?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(bad()),
    }
}

fn shown(node: &Url) -> String {
    node.as_str().trim_end_matches('/').to_owned()
}

fn message(text: &str) -> String {
    serde_json::from_str::<RestateErrorBody>(text)
        .map_or_else(|_| text.trim().to_owned(), |said| said.message)
}

/// Returns the innermost error: the outer ones carry no detail.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Cluster nodes answer in turn, so a node that is down must not hold a request for long.
fn build(nodes: &[Url]) -> Result<Client, rawko_http::ClientError> {
    let is_local = nodes.iter().all(rawko_http::is_loopback);
    rawko_http::build(|builder| {
        let builder = builder.connect_timeout(CONNECT_WITHIN);
        if is_local { builder.no_proxy() } else { builder }
    })
}
