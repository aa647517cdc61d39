//! Refusals on the wire: an error of a remote host keeps its type, so that a user gets the same message and a program
//! can distinguish it.

use rawko_core::{EventRefusal, Status, Violation};
use rawko_host::HostError;
use serde::{Deserialize, Serialize};

/// A serialisable [`HostError`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestateRefusal {
    /// There is no instance with this id.
    NoInstance(String),
    /// An instance with this id exists already.
    Exists(String),
    /// There is no chart with this id, or hash in hex.
    NoChart(String),
    /// The instance has ended.
    Over {
        /// Id of the instance.
        id: String,
        /// Its final status.
        status: Status,
    },
    /// An answer was sent, and the instance has no pending request.
    NothingAsked {
        /// Id of the instance.
        id: String,
    },
    /// An answer did not select one of several pending requests.
    SeveralAsked {
        /// Id of the instance.
        id: String,
        /// The pending requests, comma-separated.
        asked: String,
    },
    /// An answer names a request that is over; a later one of its name is pending.
    Superseded {
        /// Id of the instance.
        id: String,
        /// Name of the request.
        invoke: String,
    },
    /// An answer selected a request that is not pending.
    NotAsked {
        /// Id of the instance.
        id: String,
        /// The selected request: an invoke's id.
        invoke: String,
        /// The pending requests, comma-separated.
        asked: String,
    },
    /// The chart does not accept the event, or not with this data.
    EventRefused {
        /// Id of the instance.
        id: String,
        /// The reason of the chart.
        refusal: EventRefusal,
    },
    /// The data does not match the form; the request stays pending.
    AnswerRefused {
        /// Id of the instance.
        id: String,
        /// The answered request: an invoke's id.
        invoke: String,
        /// Each mismatch with the path of its field.
        violations: Vec<Violation>,
    },
    /// A fork from a step that does not exist.
    NoStep {
        /// Id of the instance to fork.
        id: String,
        /// The requested step.
        step: u64,
        /// The last step.
        last: u64,
    },
    /// A retry was requested, and the instance did not fail.
    NotFailed {
        /// Id of the instance.
        id: String,
    },
    /// A retry of an item was requested that is not possible.
    ItemNotRetried {
        /// Id of the instance.
        id: String,
        /// The reason.
        why: String,
    },
    /// A paused instance takes no answers.
    Paused {
        /// Id of the instance.
        id: String,
    },
    /// A fork sets a context key to a value that the chart does not accept.
    BadEdit {
        /// The context key.
        key: String,
        /// The reason: an unknown key, an invalid expression or a wrong type.
        why: String,
    },
    /// The instance has no image in the new chart.
    MigrationRefused {
        /// Id of the instance.
        id: String,
        /// One entry per obstacle.
        reasons: Vec<String>,
    },
    /// An internal error in a step of the instance with this id, which is unchanged.
    Internal(String),
    /// All other errors, as text.
    Other(String),
}

impl From<HostError> for RestateRefusal {
    fn from(error: HostError) -> Self {
        match error {
            HostError::NoInstance(id) => RestateRefusal::NoInstance(id),
            HostError::Exists(id) => RestateRefusal::Exists(id),
            HostError::NoChart(id) => RestateRefusal::NoChart(id),
            HostError::Over { id, status } => RestateRefusal::Over { id, status },
            HostError::NothingAsked { id } => RestateRefusal::NothingAsked { id },
            HostError::SeveralAsked { id, asked } => RestateRefusal::SeveralAsked { id, asked },
            HostError::NotAsked { id, invoke, asked } => RestateRefusal::NotAsked { id, invoke, asked },
            HostError::Superseded { id, invoke } => RestateRefusal::Superseded { id, invoke },
            HostError::EventRefused { id, refusal } => RestateRefusal::EventRefused { id, refusal },
            HostError::AnswerRefused { id, invoke, violations } => {
                RestateRefusal::AnswerRefused { id, invoke, violations }
            }
            HostError::NoStep { id, step, last } => RestateRefusal::NoStep { id, step, last },
            HostError::NotFailed { id } => RestateRefusal::NotFailed { id },
            HostError::ItemNotRetried { id, why } => RestateRefusal::ItemNotRetried { id, why },
            HostError::Paused { id } => RestateRefusal::Paused { id },
            HostError::BadEdit { key, why } => RestateRefusal::BadEdit { key, why },
            HostError::MigrationRefused { id, reasons } => RestateRefusal::MigrationRefused { id, reasons },
            HostError::Internal(id) => RestateRefusal::Internal(id),
            other => RestateRefusal::Other(other.to_string()),
        }
    }
}

