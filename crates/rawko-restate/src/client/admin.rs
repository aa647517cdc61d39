//! `Admin`: registers workers, queries state by SQL, and resumes stuck invocations.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::RestateError;
use super::http::{HttpRequest, RestateApi};
use super::target::escaped;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Timeouts of a query: the first attempt and its retries. The nodes of a cluster query each other, and a node that was
/// just killed or started may never respond; a large result may take long.
const QUERY_WITHIN: [Duration; 3] =
    [Duration::from_secs(10), Duration::from_secs(20), Duration::from_secs(40)];
/// Maximum time without a partition leader, such as after a restart, before a query fails.
const LEADERLESS: Duration = Duration::from_secs(10);
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// The admin API of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Admin {
    http: RestateApi,
}

/// Replaces or keeps an existing registration of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Discovers the services again and overwrites the registration.
    Replace,
    /// Leaves an existing registration as it is.
    Keep,
}

/// The workers at one address, as registered with the server. New invocations go to the deployment with the highest
/// revision of a service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Deployment {
    /// Id assigned by the server (`dp_…`).
    pub id: String,
    /// The URL; `None` for a deployment that is not an HTTP server.
    #[serde(default)]
    pub uri: Option<String>,
    /// Time of the registration, in RFC 3339.
    pub created_at: String,
    /// Metadata set at registration.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Services that the server discovered at this address.
    #[serde(default)]
    pub services: Vec<ServiceRevision>,
}

/// A service of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ServiceRevision {
    /// Name of the service, such as `RawkoInstance`.
    pub name: String,
    /// Revision of the service, from 1; increases with each registration of a change.
    pub revision: u32,
}

/// The response to a registration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RegisteredDeployment {
    /// Id of the new or existing deployment.
    pub id: String,
}

/// The result of resuming invocations that waited for a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// Number of invocations that waited; at most 10,000 per call.
    pub tried: usize,
    /// Number of invocations that the server accepted to resume.
    pub resumed: usize,
}

#[derive(Deserialize)]
struct Deployments {
    deployments: Vec<Deployment>,
}

#[derive(Deserialize)]
struct Rows<T> {
    rows: Vec<T>,
}

#[derive(Deserialize)]
struct StuckRow {
    id: String,
    status: String,
}

#[derive(Serialize)]
struct SqlQuery<'a> {
    query: &'a str,
}

impl Admin {
    /// Validates the address without connecting; the nodes of a cluster are comma-separated.
    pub fn new(address: &str) -> Result<Admin, RestateError> {
        let help = "is it running, and is this its admin address (RAWKO_RESTATE_ADMIN, --admin)?";
        let slow = "is it busy, or are its other nodes down?";
        Ok(Admin { http: RestateApi::new(address, help, slow)? })
    }

    /// Returns the address for messages.
    pub fn place(&self) -> String {
        self.http.place()
    }

    /// Returns all addresses, as configured.
    pub(crate) fn address(&self) -> String {
        self.http.address()
    }

    /// Checks that the server responds; an error if it is down or unhealthy.
    pub async fn health(&self) -> Result<(), RestateError> {
        self.ask(Method::GET, "health", None).await.map(drop)
    }

    /// Registers the address of workers; the server discovers their services.
    pub async fn register(
        &self,
        uri: &str,
        force: Force,
        metadata: &BTreeMap<String, String>,
    ) -> Result<RegisteredDeployment, RestateError> {
        let body = json!({ "uri": uri, "force": force == Force::Replace, "metadata": metadata });
        let text = self.ask(Method::POST, "deployments", Some(body.to_string())).await?;
        self.http.read(&text)
    }

    /// Returns all registered deployments, including those of old revisions.
    pub async fn deployments(&self) -> Result<Vec<Deployment>, RestateError> {
        let text = self.ask(Method::GET, "deployments", None).await?;
        Ok(self.http.read::<Deployments>(&text)?.deployments)
    }

    /// Removes a deployment. Invocations pinned to it can only be resumed on another.
    pub async fn remove(&self, deployment: &str) -> Result<(), RestateError> {
        let path = format!("deployments/{}?force=true", escaped(deployment));
        self.ask(Method::DELETE, &path, None).await.map(drop)
    }

