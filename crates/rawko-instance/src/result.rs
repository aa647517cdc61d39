//! `EffectResult`: the end of an effect, as delivered to its instance and recorded in the audit.

use std::borrow::Cow;

use rawko_core::{Event, Value};
use serde::{Deserialize, Serialize};

use crate::effects::send::communication_error;
use crate::failure::ServiceError;
use crate::records::OpenEffect;

/// The end of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectResult {
    /// `None` if a call without a waiting invocation succeeded.
    pub event: Option<Event>,
    /// Entry for the audit.
    pub note: EffectNote,
}

/// The audit's note on an effect that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectNote {
    /// One word, such as `answered` or `failed`.
    pub decision: Cow<'static, str>,
    /// Error message; empty on success.
    pub reason: String,
    /// The call may have happened: its key is kept for the next attempt.
    pub outcome_open: bool,
}

impl EffectNote {
    /// The note on an effect that the audit does not list.
    pub(crate) fn silent() -> Self {
        Self { decision: "".into(), reason: String::new(), outcome_open: false }
    }
}

impl EffectResult {
    /// Builds the result of a service call for its effect.
    pub fn of(effect: &OpenEffect, result: Result<Value, ServiceError>) -> Self {
        let note = match &result {
            Ok(_) => EffectNote { decision: "answered".into(), reason: String::new(), outcome_open: false },
            Err(error) => EffectNote {
                decision: "failed".into(),
                reason: format!("{}: {}", error.category.as_str(), error.message),
                outcome_open: error.outcome_open(),
            },
        };
        let event = match (effect.invocation, result) {
            (Some(invocation), Ok(data)) => Some(Event::InvokeDone { invocation, data }),
            (Some(invocation), Err(error)) => {
                Some(Event::InvokeFailed { invocation, error: error.to_value() })
            }
            (None, Ok(_)) => None,
            (None, Err(error)) => Some(communication_error(&effect.name, &error.message, error.to_value())),
        };
        Self { event, note }
    }
}
