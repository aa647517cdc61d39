//! Reasons to stop a running program.

use rawko_arbiter::loop_control::Detector;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// A limit or a budget is exhausted. The agent's own limit has a code, as in the chart `agent`; a budget has none.
    Limit { code: Option<&'static str>, message: String },
    /// It repeats the same calls.
    Loop { detector: Detector, message: String },
}

impl Halt {
    pub(super) fn out_of_time() -> Self {
        let message = "reached the time limit of this agent run".to_owned();
        Halt::Limit { code: Some("timeout"), message }
    }

    pub(super) fn used_up(instance: &str, part: &str) -> Self {
        Halt::Limit { code: None, message: format!("`{instance}` has used up `budget.{part}`") }
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Halt::Limit { message, .. } | Halt::Loop { message, .. } => message,
        }
    }
}
