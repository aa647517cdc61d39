//! Call failures in the three kinds that are handled differently: refused by the server, timed out, connection lost.

use std::error::Error;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::config::{McpConfig, McpTransport};
use super::oauth::credential_file;
use super::settings::McpSettings;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum McpFault {
    /// The server responded with an error.
    Refused(String),
    TimedOut,
    /// The server requires a login, or further scopes. The call had no effect.
    Unauthorized {
        /// The `WWW-Authenticate` header.
        challenge: String,
    },
    /// The server or the session is gone.
    Lost {
        was_sent: WasSent,
        why: String,
    },
}

/// The certainty about delivery of the call to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WasSent {
    No,
    Perhaps,
}

impl McpFault {
    pub(super) fn of(error: &ServiceError) -> McpFault {
        match error {
            ServiceError::McpError(data) => McpFault::Refused(data.message.to_string()),
            ServiceError::TransportSend(error) => of_transport(error.error.as_ref()),
            ServiceError::TransportClosed => {
                McpFault::Lost { was_sent: WasSent::Perhaps, why: "the connection closed".to_owned() }
            }
            ServiceError::Timeout { .. } => McpFault::TimedOut,
            other => McpFault::Refused(other.to_string()),
        }
    }
}

fn of_transport(error: &(dyn Error + Send + Sync + 'static)) -> McpFault {
    let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() else {
        // Over stdio the final newline was not written, so the server cannot have read the call.
        return McpFault::Lost { was_sent: WasSent::No, why: error.to_string() };
    };
    match error {
        StreamableHttpError::AuthRequired(error) => {
            McpFault::Unauthorized { challenge: error.www_authenticate_header.clone() }
        }
        StreamableHttpError::InsufficientScope(error) => {
            McpFault::Unauthorized { challenge: error.www_authenticate_header.clone() }
        }
        StreamableHttpError::HttpStatus(status) => McpFault::Refused(status.to_string()),
        StreamableHttpError::Client(error) => {
            let was_sent = if error.is_connect() { WasSent::No } else { WasSent::Perhaps };
            McpFault::Lost { was_sent, why: in_words(error) }
        }
        other => McpFault::Lost { was_sent: WasSent::Perhaps, why: in_words(other) },
    }
}

/// Describes a failed handshake.
pub(super) fn handshake_in_words(error: &ClientInitializeError) -> String {
    let ClientInitializeError::TransportError { error, .. } = error else { return in_words(error) };
    match of_transport(error.error.as_ref()) {
        McpFault::Refused(why) | McpFault::Lost { why, .. } => why,
        McpFault::TimedOut => "it was too slow".to_owned(),
        McpFault::Unauthorized { .. } => "the server requires authorization".to_owned(),
    }
}

/// Returns what a server requires that refused the handshake.
pub(super) fn challenge_of(error: &ClientInitializeError) -> Option<String> {
    match error {
        ClientInitializeError::TransportError { error, .. } => match of_transport(error.error.as_ref()) {
            McpFault::Unauthorized { challenge } => Some(challenge),
            McpFault::Refused(_) | McpFault::TimedOut | McpFault::Lost { .. } => None,
        },
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => challenge_of(fallback),
        other => other.is_authorization_required().then(String::new),
    }
}

/// Remembers what the server requires for the next login, and returns the next step for the person.
pub(super) fn unauthorized(config: &McpConfig, settings: &McpSettings, challenge: &str) -> String {
    if let (McpTransport::Http { url, .. }, Some(folder)) = (&config.transport, &settings.credentials) {
        credential_file(folder, url).note(challenge);
    }
    if config.oauth.is_without_person {
        return "the server refuses the client credentials of the file".to_owned();
    }
    let name = &config.name;
    format!(
        "the server requires authorization: run `rawko mcp login {name}`, or set a header for it in the file"
    )
}

/// Joins the chain of causes into one line, each cause once.
fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut words = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let said = cause.to_string();
        if !words.contains(&said) {
            words.push_str(if words.is_empty() { "" } else { ": " });
            words.push_str(&said);
        }
        next = cause.source();
    }
    words
}
