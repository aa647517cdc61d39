//! The JSON of Claude Code's hooks: what it sends on standard input and reads from standard output. Types only, so that
//! decisions need not know the format.

use rawko_core::Value;
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// Longer texts of a call are cut before they become event data.
const TEXT_CHARS_MAX: usize = 20_000;

/// The events with an answer of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookEvent {
    PreToolUse,
    PostToolUse,
    Stop,
    SessionStart,
    /// Delivered to a chart that handles it, and never refused.
    Other,
}

/// One hook call of Claude Code.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HookInput {
    pub(super) session_id: String,
    pub(super) cwd: String,
    pub(super) hook_event_name: String,
    pub(super) permission_mode: Option<String>,
    pub(super) tool_name: Option<String>,
    pub(super) tool_input: Json,
    pub(super) tool_response: Json,
    pub(super) tool_use_id: Option<String>,
    pub(super) stop_hook_active: bool,
    pub(super) source: Option<String>,
    pub(super) prompt: Option<String>,
}

impl HookInput {
    /// Reads the input. A call without a session or an event is not one of Claude Code.
    pub(super) fn read(text: &str) -> Result<HookInput, String> {
        let input: HookInput = serde_json::from_str(text)
            .map_err(|error| format!("standard input is not the JSON of a Claude Code hook: {error}"))?;
        for (key, value) in [("session_id", &input.session_id), ("hook_event_name", &input.hook_event_name)] {
            if value.trim().is_empty() {
                return Err(format!("standard input is not the JSON of a Claude Code hook: no `{key}`"));
            }
        }
        let event = input.event();
        if matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse) && input.tool().is_empty() {
            return Err(format!("the `{}` hook names no tool", input.hook_event_name));
        }
        Ok(input)
    }

    pub(super) fn event(&self) -> HookEvent {
        match self.hook_event_name.as_str() {
            "PreToolUse" => HookEvent::PreToolUse,
            "PostToolUse" => HookEvent::PostToolUse,
            "Stop" => HookEvent::Stop,
            "SessionStart" => HookEvent::SessionStart,
            _ => HookEvent::Other,
        }
    }

    pub(super) fn tool(&self) -> &str {
        self.tool_name.as_deref().unwrap_or_default()
    }

    /// Returns the name of the event that the chart gets: `PostToolUse.Edit`, `Stop`.
    pub(super) fn event_name(&self) -> String {
        let plain = |text: &str| text.replace(|letter: char| letter.is_whitespace() || letter == '*', "_");
        match self.tool() {
            "" => plain(&self.hook_event_name),
            tool => format!("{}.{}", plain(&self.hook_event_name), plain(tool)),
        }
    }

    /// Returns the data of that event.
    pub(super) fn event_data(&self) -> Value {
        let text = |value: &Option<String>| value.clone().map_or(Json::Null, Json::String);
        let data = json!({
            "session_id": self.session_id,
            "permission_mode": text(&self.permission_mode),
            "tool_name": text(&self.tool_name),
            "tool_input": cut(self.tool_input.clone()),
            "tool_response": cut(self.tool_response.clone()),
            "stop_hook_active": self.stop_hook_active,
            "source": text(&self.source),
            "prompt": cut(text(&self.prompt)),
        });
        Value::from_json(data)
    }

    /// Returns the key under which a repeated delivery is ignored.
    pub(super) fn key(&self) -> Option<String> {
        self.tool_use_id.as_ref().map(|id| format!("{}/{id}", self.hook_event_name))
    }
}

/// Cuts long texts, on character boundaries.
fn cut(json: Json) -> Json {
    match json {
        Json::String(text) if text.len() > TEXT_CHARS_MAX => {
            Json::String(text.chars().take(TEXT_CHARS_MAX).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(cut).collect()),
        Json::Object(entries) => {
            Json::Object(entries.into_iter().map(|(key, value)| (key, cut(value))).collect())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json,
    }
}

/// An answer to Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HookReply {
    /// No objection: Claude Code's own rules decide.
    Pass,
    /// PreToolUse: the call does not run.
    Deny(String),
    /// PreToolUse: Claude Code asks the person.
    Ask(String),
    /// Text for Claude.
    Context(String),
    /// Stop: Claude continues to work.
    Continue(String),
    /// A message for the person only.
    Warn(String),
}

impl HookReply {
    pub(super) fn json(&self, event: &str) -> Json {
        let decision = |decision: &str, why: &str| {
            json!({"hookSpecificOutput": {
                "hookEventName": event, "permissionDecision": decision, "permissionDecisionReason": why,
            }})
        };
        match self {
            HookReply::Pass => json!({}),
            HookReply::Deny(why) => decision("deny", why),
            HookReply::Ask(why) => decision("ask", why),
            HookReply::Context(text) => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            }
            HookReply::Continue(why) => json!({"decision": "block", "reason": why}),
            HookReply::Warn(text) => json!({"systemMessage": text}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_name_the_event_of_the_chart() {
        let read = |text: &str| HookInput::read(text).map(|input| input.event_name());
        let tool = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__a__b"}"#;
        assert_eq!(read(tool).unwrap(), "PostToolUse.mcp__a__b");
        assert_eq!(read(r#"{"session_id":"s","hook_event_name":"Stop"}"#).unwrap(), "Stop");
        for wrong in
            ["", "[]", "{}", r#"{"session_id":"s"}"#, r#"{"session_id":"s","hook_event_name":"PreToolUse"}"#]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn long_texts_are_cut_on_characters() {
        let input =
            HookInput { tool_response: json!({"stdout": "ü".repeat(30_000)}), ..HookInput::default() };
        let data = input.event_data();
        let kept = data.get("tool_response").get("stdout").as_str().unwrap_or_default().chars().count();
        assert_eq!(kept, TEXT_CHARS_MAX);
    }
}
