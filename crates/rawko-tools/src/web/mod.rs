//! WebFetch: one URL, over http or https. Every address is checked, including redirects, and the connection goes to
//! exactly the checked addresses, so that a second DNS answer cannot change the target.

mod address;
mod body;
mod entities;
mod html;
mod search;

use std::net::SocketAddr;
use std::time::Duration;

use rawko_core::Value;
use rawko_process::Egress;
use reqwest::{StatusCode, Url};

use super::outcome::{RefusedCall, ToolFailure, ToolOutcome};

pub(super) use search::search;
pub use search::{SearchEngine, SearchModel, SearchSettings};

const TIME_MAX: Duration = Duration::from_secs(30);
const REDIRECTS_MAX: usize = 5;

/// `leads_to` decides on the address of each redirect.
pub(super) async fn fetch(
    egress: &Egress,
    url: &str,
    leads_to: &(dyn Fn(&str) -> Result<(), RefusedCall> + Sync),
) -> Result<ToolOutcome, ToolFailure> {
    let parsed = Url::parse(url).map_err(|error| format!("`{url}` is not a valid URL: {error}"))?;
    let fetched = tokio::time::timeout(TIME_MAX, follow(egress, parsed, leads_to)).await;
    fetched.unwrap_or_else(|_| Err(format!("`{url}` did not answer within {} s", TIME_MAX.as_secs()).into()))
}

/// Checks if an external agent, which follows redirects itself, may fetch a URL.
pub(super) async fn check(egress: &Egress, url: &str) -> Result<(), ToolFailure> {
    let parsed = Url::parse(url).map_err(|error| format!("`{url}` is not a valid URL: {error}"))?;
    address::checked(egress, &parsed).await.map(drop)
}

async fn follow(
    egress: &Egress,
    mut url: Url,
    leads_to: &(dyn Fn(&str) -> Result<(), RefusedCall> + Sync),
) -> Result<ToolOutcome, ToolFailure> {
    for _ in 0..=REDIRECTS_MAX {
        let addresses = address::checked(egress, &url).await?;
        let response = get(&url, &addresses).await?;
        match redirected(&url, &response)? {
            Some(next) => {
                if next.host_str() != url.host_str() {
                    leads_to(next.as_str())?;
                }
                url = next;
            }
            None => return answered(url, response).await,
        }
    }
    Err(format!("`{url}`: more than {REDIRECTS_MAX} redirects").into())
}

async fn get(url: &Url, addresses: &[SocketAddr]) -> Result<reqwest::Response, ToolFailure> {
    let host = url.host_str().unwrap_or_default();
    let client = client(host, addresses, false).or_else(|_| client(host, addresses, true));
    let client = client.map_err(|error| format!("HTTP cannot be set up: {error}"))?;
    let request =
        client.get(url.clone()).header("accept", "text/html, text/plain, application/json, */*;q=0.5");
    request
        .send()
        .await
        .map_err(|error| ToolFailure::Said(format!("`{url}` could not be fetched: {}", in_words(&error))))
}

/// Builds a client for one host. Ignores proxies, because a proxy would resolve the name again. On a system without
/// certificates plain HTTP still works.
fn client(host: &str, addresses: &[SocketAddr], trusts_nobody: bool) -> reqwest::Result<reqwest::Client> {
    let builder = rawko_http::builder().no_proxy().resolve_to_addrs(host, addresses);
    if trusts_nobody { builder.tls_certs_only([]).build() } else { builder.build() }
}

fn redirected(url: &Url, response: &reqwest::Response) -> Result<Option<Url>, ToolFailure> {
    let is_redirect = response.status().is_redirection() && response.status() != StatusCode::NOT_MODIFIED;
    let location = response.headers().get("location").and_then(|location| location.to_str().ok());
    match location.filter(|_| is_redirect) {
        Some(location) => {
            let next =
                url.join(location).map_err(|error| format!("`{url}` redirects to `{location}`: {error}"))?;
            Ok(Some(next))
        }
        None => Ok(None),
    }
}

async fn answered(url: Url, response: reqwest::Response) -> Result<ToolOutcome, ToolFailure> {
    let status = response.status();
    let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    let body = body::read(response)
        .await
        .map_err(|error| format!("reading `{url}` failed: {}", in_words(&error)))?;
    let data = Value::map([
        ("url", Value::str(url.as_str())),
        ("status", Value::Int(i64::from(status.as_u16()))),
        ("content_type", Value::str(&content_type)),
        ("bytes", Value::Int(body.bytes.len() as i64)),
        ("truncated", Value::Bool(body.is_cut)),
    ]);
    let mut outcome = body.outcome(&url, &content_type);
    if !status.is_success() {
        outcome.content = format!("[status {status}]\n{}", outcome.content);
        outcome.is_error = true;
    }
    Ok(outcome.with_data(data))
}

/// Returns the innermost cause, which is the informative one.
fn in_words(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
