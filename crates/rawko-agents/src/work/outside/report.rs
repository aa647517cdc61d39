//! The result of a program for its caller: the same shape as the output of the chart `agent`, and for a failure the
//! work so far beside the reason.

use rawko_core::Value;
use rawko_host::{AttemptOutcome, Category, ServiceError};
use tokio::time::Instant;

use super::attendant::Attendant;
use super::halt::Halt;
use crate::work::bounds::{TEXT_BYTES_MAX, bounded_data, bounded_transcript, cut};
use crate::work::types::{AgentFailure, AgentResult, value};
use rawko_model::provider::ErrorCode;
use rawko_programs::program::TurnError;

const TEXT_NOTE: &str = "the text of one answer is limited";

/// Builds the result or the error of a finished run.
pub(super) struct WorkReport<'a> {
    pub(super) agent: &'a str,
    pub(super) attendant: &'a Attendant<'a>,
    pub(super) started: Instant,
    pub(super) data: Value,
}

impl WorkReport<'_> {
    pub(super) fn finished(&self) -> AgentResult {
        self.work("finished")
    }

    pub(super) fn halted(&self, halt: &Halt) -> ServiceError {
        match halt {
            Halt::Limit { code, message } => self.limit(*code, message),
            Halt::Loop { detector, message } => {
                // The host has no such category of its own; the chart `agent` uses the same word.
                let failure = AgentFailure {
                    category: Some("loop".to_owned()),
                    detector: Some(*detector),
                    ..AgentFailure::default()
                };
                self.error(Category::Failed, message, "loop_detected", failure).with_retryable(false)
            }
        }
    }

    /// `code` names the agent's own limit; the caller uses it to decide if others may continue.
    pub(super) fn limit(&self, code: Option<&str>, message: &str) -> ServiceError {
        let failure = AgentFailure { code: code.map(str::to_owned), ..AgentFailure::default() };
        self.error(Category::Limit, message, "limit_reached", failure)
    }

    /// It stopped without the requested result.
    pub(super) fn unfit(&self, category: Category, code: &str, message: &str) -> ServiceError {
        let failure = AgentFailure { code: Some(code.to_owned()), ..AgentFailure::default() };
        self.error(category, message, "failed", failure)
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
        let failure = AgentFailure {
            code: Some(code.to_owned()),
            transient: Some(error.is_transient()),
            ..AgentFailure::default()
        };
        let told = self.error(category(error), &error.to_string(), "failed", failure);
        told.with_retryable(error.is_transient()).with_outcome(attempt_outcome(error))
    }

    fn error(&self, category: Category, message: &str, outcome: &str, failure: AgentFailure) -> ServiceError {
        let details = UnfinishedWork { work: self.work(outcome), failure };
        ServiceError::new(category, message).with_details(value(&details))
    }

    fn work(&self, outcome: &str) -> AgentResult {
        let time_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.attendant.report_stopped_calls();
        let state = self.attendant.state();
        AgentResult {
            outcome: Some(outcome.to_owned()),
            agent: Some(self.agent.to_owned()),
            text: Some(cut(state.transcript.text().to_owned(), TEXT_BYTES_MAX, TEXT_NOTE)),
            data: bounded_data(self.data.clone()),
            plan: state.plan.clone(),
            changes: Value::Int(i64::try_from(state.changes).unwrap_or(i64::MAX)),
            files_modified: Some(state.files.iter().cloned().collect()),
            memory: Some(state.memory.clone()),
            messages: Some(bounded_transcript(state.transcript.whole())),
            usage: state.account.record(time_ms),
            untrusted: Some(state.untrusted.clone()),
            session: state.session.clone(),
            ..AgentResult::default()
        }
    }
}

/// The work so far beside the reason that it ended.
#[derive(serde::Serialize)]
struct UnfinishedWork {
    #[serde(flatten)]
    work: AgentResult,
    #[serde(flatten)]
    failure: AgentFailure,
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
