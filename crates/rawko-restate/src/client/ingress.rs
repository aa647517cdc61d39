//! `Ingress`: calls handlers. Each call has its own idempotency key, so that it can be retried while the server is away
//! and still takes effect once.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::RestateError;
use super::http::{HttpRequest, RestateApi};
use super::target::HandlerTarget;

/// Timeout of a call, including retries.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time to retry an unreachable server: longer than a server takes to start.
const AWAY: Duration = Duration::from_secs(10);
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// The ingress of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ingress {
    http: RestateApi,
    patience: Duration,
    away: Duration,
}

/// A one-way call, as accepted by the server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentCall {
    /// Id of the invocation (`inv_…`), for the admin API.
    pub invocation_id: String,
}

impl Ingress {
    /// Validates the address without connecting; the nodes of a cluster are comma-separated.
    pub fn new(address: &str) -> Result<Ingress, RestateError> {
        let help = "is it running, and is this the address of its ingress (RAWKO_RESTATE, --restate)?";
        let slow = "is a `rawko worker` running, and registered?";
        Ok(Ingress { http: RestateApi::new(address, help, slow)?, patience: PATIENCE, away: AWAY })
    }

    /// Sets the timeouts: of a call as a whole, and for an unreachable server.
    #[must_use]
    pub fn with_patience(self, patience: Duration, away: Duration) -> Ingress {
        Ingress { patience, away, ..self }
    }

    /// Returns the address for messages.
    pub fn place(&self) -> String {
        self.http.place()
    }

    /// Returns all addresses, as configured.
    pub(crate) fn address(&self) -> String {
        self.http.address()
    }

    /// Calls a handler that changes state, exactly once, and returns its response.
    pub async fn call<A: Serialize, R: DeserializeOwned>(
        &self,
        target: &HandlerTarget,
        argument: &A,
    ) -> Result<R, RestateError> {
        self.call_as(target, argument, Some(&fresh_key())).await
    }

    /// Calls a read-only handler, without an idempotency key or a stored result.
    pub async fn look<A: Serialize, R: DeserializeOwned>(
        &self,
        target: &HandlerTarget,
        argument: &A,
    ) -> Result<R, RestateError> {
        self.call_as(target, argument, None).await
    }

    /// Calls a handler with an idempotency key: the same key returns the first response, even for another argument.
    pub async fn call_as<A: Serialize, R: DeserializeOwned>(
        &self,
        target: &HandlerTarget,
        argument: &A,
        key: Option<&str>,
    ) -> Result<R, RestateError> {
        let text = self.repeat(target.path(), argument, key).await?;
        self.http.read(&text)
    }

    /// Submits a one-way call, to be made now or after a delay, exactly once.
    pub async fn send<A: Serialize>(
        &self,
        target: &HandlerTarget,
        argument: &A,
        delay: Option<Duration>,
    ) -> Result<SentCall, RestateError> {
        let delay = delay.map(|delay| format!("?delay={}ms", delay.as_millis())).unwrap_or_default();
        let path = format!("{}/send{delay}", target.path());
        let text = self.repeat(&path, argument, Some(&fresh_key())).await?;
        self.http.read(&text)
    }

    /// Retries until there is a response, or a retry is pointless.
    async fn repeat<A: Serialize>(
        &self,
        path: &str,
        argument: &A,
        key: Option<&str>,
    ) -> Result<String, RestateError> {
        let body = serde_json::to_string(argument).map_err(|error| RestateError::Refused {
            status: 0,
            message: format!("it cannot be written as JSON: {error}"),
        })?;
        // A handler without a parameter takes no body.
        let body = (body != "null").then_some(body);
        let begun = Instant::now();
        loop {
            let within = self.patience.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
            let asked =
                HttpRequest { method: Method::POST, path, body: body.clone(), idempotency: key, within };
            match self.http.ask(&asked).await {
                Err(RestateError::Unreachable { .. }) if begun.elapsed() < self.away.min(self.patience) => {
                    tokio::time::sleep(BETWEEN_ATTEMPTS).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// Returns a unique key: a random seed from the hasher, and a counter.
fn fresh_key() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let part = |salt: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(salt);
        hasher.write_u64(count);
        hasher.write_u32(std::process::id());
        hasher.finish()
    };
    format!("{:016x}{:016x}", part(1), part(2))
}
