//! Tool calls: deciding on them, running them, and collecting their results.

use rawko_arbiter::loop_control::{CallFingerprint, Detector, LoopMemory, LoopSettings, LoopVerdict};
use rawko_arbiter::{Circumstances, RecoveryOption};
use rawko_core::Value;
use rawko_model::{MessagePart, ToolResult, ToolUse};
use rawko_tools::Grant;
use serde::{Deserialize, Serialize};

use super::{CheckpointRecord, lenient, or_default};
use crate::work::bounds::TurnUse;

/// A tool call that a completion asked for, as the chart keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::work) struct PendingCall {
    pub(in crate::work) id: String,
    pub(in crate::work) name: String,
    pub(in crate::work) input: Value,
    /// Why it is not run.
    #[serde(default)]
    pub(in crate::work) rejected: Option<String>,
    /// The beginning of the call, for people.
    #[serde(default)]
    pub(in crate::work) shown: Option<String>,
    /// Characters of the input.
    #[serde(default)]
    pub(in crate::work) size: Option<u64>,
    /// The kind of group that it can be part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) together: Option<CallGroup>,
}

/// Calls that can run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::work) enum CallGroup {
    /// Calls that only read.
    Read,
    /// Sub-agents.
    Agent,
}

impl PendingCall {
    pub(in crate::work) fn is_agent(&self) -> bool {
        self.together == Some(CallGroup::Agent)
    }

    pub(in crate::work) fn tool_use(&self) -> ToolUse {
        ToolUse { id: self.id.clone(), name: self.name.clone(), input: self.input.clone() }
    }
}

/// Input of `work:permit`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct PermitInput {
    pub(in crate::work) call: PendingCall,
    pub(in crate::work) grant: Grant,
    pub(in crate::work) agent: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) untrusted: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) hosts: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct PermitOutput {
    pub(in crate::work) decision: PermitDecision,
    /// The rule that decided; empty if none applies.
    pub(in crate::work) rule: String,
    /// The host that a person is asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) host: Option<String>,
    /// The request to a person.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(in crate::work) request: Value,
}

/// A denied call is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::work) enum PermitDecision {
    Allow,
    Ask,
}

/// Input of `work:group`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct GroupInput {
    pub(in crate::work) calls: Vec<PendingCall>,
    pub(in crate::work) grant: Grant,
    #[serde(rename = "loop")]
    pub(in crate::work) loops: LoopSettings,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) memory: LoopMemory,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) untrusted: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) hosts: Vec<String>,
    pub(in crate::work) parallel: Option<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct GroupOutput {
    pub(in crate::work) count: usize,
}

/// Input of `tool:<Name>`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct ToolInput {
    pub(in crate::work) call: PendingCall,
    /// True for one of several calls that run at the same time.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) together: bool,
    /// Bytes that the tools of this turn have returned so far.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) taken: TurnUse,
    pub(in crate::work) grant: Grant,
    #[serde(rename = "loop")]
    pub(in crate::work) loops: LoopSettings,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) memory: LoopMemory,
    #[serde(default)]
    pub(in crate::work) plan: Value,
    #[serde(default)]
    pub(in crate::work) notes: Value,
    pub(in crate::work) agent: Option<String>,
    pub(in crate::work) approval: Option<CallApproval>,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) untrusted: Vec<String>,
    /// Hosts that a person approved for this run.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) hosts: Vec<String>,
    /// The branch of the worktree that the agent works in.
    pub(in crate::work) worktree: Option<String>,
}

/// A person's approval of one call, as the chart `agent` records it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct CallApproval {
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) approved: bool,
    pub(in crate::work) by: Option<String>,
    pub(in crate::work) rule: Option<String>,
    pub(in crate::work) request: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) answer: Option<String>,
    /// The answer to a question of the tool.
    pub(in crate::work) reply: Value,
}

/// The parts of a call's input that its audit line is about; of a tool or of an agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct AuditedInput {
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) hosts: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) approval: Option<CallApproval>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) grant: Option<Grant>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) call: Option<PendingCall>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) untrusted: Option<Vec<String>>,
}

/// The result of a tool as a part of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::work) struct ToolResultPart {
    #[serde(rename = "type")]
    kind: ToolResultKind,
    pub(in crate::work) id: String,
    pub(in crate::work) content: String,
    pub(in crate::work) is_error: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToolResultKind {
    ToolResult,
}

impl From<ToolResult> for ToolResultPart {
    fn from(result: ToolResult) -> Self {
        let ToolResult { id, content, is_error } = result;
        Self { kind: ToolResultKind::ToolResult, id, content, is_error }
    }
}

/// Output of `tool:<Name>` for a call that runs alone.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct ToolOutput {
    pub(in crate::work) result: ToolResultPart,
    pub(in crate::work) images: Vec<MessagePart>,
    pub(in crate::work) attached: Vec<Value>,
    /// The new plan, of the plan tools.
    pub(in crate::work) plan: Value,
    /// 1 if it may have changed a file.
    pub(in crate::work) changes: u64,
    pub(in crate::work) taken: TurnUse,
    pub(in crate::work) notes: Value,
    /// Usage of a model that the tool asked.
    pub(in crate::work) usage: Value,
    /// What the tool reports beside its text.
    pub(in crate::work) data: Value,
    pub(in crate::work) memory: LoopMemory,
    pub(in crate::work) verdict: VerdictWord,
    pub(in crate::work) detector: Option<Detector>,
    pub(in crate::work) notice: Option<String>,
    pub(in crate::work) recovery: Vec<RecoveryOption>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) checkpoint: Option<CheckpointRecord>,
    /// A question of the tool: the same call continues with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) question: Option<QuestionRequest>,
    /// The request for hosts that a command could not reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) wanted: Option<HostRequest>,
    /// Other worktrees in which agents changed the same file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::work) overlap: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::work) untrusted: Vec<String>,
}

