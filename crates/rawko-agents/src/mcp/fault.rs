//! What went wrong with a call, in the three kinds that are acted upon: the server said no, it was too slow, it is gone.

use std::error::Error;

use rmcp::ServiceError;
use rmcp::model::ErrorData;
use rmcp::transport::streamable_http_client::{AuthRequiredError, HttpStatusError, InsufficientScopeError};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The server answered, with an error.
    Refused(String),
    TimedOut,
    /// The server is gone, or the session with it.
    Lost {
        was_sent: WasSent,
        why: String,
    },
}

/// Whether the server can have seen the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WasSent {
    No,
    Perhaps,
}

impl Fault {
    pub(super) fn of(error: &ServiceError, over_http: bool) -> Fault {
        match error {
            ServiceError::McpError(data) if over_http && is_about_the_session(data) => {
                Fault::Lost { was_sent: WasSent::No, why: data.message.to_string() }
            }
            ServiceError::McpError(data) => Fault::Refused(data.message.to_string()),
            ServiceError::TransportSend(error) => of_transport(error.error.as_ref(), over_http),
            ServiceError::TransportClosed => {
                Fault::Lost { was_sent: WasSent::Perhaps, why: "the connection closed".to_owned() }
            }
            ServiceError::Timeout { .. } => Fault::TimedOut,
            other => Fault::Refused(other.to_string()),
        }
    }
}

/// A server that has been restarted does not know the session. The specification wants 404, which the transport takes
/// care of; servers that people run answer 400 and these words.
fn is_about_the_session(data: &ErrorData) -> bool {
    data.message.to_ascii_lowercase().contains("session") && (-32099..=-32000).contains(&data.code.0)
}

fn of_transport(error: &(dyn Error + 'static), over_http: bool) -> Fault {
    if !over_http {
        // The line's end was never written, so the server cannot have read the call.
        return Fault::Lost { was_sent: WasSent::No, why: error.to_string() };
    }
    let why = in_words(error);
    let has = |is: fn(&(dyn Error + 'static)) -> bool| chain(error).any(is);
    if has(|cause| cause.is::<AuthRequiredError>() || cause.is::<InsufficientScopeError>()) {
        return Fault::Refused(format!(
            "the server wants authorization: set a header for it in the file ({why})"
        ));
    }
    if has(|cause| cause.is::<HttpStatusError>()) {
        return Fault::Refused(why);
    }
    let is_unconnected = chain(error)
        .filter_map(|cause| cause.downcast_ref::<reqwest::Error>())
        .any(reqwest::Error::is_connect);
    let was_sent = if is_unconnected { WasSent::No } else { WasSent::Perhaps };
    Fault::Lost { was_sent, why }
}

fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(
        Some(error),
        |error: &&'e (dyn Error + 'static)| -> Option<&'e (dyn Error + 'static)> { (*error).source() },
    )
}

/// The whole chain in one line, each cause once.
pub(super) fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut words = String::new();
    for cause in chain(error) {
        let cause = cause.to_string();
        if !words.contains(&cause) {
            if !words.is_empty() {
                words.push_str(": ");
            }
            words.push_str(&cause);
        }
    }
    words
}
