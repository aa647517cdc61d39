//! `ErrorContext`: a failure, its category and the recovery options. The category comes from the codes of hosts,
//! providers and tools, never from the text of a message.

use serde::{Deserialize, Serialize};

use super::context::{ErrorEntry, Orchestration};
use super::plan::Plan;

/// A failure in the arbiter's prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorContext {
    /// Agent that failed; `arbiter` if none was running.
    pub agent: String,
    /// Tool whose call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Position of the plan's current step, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_step: Option<u64>,
    /// The attempted operation.
    pub attempted: String,
    /// Error message.
    pub message: String,
    /// Class that the recovery options follow from.
    pub category: ErrorCategory,
    /// Ways to continue, best first.
    pub recovery_options: Vec<RecoveryOption>,
    /// Time of the failure in RFC 3339.
    pub timestamp: String,
    /// Files, command and sizes at the failure.
    pub context: Circumstances,
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// A tool call failed.
    ToolFailure,
    /// The model's provider failed or refused the request.
    ProviderError,
    /// Input or output does not fit its schema.
    ValidationError,
    /// A time limit was reached.
    Timeout,
    /// A rule or a person denied the operation.
    PermissionError,
    /// None of the known codes.
    Unknown,
}

/// A way to continue after a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryOption {
    /// Decision that carries it out.
    pub action: RecoveryAction,
    /// The option in one sentence.
    pub description: String,
    /// Why it may help.
    pub reason: String,
}

/// The decision behind a recovery option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryAction {
    /// Repeat the execution.
    Retry,
    /// Leave out the step of the plan.
    Skip,
    /// Let another agent continue.
    Fallback,
    /// End the task without success.
    Abort,
}

/// The circumstances of the failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Circumstances {
    /// Files that the failed operation accessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_accessed: Option<Vec<String>>,
    /// Shell command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_executed: Option<String>,
    /// Bytes of the operation's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_size: Option<u64>,
    /// Bytes of the operation's output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_size: Option<u64>,
}

impl ErrorCategory {
    /// All categories, for lists and tests.
    pub const ALL: [ErrorCategory; 6] = [
        ErrorCategory::ToolFailure,
        ErrorCategory::ProviderError,
        ErrorCategory::ValidationError,
        ErrorCategory::Timeout,
        ErrorCategory::PermissionError,
        ErrorCategory::Unknown,
    ];

    /// Returns the name used in prompts and journals.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCategory::ToolFailure => "tool_failure",
            ErrorCategory::ProviderError => "provider_error",
            ErrorCategory::ValidationError => "validation_error",
            ErrorCategory::Timeout => "timeout",
            ErrorCategory::PermissionError => "permission_error",
            ErrorCategory::Unknown => "unknown",
        }
    }
}

impl RecoveryAction {
    /// Returns the name used in prompts and journals.
    pub fn as_str(self) -> &'static str {
        match self {
            RecoveryAction::Retry => "retry",
            RecoveryAction::Skip => "skip",
            RecoveryAction::Fallback => "fallback",
            RecoveryAction::Abort => "abort",
        }
    }
}

/// Returns the category of a failure: its own if known, else from the provider's code, then the host's category, then
/// by a running tool.
pub(super) fn categorise(error: &ErrorEntry) -> ErrorCategory {
    let own = ErrorCategory::ALL.into_iter().filter(|category| *category != ErrorCategory::Unknown);
    if let Some(own) = own.into_iter().find(|category| error.category.as_deref() == Some(category.as_str())) {
        return own;
    }
    match error.code.as_deref() {
        Some(
            "authentication_failed"
            | "rate_limited"
            | "context_length_exceeded"
            | "invalid_request"
            | "model_unavailable"
            | "network_error"
            | "content_filter",
        ) => return ErrorCategory::ProviderError,
        Some("goal_missed") => return ErrorCategory::ValidationError,
        // The agent's own timeout, independent of the host.
        Some("timeout") => return ErrorCategory::Timeout,
        Some(_) | None => {}
    }
    match error.category.as_deref() {
        Some("timeout" | "expired") => ErrorCategory::Timeout,
        Some("refused") => ErrorCategory::PermissionError,
        Some("invalid_answer") => ErrorCategory::ValidationError,
        Some(_) | None if error.tool.is_some() => ErrorCategory::ToolFailure,
        Some("network") => ErrorCategory::ProviderError,
        Some(_) | None => ErrorCategory::Unknown,
    }
}

