//! How much a model should think, in one form for all services, and which thoughts may be sent back. Services measure
//! effort as a level or in tokens; a value of the other kind is converted here.

use std::sync::Arc;

use rawko_chart::SpannedValue;
use rawko_settings::SettingsReader;
use serde::{Deserialize, Serialize};

use super::CompletionRequest;
use crate::message::{Message, MessagePart};

/// `low`, `medium`, `high`, or a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ReasoningEffort {
    /// A named level.
    Level(EffortLevel),
    /// A budget in tokens.
    Tokens(u32),
}

/// A named amount of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortLevel {
    /// Short reasoning.
    Low,
    /// The usual amount.
    Medium,
    /// Long reasoning.
    High,
}

/// `(level, tokens)`: the budget that stands for a level, and the level of all budgets up to the next one.
const LEVELS: [(EffortLevel, u32); 3] =
    [(EffortLevel::Low, 1_024), (EffortLevel::Medium, 8_192), (EffortLevel::High, 24_576)];

impl ReasoningEffort {
    /// Parses a level or a positive number of tokens.
    pub fn parse(text: &str) -> Option<Self> {
        let level = LEVELS.iter().map(|(level, _)| *level).find(|level| level.as_str() == text);
        let tokens = || text.parse().ok().filter(|tokens| *tokens > 0).map(ReasoningEffort::Tokens);
        level.map(ReasoningEffort::Level).or_else(tokens)
    }

    /// Returns the level; a token budget gives the highest level that it reaches.
    pub fn level(self) -> EffortLevel {
        match self {
            ReasoningEffort::Level(level) => level,
            ReasoningEffort::Tokens(tokens) => {
                let reached = LEVELS.iter().rev().find(|(_, from)| tokens >= *from);
                reached.map_or(EffortLevel::Low, |(level, _)| *level)
            }
        }
    }

    /// Returns the budget in tokens, converting a level.
    pub fn tokens(self) -> u32 {
        match self {
            ReasoningEffort::Tokens(tokens) => tokens,
            ReasoningEffort::Level(own) => {
                LEVELS.iter().find(|(level, _)| *level == own).map_or(0, |(_, tokens)| *tokens)
            }
        }
    }
}

impl EffortLevel {
    /// Returns the name used in settings and requests.
    pub fn as_str(self) -> &'static str {
        match self {
            EffortLevel::Low => "low",
            EffortLevel::Medium => "medium",
            EffortLevel::High => "high",
        }
    }
}

impl std::fmt::Display for ReasoningEffort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReasoningEffort::Level(level) => f.write_str(level.as_str()),
            ReasoningEffort::Tokens(tokens) => write!(f, "{tokens} tokens"),
        }
    }
}

/// Reads `reasoning` from settings.
pub fn effort(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Option<ReasoningEffort> {
    let text = reader.scalar(at, what)?;
    let effort = ReasoningEffort::parse(&text);
    if effort.is_none() {
        let help = "`low`, `medium`, `high`, or a number of tokens";
        reader.invalid(at.span, format!("{what} cannot be `{text}`"), help);
    }
    effort
}

/// Removes the reasoning of every other model: services reject signatures that are not their own.
pub(super) fn without_foreign(request: &CompletionRequest, origin: &str) -> Arc<Vec<Message>> {
    let is_own = |part: &MessagePart| match part {
        MessagePart::Reasoning(reasoning) => reasoning.origin == origin,
        MessagePart::Text { .. }
        | MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_) => true,
    };
    if request.messages.iter().all(|message| message.parts.iter().all(is_own)) {
        return Arc::clone(&request.messages);
    }
    let own = |message: &Message| {
        let parts = message.parts.iter().filter(|part| is_own(part)).cloned().collect();
        Message { role: message.role, parts }
    };
    Arc::new(request.messages.iter().map(own).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_budgets_stand_for_each_other() {
        let table = [
            ("low", Some((EffortLevel::Low, 1_024))),
            ("medium", Some((EffortLevel::Medium, 8_192))),
            ("high", Some((EffortLevel::High, 24_576))),
            ("500", Some((EffortLevel::Low, 500))),
            ("8191", Some((EffortLevel::Low, 8_191))),
            ("8192", Some((EffortLevel::Medium, 8_192))),
            ("100000", Some((EffortLevel::High, 100_000))),
            ("0", None),
            ("-1", None),
            ("High", None),
            ("", None),
        ];
        for (text, expected) in table {
            let effort = ReasoningEffort::parse(text);
            assert_eq!(effort.map(|effort| (effort.level(), effort.tokens())), expected, "{text}");
            let json = effort.map(|effort| serde_json::to_value(effort).unwrap());
            let back = json.map(|json| serde_json::from_value::<ReasoningEffort>(json).unwrap());
            assert_eq!(back, effort, "{text}");
        }
    }
}
