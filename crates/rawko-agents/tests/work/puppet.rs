//! `Puppet`: a model in Rust that acts by agent, round and call, for tables of agents that lie, talk, go in circles or
//! work honestly. A script would need one step for every completion.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rawko_core::Value;
use rawko_model::provider::{
    Completion, CompletionFuture, CompletionRequest, ErrorCode, Provider, ProviderError, StreamListener,
};
use rawko_model::{Message, MessagePart, Role, StopReason, ToolUse, Usage};
use serde_json::{Value as Json, json};

/// One completion that is asked for.
pub(crate) struct Turn<'a> {
    pub(crate) agent: &'a str,
    pub(crate) occasion: &'a str,
    /// The iteration or pass, counted from 1; 0 in the phases of `plan`.
    pub(crate) round: usize,
    /// Completions before this one on the same occasion.
    pub(crate) call: usize,
    /// The decisions that are enabled for the arbiter.
    pub(crate) kinds: Vec<String>,
}

pub(crate) enum Act {
    Say(String),
    Call(&'static str, Json),
    Fail(ErrorCode),
}

pub(crate) type Acting = fn(&Turn<'_>) -> Act;

pub(crate) struct Puppet {
    acting: Box<dyn Fn(&Turn<'_>) -> Act + Send + Sync>,
    counts: Mutex<HashMap<String, usize>>,
}

impl Puppet {
    pub(crate) fn new(acting: impl Fn(&Turn<'_>) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { acting: Box::new(acting), counts: Mutex::default() })
    }
}

impl Provider for Puppet {
    fn complete<'a>(&'a self, request: CompletionRequest, _: StreamListener<'a>) -> CompletionFuture<'a> {
        let call = {
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(format!("{} {}", request.agent, request.occasion)).or_default();
            *count += 1;
            *count - 1
        };
        let round = request.occasion.split('#').nth(1).and_then(|round| round.parse().ok()).unwrap_or(0);
        let schema = request.schema.as_ref().map(|schema| schema.schema.to_json()).unwrap_or_default();
        let kinds = schema["properties"]["type"]["enum"].as_array().cloned().unwrap_or_default();
        let kinds = kinds.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        let turn = Turn { agent: &request.agent, occasion: &request.occasion, round, call, kinds };
        let part = match (self.acting)(&turn) {
            Act::Say(text) => Ok(MessagePart::Text { text }),
            Act::Call(name, input) => Ok(MessagePart::ToolUse(ToolUse {
                id: format!("{}-{call}", request.occasion),
                name: name.to_owned(),
                input: Value::from_json(input),
            })),
            Act::Fail(code) => Err(ProviderError::new(code, "scripted failure")),
        };
        let completion = part.map(|part| Completion {
            message: Message { role: Role::Assistant, parts: vec![part] },
            stop_reason: StopReason::Stop,
            usage: Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() },
            data: None,
            model: None,
        });
        Box::pin(std::future::ready(completion))
    }
}

pub(crate) fn say(text: &str) -> Act {
    Act::Say(text.to_owned())
}

/// Writes a file first, then reports.
pub(crate) fn write(turn: &Turn<'_>, path: &str, content: &str) -> Act {
    match turn.call {
        0 => Act::Call("Write", json!({"path": path, "content": content})),
        _ => Act::Say(format!("Wrote {path} in round {}.", turn.round)),
    }
}

/// Repairs one of the errors that the check counts.
pub(crate) fn fix(turn: &Turn<'_>, number: usize) -> Act {
    write(turn, &format!("done/{number}"), "x")
}

/// Writes a part of the work that differs from the others, as source code does.
pub(crate) fn part(round: usize) -> Act {
    let (path, content) = part_of(round);
    Act::Call("Write", json!({"path": path, "content": content}))
}

/// Returns the path and the text of such a part.
pub(crate) fn part_of(round: usize) -> (String, String) {
    let names =
        ["lexer", "parser", "checker", "printer", "reader", "writer", "loader", "runner", "linker", "packer"];
    let name = names[round % names.len()];
    let text = format!("pub fn {name}(text: &str) -> usize {{\n    text.matches(\"{name}\").count()\n}}\n");
    (format!("src/{name}.rs"), text)
}

/// The first of these decisions that is enabled: another one would be asked for again.
pub(crate) fn decide(turn: &Turn<'_>, kinds: &[&str], mode: &str) -> Act {
    let is_enabled = |kind: &&&str| turn.kinds.iter().any(|enabled| enabled == **kind);
    let kind = kinds.iter().find(is_enabled).copied().unwrap_or("SELECT_MODE");
    Act::Say(match kind {
        "SELECT_MODE" => json!({"type": kind, "mode": mode, "reason": "because"}).to_string(),
        _ if turn.kinds.iter().any(|kind| kind == "SELECT_MODE") => {
            json!({"type": kind, "mode": null, "reason": "because"}).to_string()
        }
        _ => json!({"type": kind, "reason": "because"}).to_string(),
    })
}

/// A check with this many errors, less the files below `done`.
pub(crate) fn check(errors: usize) -> String {
    format!(
        "phases: {{validate: {{checks: [{{name: count, format: json, pointer: /errors, command: [sh, -c, \
         'echo \"{{\\\"errors\\\": $(({errors} - $(ls done 2>/dev/null | wc -l)))}}\"']}}]}}}}\n"
    )
}

pub(crate) const NO_CHECKS: &str = "phases: {validate: {checks: []}}\n";
