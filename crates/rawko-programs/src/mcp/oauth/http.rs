//! HTTP for authorization: the hosts that metadata names are subject to the same rules as all others, and private
//! addresses are reached only on the server's own host.

use reqwest::Url;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

use rawko_process::Egress;

use crate::mcp::reach::reachable;

const BODY_BYTES_MAX: usize = 1024 * 1024;
const REDIRECTS_MAX: usize = 5;

pub(super) struct OAuthHttp {
    egress: Egress,
    /// Host of the MCP server, which the person configured.
    own_host: String,
}

impl OAuthHttp {
    pub(super) fn new(url: &str, egress: &Egress) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("`{url}` is not a valid URL: {error}"))?;
        let own_host = parsed.host_str().ok_or_else(|| format!("`{url}` names no host"))?.to_owned();
        Ok(Self { egress: egress.clone(), own_host })
    }
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let timeout = request.timeout;
            let follows = request.redirect_policy == OAuthHttpRedirectPolicy::Follow;
            let request = reqwest::Request::try_from(request.request)?;
            let (host, addresses) = reachable(request.url().as_str(), &self.own_host, &self.egress).await?;
            let client = rawko_http::build(|builder| {
                let policy = if follows {
                    reqwest::redirect::Policy::custom(near)
                } else {
                    reqwest::redirect::Policy::none()
                };
                let builder = builder.redirect(policy);
                let builder = match timeout {
                    Some(timeout) => builder.timeout(timeout),
                    None => builder,
                };
                if addresses.is_empty() { builder } else { builder.resolve_to_addrs(&host, &addresses) }
            })?;
            let mut response = client.execute(request).await?;
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > BODY_BYTES_MAX {
                    return Err(OAuthHttpClientError::from("the response is too large"));
                }
            }
            let response: http::Response<reqwest::Body> = response.into();
            Ok(response.map(|_| body))
        })
    }
}

/// Follows redirects within one origin: elsewhere the addresses were not checked.
fn near(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let is_near = attempt.previous().first().is_some_and(|from| from.origin() == attempt.url().origin());
    if is_near && attempt.previous().len() <= REDIRECTS_MAX { attempt.follow() } else { attempt.stop() }
}
