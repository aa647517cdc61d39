//! The protocol between a rawko command and the process that holds the store: JSON, one object per line in each
//! direction. Types only; server and client are separate files.

use std::sync::Arc;

use rawko_core::{Chart, Status, Value};
use rawko_host::{CallProgress, Edition, HostError, MigrationReport, Receipt, SettleReason};
use rawko_server::{ChannelAnswer, ChannelRequest};
use serde::{Deserialize, Serialize};

use crate::failure::CommandFailure;

/// The first line of a connection: proves that the client acts for the operator. Nothing else is answered before it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Hello {
    Hello { token: String },
}

/// A request, executed in this process or sent to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum SocketRequest {
    /// Starts an instance of the first chart, which may invoke the others.
    Start {
        charts: Vec<LoadedChart>,
        input: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Budget of the instance and its descendants; null: the chart's own.
        #[serde(default)]
        budget: Value,
    },
    Send {
        id: String,
        event: String,
        #[serde(default)]
        data: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// A person's answer. `by` is a claim: the host records the name that the credential proves, and the claim beside it.
    Answer {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<String>,
        /// The time of the request as shown: a later one of the same name is not answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_ms: Option<i64>,
        approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        #[serde(default)]
        data: Value,
    },
    Cancel {
        id: String,
        #[serde(default)]
        reason: Value,
    },
    Retry {
        id: String,
    },
    /// Retries one failed item of an `each`: `reviews[3]`.
    RetryItem {
        id: String,
        item: String,
    },
    /// Pauses an instance and its descendants.
    Pause {
        id: String,
    },
    Resume {
        id: String,
    },
    Fork {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
        #[serde(default)]
        set: Vec<(String, String)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_id: Option<String>,
        /// Parts of the budget to replace; null: keep the remaining budget.
        #[serde(default)]
        budget: Value,
    },
    /// Migrates instances to a chart, or back to the one before.
    Migrate {
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<LoadedChart>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        map: Option<LoadedChart>,
    },
    /// Responds when the instance is over, has failed, or waits.
    Settle {
        id: String,
        patience_ms: u64,
    },
    /// A request about a channel.
    Channel {
        request: ChannelRequest,
    },
    /// Sends the live output of running calls, one response each, until the client leaves.
    Watch,
    Ping,
    /// Returns a new one-time link to the page of the server.
    Link,
}

impl SocketRequest {
    /// Returns true if the request changes nothing and may take long.
    pub(crate) fn only_waits(&self) -> bool {
        match self {
            SocketRequest::Settle { .. } | SocketRequest::Watch => true,
            SocketRequest::Channel { request } => matches!(request, ChannelRequest::Follow { .. }),
            _ => false,
        }
    }
}

/// A chart, or a file about charts, as text; with the chart, if this process has loaded it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LoadedChart {
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    /// Not sent: another process loads the text itself.
    #[serde(skip)]
    loaded: Option<Arc<Chart>>,
}

impl LoadedChart {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { name: name.into(), text: text.into(), loaded: None }
    }

    /// Returns the chart, without loading it again in the process that did.
    pub(super) fn edition(self) -> Result<Edition, HostError> {
        let Self { name, text, loaded } = self;
        match loaded {
            Some(chart) => Ok(Edition { chart, name, text }),
            None => Edition::read(&name, &text),
        }
    }
}

impl From<&Edition> for LoadedChart {
    fn from(edition: &Edition) -> Self {
        let Edition { chart, name, text } = edition.clone();
        Self { name, text, loaded: Some(chart) }
    }
}

impl PartialEq for LoadedChart {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

/// One line of response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostReply {
    Ok(HostAnswer),
    Error(RequestRefusal),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostAnswer {
    Receipt(Receipt),
    Settled(Rest),
    Channel(ChannelAnswer),
    Migrated(Vec<MigrationReport>),
    Pong { pid: u32 },
    Link { url: String },
    Progress(ProgressLine),
}

/// Live output of a running call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProgressLine {
    instance: Arc<str>,
    id: Arc<str>,
    name: Arc<str>,
    step: u64,
    data: Value,
}

impl From<CallProgress> for ProgressLine {
    fn from(progress: CallProgress) -> Self {
        let CallProgress { instance, id, name, step, data } = progress;
        Self { instance, id, name, step, data }
    }
}