    /// Returns the rows of an SQL query.
    pub async fn query<T: DeserializeOwned>(&self, sql: &str) -> Result<Vec<T>, RestateError> {
        let body = serde_json::to_string(&SqlQuery { query: sql }).unwrap_or_default();
        let begun = Instant::now();
        let mut patience = QUERY_WITHIN.into_iter();
        let mut within = patience.next().unwrap_or(ANSWER_WITHIN);
        let mut is_first = true;
        loop {
            match self.ask_within(within, Method::POST, "query", Some(body.clone())).await {
                // A partition has no leader at the moment, so the query itself is fine.
                Err(RestateError::Refused { message, .. }) if is_passing(&message) => {
                    if begun.elapsed() > LEADERLESS {
                        return Err(self.http.unreachable(message));
                    }
                    tokio::time::sleep(BETWEEN_ATTEMPTS).await;
                }
                // A connection that died with the previous server fails only when it is used.
                Err(RestateError::Unreachable { .. }) if is_first => {
                    is_first = false;
                    tokio::time::sleep(BETWEEN_ATTEMPTS).await;
                }
                // A query changes nothing, so it can be sent to another node.
                Err(error @ RestateError::Slow { .. }) => {
                    let Some(longer) = patience.next() else { return Err(error) };
                    within = longer;
                    self.http.pass_over();
                }
                outcome => return Ok(self.http.read::<Rows<T>>(&outcome?)?.rows),
            }
        }
    }

    /// Kills an invocation without running its compensation.
    pub async fn kill(&self, invocation: &str) -> Result<(), RestateError> {
        self.change(invocation, "kill").await
    }

    /// Asks an invocation to end.
    pub async fn cancel(&self, invocation: &str) -> Result<(), RestateError> {
        self.change(invocation, "cancel").await
    }

    /// Removes a completed invocation.
    pub async fn purge(&self, invocation: &str) -> Result<(), RestateError> {
        self.change(invocation, "purge").await
    }

    /// Resumes a paused invocation on the newest workers.
    pub async fn resume(&self, invocation: &str) -> Result<(), RestateError> {
        self.change(invocation, "resume?deployment=latest").await
    }

    /// Retries an invocation at once instead of after its delay.
    pub async fn hasten(&self, invocation: &str) -> Result<(), RestateError> {
        self.change(invocation, "resume").await
    }

    /// Resumes the paused and delayed invocations of these services, once a worker is available.
    pub async fn wake(&self, services: &[&str]) -> Result<Resumed, RestateError> {
        self.wake_those(&["paused", "backing-off"], services).await
    }

    /// Resumes the paused invocations of these services; the others are retried automatically.
    pub async fn resume_all(&self, services: &[&str]) -> Result<Resumed, RestateError> {
        self.wake_those(&["paused"], services).await
    }

    async fn wake_those(&self, statuses: &[&str], services: &[&str]) -> Result<Resumed, RestateError> {
        let sql = format!(
            "select id, status from sys_invocation \
             where status in ({}) and target_service_name in ({}) limit 10000",
            listed(statuses),
            listed(services)
        );
        let mut woken = Resumed::default();
        for StuckRow { id, status } in self.query(&sql).await? {
            woken.tried += 1;
            let outcome = match status.as_str() {
                "paused" => self.resume(&id).await,
                _ => self.hasten(&id).await,
            };
            // An invocation that continued meanwhile needs no help.
            woken.resumed += usize::from(outcome.is_ok());
        }
        Ok(woken)
    }

    async fn change(&self, invocation: &str, how: &str) -> Result<(), RestateError> {
        let path = format!("invocations/{}/{how}", escaped(invocation));
        self.ask(Method::PATCH, &path, None).await.map(drop)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<String>) -> Result<String, RestateError> {
        self.ask_within(ANSWER_WITHIN, method, path, body).await
    }

    async fn ask_within(
        &self,
        within: Duration,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<String, RestateError> {
        self.http.ask(&HttpRequest { method, path, body, idempotency: None, within }).await
    }
}

/// Returns true if a query failed for a temporary reason: while reading the data, not because of its text.
fn is_passing(message: &str) -> bool {
    message.contains("External error") || message.contains("Execution error")
}

/// Formats texts as an SQL list.
pub(crate) fn listed(texts: &[impl AsRef<str>]) -> String {
    texts.iter().map(|text| format!("'{}'", quoted(text.as_ref()))).collect::<Vec<_>>().join(", ")
}

/// Escapes a text for use between quotes in SQL.
pub(crate) fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}
