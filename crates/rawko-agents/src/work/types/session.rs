//! Services of a session: opening and closing it, completions, images and compaction.

use std::ops::Not;
use std::sync::Arc;

use rawko_core::Value;
use rawko_model::provider::ErrorCode;
use rawko_model::vision::VisionMemory;
use rawko_model::{Message, StopReason, Usage};
use rawko_tools::Grant;
use serde::{Deserialize, Serialize};

use super::or_default;
use crate::work::session::AgentSession;

/// Input of `work:open`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct OpenInput {
    pub(in crate::work) agent: Option<String>,
    /// Text, a list of parts, or other data.
    pub(in crate::work) prompt: Value,
    pub(in crate::work) messages: Option<Vec<Message>>,
    pub(in crate::work) phase: Option<String>,
    /// A JSON Schema, alone or with a name.
    pub(in crate::work) schema: Value,
    pub(in crate::work) data: Value,
    pub(in crate::work) plan: Value,
    pub(in crate::work) grant: Option<Grant>,
    pub(in crate::work) model: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) depth: i64,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) untrusted: Vec<String>,
    /// `worktree`, or another word for none; null leaves it to the agent's file.
    pub(in crate::work) isolation: Value,
    /// The name of an existing worktree.
    pub(in crate::work) worktree: Value,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct OpenOutput {
    pub(in crate::work) untrusted: Vec<String>,
    pub(in crate::work) session: AgentSession,
    pub(in crate::work) messages: Vec<Message>,
    /// The data of images that the messages refer to. Charts do not read it; its place in the journal keeps it.
    pub(in crate::work) attached: Vec<Value>,
    /// The exit requirements of the phase.
    pub(in crate::work) goal: Value,
    /// True if the messages have images.
    pub(in crate::work) unseen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) worktree: Option<WorktreeRecord>,
}

/// A worktree as charts see it; with the changes of an agent that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::work) struct WorktreeRecord {
    pub(in crate::work) branch: String,
    pub(in crate::work) path: String,
    pub(in crate::work) git: bool,
    pub(in crate::work) base: Option<String>,
    pub(in crate::work) commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) overlap: Option<Vec<String>>,
}

/// Input of `git:worktree`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct WorktreeInput {
    /// Last part of the name of the worktree and its branch.
    pub(in crate::work) name: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct CloseOutput {
    pub(in crate::work) worktree: Option<WorktreeRecord>,
}

/// Input of `work:look`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct LookInput {
    pub(in crate::work) session: AgentSession,
    pub(in crate::work) messages: Vec<Message>,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) seen: VisionMemory,
    pub(in crate::work) occasion: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct LookOutput {
    pub(in crate::work) seen: VisionMemory,
    pub(in crate::work) usage: Usage,
}

/// Input of `work:compact`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct CompactInput {
    pub(in crate::work) session: AgentSession,
    pub(in crate::work) messages: Vec<Message>,
    pub(in crate::work) occasion: Option<String>,
    pub(in crate::work) attempt: Option<u32>,
    pub(in crate::work) model_index: Option<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct CompactOutput {
    pub(in crate::work) messages: Vec<Message>,
    /// Tokens of the next prompt, estimated.
    pub(in crate::work) size: u64,
    pub(in crate::work) usage: Usage,
}

/// Input of `model:complete`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct CompleteInput {
    pub(in crate::work) session: AgentSession,
    pub(in crate::work) messages: Arc<Vec<Message>>,
    pub(in crate::work) seen: Option<VisionMemory>,
    pub(in crate::work) occasion: Option<String>,
    pub(in crate::work) attempt: Option<u32>,
    pub(in crate::work) model_index: Option<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct CompleteOutput {
    pub(in crate::work) message: Message,
    pub(in crate::work) tool_calls: Vec<super::PendingCall>,
    pub(in crate::work) stop_reason: StopReason,
    pub(in crate::work) text: String,
    /// The structured answer.
    pub(in crate::work) data: Value,
    pub(in crate::work) usage: Usage,
    pub(in crate::work) model: String,
    /// Tokens of the conversation.
    pub(in crate::work) size: u64,
}

/// Details of a failed completion: all that a chart needs to act on it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::work) struct ModelFailure {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::work) code: String,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(in crate::work) transient: bool,
    /// True if the same request fails again, whichever agent sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) permanent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) retries_max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) model: Option<String>,
    /// The next model of the chain, if it may succeed where this one failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) next_model: Option<String>,
    /// The usage of requests before the one that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::work) usage: Option<Usage>,
    /// The arbiter's prompts and responses so far.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(in crate::work) record: Value,
}

impl ModelFailure {
    pub(in crate::work) fn coded(code: ErrorCode, transient: bool) -> Self {
        Self { code: code.as_str().to_owned(), transient, ..Self::default() }
    }
}
