//! Attribute names: those of the GenAI conventions (semantic conventions 1.41), and rawko's own under `rawko.`.

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const REQUEST_TOKENS_MAX: &str = "gen_ai.request.max_tokens";
pub(super) const REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const OUTPUT_TYPE: &str = "gen_ai.output.type";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(super) const ERROR_TYPE: &str = "error.type";

/// Message content; only exported if enabled.
pub(super) const SYSTEM: &str = "gen_ai.system_instructions";
pub(super) const INPUT: &str = "gen_ai.input.messages";
pub(super) const OUTPUT: &str = "gen_ai.output.messages";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";

pub(super) const INSTANCE: &str = "rawko.instance";
pub(super) const CHART: &str = "rawko.chart";
pub(super) const STATUS: &str = "rawko.status";
pub(super) const OUTCOME: &str = "rawko.outcome";
pub(super) const FORKED_FROM: &str = "rawko.forked_from";
pub(super) const COST: &str = "rawko.cost_usd";
pub(super) const TOKENS: &str = "rawko.tokens";
pub(super) const TOOL_CALLS: &str = "rawko.tool_calls";
pub(super) const STEP: &str = "rawko.step";
pub(super) const STEP_KIND: &str = "rawko.step.kind";
pub(super) const EVENT: &str = "rawko.event";
pub(super) const CALL: &str = "rawko.call";
pub(super) const EFFECT: &str = "rawko.effect";
pub(super) const ATTEMPT: &str = "rawko.attempt";
pub(super) const DECISION: &str = "rawko.decision";
pub(super) const MESSAGE: &str = "rawko.error.message";

/// Returns the name that the conventions use for a provider.
pub(super) fn provider(name: &str) -> String {
    match name {
        "gemini" => "gcp.gemini".to_owned(),
        other => other.to_owned(),
    }
}
