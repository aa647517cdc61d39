//! The protocol between a rawko command and the process that holds the store: JSON, one object per line in each
//! direction. Types only; server and client are separate files.

use std::sync::Arc;

use rawko_core::{Chart, Status, Value};
use rawko_host::{Edition, HostError, MigrationReport, Progress, Receipt, Settled};
use rawko_server::{ChannelAnswer, ChannelRequest};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The first line of a connection: proves that the client acts for the operator. Nothing else is answered before it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Hello {
    Hello { token: String },
}

/// A request, executed in this process or sent to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Request {
    /// Starts an instance of the first chart, which may invoke the others.
    Start {
        charts: Vec<ChartText>,
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
        to: Option<ChartText>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        map: Option<ChartText>,
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

impl Request {
    /// Returns true if the request changes nothing and may take long.
    pub(crate) fn only_waits(&self) -> bool {
        match self {
            Request::Settle { .. } | Request::Watch => true,
            Request::Channel { request } => matches!(request, ChannelRequest::Follow { .. }),
            _ => false,
        }
    }
}

/// A chart, or a file about charts, as text; with the chart, if this process has loaded it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChartText {
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    /// Not sent: another process loads the text itself.
    #[serde(skip)]
    loaded: Option<Arc<Chart>>,
}

impl ChartText {
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

impl From<&Edition> for ChartText {
    fn from(edition: &Edition) -> Self {
        let Edition { chart, name, text } = edition.clone();
        Self { name, text, loaded: Some(chart) }
    }
}

impl PartialEq for ChartText {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

/// One line of response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Ok(Answer),
    Error(Refusal),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
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

impl From<Progress> for ProgressLine {
    fn from(progress: Progress) -> Self {
        let Progress { instance, id, name, step, data } = progress;
        Self { instance, id, name, step, data }
    }
}

impl From<ProgressLine> for Progress {
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
pub(crate) struct Refusal {
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

impl From<Settled> for Rest {
    fn from(settled: Settled) -> Self {
        match settled {
            Settled::Over(status) => Rest::Over(status),
            Settled::Failed => Rest::Failed,
            Settled::Waiting(_) => Rest::Waiting,
            Settled::Paused => Rest::Paused,
            Settled::Stuck(error) => {
                Rest::Stuck { message: error.to_string(), transient: error.is_transient() }
            }
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let (code, message) = match failure {
            Failure::Usage(message) => (Code::Usage, message),
            Failure::Invalid(message) => (Code::Invalid, message),
            Failure::Findings { rendered, message } => (Code::Invalid, format!("{message}\n{rendered}")),
            Failure::Failed(message) => (Code::Failed, message),
            Failure::Credentials(message) => (Code::Unauthorized, message),
            Failure::Transient(message) => (Code::Transient, message),
            Failure::Interrupted => (Code::Failed, "interrupted".to_owned()),
            Failure::Output(error) => (Code::Failed, error.to_string()),
        };
        Refusal { code, message }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let Refusal { code, message } = refusal;
        match code {
            Code::Usage => Failure::Usage(message),
            Code::Invalid => Failure::Invalid(message),
            Code::Failed => Failure::Failed(message),
            Code::Transient => Failure::Transient(message),
            Code::Unauthorized => Failure::Credentials(message),
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
            (r#"{"op":"ping"}"#, Request::Ping),
            (
                r#"{"op":"send","id":"order-1","event":"APPROVED"}"#,
                Request::Send {
                    id: "order-1".into(),
                    event: "APPROVED".into(),
                    data: Value::Null,
                    key: None,
                },
            ),
            (
                r#"{"op":"settle","id":"order-1","patience_ms":0}"#,
                Request::Settle { id: "order-1".into(), patience_ms: 0 },
            ),
        ];
        for (text, expected) in requests {
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), expected, "{text}");
        }
        let replies = [
            (Reply::Ok(Answer::Pong { pid: 7 }), r#"{"ok":{"pong":{"pid":7}}}"#),
            (Reply::Ok(Answer::Settled(Rest::Over(Status::Done))), r#"{"ok":{"settled":{"over":"done"}}}"#),
            (
                Reply::Error(Refusal { code: Code::Usage, message: "no".into() }),
                r#"{"error":{"code":"usage","message":"no"}}"#,
            ),
            (
                Reply::Error(Failure::Credentials("who?".into()).into()),
                r#"{"error":{"code":"unauthorized","message":"who?"}}"#,
            ),
        ];
        for (reply, expected) in replies {
            assert_eq!(serde_json::to_string(&reply).unwrap(), expected);
        }
    }
}
