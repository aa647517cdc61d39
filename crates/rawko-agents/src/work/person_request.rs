//! `PersonRequest`: what a person reads before an answer. Charts, the terminal and the page know its keys. Separate from the
//! decisions that lead to it.

use std::sync::Arc;

use rawko_core::Value;

/// The request to a person: what would be done, by which agent, and which rule asks.
#[derive(serde::Serialize)]
pub(super) struct PersonRequest {
    pub(super) title: String,
    pub(super) prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    pub(super) by: Option<String>,
    /// Hosts that a command could not reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hosts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<String>,
    /// Rules that make the approval permanent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) always: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) form: Value,
    /// Milliseconds.
    pub(super) expires: u64,
    /// What the tool would do: its command, path and diff, or address.
    #[serde(flatten)]
    pub(super) details: Value,
    /// The line that runs, if it is not the one that the model wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<String>,
}

impl PersonRequest {
    pub(super) fn new(title: String, prompt: String, expires: u64) -> Self {
        Self {
            title,
            prompt,
            kind: None,
            tool: None,
            by: None,
            hosts: Vec::new(),
            rule: None,
            always: None,
            options: None,
            form: Value::Null,
            expires,
            details: Value::Map(Arc::default()),
            runs: None,
        }
    }
}
