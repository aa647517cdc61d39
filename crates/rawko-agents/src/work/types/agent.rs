//! `agent:<name>`: the input that an agent takes, and the result or failure that it returns. Agents can be people and
//! charts, so results may have more keys than these.

use std::sync::LazyLock;

use rawko_arbiter::loop_control::{Detector, LoopMemory};
use rawko_arbiter::{Circumstances, RecoveryOption};
use rawko_core::{Value, schema_of};
use rawko_model::Message;
use rawko_tools::Grant;
use serde::{Deserialize, Serialize};

use super::{CheckpointRecord, WorktreeRecord, lenient, or_default};

/// The input keys that agents take themselves; all other keys of an author are data for the agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct AgentInput {
    pub(in crate::work) prompt: Value,
    pub(in crate::work) messages: Option<Vec<Message>>,
    pub(in crate::work) phase: Option<String>,
    pub(in crate::work) goal: Value,
    /// A JSON Schema of the answer, alone or with a name.
    pub(in crate::work) schema: Value,
    pub(in crate::work) plan: Value,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) memory: LoopMemory,
    pub(in crate::work) grant: Option<Grant>,
    pub(in crate::work) occasion: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) depth: i64,
    pub(in crate::work) model: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) untrusted: Vec<String>,
    /// True if the caller gets each message and each tool call as an event.
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) report: bool,
    pub(in crate::work) isolation: Value,
    pub(in crate::work) worktree: Value,
}

/// The input of the chart `agent`, which is also what a program is asked to do.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct AgentRun {
    pub(in crate::work) prompt: Value,
    pub(in crate::work) messages: Option<Vec<Message>>,
    pub(in crate::work) phase: Option<String>,
    pub(in crate::work) goal: Value,
    pub(in crate::work) schema: Value,
    pub(in crate::work) plan: Value,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) memory: LoopMemory,
    pub(in crate::work) grant: Option<Grant>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) untrusted: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) report: bool,
    /// The keys of the author that are none of [`AgentInput`].
    pub(in crate::work) data: Value,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) time_ms: i64,
}

impl AgentInput {
    /// Returns true for a key that agents take themselves.
    pub(in crate::work) fn has_key(key: &str) -> bool {
        static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
            let schema = schema_of::<AgentInput>();
            schema["properties"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default()
        });
        KEYS.iter().any(|known| known == key)
    }

    /// The schema of what an author may give: these keys, a request for a verdict, a session to resume, and any data.
    /// A text alone is the prompt.
    pub(in crate::work) fn schema() -> serde_json::Value {
        let mut schema = schema_of::<Self>();
        if let Some(rules) = schema.as_object_mut() {
            rules.shift_remove("type");
        }
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.insert("verdict".into(), serde_json::json!({"type": ["boolean", "null"]}));
            properties.insert("session".into(), serde_json::json!({}));
        }
        schema
    }
}

/// The result of an agent. Those of people have `approved`, those of charts the keys of their output.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::work) struct AgentResult {
    pub(in crate::work) outcome: Option<String>,
    pub(in crate::work) agent: Option<String>,
    pub(in crate::work) text: Option<String>,
    /// The structured answer.
    pub(in crate::work) data: Value,
    pub(in crate::work) plan: Value,
    /// The number of changes; of a chart, the changed files.
    pub(in crate::work) changes: Value,
    pub(in crate::work) files_modified: Option<Vec<String>>,
    pub(in crate::work) memory: Option<LoopMemory>,
    pub(in crate::work) messages: Option<Vec<Message>>,
    pub(in crate::work) usage: UsageRecord,
    pub(in crate::work) untrusted: Option<Vec<String>>,
    /// The session of a program, to resume it.
    pub(in crate::work) session: Option<String>,
    /// The call of a program that a person decides on before its next turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) question: Option<AskedCall>,
    /// With a question: the approved calls that it has not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) approvals: Option<Vec<ApprovedCall>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) checkpoint: Option<CheckpointRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) worktree: Option<WorktreeRecord>,
    /// Changes of the model in use.
    #[serde(skip_serializing)]
    pub(in crate::work) switches: Option<Vec<Value>>,
    /// Messages of a person that the agent has read.
    #[serde(skip_serializing)]
    pub(in crate::work) heard: Option<u64>,
    // Of charts, see [`ChartOutput`]:
    #[serde(skip_serializing)]
    pub(in crate::work) summary: Option<String>,
    #[serde(skip_serializing)]
    pub(in crate::work) verdict: Option<String>,
    #[serde(skip_serializing)]
    pub(in crate::work) files: Value,
    // Of people:
    #[serde(skip_serializing)]
    pub(in crate::work) approved: Option<bool>,
    #[serde(skip_serializing)]
    pub(in crate::work) by: Option<String>,
    #[serde(skip_serializing)]
    pub(in crate::work) comment: Option<String>,
}

