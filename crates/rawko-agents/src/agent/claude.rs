//! Keys of Claude Code's agent files that limit an agent. Each is honoured, or the agent is refused: an agent must never
//! get more than its file allows. Separate from our own keys, which have other names for most of these.

use rawko_chart::codes::agents::{NOT_ENFORCED, UNSUPPORTED_KEY};
use rawko_chart::{DocumentData, DocumentEntry, SpannedValue};

use super::fields::{Fields, Reader};
use super::file::{AgentKind, AgentLimits, Level};
use super::tools::ToolRules;
use rawko_model::provider::{EffortLevel, ReasoningEffort, read_effort};
use rawko_tools::builtin_names;

/// Keys that this module reads.
pub(super) const KEYS: [&str; 9] = [
    "permissionMode",
    "maxTurns",
    "isolation",
    "hooks",
    "mcpServers",
    "skills",
    "background",
    "effort",
    "initialPrompt",
];

/// Tools that a plan mode never has. Bash is confined to reading once nothing may be written.
const WRITING: [&str; 3] = ["Write", "Edit", "mcp__*"];

/// Reads `isolation`: `worktree`, or `none`. Any other value may be a limit that rawko does not know.
pub(super) fn isolation(reader: &mut Reader<'_>, fields: &Fields<'_>, kind: AgentKind) -> bool {
    let Some(entry) = fields.entry("isolation") else { return false };
    let text = entry.value.text().map(str::trim);
    if text == Some("none") || is_empty(&entry.value) {
        return false;
    }
    let (message, help) = match (text, kind) {
        (Some("worktree"), AgentKind::Llm | AgentKind::Process | AgentKind::Acp | AgentKind::Scripted) => {
            return true;
        }
        (Some("worktree"), _) => (
            format!("an agent of kind `{}` cannot be isolated", kind.as_str()),
            "isolate the agents that it runs",
        ),
        _ => {
            let message = "rawko cannot isolate the agent in this way: it would work in the project itself";
            (message.to_owned(), "write `isolation: worktree`, or remove it")
        }
    };
    reader.report(UNSUPPORTED_KEY.at(entry.key_span, message).help(help));
    false
}

/// Applies the keys to an agent's rules and limits.
pub(super) fn apply(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    level: Level,
    rules: &mut ToolRules,
    limits: &mut AgentLimits,
) {
    if let Some(entry) = fields.entry("permissionMode") {
        permission_mode(reader, entry, level, rules);
    }
    if let Some(entry) = fields.entry("maxTurns") {
        let most = whole(reader, entry);
        limits.max_iterations = limits.max_iterations.into_iter().chain(most).min();
    }
    if let Some(entry) = fields.entry("mcpServers") {
        servers(reader, entry, rules);
    }
    if let Some(entry) = fields.entry("hooks").filter(|entry| !is_empty(&entry.value)) {
        let message = "rawko does not run hooks, and a hook may refuse calls";
        let help = "use `tools` to limit the agent, and remove `hooks`";
        reader.report(UNSUPPORTED_KEY.at(entry.key_span, message).help(help));
    }
    for key in ["background", "initialPrompt"] {
        if let Some(entry) = fields.entry(key).filter(|entry| !is_empty(&entry.value)) {
            let finding = NOT_ENFORCED.at(entry.key_span, format!("`{}` has no effect", entry.key));
            reader.report(finding.help("remove it"));
        }
    }
}