/// Returns the recovery options. `others` is true if another agent could be selected.
pub(super) fn recovery_options(error: &ErrorEntry, has_step: bool, others: bool) -> Vec<RecoveryOption> {
    // The failing call knows best what can be done about it.
    let given = error.recovery_options.as_ref().filter(|given| !given.is_empty());
    let mut options = given.cloned().unwrap_or_else(|| general_options(categorise(error), error));
    options.retain(|option| option.action != RecoveryAction::Skip || has_step);
    if others && given.is_none() {
        let reason = "Different agent may have better approach";
        options.push(option(RecoveryAction::Fallback, "Switch to different agent", reason));
    }
    options
}

fn general_options(category: ErrorCategory, error: &ErrorEntry) -> Vec<RecoveryOption> {
    match category {
        ErrorCategory::ToolFailure => vec![
            retry("Retry the same tool with different parameters", "Tool may be in temporary error state"),
            skip("Skip this step and proceed to next", "Step may not be critical to task"),
        ],
        ErrorCategory::ProviderError => provider_options(error.code.as_deref()),
        ErrorCategory::ValidationError => vec![
            retry("Retry with the complaint in view", "The answer may fit once it is clear what is missing"),
            skip("Skip this step and proceed to next", "Step may not be critical to task"),
        ],
        ErrorCategory::Timeout => vec![abort("Abort task due to timeout", "Agent not making progress")],
        ErrorCategory::PermissionError => vec![
            skip("Skip this step and proceed to next", "What was refused will be refused again"),
            abort("Abort and let a person allow it", "Only the project's settings can permit this"),
        ],
        ErrorCategory::Unknown => vec![
            retry("Retry the same agent", "The cause is unknown and may have passed"),
            abort("Abort and let a person look", "The cause is unknown and may stay"),
        ],
    }
}

fn provider_options(code: Option<&str>) -> Vec<RecoveryOption> {
    match code {
        Some("rate_limited") => {
            vec![retry("Wait and retry (rate limit should clear)", "Rate limit is temporary")]
        }
        Some("authentication_failed") => {
            vec![abort("Abort and let a person correct the key", "A key that is wrong stays wrong")]
        }
        Some("context_length_exceeded") => {
            vec![retry("Retry with a smaller piece of the work", "The conversation has outgrown the model")]
        }
        Some("content_filter" | "invalid_request") => {
            vec![retry("Retry with the request put differently", "The same request would be refused again")]
        }
        Some(_) | None => vec![retry("Retry the request", "The provider may be reachable again")],
    }
}

fn option(action: RecoveryAction, description: &str, reason: &str) -> RecoveryOption {
    RecoveryOption { action, description: description.to_owned(), reason: reason.to_owned() }
}
fn retry(description: &str, reason: &str) -> RecoveryOption {
    option(RecoveryAction::Retry, description, reason)
}
fn skip(description: &str, reason: &str) -> RecoveryOption {
    option(RecoveryAction::Skip, description, reason)
}
fn abort(description: &str, reason: &str) -> RecoveryOption {
    option(RecoveryAction::Abort, description, reason)
}

/// Returns the last error for the arbiter. The arbiter's own failures are skipped in favour of the agent's.
pub(super) fn error_context(
    context: &Orchestration,
    plan: Option<&Plan>,
    others: bool,
) -> Option<ErrorContext> {
    let noted = context.last_error.clone()?;
    let error = if noted.agent.as_deref() == Some("arbiter") { agents_error(context)? } else { noted };
    let step = plan.and_then(Plan::current);
    let circumstances = error.context.clone().unwrap_or_default();
    let attempted = error.attempted.clone().or_else(|| circumstances.command_executed.clone());
    let attempted = attempted.or_else(|| step.map(|step| step.title.clone()));
    Some(ErrorContext {
        agent: error.agent.clone().unwrap_or_else(|| context.current_mode.clone()),
        tool: error.tool.clone(),
        plan_step: error.step.or(step.and(plan).map(|plan| plan.number(plan.current_index()))),
        attempted: attempted.unwrap_or_else(|| context.task.clone()),
        message: error.message.clone().unwrap_or_default(),
        category: categorise(&error),
        recovery_options: recovery_options(&error, step.is_some(), others),
        timestamp: error.at.clone().unwrap_or_default(),
        context: circumstances,
    })
}

