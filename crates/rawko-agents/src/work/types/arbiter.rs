//! The arbiter's services and the extraction of memories. The context that a decision is based on is
//! `rawko_arbiter::Orchestration`.

use rawko_arbiter::{ArbiterDecision, DecisionKind, DecisionOrigin, DecisionRecord};
use rawko_core::Value;
use rawko_model::Usage;
use serde::{Deserialize, Serialize};

use super::lenient;

/// The part of the input of `work:select` and `work:evaluate` that is about the request to a model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct ArbiterRequest {
    #[serde(rename = "providerName")]
    pub(in crate::work) provider_name: Option<String>,
    pub(in crate::work) attempt: Option<u32>,
    pub(in crate::work) model_index: Option<usize>,
    pub(in crate::work) occasion: Option<String>,
}

/// Output of `work:select`, with `agent` and `decision`, and of `work:evaluate`, with the decision's own keys.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::work) struct ArbiterOutput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) agent: Option<SelectedAgent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) decision: Option<DecisionRecord>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    kind: Option<DecisionKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<DecisionOrigin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Written even if empty, to clear the previous agent's memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) memories: Option<String>,
    #[serde(default, rename = "memoriesUsed", skip_serializing_if = "Vec::is_empty")]
    pub(in crate::work) memories_used: Vec<String>,
    #[serde(default, rename = "memoriesProblem", skip_serializing_if = "Option::is_none")]
    pub(in crate::work) memories_problem: Option<String>,
    pub(in crate::work) usage: Usage,
    /// The prompts and responses.
    pub(in crate::work) record: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::work) struct SelectedAgent {
    pub(in crate::work) name: String,
}

impl ArbiterOutput {
    /// The result of `work:select`.
    pub(in crate::work) fn selection(decided: &ArbiterDecision, usage: Usage, record: Value) -> Self {
        let agent = decided.agent.clone().map(|name| SelectedAgent { name });
        let decision = Some(decided.record());
        Self { agent, decision, usage, record, ..Self::default() }
    }

    /// The result of `work:evaluate`.
    pub(in crate::work) fn evaluation(decided: &ArbiterDecision, usage: Usage, record: Value) -> Self {
        let DecisionRecord { kind, mode, reason, summary, question, by, why } = decided.record();
        let (kind, by, why) = (Some(kind), Some(by), Some(why));
        Self { kind, mode, reason, summary, question, by, why, usage, record, ..Self::default() }
    }
}

/// Input of `work:remember`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct RememberInput {
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) task: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) agent: Option<String>,
    /// The agent's report.
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) text: Option<String>,
    /// Unused here: charts give both to a project's own service of this name, too.
    pub(in crate::work) data: Value,
    pub(in crate::work) messages: Value,
    #[serde(rename = "providerName")]
    pub(in crate::work) provider_name: Option<String>,
    pub(in crate::work) occasion: Option<String>,
    pub(in crate::work) attempt: Option<u32>,
    pub(in crate::work) model_index: Option<usize>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::work) struct RememberOutput {
    /// The files that were written.
    pub(in crate::work) memories: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) usage: Option<Usage>,
    /// The model that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) model: Option<String>,
}