/// Reads `skills`: a list, or names with commas between.
pub(super) fn skills(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<String> {
    let Some(entry) = fields.entry("skills").filter(|entry| !is_empty(&entry.value)) else {
        return Vec::new();
    };
    let names: Vec<String> = match &entry.value.data {
        DocumentData::Str(text) => {
            text.trim_matches(['[', ']']).split(',').map(|name| name.trim().to_owned()).collect()
        }
        DocumentData::Null
        | DocumentData::Bool(_)
        | DocumentData::Int(_)
        | DocumentData::Float(_)
        | DocumentData::List(_)
        | DocumentData::Map(_) => {
            reader.texts(&entry.value, "`skills`").into_iter().map(|(name, _)| name.to_owned()).collect()
        }
    };
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

/// Reads `reasoning`, or Claude's `effort`, whose levels above `high` count as `high`.
pub(super) fn reasoning(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<ReasoningEffort> {
    if let Some(at) = fields.get("reasoning") {
        return read_effort(reader, at, "`reasoning`");
    }
    let entry = fields.entry("effort").filter(|entry| !is_empty(&entry.value))?;
    match entry.value.text().map(str::trim) {
        Some("xhigh" | "max") => Some(ReasoningEffort::Level(EffortLevel::High)),
        Some("inherit") => None,
        _ => read_effort(reader, &entry.value, "`effort`"),
    }
}

fn permission_mode(reader: &mut Reader<'_>, entry: &DocumentEntry, level: Level, rules: &mut ToolRules) {
    let Some(mode) = reader.text(&entry.value, &format!("`{}`", entry.key)) else { return };
    let is_of_project = matches!(level, Level::Project | Level::ProjectClaude);
    let help = "write `plan`, `default` or `acceptEdits`";
    match mode.trim() {
        // The grant decides: there is no prompt for edits that could be skipped.
        "default" | "acceptEdits" => {}
        "plan" => rules.blocked.extend(WRITING.map(str::to_owned)),
        "bypassPermissions" if is_of_project => {
            let message = "a file of the project cannot switch off permissions";
            reader.report(UNSUPPORTED_KEY.at(entry.value.span, message).help(help));
        }
        "bypassPermissions" => {
            let message = "`bypassPermissions` has no effect: the rules of the settings still hold";
            reader.report(NOT_ENFORCED.at(entry.value.span, message).help(help));
        }
        other => {
            let message = format!("rawko does not have the permission mode `{other}`");
            reader.report(UNSUPPORTED_KEY.at(entry.value.span, message).help(help));
        }
    }
}

/// Limits the agent to some MCP servers. With a list of allowed tools, only the servers' own names are removed from it.
fn servers(reader: &mut Reader<'_>, entry: &DocumentEntry, rules: &mut ToolRules) {
    let names: Option<Vec<&str>> = match &entry.value.data {
        DocumentData::Null => Some(Vec::new()),
        DocumentData::Str(text) => Some(text.split(',').map(str::trim).filter(|it| !it.is_empty()).collect()),
        DocumentData::List(items) => items.iter().map(SpannedValue::text).collect(),
        DocumentData::Bool(_) | DocumentData::Int(_) | DocumentData::Float(_) | DocumentData::Map(_) => None,
    };
    let Some(names) = names else {
        let message = "rawko does not start MCP servers that an agent's file defines";
        let help = "define them in `.mcp.json`, and list their names here";
        reader.report(UNSUPPORTED_KEY.at(entry.key_span, message).help(help));
        return;
    };
    let patterns: Vec<String> = names.iter().map(|name| format!("mcp__{name}__*")).collect();
    let is_listed = |rule: &String| {
        let rule = rule.trim();
        let of = |name: &&str| rule == format!("mcp__{name}") || rule.starts_with(&format!("mcp__{name}__"));
        !rule.contains('*') && !rule.starts_with("mcp__") || names.iter().any(of)
    };
    match &mut rules.allowed {
        Some(allowed) => {
            let is_wide = allowed.iter().any(|rule| rule.contains('*') && !is_listed(rule));
            allowed.retain(is_listed);
            if is_wide {
                allowed.extend(patterns);
            }
        }
        None => {
            let own = builtin_names().chain(["Task"]).map(str::to_owned);
            rules.allowed = Some(own.chain(patterns).collect());
        }
    }
}

/// Reads a whole number. Frontmatter that is not valid YAML has it as text.
fn whole(reader: &mut Reader<'_>, entry: &DocumentEntry) -> Option<u64> {
    let what = format!("`{}`", entry.key);
    match entry.value.text().map(|text| text.trim().parse::<u64>()) {
        Some(Ok(number)) if number > 0 => Some(number),
        Some(_) => {
            reader.invalid(
                entry.value.span,
                format!("{what} must be a whole number from 1"),
                "write a number",
            );
            None
        }
        None => reader.whole(&entry.value, &what, 1),
    }
}

/// Returns true for a value that asks for nothing.
fn is_empty(at: &SpannedValue) -> bool {
    match &at.data {
        DocumentData::Null | DocumentData::Bool(false) => true,
        DocumentData::Str(text) => text.trim().is_empty() || matches!(text.trim(), "[]" | "{}" | "false"),
        DocumentData::List(items) => items.is_empty(),
        DocumentData::Map(entries) => entries.is_empty(),
        DocumentData::Bool(true) | DocumentData::Int(_) | DocumentData::Float(_) => false,
    }
}