impl From<RestateRefusal> for HostError {
    fn from(refusal: RestateRefusal) -> Self {
        match refusal {
            RestateRefusal::NoInstance(id) => HostError::NoInstance(id),
            RestateRefusal::Exists(id) => HostError::Exists(id),
            RestateRefusal::NoChart(id) => HostError::NoChart(id),
            RestateRefusal::Over { id, status } => HostError::Over { id, status },
            RestateRefusal::NothingAsked { id } => HostError::NothingAsked { id },
            RestateRefusal::SeveralAsked { id, asked } => HostError::SeveralAsked { id, asked },
            RestateRefusal::NotAsked { id, invoke, asked } => HostError::NotAsked { id, invoke, asked },
            RestateRefusal::Superseded { id, invoke } => HostError::Superseded { id, invoke },
            RestateRefusal::EventRefused { id, refusal } => HostError::EventRefused { id, refusal },
            RestateRefusal::AnswerRefused { id, invoke, violations } => {
                HostError::AnswerRefused { id, invoke, violations }
            }
            RestateRefusal::NoStep { id, step, last } => HostError::NoStep { id, step, last },
            RestateRefusal::NotFailed { id } => HostError::NotFailed { id },
            RestateRefusal::ItemNotRetried { id, why } => HostError::ItemNotRetried { id, why },
            RestateRefusal::Paused { id } => HostError::Paused { id },
            RestateRefusal::BadEdit { key, why } => HostError::BadEdit { key, why },
            RestateRefusal::MigrationRefused { id, reasons } => HostError::MigrationRefused { id, reasons },
            RestateRefusal::Internal(id) => HostError::Internal(id),
            RestateRefusal::Other(message) => HostError::Refused(message),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_error_comes_back_as_it_went() {
        let id = || "order-1".to_owned();
        let errors = [
            HostError::NoInstance(id()),
            HostError::Exists(id()),
            HostError::NoChart("order".to_owned()),
            HostError::Over { id: id(), status: Status::Done },
            HostError::NothingAsked { id: id() },
            HostError::SeveralAsked { id: id(), asked: "a, b".to_owned() },
            HostError::NotAsked { id: id(), invoke: "c".to_owned(), asked: "a, b".to_owned() },
            HostError::Superseded { id: id(), invoke: "c".to_owned() },
            HostError::EventRefused { id: id(), refusal: EventRefusal::Internal { event: "TICK".into() } },
            HostError::AnswerRefused {
                id: id(),
                invoke: "ask".to_owned(),
                violations: vec![Violation { path: ".age".to_owned(), message: "no".to_owned() }],
            },
            HostError::NoStep { id: id(), step: 9, last: 3 },
            HostError::NotFailed { id: id() },
            HostError::ItemNotRetried { id: id(), why: "it is done".to_owned() },
            HostError::Paused { id: id() },
            HostError::BadEdit { key: "n".to_owned(), why: "no".to_owned() },
            HostError::Internal(id()),
        ];
        for error in errors {
            let text = serde_json::to_string(&RestateRefusal::from(error.clone())).unwrap();
            let back: RestateRefusal = serde_json::from_str(&text).unwrap();
            assert_eq!(HostError::from(back), error, "{text}");
        }
        // The others keep their message.
        let range = HostError::BadRange("^^1".to_owned());
        assert_eq!(HostError::from(RestateRefusal::from(range.clone())).to_string(), range.to_string());
    }
}
