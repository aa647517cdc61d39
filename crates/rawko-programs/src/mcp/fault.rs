//! Call failures in the three kinds that are handled differently: refused by the server, timed out, connection lost.

use std::error::Error;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The server responded with an error.
    Refused(String),
    TimedOut,
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

const UNAUTHORIZED: &str = "the server requires authorization; set a header for it in the file";

impl Fault {
    pub(super) fn of(error: &ServiceError) -> Fault {
        match error {
            ServiceError::McpError(data) => Fault::Refused(data.message.to_string()),
            ServiceError::TransportSend(error) => of_transport(error.error.as_ref()),
            ServiceError::TransportClosed => {
                Fault::Lost { was_sent: WasSent::Perhaps, why: "the connection closed".to_owned() }
            }
            ServiceError::Timeout { .. } => Fault::TimedOut,
            other => Fault::Refused(other.to_string()),
        }
    }
}

fn of_transport(error: &(dyn Error + Send + Sync + 'static)) -> Fault {
    let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() else {
        // Over stdio the final newline was not written, so the server cannot have read the call.
        return Fault::Lost { was_sent: WasSent::No, why: error.to_string() };
    };
    match error {
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
            Fault::Refused(UNAUTHORIZED.to_owned())
        }
        StreamableHttpError::HttpStatus(status) => Fault::Refused(status.to_string()),
        StreamableHttpError::Client(error) => {
            let was_sent = if error.is_connect() { WasSent::No } else { WasSent::Perhaps };
            Fault::Lost { was_sent, why: in_words(error) }
        }
        other => Fault::Lost { was_sent: WasSent::Perhaps, why: in_words(other) },
    }
}

/// Describes a failed handshake.
pub(super) fn handshake_in_words(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return UNAUTHORIZED.to_owned();
    }
    let ClientInitializeError::TransportError { error, .. } = error else { return in_words(error) };
    match of_transport(error.error.as_ref()) {
        Fault::Refused(why) | Fault::Lost { why, .. } => why,
        Fault::TimedOut => "it was too slow".to_owned(),
    }
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
