//! One rule: `Read`, `Bash(git log:*)`, `Edit(src/**)`, `WebFetch(domain:example.com)`, `mcp__git__log`, `Task(tester)`,
//! `Network(domain:example.com)`.

use rawko_chart::nearest;

use super::commands::CommandPattern;
use super::paths::PathPattern;
use super::unmatchable::{hidden_character, joint_problem, spelling_problem};
use crate::builtin::Builtin;
use crate::{alias, pattern};

/// Tools that rules may name although another crate or provider implements them.
pub(super) const TASK: &str = "Task";
const WEB_SEARCH: &str = "WebSearch";
/// Every connection: of programs, WebFetch, WebSearch and MCP servers over HTTP. Not a tool that agents have.
pub(super) const NETWORK: &str = "Network";
const MCP: &str = "mcp__";

/// The reason why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuleProblem {
    /// The problem.
    pub message: String,
    /// The suggested fix.
    pub help: String,
}

#[derive(Clone, Debug)]
pub(super) struct PermissionRule {
    pub(super) text: String,
    pub(super) target: RuleTarget,
}

#[derive(Clone, Debug)]
pub(super) enum RuleTarget {
    /// A tool by name or by a pattern on names.
    Tool(String),
    Command(CommandPattern),
    /// The tool is Read, Edit or Write; Glob and Grep count as Read.
    Path(Builtin, PathPattern),
    /// A host; `*.example.com` matches subdomains.
    Domain(String),
    /// A host, for everything that connects.
    Host(String),
    /// All tools of an MCP server.
    Server(String),
    /// A sub-agent, started with Task.
    Agent(String),
}

impl PermissionRule {
    pub(super) fn parse(text: &str) -> Result<Self, RuleProblem> {
        let trimmed = text.trim();
        let problem = |message: String, help: &str| RuleProblem { message, help: help.to_owned() };
        let (name, inside) = match trimmed.split_once('(') {
            None if trimmed.contains(')') => {
                return Err(problem(format!("`{trimmed}` has `)` without `(`"), "write `Tool` or `Tool(…)`"));
            }
            None => (trimmed, None),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(inside) => (name.trim(), Some(inside.trim())),
                None => {
                    return Err(problem(
                        format!("`{trimmed}` does not end with `)`"),
                        "write `Tool` or `Tool(…)`",
                    ));
                }
            },
        };
        if let Some(letter) = hidden_character(trimmed) {
            let message =
                format!("`{trimmed}` has the character U+{:04X}, which cannot be seen", u32::from(letter));
            return Err(problem(message, "type the rule again"));
        }
        if name.is_empty() {
            return Err(problem(format!("`{trimmed}` names no tool"), "write `Read` or `Bash(git log:*)`"));
        }
        let target = match inside {
            Some("") => {
                return Err(problem(
                    format!("`{trimmed}` has nothing between its parentheses"),
                    "leave them out to mean every call of the tool",
                ));
            }
            None | Some("*" | "**" | ":*") => tool(name)?,
            Some(inside) => narrowed(name, inside)?,
        };
        Ok(Self { text: trimmed.to_owned(), target })
    }

    /// Reads a rule that denies or asks: one that can match no call would leave everything open.
    pub(super) fn parse_restricting(text: &str) -> Result<Self, RuleProblem> {
        let rule = Self::parse(text)?;
        let inside = rule.text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        match (&rule.target, inside.and_then(joint_problem)) {
            (RuleTarget::Command(_), Some(problem)) => Err(problem),
            _ => Ok(rule),
        }
    }

    /// Returns true if the rule names one call rather than a family of calls.
    pub(super) fn is_exact(&self) -> bool {
        match &self.target {
            RuleTarget::Tool(name) => {
                name.strip_prefix(MCP).is_some_and(|rest| rest.contains("__")) && !name.contains('*')
            }
            RuleTarget::Command(pattern) => pattern.is_exact(),
            RuleTarget::Path(_, pattern) => pattern.is_exact(),
            RuleTarget::Domain(host) | RuleTarget::Host(host) => !host.contains('*'),
            RuleTarget::Agent(name) => !name.contains('*'),
            RuleTarget::Server(_) => false,
        }
    }

    /// Returns true if the rule, as a denial, refuses every call of a tool. Edit means all tools that change files, and
    /// Read all that read them.
    pub(super) fn denies_tool(&self, tool: &str) -> bool {
        match &self.target {
            RuleTarget::Tool(name) => covers(name, tool),
            RuleTarget::Server(server) => is_of_server(server, tool),
            RuleTarget::Command(_)
            | RuleTarget::Path(..)
            | RuleTarget::Domain(_)
            | RuleTarget::Host(_)
            | RuleTarget::Agent(_) => false,
        }
    }

    /// Returns true if the rule is about this tool, however narrow.
    pub(super) fn concerns(&self, tool: &str) -> bool {
        match &self.target {
            RuleTarget::Tool(_) | RuleTarget::Server(_) => self.denies_tool(tool),
            RuleTarget::Command(_) => tool == "Bash",
            RuleTarget::Path(builtin, _) => covers(builtin.name(), tool),
            RuleTarget::Domain(_) => tool == "WebFetch" || tool == WEB_SEARCH,
            RuleTarget::Host(_) => tool == NETWORK,
            RuleTarget::Agent(_) => tool == TASK,
        }
    }
}

