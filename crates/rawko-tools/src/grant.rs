//! Tool grants: layers of rules, each of which only narrows. A tool is allowed when every layer allows it.

use rawko_process::ProjectAccess;
use serde::{Deserialize, Serialize};

use super::outcome::RefusedCall;
use super::pattern::{self, ToolPattern};
use super::permissions::Permissions;

/// Layers, outermost first: project, agent, state, phase; a sub-agent's layers follow its parent's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The layers, outermost first. A call must pass each.
    pub layers: Vec<GrantLayer>,
    /// Rules on single calls: of the user, the project and each agent on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permissions>,
}

/// One set of rules and its source, so that a refusal can name the setting to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantLayer {
    /// Source for the refusal: ``the phase `research` (`phases.research.tools` in .rawko/config.yaml)``.
    pub source: String,
    /// Patterns on names (`Read`, `mcp__git__*`); `None` allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// Takes precedence over `allowed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<String>,
    /// Rules on command lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bash: Option<BashFilter>,
    /// Hosts that may be reached, by whichever tool; `None` leaves it to the other layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<String>>,
}

/// The commands that Bash may run. Every command of a pipeline, list and substitution is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashFilter {
    /// `git status`, `cargo *`; `None` allows everything not blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<String>>,
    /// Regular expressions, each matched against every command and the whole line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_patterns: Vec<String>,
}

impl Grant {
    /// Creates a grant of these layers, without permissions.
    pub fn new(layers: impl IntoIterator<Item = GrantLayer>) -> Self {
        Self { layers: layers.into_iter().collect(), permissions: Vec::new() }
    }

    /// Adds a layer; the result allows at most as much as before.
    #[must_use]
    pub fn narrowed(&self, layer: GrantLayer) -> Self {
        let layers = self.layers.iter().cloned().chain([layer]).collect();
        Self { layers, permissions: self.permissions.clone() }
    }

    /// Adds rules on calls, unless they are there already.
    pub fn add_permissions(&mut self, more: impl IntoIterator<Item = Permissions>) {
        for set in more {
            if !self.permissions.contains(&set) {
                self.permissions.push(set);
            }
        }
    }

    /// Returns true if every layer allows a tool, given by its own name.
    pub fn allows(&self, tool: &str) -> bool {
        self.check(tool).is_ok()
    }

    /// True if neither Write nor Edit is allowed: then no other tool may write either.
    pub fn is_read_only(&self) -> bool {
        !self.allows("Write") && !self.allows("Edit")
    }

    /// Returns what programs that run for this grant may do with the project.
    pub fn access(&self) -> ProjectAccess {
        if self.is_read_only() { ProjectAccess::Read } else { ProjectAccess::Write }
    }

    /// Returns the problems of the rules themselves.
    pub fn problems(&self) -> Vec<String> {
        self.layers.iter().flat_map(GrantLayer::problems).collect()
    }

    pub(super) fn check(&self, tool: &str) -> Result<(), RefusedCall> {
        self.layers.iter().try_for_each(|layer| layer.check(tool))?;
        let denied = self.permissions.iter().find_map(|set| Some((set, set.denied_tool(tool)?)));
        denied.map_or(Ok(()), |(set, rule)| {
            let why = format!("`{tool}` is denied by `{rule}` in `permissions.deny` of {}", set.file);
            Err(RefusedCall::new("permission_denied", &set.file, why))
        })
    }
}

impl GrantLayer {
    /// Returns true if this layer allows a tool.
    pub fn allows(&self, tool: &str) -> bool {
        self.check(tool).is_ok()
    }

    /// Returns the problems of the rules themselves: invalid patterns and entries without effect.
    pub fn problems(&self) -> Vec<String> {
        let patterns = self.bash.iter().flat_map(|bash| &bash.blocked_patterns);
        let regexes = patterns.filter_map(|pattern| {
            let error = regex::Regex::new(pattern).err()?;
            Some(format!(
                "{}: `{pattern}` is not a regular expression: {}",
                self.source,
                last_line(&error.to_string())
            ))
        });
        let entries = self.allowed.iter().flatten().chain(&self.blocked).filter_map(|entry| {
            match ToolPattern::of(entry) {
                ToolPattern::Tool(_) | ToolPattern::Command(_) => None,
                ToolPattern::Narrowed { tool } => Some(format!(
                    "{}: `{entry}`: only Bash can be narrowed in parentheses, `{tool}` cannot",
                    self.source
                )),
            }
        });
        regexes.chain(entries).collect()
    }

    fn check(&self, tool: &str) -> Result<(), RefusedCall> {
        if let Some(entry) = self.blocked.iter().find(|entry| blocks(entry, tool)) {
            let why = format!("`{tool}` is blocked by `{entry}` in {}", self.source);
            return Err(RefusedCall::new("tool_blocked", &self.source, why));
        }
        match &self.allowed {
            Some(allowed) if !allowed.iter().any(|entry| admits(entry, tool)) => {
                let why = format!("`{tool}` is not allowed in {}", self.source);
                Err(RefusedCall::new("tool_not_allowed", &self.source, why))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn blocks(entry: &str, tool: &str) -> bool {
    match ToolPattern::of(entry) {
        ToolPattern::Tool(name) | ToolPattern::Narrowed { tool: name } => pattern::names(name, tool),
        ToolPattern::Command(_) => false,
    }
}

fn admits(entry: &str, tool: &str) -> bool {
    match ToolPattern::of(entry) {
        ToolPattern::Tool(name) => pattern::names(name, tool),
        ToolPattern::Command(_) => tool == "Bash",
        ToolPattern::Narrowed { .. } => false,
    }
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}
