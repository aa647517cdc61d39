//! Names of tools as rules write them: which ones mean a built-in tool. For checks of agent files, which have no toolbox.

use super::alias;
use super::builtin::Builtin;

/// Returns true for the name or an alias of a built-in tool.
pub fn is_builtin(name: &str) -> bool {
    alias::resolved(name).is_some()
}

/// Tools of Claude Code and other programs that rawko does not have. A rule on one of them is valid and has no effect.
const ELSEWHERE: [&str; 20] = [
    "agentoutput",
    "askuserquestion",
    "bashoutput",
    "computer",
    "croncreate",
    "enterplanmode",
    "enterworktree",
    "exitplanmode",
    "exitworktree",
    "killbash",
    "killshell",
    "listmcpresources",
    "lsp",
    "monitor",
    "notebookedit",
    "notebookread",
    "readmcpresource",
    "slashcommand",
    "taskoutput",
    "toolsearch",
];

/// Returns true for the name of a tool that only other programs have.
pub fn is_known_elsewhere(name: &str) -> bool {
    let folded: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    ELSEWHERE.contains(&folded.to_ascii_lowercase().as_str())
}

/// Returns true for the tool that starts another agent.
pub fn is_delegation(name: &str) -> bool {
    name.eq_ignore_ascii_case("Task") || name.eq_ignore_ascii_case("Agent")
}

/// The built-in tools by their own names.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    Builtin::ALL.into_iter().map(Builtin::name)
}

/// Starts another agent.
const TASK: &str = "Task";
/// The tools of MCP servers, and of services of the project.
const OF_SERVERS: &str = "mcp__";

/// Returns true if a rule of a list of tools, such as `Bash(git log:*)`, names no tool of any program. A blocked tool under
/// a wrong name stays allowed.
pub fn is_unknown_tool(rule: &str) -> bool {
    let name = rule.split('(').next().unwrap_or(rule).trim();
    let is_known = name.contains('*')
        || name.starts_with(OF_SERVERS)
        || is_delegation(name)
        || is_builtin(name)
        || is_known_elsewhere(name);
    !is_known
}

/// The names that a wrong one is compared with for a suggestion.
pub fn suggested_tools() -> impl Iterator<Item = &'static str> {
    builtin_names().chain([TASK])
}

/// Further names of the built-in tools, with letters and digits only, in lower case.
pub fn alias_names() -> impl Iterator<Item = &'static str> {
    Builtin::ALL.into_iter().flat_map(|tool| alias::names_of(tool).iter().copied())
}