/// Returns the error of the latest execution, if it failed.
fn agents_error(context: &Orchestration) -> Option<ErrorEntry> {
    let last = context.last().filter(|entry| entry.result.is_failure())?;
    let details = last.error.as_ref()?.details();
    Some(ErrorEntry { agent: Some(last.agent.clone()), at: last.completed_at.clone(), ..details })
}

#[cfg(test)]
mod tests {
    use super::*;
    use RecoveryAction::{Abort, Fallback, Retry, Skip};

    fn error(category: &str, code: &str, tool: &str) -> ErrorEntry {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        ErrorEntry { category: some(category), code: some(code), tool: some(tool), ..ErrorEntry::default() }
    }

    #[test]
    fn kinds_and_what_can_be_done_about_them() {
        use ErrorCategory as Kind;
        let table: [(&str, &str, &str, Kind, &[RecoveryAction]); 20] = [
            ("tool_failure", "", "", Kind::ToolFailure, &[Retry, Skip, Fallback]),
            ("failed", "", "Bash", Kind::ToolFailure, &[Retry, Skip, Fallback]),
            ("failed", "rate_limited", "", Kind::ProviderError, &[Retry, Fallback]),
            ("failed", "authentication_failed", "", Kind::ProviderError, &[Abort, Fallback]),
            ("failed", "context_length_exceeded", "", Kind::ProviderError, &[Retry, Fallback]),
            ("failed", "content_filter", "", Kind::ProviderError, &[Retry, Fallback]),
            ("network", "network_error", "", Kind::ProviderError, &[Retry, Fallback]),
            ("network", "", "", Kind::ProviderError, &[Retry, Fallback]),
            ("network", "", "WebFetch", Kind::ToolFailure, &[Retry, Skip, Fallback]),
            ("invalid_answer", "", "", Kind::ValidationError, &[Retry, Skip, Fallback]),
            ("failed", "goal_missed", "", Kind::ValidationError, &[Retry, Skip, Fallback]),
            ("timeout", "", "", Kind::Timeout, &[Abort, Fallback]),
            ("expired", "", "", Kind::Timeout, &[Abort, Fallback]),
            ("limit", "timeout", "", Kind::Timeout, &[Abort, Fallback]),
            ("limit", "max_iterations", "", Kind::Unknown, &[Retry, Abort, Fallback]),
            ("limit", "output_length", "", Kind::Unknown, &[Retry, Abort, Fallback]),
            ("refused", "", "Write", Kind::PermissionError, &[Skip, Abort, Fallback]),
            ("loop", "", "", Kind::Unknown, &[Retry, Abort, Fallback]),
            ("interrupted", "", "", Kind::Unknown, &[Retry, Abort, Fallback]),
            ("unknown", "", "", Kind::Unknown, &[Retry, Abort, Fallback]),
        ];
        for (category, code, tool, kind, actions) in table {
            let error = error(category, code, tool);
            assert_eq!(categorise(&error), kind, "{category} {code} {tool}");
            let options = recovery_options(&error, true, true);
            assert_eq!(
                options.iter().map(|option| option.action).collect::<Vec<_>>(),
                actions,
                "{category} {code}"
            );
        }
    }

    #[test]
    fn nothing_is_offered_that_cannot_be_done() {
        let without = recovery_options(&error("tool_failure", "", ""), false, false);
        assert_eq!(without.iter().map(|option| option.action).collect::<Vec<_>>(), [Retry]);
    }

    #[test]
    fn words_in_a_message_decide_nothing() {
        let noted =
            ErrorEntry { message: Some("rate_limit timeout permission".into()), ..ErrorEntry::default() };
        assert_eq!(categorise(&noted), ErrorCategory::Unknown);
    }
}
