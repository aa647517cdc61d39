//! `Stimulus`: an input of a simulation, one JSON object per line: `{"type":"EVENT","data":…}` or `{"advance":1500}`.

use std::sync::Arc;

use rawko_core::{Value, duration};

/// An input of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Stimulus {
    /// Sends an event to the simulated instance.
    Event {
        /// Event name.
        name: Arc<str>,
        /// Event data; null if omitted.
        data: Value,
    },
    /// Advances time; `written` is the original value, milliseconds or a duration.
    Advance {
        /// Milliseconds to advance.
        ms: u64,
        /// Value as written, repeated in the output line.
        written: Value,
    },
}

/// Why a text is no stimulus.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StimulusError(String);

impl Stimulus {
    /// Creates an event stimulus.
    pub fn event(name: &str, data: Value) -> Self {
        Stimulus::Event { name: name.into(), data }
    }

    /// Creates a time stimulus.
    pub fn advance(ms: u64) -> Self {
        Stimulus::Advance { ms, written: Value::Int(i64::try_from(ms).unwrap_or(i64::MAX)) }
    }

    /// Reads one line.
    pub fn parse(line: &str) -> Result<Self, StimulusError> {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| StimulusError(format!("not a JSON object: {error}")))?;
        Self::from_value(&value)
    }

    /// Parses the JSON form.
    pub fn from_value(value: &Value) -> Result<Self, StimulusError> {
        let wrong = |message: &str| Err(StimulusError(message.to_owned()));
        let Value::Map(map) = value else {
            return wrong("a stimulus is an object: {\"type\":\"EVENT\"} or {\"advance\":1500}");
        };
        if let Some(unknown) = map.keys().find(|key| !["type", "data", "advance"].contains(&&***key)) {
            return Err(StimulusError(format!(
                "unknown key `{unknown}`: a stimulus has `type` and `data`, or `advance`"
            )));
        }
        match (map.get("type"), map.get("advance")) {
            (Some(Value::Str(name)), None) => {
                Ok(Stimulus::Event { name: Arc::clone(name), data: value.get("data").clone() })
            }
            (Some(_), None) => wrong("`type` must be a string"),
            (None, Some(amount)) => Ok(Stimulus::Advance { ms: amount_ms(amount)?, written: amount.clone() }),
            (Some(_), Some(_)) => wrong("a stimulus is either an event (`type`) or an `advance`, not both"),
            (None, None) => wrong("a stimulus needs `type` or `advance`"),
        }
    }

    /// The stimulus as it was given.
    pub fn to_json(&self) -> Value {
        match self {
            Stimulus::Event { name, data } if data.is_null() => {
                Value::map([("type", Value::Str(Arc::clone(name)))])
            }
            Stimulus::Event { name, data } => {
                Value::map([("type", Value::Str(Arc::clone(name))), ("data", data.clone())])
            }
            Stimulus::Advance { written, .. } => Value::map([("advance", written.clone())]),
        }
    }
}

/// Milliseconds, or a duration such as `15m`.
pub(crate) fn amount_ms(value: &Value) -> Result<u64, StimulusError> {
    match value {
        Value::Int(ms) => u64::try_from(*ms).map_err(|_| StimulusError("time only moves forward".into())),
        Value::Float(ms) if *ms >= 0.0 => Ok(ms.round() as u64),
        Value::Str(text) => duration::parse_ms(text).map_err(|error| StimulusError(error.to_string())),
        Value::Float(_) | Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => {
            Err(StimulusError(format!(
                "`{value}` is not a duration: write milliseconds or a duration such as `15m`"
            )))
        }
    }
}
