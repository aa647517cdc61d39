//! Names in `tools` that mean nothing: a tool that is not built in, an MCP server that the project does not have.
//! Apart from reading the rules, because servers are known only once the whole project is.

use rawko_chart::codes::agents::UNKNOWN_TOOL;
use rawko_chart::{Finding, Severity, SourceFile, Span, nearest};

use super::file::{AgentFile, AgentKind};
use rawko_tools::{blocked_entry_problem, builtin_names, is_builtin, is_delegation, is_known_elsewhere};

const MCP: &str = "mcp__";
/// Starts another agent.
const TASK: &str = "Task";

/// The names that rules of this agent use in vain. `servers` are the project's MCP servers, as tool names have them;
/// `None` if they are not known.
pub(super) fn unknown(agent: &AgentFile, source: &SourceFile, servers: Option<&[String]>) -> Vec<Finding> {
    // Programs bring tools of their own, and people need none.
    if !matches!(agent.kind, AgentKind::Llm | AgentKind::Scripted) {
        return Vec::new();
    }
    // In an allowed list a name that means nothing grants nothing; in a blocked list it leaves a tool open.
    let lists =
        [(Severity::Warning, agent.tools.allowed.as_deref()), (Severity::Error, Some(&agent.tools.blocked))];
    let mut found = Vec::new();
    for (severity, rules) in lists {
        for rule in rules.unwrap_or_default() {
            let finding = finding(rule, source, servers);
            found.extend(finding.map(|(finding, is_near)| {
                let severity = if is_near { severity } else { Severity::Warning };
                Finding { severity, ..finding }
            }));
            let problem = (severity == Severity::Error).then(|| blocked_entry_problem(rule)).flatten();
            found.extend(problem.map(|problem| {
                UNKNOWN_TOOL.at(place(&source.text, rule), problem.message).help(problem.help)
            }));
        }
    }
    found
}

/// Returns the finding of a rule, and true if its name is probably misspelt: no program has such a tool.
fn finding(rule: &str, source: &SourceFile, servers: Option<&[String]>) -> Option<(Finding, bool)> {
    let name = rule.split('(').next().unwrap_or(rule).trim();
    let (message, help, is_near) = match name.strip_prefix(MCP) {
        Some(rest) => {
            let server = rest.split("__").next().unwrap_or(rest);
            let servers = servers.filter(|_| !server.contains('*'))?;
            // A server's own name may hold `__`, so its prefix decides.
            let of = |known: &String| rest == known || rest.starts_with(&format!("{known}__"));
            if servers.iter().any(of) {
                return None;
            }
            let near = nearest(server, servers.iter().map(String::as_str));
            let help = match near {
                Some(close) => format!("did you mean `{MCP}{close}__…`?"),
                None => format!("add `{server}` to `mcpServers` in `.mcp.json`, or remove the rule"),
            };
            (format!("there is no MCP server `{server}` for `{name}`"), help, near.is_some())
        }
        None => {
            let is_known = name.contains('*') || is_delegation(name) || is_builtin(name);
            if is_known || name.is_empty() {
                return None;
            }
            let near = nearest(name, builtin_names().chain([TASK]));
            let help = match near {
                Some(close) => format!("did you mean `{close}`?"),
                None => {
                    let all: Vec<&str> = builtin_names().chain([TASK]).collect();
                    format!(
                        "the tools are {}; those of MCP servers are `mcp__<server>__<tool>`",
                        all.join(", ")
                    )
                }
            };
            (format!("there is no tool `{name}`"), help, !is_known_elsewhere(name))
        }
    };
    Some((UNKNOWN_TOOL.at(place(&source.text, name), message).help(help), is_near))
}

/// Returns the span of a name: its first occurrence as a whole word after the first `tools` or `Tools`.
fn place(text: &str, name: &str) -> Span {
    let from = text.find("ools").unwrap_or(0);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = text[from..].match_indices(name).map(|(at, _)| from + at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    found.map_or_else(Span::default, |at| Span::new(at, at + name.len()))
}