impl From<ProgressLine> for CallProgress {
    fn from(line: ProgressLine) -> Self {
        let ProgressLine { instance, id, name, step, data } = line;
        Self { instance, id, name, step, data }
    }
}

/// The reason that an instance has settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rest {
    Over(Status),
    Failed,
    Waiting,
    Paused,
    /// The store accepts no commits.
    Stuck {
        message: String,
        transient: bool,
    },
}

/// The reason that a request failed; `code` selects the exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestRefusal {
    pub(crate) code: Code,
    pub(crate) message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    /// The request is invalid.
    Usage,
    /// A chart or the settings are invalid.
    Invalid,
    /// The request was tried and failed.
    Failed,
    /// The request may succeed later.
    Transient,
    /// The client has not proven that it acts for the operator.
    Unauthorized,
}

impl From<SettleReason> for Rest {
    fn from(settled: SettleReason) -> Self {
        match settled {
            SettleReason::Over(status) => Rest::Over(status),
            SettleReason::Failed => Rest::Failed,
            SettleReason::Waiting(_) => Rest::Waiting,
            SettleReason::Paused => Rest::Paused,
            SettleReason::Stuck(error) => {
                Rest::Stuck { message: error.to_string(), transient: error.is_transient() }
            }
        }
    }
}

impl From<CommandFailure> for RequestRefusal {
    fn from(failure: CommandFailure) -> Self {
        let (code, message) = match failure {
            CommandFailure::Usage(message) => (Code::Usage, message),
            CommandFailure::Invalid(message) => (Code::Invalid, message),
            CommandFailure::Findings { rendered, message } => {
                (Code::Invalid, format!("{message}\n{rendered}"))
            }
            CommandFailure::Failed(message) => (Code::Failed, message),
            CommandFailure::Credentials(message) => (Code::Unauthorized, message),
            CommandFailure::Transient(message) => (Code::Transient, message),
            CommandFailure::Interrupted => (Code::Failed, "interrupted".to_owned()),
            CommandFailure::Output(error) => (Code::Failed, error.to_string()),
        };
        RequestRefusal { code, message }
    }
}

impl From<RequestRefusal> for CommandFailure {
    fn from(refusal: RequestRefusal) -> Self {
        let RequestRefusal { code, message } = refusal;
        match code {
            Code::Usage => CommandFailure::Usage(message),
            Code::Invalid => CommandFailure::Invalid(message),
            Code::Failed => CommandFailure::Failed(message),
            Code::Transient => CommandFailure::Transient(message),
            Code::Unauthorized => CommandFailure::Credentials(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other versions of rawko use this protocol, so older messages must stay readable.
    #[test]
    fn requests_and_replies_on_the_wire() {
        let hello = Hello::Hello { token: "t".to_owned() };
        assert_eq!(serde_json::to_string(&hello).unwrap(), r#"{"op":"hello","token":"t"}"#);
        let requests = [
            (r#"{"op":"ping"}"#, SocketRequest::Ping),
            (
                r#"{"op":"send","id":"order-1","event":"APPROVED"}"#,
                SocketRequest::Send {
                    id: "order-1".into(),
                    event: "APPROVED".into(),
                    data: Value::Null,
                    key: None,
                },
            ),
            (
                r#"{"op":"settle","id":"order-1","patience_ms":0}"#,
                SocketRequest::Settle { id: "order-1".into(), patience_ms: 0 },
            ),
        ];
        for (text, expected) in requests {
            assert_eq!(serde_json::from_str::<SocketRequest>(text).unwrap(), expected, "{text}");
        }
        let replies = [
            (HostReply::Ok(HostAnswer::Pong { pid: 7 }), r#"{"ok":{"pong":{"pid":7}}}"#),
            (
                HostReply::Ok(HostAnswer::Settled(Rest::Over(Status::Done))),
                r#"{"ok":{"settled":{"over":"done"}}}"#,
            ),
            (
                HostReply::Error(RequestRefusal { code: Code::Usage, message: "no".into() }),
                r#"{"error":{"code":"usage","message":"no"}}"#,
            ),
            (
                HostReply::Error(CommandFailure::Credentials("who?".into()).into()),
                r#"{"error":{"code":"unauthorized","message":"who?"}}"#,
            ),
        ];
        for (reply, expected) in replies {
            assert_eq!(serde_json::to_string(&reply).unwrap(), expected);
        }
    }
}
