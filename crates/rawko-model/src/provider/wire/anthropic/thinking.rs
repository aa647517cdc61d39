//! Thinking of Claude models: how a request asks for it, and how it is sent back. Newer models decide themselves within
//! an effort level and reject a budget; older ones need a budget; the oldest cannot think.

use serde_json::{Map, Value, json};

use crate::message::{MessagePart, Reasoning, Role};
use crate::provider::{CompletionRequest, EffortLevel};

/// Less is rejected.
const BUDGET_MIN: u32 = 1024;
/// Room for the response beside a budget that has to share the limit.
const RESPONSE_TOKENS: u32 = 1024;

/// The thinking mode of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    Off,
    Adaptive(EffortLevel),
    Budget(u32),
}

impl Thinking {
    /// `limit` is the limit of output tokens, which thoughts count towards.
    pub(super) fn of(request: &CompletionRequest, limit: u32) -> Self {
        let Some(effort) = request.reasoning else { return Thinking::Off };
        let version = Version::of(&request.model);
        if version.is_some_and(Version::is_adaptive) {
            return Thinking::Adaptive(effort.level());
        }
        let is_unable = version.is_some_and(|version| version < Version { major: 3, minor: 7 });
        let room = match request.output_tokens_max {
            Some(_) => limit.saturating_sub(RESPONSE_TOKENS),
            None => u32::MAX,
        };
        let budget = effort.tokens().max(BUDGET_MIN).min(room);
        if is_unable || budget < BUDGET_MIN || continues_unsigned(request) {
            return Thinking::Off;
        }
        Thinking::Budget(budget)
    }

    /// A budget comes on top of the default limit, because it counts towards it.
    pub(super) fn output_tokens_max(self, request: &CompletionRequest, limit: u32) -> u32 {
        match self {
            Thinking::Budget(budget) if request.output_tokens_max.is_none() => limit.saturating_add(budget),
            Thinking::Budget(_) | Thinking::Adaptive(_) | Thinking::Off => limit,
        }
    }

    pub(super) fn add_to(self, body: &mut Map<String, Value>) {
        match self {
            Thinking::Off => {}
            Thinking::Budget(budget) => {
                body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
            }
            Thinking::Adaptive(level) => {
                // The newest models omit the text unless asked for a summary.
                body.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
                body.insert("output_config".into(), json!({"effort": level.as_str()}));
            }
        }
    }

    /// Thinking excludes a temperature, and the newest models accept none at all.
    pub(super) fn takes_temperature(self, model: &str) -> bool {
        let is_newest = Version::of(model).is_some_and(|version| version >= Version { major: 4, minor: 7 });
        self == Thinking::Off && !is_newest
    }
}

/// Returns true for the models that think without being asked.
pub(super) fn is_always_thinking(model: &str) -> bool {
    let is_family = ["claude-mythos", "claude-fable"].iter().any(|family| model.contains(family));
    is_family || Version::of(model).is_some_and(|version| version >= Version { major: 5, minor: 0 })
}

/// With a budget, a turn must continue with the thoughts that began it. They are missing if another model began it or
/// if they were dropped.
fn continues_unsigned(request: &CompletionRequest) -> bool {
    let mut latest = request.messages.iter().rev();
    let has_results = latest
        .next()
        .is_some_and(|message| message.parts.iter().any(|part| matches!(part, MessagePart::ToolResult(_))));
    let turn = latest.next().filter(|message| message.role == Role::Assistant);
    let has_thoughts =
        turn.is_some_and(|turn| turn.parts.iter().any(|part| matches!(part, MessagePart::Reasoning(_))));
    has_results && !has_thoughts
}

/// Returns the block as it came. Claude's own blocks are always signed; compatible servers may not sign.
pub(super) fn thinking_block(reasoning: &Reasoning, model: &str) -> Option<Value> {
    let Reasoning { text, signature, is_redacted, .. } = reasoning;
    match signature {
        Some(data) if *is_redacted => Some(json!({"type": "redacted_thinking", "data": data})),
        Some(signature) => Some(json!({"type": "thinking", "thinking": text, "signature": signature})),
        None if Version::of(model).is_some() => None,
        None => Some(json!({"type": "thinking", "thinking": text, "signature": ""})),
    }
}

/// `4.6` of `claude-opus-4-6-20260101`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// `None` for models that are not Claude. Dates are no version: `claude-opus-4-20250514` is 4.0.
    fn of(model: &str) -> Option<Self> {
        let (_, rest) = model.split_once("claude-")?;
        let mut numbers = rest.split(['-', '.', '@', ':']).filter_map(|part| match part.len() {
            1 | 2 => part.parse::<u32>().ok(),
            _ => None,
        });
        let newest = Version { major: u32::MAX, minor: 0 };
        numbers
            .next()
            .map_or(Some(newest), |major| Some(Version { major, minor: numbers.next().unwrap_or(0) }))
    }

    fn is_adaptive(self) -> bool {
        self >= Version { major: 4, minor: 6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::ReasoningEffort;

    #[test]
    fn each_generation_is_asked_in_its_way() {
        let low = ReasoningEffort::Level(EffortLevel::Low);
        let high = ReasoningEffort::Level(EffortLevel::High);
        let adaptive = Thinking::Adaptive;
        let table = [
            ("claude-opus-4-6", low, None, adaptive(EffortLevel::Low)),
            ("claude-sonnet-4-6-20260217", high, None, adaptive(EffortLevel::High)),
            ("claude-opus-4-7", ReasoningEffort::Tokens(9_000), None, adaptive(EffortLevel::Medium)),
            ("claude-opus-4.8", low, None, adaptive(EffortLevel::Low)),
            ("claude-fable-5", high, None, adaptive(EffortLevel::High)),
            ("claude-mythos-preview", high, None, adaptive(EffortLevel::High)),
            ("claude-opus-4-5", high, None, Thinking::Budget(24_576)),
            ("claude-opus-4-5-20251101", low, None, Thinking::Budget(1_024)),
            ("claude-sonnet-4-20250514", ReasoningEffort::Tokens(5), None, Thinking::Budget(1_024)),
            ("claude-sonnet-4-5", high, Some(5_000), Thinking::Budget(3_976)),
            ("claude-sonnet-4-5", high, Some(1_500), Thinking::Off),
            ("claude-3-7-sonnet-latest", low, None, Thinking::Budget(1_024)),
            ("claude-3-5-sonnet-20241022", high, None, Thinking::Off),
            ("claude-3-haiku-20240307", high, None, Thinking::Off),
            ("glm-4.7", high, None, Thinking::Budget(24_576)),
        ];
        for (model, effort, output_tokens_max, expected) in table {
            let request = CompletionRequest {
                model: model.to_owned(),
                reasoning: Some(effort),
                output_tokens_max,
                ..CompletionRequest::default()
            };
            let limit = output_tokens_max.unwrap_or(16_384);
            assert_eq!(Thinking::of(&request, limit), expected, "{model} {effort}");
            let unasked = CompletionRequest { reasoning: None, ..request };
            assert_eq!(Thinking::of(&unasked, limit), Thinking::Off, "{model}");
        }
    }
}
