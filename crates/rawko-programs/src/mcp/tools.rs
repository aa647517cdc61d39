//! The tools of one server: their descriptions for models and their names on the server.

use std::collections::BTreeMap;

use rawko_core::Value;
use rmcp::model::{Tool, ToolAnnotations};

use super::names::full_name;
use rawko_model::ToolSpec;

/// Tools by full name.
pub(super) type ToolsByName = BTreeMap<String, McpTool>;

pub(super) struct McpTool {
    /// The server's name of the tool.
    pub(super) name: String,
    pub(super) spec: ToolSpec,
    pub(super) is_safe_to_repeat: bool,
    pub(super) only_reads: bool,
}

/// Returns the listed tools under the names that models see.
pub(super) fn known(prefix: &str, tools: Vec<Tool>) -> ToolsByName {
    let mut known = ToolsByName::new();
    for tool in tools {
        let full = free_name(&known, full_name(prefix, &tool.name));
        let hint = |hint: fn(&ToolAnnotations) -> Option<bool>| {
            tool.annotations.as_ref().and_then(hint).unwrap_or(false)
        };
        let only_reads = hint(|hints| hints.read_only_hint);
        let is_safe_to_repeat = only_reads || hint(|hints| hints.idempotent_hint);
        let spec = ToolSpec {
            name: full.clone(),
            description: tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default().to_owned(),
            input_schema: Value::from_json(serde_json::Value::Object((*tool.input_schema).clone())),
        };
        known.insert(full, McpTool { name: tool.name.to_string(), spec, is_safe_to_repeat, only_reads });
    }
    known
}

/// Adds a number to distinguish tools whose names differ only in characters that models do not accept.
fn free_name(known: &ToolsByName, full: String) -> String {
    let numbered = (2..).map(|number| format!("{full}_{number}"));
    let mut names = std::iter::once(full.clone()).chain(numbered);
    names.find(|name| !known.contains_key(name)).unwrap_or(full)
}
