//! The result of a program for its caller: the same shape as the output of the chart `agent`, and for a failure the
//! work so far beside the reason.

use rawko_core::Value;
use rawko_host::{AttemptOutcome, Category, ServiceError};
use tokio::time::Instant;

use super::attendant::Attendant;
use super::halt::Halt;
use crate::work::bounds::{TEXT_BYTES_MAX, bounded_data, bounded_transcript, cut};
use crate::work::value;
use rawko_model::provider::ErrorCode;
use rawko_programs::process::TurnError;

const TEXT_NOTE: &str = "the text of one answer is limited";

/// Builds the result or the error of a finished run.
pub(super) struct Report<'a> {
    pub(super) agent: &'a str,
    pub(super) attendant: &'a Attendant<'a>,
    pub(super) started: Instant,
    pub(super) data: Value,
}

impl Report<'_> {
    pub(super) fn finished(&self) -> Value {
        Value::map([("outcome", Value::str("finished"))].into_iter().chain(self.work()))
    }

    pub(super) fn halted(&self, halt: &Halt) -> ServiceError {
        match halt {
            Halt::Limit { code, message } => self.limit(*code, message),
            Halt::Loop { detector, message } => {
                // The host has no such category of its own; the chart `agent` uses the same word.
                let more = [("category", Value::str("loop")), ("detector", Value::str(detector.as_str()))];
                let error = self.error(Category::Failed, message, "loop_detected", more);
                ServiceError { retryable: Some(false), ..error }
            }
        }
    }

    /// `code` names the agent's own limit; the caller uses it to decide if others may continue.
    pub(super) fn limit(&self, code: Option<&str>, message: &str) -> ServiceError {
        let code = code.map_or(Value::Null, Value::str);
        self.error(Category::Limit, message, "limit_reached", [("code", code)])
    }

    /// It stopped without the requested result.
    pub(super) fn unfit(&self, category: Category, code: &str, message: &str) -> ServiceError {
        self.error(category, message, "failed", [("code", Value::str(code))])
    }

    pub(super) fn failed(&self, error: &TurnError) -> ServiceError {
        let code = match error {
            TurnError::Reported { code, .. } => code.as_str(),
            TurnError::Unauthenticated(_) => ErrorCode::AuthenticationFailed.as_str(),
            TurnError::NotStarted(_) => "not_started",
            TurnError::Ended(_) => "ended",
            TurnError::Silent { .. } => "silent",
            TurnError::Malformed(_) | TurnError::TooLong { .. } => "malformed",
            TurnError::Cancelled => "cancelled",
        };
        let more = [("code", Value::str(code)), ("transient", Value::Bool(error.is_transient()))];
        let told = self.error(category(error), &error.to_string(), "failed", more);
        ServiceError { retryable: Some(error.is_transient()), ..told }.with_outcome(attempt_outcome(error))
    }

    fn error<const N: usize>(
        &self,
        category: Category,
        message: &str,
        outcome: &str,
        more: [(&'static str, Value); N],
    ) -> ServiceError {
        let details = [("outcome", Value::str(outcome))].into_iter().chain(self.work()).chain(more);
        ServiceError::new(category, message).with_details(Value::map(details))
    }

    fn work(&self) -> [(&'static str, Value); 11] {
        let time_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let state = self.attendant.state();
        [
            ("agent", Value::str(self.agent)),
            ("text", Value::from(cut(state.transcript.text().to_owned(), TEXT_BYTES_MAX, TEXT_NOTE))),
            ("data", bounded_data(self.data.clone())),
            ("plan", state.plan.clone()),
            ("changes", Value::Int(i64::try_from(state.changes).unwrap_or(i64::MAX))),
            ("filesModified", value(&state.files)),
            ("memory", value(&state.memory)),
            ("messages", value(&bounded_transcript(state.transcript.whole()))),
            ("usage", state.account.to_value(time_ms)),
            ("untrusted", value(&state.untrusted)),
            ("session", state.session.as_deref().map_or(Value::Null, Value::str)),
        ]
    }
}

fn category(error: &TurnError) -> Category {
    match error {
        TurnError::Reported { code: ErrorCode::NetworkError, .. } => Category::Network,
        TurnError::Silent { .. } => Category::Timeout,
        TurnError::Malformed(_) | TurnError::TooLong { .. } => Category::InvalidAnswer,
        TurnError::Reported { .. }
        | TurnError::NotStarted(_)
        | TurnError::Ended(_)
        | TurnError::Unauthenticated(_)
        | TurnError::Cancelled => Category::Failed,
    }
}

/// A program that never got the turn did nothing, and one that reports an error has ended the turn itself.
fn attempt_outcome(error: &TurnError) -> AttemptOutcome {
    match error {
        TurnError::Reported { code: ErrorCode::NetworkError, .. }
        | TurnError::Silent { .. }
        | TurnError::Malformed(_)
        | TurnError::TooLong { .. }
        | TurnError::Ended(_)
        | TurnError::Cancelled => AttemptOutcome::Unknown,
        TurnError::Reported { .. } | TurnError::NotStarted(_) | TurnError::Unauthenticated(_) => {
            AttemptOutcome::Definite
        }
    }
}
