//! The prompt request, with token usage in its response. The library's response type omits it, but agents send it, and
//! budgets depend on it.

use agent_client_protocol::v1::schema::{ContentBlock, SessionId, StopReason};
use agent_client_protocol::{JsonRpcRequest, JsonRpcResponse};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "session/prompt", response = PromptResponse)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpPrompt {
    pub(super) session_id: SessionId,
    pub(super) prompt: Vec<ContentBlock>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcResponse)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptResponse {
    pub(super) stop_reason: StopReason,
    /// `None` also if its shape is unknown: usage is not part of the protocol yet.
    #[serde(default, deserialize_with = "if_known")]
    pub(super) usage: Option<AcpUsage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    #[serde(default)]
    pub(super) cached_read_tokens: Option<u64>,
}

fn if_known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<AcpUsage>, D::Error> {
    let usage = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(usage).ok())
}
