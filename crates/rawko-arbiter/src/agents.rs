//! `AgentDescription`: an agent as the arbiter sees it, with its performance so far. Built from an `AgentProfile`, the
//! part of an agent's file that is relevant to the arbiter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::context::{EntryResult, ExecutionEntry};

/// The contents of an agent's file. Plain data, independent of the reader of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentProfile {
    /// Agent id, the name of its file.
    pub name: String,
    /// Name shown to people; the id if omitted.
    pub display_name: Option<String>,
    /// Description that a model selects the agent by.
    pub when_to_use: String,
    /// Tools that the agent may use.
    pub tools: ToolNames,
    /// Declared successors, which are rules to the arbiter.
    pub transitions: AgentTransitions,
}

/// Tool names as the agent's file lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolNames {
    /// Only these tools; `None` allows all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// Never these tools, even if allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Vec<String>>,
}

/// The successors of this agent: agents' names, or `complete`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentTransitions {
    /// Successor after success.
    pub on_success: Option<String>,
    /// Successor after a failure.
    pub on_failure: Option<String>,
    /// Successor once the agent reached its limit on completions.
    pub on_max_iterations: Option<String>,
    /// Keyed by the agent's verdict.
    pub custom: BTreeMap<String, String>,
}

/// An agent in the arbiter's prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDescription {
    /// Agent id.
    pub name: String,
    /// Name shown to people.
    pub display_name: String,
    /// Description that a model selects the agent by.
    pub when_to_use: String,
    /// Tools that the agent may use.
    pub tools: ToolNames,
    /// Results in this task; `None` if the agent has not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_performance: Option<Performance>,
}

/// Covers all executions of this task. Executions stopped by a person do not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Performance {
    /// Completion time of the last success, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_success: Option<String>,
    /// Completion time of the last failure, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// 0 to 100, in whole per cent.
    pub success_rate: u64,
    /// Average number of executions up to and including each success, to a tenth; null before the first success.
    pub iteration_average: Option<f64>,
}

pub(super) fn describe(profile: &AgentProfile, history: &[ExecutionEntry]) -> AgentDescription {
    AgentDescription {
        name: profile.name.clone(),
        display_name: profile.display_name.clone().unwrap_or_else(|| profile.name.clone()),
        when_to_use: profile.when_to_use.clone(),
        tools: profile.tools.clone(),
        recent_performance: performance(&profile.name, history),
    }
}

fn performance(agent: &str, history: &[ExecutionEntry]) -> Option<Performance> {
    let (mut tries, mut successes, mut total, mut until_success) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut last_success, mut last_failure) = (None, None);
    for entry in history.iter().filter(|entry| entry.agent == agent) {
        let ended = Some(entry.completed_at.clone().unwrap_or_else(|| entry.started_at.clone()));
        match entry.result {
            EntryResult::Cancelled => continue,
            EntryResult::Success => {
                successes += 1;
                until_success += tries + 1;
                tries = 0;
                last_success = ended;
            }
            EntryResult::Failure | EntryResult::Timeout | EntryResult::MaxIterations => {
                tries += 1;
                last_failure = ended;
            }
        }
        total += 1;
    }
    let success_rate = (successes * 100 + total / 2).checked_div(total)?;
    let tenths = (until_success * 10 + successes / 2).checked_div(successes);
    Some(Performance {
        last_success,
        last_failure,
        success_rate,
        iteration_average: tenths.map(|tenths| tenths as f64 / 10.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn performance_counts_what_was_tried() {
        let table = [
            ("never at work", "", None),
            ("one success", "s", Some((100, Some(1.0)))),
            ("one failure", "f", Some((0, None))),
            ("the second time", "fs", Some((50, Some(2.0)))),
            ("two in three tries", "fss", Some((67, Some(1.5)))),
            ("failures after the last success are not yet a success", "sff", Some((33, Some(1.0)))),
            ("cut off is no success", "ms", Some((50, Some(2.0)))),
            ("stopped by a person", "cs", Some((100, Some(1.0)))),
            ("only stopped", "c", None),
        ];
        for (name, letters, expected) in table {
            let result = |letter| match letter {
                's' => "success",
                'f' => "failure",
                'm' => "max_iterations",
                _ => "cancelled",
            };
            let entry = |letter| {
                let text = format!(
                    r#"{{"agent":"a","startedAt":"2026-01-01T00:00:00Z","result":"{}"}}"#,
                    result(letter)
                );
                serde_json::from_str(&text).unwrap()
            };
            let history: Vec<ExecutionEntry> = letters.chars().map(entry).collect();
            let seen = performance("a", &history).map(|seen| (seen.success_rate, seen.iteration_average));
            assert_eq!(seen, expected, "{name}");
        }
    }
}
