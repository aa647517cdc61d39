//! Messages between programs that provide services and the server: JSON, one object per WebSocket message. Only the
//! types; `docs/formats/service-protocol.md` and its JSON Schema document them and are tested against them.

use rawko_core::Value;
use rawko_host::{AttemptOutcome, Category, RemoteMessage, ServiceError};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Version of the protocol. A program sends its version; any other is rejected.
pub const PROTOCOL: u32 = 1;

/// Size limit on messages from a program.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Size limit on larger messages, of which only the number of the answered call is read.
pub(crate) const FRAME_BYTES_MAX: usize = 8 * MESSAGE_BYTES_MAX;

/// The part of an answer that is read if the rest cannot be: texts that are not Unicode, or too much.
#[derive(Debug, Deserialize)]
pub(super) struct AnswerEnvelope {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) call: Option<u64>,
}

/// A message from a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromProcess {
    /// The first message of a connection.
    Register {
        /// Version of the protocol, 1.
        protocol: u32,
        /// Name of the program, for people: letters, digits, `-` and `_`.
        name: String,
        /// Token of the program, if the server requires one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// Session of the previous connection: with it the program keeps its calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Calls that the program runs at the same time, 1 to 1000.
        #[schemars(range(min = 1, max = 1000))]
        concurrency: u32,
        /// Services that the program provides.
        services: Vec<ServiceOffer>,
        /// Calls of the session whose answer was not confirmed by `received`: running, or finished meanwhile.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<u64>,
        /// Idempotency keys of running work and remembered results, so that a repeated call comes to this program.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
    },
    /// The result of a call.
    Result {
        /// Number of the call.
        call: u64,
        /// Output of the service; null if omitted.
        #[serde(default)]
        value: Json,
    },
    /// The failure of a call.
    Failure {
        /// Number of the call.
        call: u64,
        /// Sentence for people.
        message: String,
        /// `failed`, `network`, `timeout`, `invalid_answer`, `unknown`, `expired` or `limit`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        category: Option<String>,
        /// False if a retry cannot help.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retryable: Option<bool>,
        /// `definite`: the call had no effect, and the next attempt is a new request with a new key. `unknown` (default):
        /// the next attempt has the same key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<EffectCertainty>,
        /// More for the chart, beside `category` and `message`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<serde_json::Map<String, Json>>,
    },
    /// The call was stopped, after `cancel`.
    Cancelled {
        /// Number of the call.
        call: u64,
    },
    /// Progress of a call, for live watchers; not stored.
    Progress {
        /// Number of the call.
        call: u64,
        /// Progress in the format of the service.
        data: Json,
    },
    /// Heartbeat. Every other message and every WebSocket pong counts as one too.
    Heartbeat {},
    /// The program takes no more calls. It disconnects once those that it has are answered.
    Goodbye {},
}

/// A service of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceOffer {
    /// The name in the settings and in charts.
    pub name: String,
    /// JSON Schema of the input; must equal that of the settings, if they have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// JSON Schema of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

/// The certainty about the effect of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectCertainty {
    /// The call had no effect.
    Definite,
    /// The call may have had an effect.
    Unknown,
}

/// A message to a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToProcess {
    /// The answer to `register`.
    Registered {
        /// Version of the protocol, 1.
        protocol: u32,
        /// Session to reconnect with.
        session: String,
        /// The session was known: its calls continue. Otherwise numbers of earlier calls mean nothing.
        resumed: bool,
        /// The server sends a WebSocket ping this often, and drops a connection that misses three.
        heartbeat_seconds: u64,
    },
    /// A call. A program that runs work with the same key, or remembers its result, does not start it again.
    Call {
        /// Number of the call within the session; answers carry it.
        call: u64,
        /// Service name.
        service: String,
        /// Idempotency key: the same for every attempt whose effect is in doubt.
        key: String,
        /// Id of the calling instance.
        instance: String,
        /// Id of the invoke in the chart.
        invoke: String,
        /// 1 for the first attempt.
        attempt: u32,
        /// Input of the call.
        input: Json,
    },
    /// The result of a call is no longer wanted. The program stops it and answers `cancelled`, or with its result.
    Cancel {
        /// Number of the call.
        call: u64,
    },
    /// The answer of a call arrived.
    Received {
        /// Number of the call.
        call: u64,
    },
    /// A message could not be read, or the registration was rejected.
    Error {
        /// `unauthorized`, `malformed`, `unsupported_version`, `unknown_service`, `schema_mismatch`, …
        code: String,
        /// Sentence for people.
        message: String,
        /// The server closes the connection.
        fatal: bool,
    },
}

impl ToProcess {
    pub(super) fn fatal(code: &str, message: impl Into<String>) -> ToProcess {
        ToProcess::Error { code: code.to_owned(), message: message.into(), fatal: true }
    }

    fn error(code: &str, message: impl Into<String>) -> ToProcess {
        ToProcess::Error { code: code.to_owned(), message: message.into(), fatal: false }
    }

    pub(super) fn to_text(&self) -> String {
        // Strings, numbers and JSON values always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<RemoteMessage> for ToProcess {
    fn from(message: RemoteMessage) -> Self {
        match message {
            RemoteMessage::Call { id, service, key, instance, invoke, attempt, input } => ToProcess::Call {
                call: id,
                service: service.to_string(),
                key: key.to_string(),
                instance: instance.to_string(),
                invoke: invoke.to_string(),
                attempt,
                input: input.to_json(),
            },
            RemoteMessage::Cancel { id } => ToProcess::Cancel { call: id },
            RemoteMessage::Received { id } => ToProcess::Received { call: id },
            other => ToProcess::error("unsupported", format!("{other:?}")),
        }
    }
}

/// Returns the error of a call. A program that does not state the outcome may have acted before it failed.
pub(super) fn failure(
    message: String,
    category: Option<&str>,
    retryable: Option<bool>,
    outcome: Option<EffectCertainty>,
    details: Option<serde_json::Map<String, Json>>,
) -> ServiceError {
    let category = category.and_then(Category::claimed).unwrap_or(Category::Failed);
    let outcome = match outcome {
        Some(EffectCertainty::Definite) => AttemptOutcome::Definite,
        Some(EffectCertainty::Unknown) | None => AttemptOutcome::Unknown,
    };
    let mut error = ServiceError::new(category, message).with_outcome(outcome);
    if retryable.is_some() {
        error.retryable = retryable;
    }
    match details {
        Some(details) => error.with_details(Value::from_json(Json::Object(details))),
        None => error,
    }
}

/// Returns both directions under `$defs`: `from_process` and `to_process`.
pub fn json_schema() -> Json {
    let mut generator = SchemaGenerator::default();
    let from_process = generator.root_schema_for::<FromProcess>();
    let to_process = generator.root_schema_for::<ToProcess>();
    let mut definitions = serde_json::Map::new();
    for (name, schema) in [("from_process", from_process), ("to_process", to_process)] {
        let mut schema = schema.to_value();
        if let Some(map) = schema.as_object_mut() {
            map.remove("$schema");
            // Definitions used by both directions are merged at the top.
            if let Some(Json::Object(inner)) = map.remove("$defs") {
                definitions.extend(inner);
            }
        }
        definitions.insert(name.to_owned(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("rawko service protocol, version {PROTOCOL}"),
        "anyOf": [{"$ref": "#/$defs/from_process"}, {"$ref": "#/$defs/to_process"}],
        "$defs": definitions,
    })
}
