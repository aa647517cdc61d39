//! A login of the person: their browser visits the authorization server, which sends them back to an address that this
//! process listens on for the time of the login. The code is bound to this process by PKCE and `state`.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthorizationRequest, OAuthState, WWWAuthenticateParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{manager, words};
use crate::mcp::browser::Browser;
use crate::mcp::config::McpOAuth;
use crate::mcp::settings::McpSettings;

const PATIENCE: Duration = Duration::from_secs(600);
const REQUEST_BYTES_MAX: usize = 16 * 1024;
const PATH: &str = "/callback";
const PAGE: &str = "<!doctype html><meta charset=utf-8><title>rawko</title>\
                    <p>You can close this window and return to rawko.";

pub(super) fn redirect_address(port: u16) -> String {
    format!("http://127.0.0.1:{port}{PATH}")
}

/// Logs the person in. Scopes that the server demanded since are added to those that were granted before.
pub(in crate::mcp) async fn login(
    url: &str,
    oauth: &McpOAuth,
    settings: &McpSettings,
    browser: Browser<'_>,
) -> Result<(), String> {
    let (manager, file) = manager(url, settings).await?;
    let noted = file.as_ref().map(|file| file.read()).unwrap_or_default();
    let listener = TcpListener::bind(("127.0.0.1", oauth.callback_port.unwrap_or(0)))
        .await
        .map_err(|error| format!("cannot listen for the redirect: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let mut request = AuthorizationRequest::new(redirect_address(port))
        .with_client_name("rawko")
        .with_initial_scope_selection();
    if let Some(id) = &oauth.client_id {
        request = request.with_preregistered_client(id);
    }
    if let Some(secret) = &oauth.client_secret {
        request = request.with_client_secret(secret);
    }
    if let Some(document) = &oauth.client_metadata_url {
        request = request.with_client_metadata_url(document);
    }
    let base = Url::parse(url).map_err(|error| error.to_string())?;
    let granted = noted.credentials.map(|stored| stored.granted_scopes).unwrap_or_default();
    let scopes = scopes(&oauth.scopes, granted, noted.challenge.as_deref(), &base);
    if !scopes.is_empty() {
        request = request.with_scopes(scopes);
    }
    if let Some(challenge) = noted.challenge.filter(|challenge| !challenge.is_empty()) {
        request = request.with_challenge(challenge);
    }
    let mut state = OAuthState::Unauthorized(manager);
    state.start_authorization(request).await.map_err(words)?;
    browser(&state.get_authorization_url().await.map_err(words)?);
    let callback = timeout(PATIENCE, callback(&listener, port))
        .await
        .map_err(|_| "no login within 10 minutes".to_owned())??;
    state.handle_callback_url(&callback).await.map_err(words)
}

/// Returns the scopes to request; none leaves the choice to what the server publishes.
fn scopes(own: &[String], granted: Vec<String>, challenge: Option<&str>, base: &Url) -> BTreeSet<String> {
    let challenge = challenge.map(|challenge| WWWAuthenticateParams::parse(challenge, base));
    let demanded = challenge.filter(WWWAuthenticateParams::is_insufficient_scope).and_then(|it| it.scope);
    let mut scopes: BTreeSet<String> = own.iter().cloned().collect();
    if let Some(demanded) = demanded {
        scopes.extend(granted);
        scopes.extend(demanded.split_whitespace().map(str::to_owned));
    }
    scopes
}

/// Waits until the browser comes back, and returns the address with its parameters.
async fn callback(listener: &TcpListener, port: u16) -> Result<String, String> {
    loop {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        // Browsers also ask for an icon, and open connections that they do not use.
        let visit = timeout(Duration::from_secs(10), visit(stream));
        let Ok(Some(target)) = visit.await else { continue };
        let address =
            Url::parse(&format!("http://127.0.0.1:{port}{target}")).map_err(|error| error.to_string())?;
        let of = |key: &str| {
            address.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned())
        };
        if let Some(error) = of("error") {
            let details = of("error_description").map(|text| format!(": {text}")).unwrap_or_default();
            return Err(format!("the login was refused: {error}{details}"));
        }
        return Ok(address.to_string());
    }
}

/// Reads one request, answers it, and returns its target if it is the redirect.
async fn visit(mut stream: TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        let length = stream.read(&mut piece).await.ok().filter(|length| *length > 0)?;
        head.extend_from_slice(&piece[..length]);
        if head.len() > REQUEST_BYTES_MAX {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.lines().next()?.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let is_redirect = target.split('?').next() == Some(PATH);
    let (status, page) = if is_redirect { ("200 OK", PAGE) } else { ("404 Not Found", "") };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\nCache-Control: no-store\r\n\r\n{page}",
        page.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    is_redirect.then_some(target)
}
