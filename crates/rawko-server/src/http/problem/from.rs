//! Converts errors of other crates to problems. Messages of the store and the operating system may contain paths, so
//! they are only logged.

use rawko_host::HostError;
use rawko_store::StoreError;

use super::{ErrorResponse, ProblemCode as Code};
use crate::error::ChannelError;

impl From<HostError> for ErrorResponse {
    fn from(error: HostError) -> ErrorResponse {
        let words = error.to_string();
        match error {
            HostError::Store(error) => error.into(),
            HostError::Closing => ErrorResponse::new(Code::Closing, words).retry_after(1),
            HostError::Busy { .. } => ErrorResponse::new(Code::Busy, words).retry_after(1),
            HostError::Snapshot { .. } | HostError::Thread(_) | HostError::Internal(_) => {
                ErrorResponse::internal(words)
            }
            HostError::EventRefused { refusal, .. } => {
                ErrorResponse::new(Code::EventRefused, words).with("reason", refusal.code().into())
            }
            HostError::AnswerRefused { violations, .. } => {
                let reasons = violations.iter().map(|violation| violation.to_string().into()).collect();
                ErrorResponse::new(Code::AnswerRefused, words)
                    .with("reasons", serde_json::Value::Array(reasons))
            }
            error => match code_of(&error) {
                Code::Internal => ErrorResponse::new(Code::Internal, words.clone()).because(words),
                code => ErrorResponse::new(code, words),
            },
        }
    }
}

/// Returns the code of an error whose message may be shown to the client.
fn code_of(error: &HostError) -> Code {
    match error {
        HostError::NoInstance(_) => Code::NoInstance,
        HostError::Exists(_) => Code::Exists,
        HostError::NoChart(_) => Code::NoChart,
        HostError::NoVersion { .. } => Code::NoVersion,
        HostError::BadRange(_) => Code::InvalidBody,
        HostError::InvalidChart(_) => Code::InvalidChart,
        HostError::Over { .. } => Code::Over,
        HostError::NothingAsked { .. } => Code::NothingAsked,
        HostError::SeveralAsked { .. } => Code::SeveralAsked,
        HostError::NotAsked { .. } => Code::NotAsked,
        HostError::Superseded { .. } => Code::Superseded,
        HostError::NotRemovable { .. } => Code::NotRemovable,
        HostError::EventRefused { .. } => Code::EventRefused,
        HostError::AnswerRefused { .. } => Code::AnswerRefused,
        HostError::NoStep { .. } => Code::NoStep,
        HostError::NotFailed { .. } | HostError::ItemNotRetried { .. } => Code::NotFailed,
        HostError::Paused { .. } => Code::Paused,
        HostError::BadEdit { .. } => Code::InvalidEdit,
        HostError::Step(_) => Code::StepFailed,
        // Other variants are reported elsewhere; new ones are internal errors until they are listed here.
        _ => Code::Internal,
    }
}

impl From<StoreError> for ErrorResponse {
    fn from(error: StoreError) -> ErrorResponse {
        let words = error.to_string();
        let detail = match error {
            StoreError::Full(_) => "the store is full; nothing was written and no data was lost",
            StoreError::Io(_) | StoreError::Held { .. } => "the store cannot be read or written",
            StoreError::Damaged(_) | StoreError::Format { .. } => {
                "the store is damaged or has another format; run `rawko doctor`"
            }
            StoreError::Fenced { .. } => "another host took over the store; this host stopped writing",
            StoreError::Lost(_) => "the store file was deleted or replaced; this host stopped writing",
            // A bug, or a new variant.
            _ => return ErrorResponse::internal(words),
        };
        ErrorResponse::new(Code::StoreUnavailable, detail).retry_after(5).because(words)
    }
}

impl From<ChannelError> for ErrorResponse {
    fn from(error: ChannelError) -> ErrorResponse {
        let (reason, words) = (error.code(), error.to_string());
        let code = match error {
            ChannelError::NoChannel(_) => Code::NoChannel,
            ChannelError::Exists(_) => Code::Exists,
            ChannelError::BadName(_) => Code::InvalidName,
            ChannelError::Refused(_) => Code::Refused,
            ChannelError::Host(error) => return error.into(),
            ChannelError::Unreadable { .. } => Code::StoreUnavailable,
            ChannelError::Closing => Code::Closing,
        };
        ErrorResponse::new(code, words).with("reason", reason.into())
    }
}
