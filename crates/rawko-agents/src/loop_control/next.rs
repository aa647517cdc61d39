//! What comes after a completion. Intent first: a model that says it is done, and is, is done. Then the limits, before
//! anything else is run. Then what it asked for.

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::settings::LoopSettings;
use crate::message::StopReason;

/// Everything that decides.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub stop_reason: StopReason,
    /// How many tools the model asks for.
    pub pending_tools: u64,
    pub exit_guard: &'a ExitGuard,
    /// How often it has been told that something is missing.
    pub challenges: u32,
    /// How often it has been asked to go on after running into its limit of output.
    pub continuations: u32,
    /// How often a filter has taken its answer.
    pub filtered: u32,
    /// Completions so far, this one included.
    pub completions: u32,
    pub budget_left: Budget,
}

/// Whether a phase's own goal is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExitGuard {
    Met,
    /// What is missing, in words for the model: `there is no plan yet`.
    Missing {
        text: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Next {
    /// Run the tools, as many as the budget still allows.
    CallTools {
        at_most: u64,
    },
    Done,
    /// Say this to the model and ask again.
    Challenge {
        text: String,
    },
    /// Ask it to go on where it was cut off.
    ContinueAfterLength {
        text: String,
    },
    /// A filter took the answer: ask for another.
    Filtered {
        text: String,
    },
    /// No further; the work so far is kept.
    Limit {
        which: Limit,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Completions,
    /// It keeps saying that it is done when it is not.
    Challenges,
    /// It keeps running into its limit of output.
    Continuations,
    Filtered,
    Tokens,
    Cost,
    Time,
    ToolCalls,
}

impl Limit {
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Completions => "completions",
            Limit::Challenges => "challenges",
            Limit::Continuations => "continuations",
            Limit::Filtered => "filtered",
            Limit::Tokens => "tokens",
            Limit::Cost => "cost",
            Limit::Time => "time",
            Limit::ToolCalls => "tool_calls",
        }
    }
}

pub fn decide_next(situation: Situation<'_>, settings: &LoopSettings) -> Next {
    if is_done(&situation) {
        return Next::Done;
    }
    if let Some(which) = safety_limit(&situation, settings) {
        return Next::Limit { which };
    }
    match situation.stop_reason {
        StopReason::ContentFilter => filtered(&situation, settings),
        _ if situation.pending_tools > 0 => {
            let left = situation.budget_left.tool_calls.unwrap_or(u64::MAX);
            Next::CallTools { at_most: situation.pending_tools.min(left) }
        }
        StopReason::Length => continued(&situation, settings),
        StopReason::Stop | StopReason::ToolCalls | StopReason::Other => challenged(&situation, settings),
    }
}

/// Pending tools win over what the provider calls the reason.
fn is_done(situation: &Situation<'_>) -> bool {
    let is_intent = match situation.stop_reason {
        StopReason::Stop => true,
        StopReason::ToolCalls | StopReason::Length | StopReason::ContentFilter | StopReason::Other => false,
    };
    is_intent && situation.pending_tools == 0 && *situation.exit_guard == ExitGuard::Met
}

fn safety_limit(situation: &Situation<'_>, settings: &LoopSettings) -> Option<Limit> {
    if situation.completions >= settings.completions_max {
        return Some(Limit::Completions);
    }
    // Without tools to run, a budget of tools that is used up does not matter.
    let left = match situation.pending_tools {
        0 => Budget { tool_calls: None, ..situation.budget_left },
        _ => situation.budget_left,
    };
    left.exhausted()
}

fn challenged(situation: &Situation<'_>, settings: &LoopSettings) -> Next {
    if situation.challenges >= settings.challenges_max {
        return Next::Limit { which: Limit::Challenges };
    }
    let text = match (situation.stop_reason, situation.exit_guard) {
        (_, ExitGuard::Missing { text }) => {
            format!("You stopped, but {text}. Go on, or say what keeps you from it.")
        }
        (StopReason::ToolCalls, ExitGuard::Met) => {
            "You announced a tool call, but none arrived. Make it, or stop if you are done.".to_owned()
        }
        (
            StopReason::Stop | StopReason::Length | StopReason::ContentFilter | StopReason::Other,
            ExitGuard::Met,
        ) => "It is not clear whether you are done. If so, stop; else go on.".to_owned(),
    };
    Next::Challenge { text }
}

fn continued(situation: &Situation<'_>, settings: &LoopSettings) -> Next {
    match situation.continuations >= settings.continuations_max {
        true => Next::Limit { which: Limit::Continuations },
        false => Next::ContinueAfterLength {
            text: "Your answer was cut off at its greatest length. Go on exactly where it ends; do not repeat anything."
                .to_owned(),
        },
    }
}

fn filtered(situation: &Situation<'_>, settings: &LoopSettings) -> Next {
    match situation.filtered >= settings.filtered_max {
        true => Next::Limit { which: Limit::Filtered },
        false => Next::Filtered {
            text: "The provider's content filter took your answer. Answer again without the part that caused it."
                .to_owned(),
        },
    }
}