/// Output of `tool:<Name>` for one of several calls that run at the same time. What depends on their order is left to
/// `work:collect`.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct GroupedResult {
    pub(in crate::work) result: ToolResultPart,
    pub(in crate::work) images: Vec<MessagePart>,
    pub(in crate::work) attached: Vec<Value>,
    pub(in crate::work) usage: Value,
    pub(in crate::work) recovery: Vec<RecoveryOption>,
    pub(in crate::work) seen: CallFingerprint,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::work) untrusted: Vec<String>,
}

/// Details of a call that a rule refuses.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::work) struct CallFailure {
    /// The text for the model.
    pub(in crate::work) content: String,
    pub(in crate::work) rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) memory: Option<LoopMemory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) seen: Option<CallFingerprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) recovery: Option<Vec<RecoveryOption>>,
}

/// A request for connections: the request to a person, and the hosts that an approval is for.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct HostRequest {
    pub(in crate::work) request: Value,
    pub(in crate::work) hosts: Vec<String>,
    pub(in crate::work) rule: String,
}

/// A question of a tool to a person.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct QuestionRequest {
    pub(in crate::work) request: Value,
    pub(in crate::work) rule: String,
    /// True: the answer goes to the tool.
    pub(in crate::work) question: bool,
}

/// Loop control's word on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::work) enum VerdictWord {
    Fine,
    Notice,
    Block,
    Doom,
}

impl From<&LoopVerdict> for VerdictWord {
    fn from(verdict: &LoopVerdict) -> Self {
        match verdict {
            LoopVerdict::Fine => VerdictWord::Fine,
            LoopVerdict::Notice { .. } => VerdictWord::Notice,
            LoopVerdict::Block { .. } => VerdictWord::Block,
            LoopVerdict::Doom { .. } => VerdictWord::Doom,
        }
    }
}

/// Tokens that a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::work) struct TokenCount {
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) input_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) output_tokens: u64,
}

/// Input of `work:stop`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct StopInput {
    pub(in crate::work) grant: Grant,
    /// The agent's last words.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) text: String,
    /// It continues already because a hook objected.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) active: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) depth: i64,
}

/// Output of `work:stop`.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct StopOutput {
    /// The message to the model, if it continues.
    pub(in crate::work) reason: Option<String>,
}

/// Input of `work:collect`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct CollectInput {
    pub(in crate::work) calls: Vec<PendingCall>,
    pub(in crate::work) outcomes: Vec<SettledCall>,
    /// Number of results of the turn before these.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) before: usize,
    #[serde(rename = "loop")]
    pub(in crate::work) loops: LoopSettings,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) memory: LoopMemory,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) taken: TurnUse,
    #[serde(default)]
    pub(in crate::work) notes: Value,
    pub(in crate::work) failing: Option<FailedCall>,
}

/// The outcome of one call of an `each`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct SettledCall {
    pub(in crate::work) status: String,
    pub(in crate::work) data: Value,
    pub(in crate::work) error: Value,
}

/// A result or an error of a tool or of an agent. An agent may be anything, so nothing about it is certain.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct CollectedResult {
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) usage: Option<TokenCount>,
    #[serde(rename = "filesModified", deserialize_with = "lenient")]
    pub(in crate::work) files_modified: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) untrusted: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) memory: Option<LoopMemory>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) result: Option<ToolResultPart>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) images: Option<Vec<MessagePart>>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) seen: Option<CallFingerprint>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) recovery: Option<Vec<RecoveryOption>>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) text: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) changes: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) content: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) message: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) category: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct CollectOutput {
    /// Parts of the next message: tool results and images.
    pub(in crate::work) results: Vec<Value>,
    pub(in crate::work) taken: TurnUse,
    pub(in crate::work) memory: LoopMemory,
    pub(in crate::work) notes: Value,
    pub(in crate::work) usage: TokenCount,
    pub(in crate::work) changes: u64,
    pub(in crate::work) files: Vec<String>,
    pub(in crate::work) refusals: u64,
    pub(in crate::work) failing: Option<FailedCall>,
    pub(in crate::work) untrusted: Vec<String>,
    /// True if the results have images.
    pub(in crate::work) unseen: bool,
    pub(in crate::work) end: Option<End>,
    pub(in crate::work) problem: Value,
    pub(in crate::work) notices: Vec<String>,
}

/// The reason that the work ends with these calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::work) enum End {
    Loop,
    Limit,
}

/// The last call that failed, for a caller that asks why the work did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::work) struct FailedCall {
    pub(in crate::work) tool: Option<String>,
    pub(in crate::work) attempted: Option<String>,
    pub(in crate::work) recovery_options: Option<Vec<RecoveryOption>>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) context: Circumstances,
}