/// Matches a tool name of a rule; a rule about Read or Edit covers the tools of the same kind.
pub(super) fn covers(rule: &str, tool: &str) -> bool {
    pattern::names(rule, tool)
        || match alias::resolved(rule) {
            Some(Builtin::Edit) => tool == "Write",
            Some(Builtin::Read) => tool == "Grep" || tool == "Glob",
            Some(_) | None => false,
        }
}

pub(super) fn is_of_server(server: &str, tool: &str) -> bool {
    tool.strip_prefix(MCP)
        .and_then(|rest| rest.strip_prefix(server))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
}

fn tool(name: &str) -> Result<RuleTarget, RuleProblem> {
    if let Some(server) = name.strip_prefix(MCP) {
        if server.is_empty() {
            return Err(unknown(name));
        }
        return Ok(match server.contains("__") || server.contains('*') {
            true => RuleTarget::Tool(name.to_owned()),
            false => RuleTarget::Server(server.to_owned()),
        });
    }
    if is_task(name) {
        return Ok(RuleTarget::Tool(TASK.to_owned()));
    }
    if let Some(builtin) = builtin(name) {
        return Ok(RuleTarget::Tool(builtin.name().to_owned()));
    }
    if name == WEB_SEARCH || name == NETWORK {
        return Ok(RuleTarget::Tool(name.to_owned()));
    }
    let known = Builtin::ALL.into_iter().map(Builtin::name).chain([TASK, WEB_SEARCH, NETWORK]);
    if name.contains('*') && (name == "*" || known.into_iter().any(|tool| pattern::names(name, tool))) {
        return Ok(RuleTarget::Tool(name.to_owned()));
    }
    Err(unknown(name))
}

fn narrowed(name: &str, inside: &str) -> Result<RuleTarget, RuleProblem> {
    let wrong = |message: String, help: &str| RuleProblem { message, help: help.to_owned() };
    if is_task(name) {
        return Ok(RuleTarget::Agent(inside.to_owned()));
    }
    if name == NETWORK {
        return domain(name, inside)
            .map(|host| host.map_or(RuleTarget::Tool(name.to_owned()), RuleTarget::Host));
    }
    match builtin(name) {
        Some(Builtin::Bash) => match spelling_problem(inside) {
            Some(problem) => Err(problem),
            None => CommandPattern::parse(inside)
                .map(RuleTarget::Command)
                .map_err(|why| wrong(format!("`{inside}` is not a command: {why}"), "write `git log:*`")),
        },
        Some(tool @ (Builtin::Read | Builtin::Write | Builtin::Edit | Builtin::Glob | Builtin::Grep)) => {
            let tool = if matches!(tool, Builtin::Glob | Builtin::Grep) { Builtin::Read } else { tool };
            let pattern = PathPattern::parse(inside).map_err(|why| {
                wrong(format!("`{inside}` is not a path pattern: {why}"), "write `src/**` or `//etc/**`")
            })?;
            Ok(RuleTarget::Path(tool, pattern))
        }
        Some(tool @ Builtin::WebFetch) => domain(tool.name(), inside)
            .map(|host| host.map_or(RuleTarget::Tool(tool.name().to_owned()), RuleTarget::Domain)),
        Some(
            Builtin::PlanWrite
            | Builtin::PlanRead
            | Builtin::PlanUpdate
            | Builtin::WebSearch
            | Builtin::Think
            | Builtin::Skill
            | Builtin::AskUser,
        ) => Err(wrong(format!("`{name}` cannot be narrowed in parentheses"), "write the tool alone")),
        None if name.starts_with(MCP) => Err(wrong(
            format!("`{name}` cannot be narrowed in parentheses"),
            "write `mcp__server` or `mcp__server__tool`",
        )),
        None => Err(unknown(name)),
    }
}

/// Reads `domain:example.com`; `None` stands for every host.
fn domain(tool: &str, inside: &str) -> Result<Option<String>, RuleProblem> {
    match inside.strip_prefix("domain:").map(str::trim) {
        Some("*") => Ok(None),
        Some(host) if !host.is_empty() && !host.contains(['/', ' ', ':']) => {
            Ok(Some(host.trim_end_matches('.').to_ascii_lowercase()))
        }
        Some(_) | None => Err(RuleProblem {
            message: format!("`{inside}` is not a domain"),
            help: format!("write `{tool}(domain:example.com)`, without a scheme, a port or a path"),
        }),
    }
}

/// Claude's names of tools that are a part of ours.
fn builtin(name: &str) -> Option<Builtin> {
    match name {
        "NotebookEdit" => Some(Builtin::Edit),
        "NotebookRead" => Some(Builtin::Read),
        _ => alias::resolved(name),
    }
}

fn is_task(name: &str) -> bool {
    name.eq_ignore_ascii_case(TASK) || name.eq_ignore_ascii_case("Agent")
}

fn unknown(name: &str) -> RuleProblem {
    let all: Vec<&str> =
        Builtin::ALL.into_iter().map(Builtin::name).chain([TASK, WEB_SEARCH, NETWORK]).collect();
    let help = match nearest(name, all.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "the tools are {}; those of MCP servers are `mcp__server` and `mcp__server__tool`",
            all.join(", ")
        ),
    };
    RuleProblem { message: format!("there is no tool `{name}`"), help }
}