/// A call of a program that needs the approval of a person, and was not made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::work) struct AskedCall {
    /// The own name of the tool.
    pub(in crate::work) tool: String,
    pub(in crate::work) input: Value,
    /// The rule that asks.
    pub(in crate::work) rule: String,
    /// The request to the person.
    pub(in crate::work) request: Value,
    /// The hosts that it is about, of a connection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::work) hosts: Vec<String>,
}

/// A person's approval of one call of a program, as the chart `program_agent` passes it on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::work) struct ApprovedCall {
    pub(in crate::work) tool: String,
    pub(in crate::work) input: Value,
    pub(in crate::work) by: Option<String>,
    pub(in crate::work) rule: Option<String>,
}

impl ApprovedCall {
    /// Returns the approval for the audit.
    pub(in crate::work) fn basis(&self) -> String {
        let by = self.by.as_deref().unwrap_or("a person");
        let rule = self.rule.as_deref().unwrap_or_default();
        format!("approved by {by}, asked by {rule}")
    }
}

/// The keys of a chart's output that make a result of it. Everything is optional, and of any type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct ChartOutput {
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) outcome: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) text: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) summary: Option<String>,
    pub(in crate::work) verdict: Value,
    /// The changed files.
    pub(in crate::work) files: Value,
    /// The whole output of a chart that states no outcome.
    pub(in crate::work) output: Value,
    pub(in crate::work) problem: Value,
}

impl ChartOutput {
    pub(in crate::work) fn of(output: &Value) -> Self {
        output.read().unwrap_or_default()
    }

    pub(in crate::work) fn problem(&self) -> ChartProblem {
        self.problem.read().unwrap_or_default()
    }
}

/// The failure in a chart's output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct ChartProblem {
    pub(in crate::work) message: Value,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) category: Option<String>,
}

/// The requirements for the end of an agent's work, of its phase or its caller.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct ExitGoal {
    #[serde(deserialize_with = "lenient")]
    needs: Option<Vec<Value>>,
    /// The hint for an agent that stops too early.
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) missing: Option<String>,
}

/// Something an agent must have done before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::work) enum ExitNeed {
    Plan,
    Change,
    Report,
    Answer,
}

impl ExitGoal {
    pub(in crate::work) fn of(goal: &Value) -> Self {
        goal.read().unwrap_or_default()
    }

    /// Returns the known requirements.
    pub(in crate::work) fn needs(&self) -> impl Iterator<Item = ExitNeed> + '_ {
        self.needs.iter().flatten().filter_map(|need| need.read().ok())
    }
}

/// What an agent used, in the form that ledgers read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::work) struct UsageRecord {
    pub(in crate::work) tokens: u64,
    pub(in crate::work) input_tokens: u64,
    pub(in crate::work) output_tokens: u64,
    pub(in crate::work) cached_tokens: u64,
    pub(in crate::work) is_estimate: bool,
    pub(in crate::work) cost_usd: Option<f64>,
    pub(in crate::work) tool_calls: u64,
    pub(in crate::work) time_ms: u64,
}

/// Details of an agent's failure, beside its work so far ([`AgentResult`]).
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::work) struct AgentFailure {
    /// The agent's own limit, or the code of a provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) transient: Option<bool>,
    /// `loop`: the host has no such category of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) detector: Option<Detector>,
    // Of an agent with a model:
    #[serde(skip_serializing)]
    pub(in crate::work) permanent: Option<bool>,
    #[serde(skip_serializing)]
    pub(in crate::work) retried: Option<bool>,
    /// Never set: the chart `agent` takes failures of tools, which have a text for the model, and of agents alike.
    #[serde(skip_serializing)]
    pub(in crate::work) content: Option<String>,
    #[serde(skip_serializing)]
    pub(in crate::work) tool: Option<String>,
    #[serde(skip_serializing)]
    pub(in crate::work) attempted: Option<String>,
    #[serde(skip_serializing)]
    pub(in crate::work) context: Option<Circumstances>,
    #[serde(skip_serializing)]
    pub(in crate::work) recovery_options: Option<Vec<RecoveryOption>>,
}
