//! How spans leave: the exporter's requests over the HTTP client that the rest of rawko uses, told apart by how they end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

use crate::metrics::Metrics;
use crate::redact::Redactor;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Collectors answer with next to nothing.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

pub(super) struct Client {
    client: reqwest::Client,
    /// The exporter's own thread has no runtime around it.
    runtime: Handle,
    metrics: Arc<Metrics>,
    redactor: Redactor,
    /// Somebody was told that the last batch did not arrive.
    is_failing: AtomicBool,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    pub(super) fn new(runtime: Handle, metrics: Arc<Metrics>, redactor: Redactor) -> Result<Self, String> {
        // Refused when somebody has installed one before: then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("rawko/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_TIMEOUT)
                // A redirect would take the headers elsewhere.
                .redirect(reqwest::redirect::Policy::none())
        };
        // Where the system has no certificates, plain HTTP still works.
        let client = builder().build().or_else(|_| builder().tls_certs_only([]).build());
        let client = client.map_err(|error| error.without_url().to_string())?;
        Ok(Self { client, runtime, metrics, redactor, is_failing: AtomicBool::new(false) })
    }

    fn note(&self, outcome: Result<u16, String>) {
        let why = match outcome {
            Ok(status) if (200..300).contains(&status) => {
                self.metrics.exported("sent");
                self.is_failing.store(false, Ordering::Relaxed);
                return;
            }
            Ok(status) => format!("the collector answered {status}"),
            Err(why) => why,
        };
        self.metrics.exported("failed");
        // Once until it works again: a collector that is away must not fill the log.
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(target: "rawko", "traces cannot be sent: {}", self.redactor.hide(&why));
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let sending = self.client.post(parts.uri.to_string()).headers(parts.headers).body(body).send();
        let answer = self.runtime.spawn(async move {
            let mut answer = sending.await.map_err(reqwest::Error::without_url)?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let mut body = Vec::new();
            while let Some(bytes) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
                body.extend_from_slice(&bytes);
                if body.len() > ANSWER_BYTES_MAX {
                    break;
                }
            }
            Ok::<_, reqwest::Error>((status, headers, body))
        });
        match answer.await.map_err(|error| error.to_string()).and_then(|it| it.map_err(|error| words(&error)))
        {
            Ok((status, headers, body)) => {
                self.note(Ok(status.as_u16()));
                let mut response = Response::new(Bytes::from(body));
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Ok(response)
            }
            Err(why) => {
                self.note(Err(why.clone()));
                Err(why.into())
            }
        }
    }
}

/// The reason under the reason: "error sending request" alone helps nobody.
fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(under) = next {
        words = format!("{words}: {under}");
        next = under.source();
    }
    words
}
