//! `Fault`: an expression of the chart that failed to evaluate, or an event that could not be sent, as part of a
//! step's record. Separate from the other
//! effects because no driver acts on it: it exists so that every driver's journal shows the failure.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// One failed evaluation and its place in the chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Part of the chart whose evaluation failed.
    pub what: FaultKind,
    /// Dotted path of the state; empty for the root.
    pub state: Arc<str>,
    /// Place within the state: the label of a transition (`PAID`, `after 5s`), `entry`, `exit`, `initial`, or the id of an
    /// invoke. Empty for an output.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub at: Arc<str>,
    /// Reason, with the text of the expression.
    pub message: Arc<str>,
}

/// Kind of the expression that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The guard counted as false.
    Guard,
    /// The rest of the action's block was skipped.
    Action,
    /// The timer was not set.
    Delay,
    /// The output was null.
    Output,
    /// The service was not called; the invoke failed with category `execution`.
    Invoke,
    /// The event did not reach its receiver.
    Send,
}

impl Fault {
    /// An event that did not reach its receiver.
    pub fn of_send(message: &str) -> Self {
        Self { what: FaultKind::Send, state: "".into(), at: "".into(), message: message.into() }
    }
}

impl FaultKind {
    /// Returns the name used in journals.
    pub fn as_str(self) -> &'static str {
        match self {
            FaultKind::Guard => "guard",
            FaultKind::Action => "action",
            FaultKind::Delay => "delay",
            FaultKind::Output => "output",
            FaultKind::Invoke => "invoke",
            FaultKind::Send => "send",
        }
    }
}

/// ``action failed in state `paying` on PAID: `assign n`: …``
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { what, state, at, message } = self;
        if *what == FaultKind::Send {
            return write!(f, "send failed: {message}");
        }
        match (what, &**at) {
            (FaultKind::Invoke, at) => write!(f, "invoke `{at}` failed")?,
            (
                FaultKind::Guard | FaultKind::Action | FaultKind::Delay | FaultKind::Output | FaultKind::Send,
                _,
            ) => {
                write!(f, "{} failed", what.as_str())?;
            }
        }
        match &**state {
            "" => write!(f, " in the root state")?,
            path => write!(f, " in state `{path}`")?,
        }
        if !at.is_empty() && *what != FaultKind::Invoke {
            write!(f, " on {at}")?;
        }
        write!(f, ": {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_read_as_one_line() {
        let table = [
            (FaultKind::Guard, "a.b", "PAID", "guard failed in state `a.b` on PAID: why"),
            (FaultKind::Action, "", "entry", "action failed in the root state on entry: why"),
            (
                FaultKind::Delay,
                "a",
                "after context.wait",
                "delay failed in state `a` on after context.wait: why",
            ),
            (FaultKind::Output, "end", "", "output failed in state `end`: why"),
            (FaultKind::Invoke, "paying", "pay", "invoke `pay` failed in state `paying`: why"),
        ];
        for (what, state, at, expected) in table {
            let fault = Fault { what, state: state.into(), at: at.into(), message: "why".into() };
            assert_eq!(fault.to_string(), expected);
        }
    }
}
