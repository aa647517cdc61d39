//! The subject of a call: everything that rules can be about, taken out of its input once.

use std::path::PathBuf;

use rawko_core::Value;
use reqwest::Url;

use super::line::CommandLine;
use super::paths::{PathSubject, Roots};
use super::rule::TASK;
use crate::input::text;

/// A call, prepared for rules.
pub(super) struct RuleSubject {
    /// The tool by its own name.
    pub(super) tool: String,
    pub(super) roots: Roots,
    pub(super) about: SubjectKind,
}

pub(super) enum SubjectKind {
    File(PathSubject),
    Command(Box<CommandLine>),
    /// The line cannot be parsed. The shell filter refuses it with the reason.
    Unreadable,
    /// The host of an address; `None` if there is none.
    Host(Option<String>),
    Agent(String),
    Nothing,
}

impl RuleSubject {
    pub(super) fn new(tool: &str, input: &Value, roots: Roots) -> Self {
        let about = match tool {
            "Read" | "Write" | "Edit" | "Glob" | "Grep" => {
                let path = ["path", "file_path"].into_iter().map(|key| text(input, key));
                let path = path.into_iter().find(|path| !path.is_empty()).unwrap_or(".");
                SubjectKind::File(PathSubject::new(path, "".as_ref(), &roots))
            }
            "Bash" => match CommandLine::read(text(input, "command"), &roots) {
                Some(line) => SubjectKind::Command(Box::new(line)),
                None => SubjectKind::Unreadable,
            },
            "WebFetch" => SubjectKind::Host(host(text(input, "url"))),
            TASK => SubjectKind::Agent(text(input, "agent").to_owned()),
            _ => SubjectKind::Nothing,
        };
        Self { tool: tool.to_owned(), roots, about }
    }
}

pub(super) fn host(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    Some(url.host_str()?.trim_end_matches('.').to_ascii_lowercase())
}

/// Returns the source of untrusted text that a call brings into the conversation: an address, an MCP server, a command
/// that uses the network, or a file outside the project.
pub(crate) fn untrusted_source(
    tool: &str,
    input: &Value,
    roots: &Roots,
    extra: &[PathBuf],
) -> Option<String> {
    let subject = RuleSubject::new(tool, input, roots.clone());
    match &subject.about {
        SubjectKind::Host(host) => Some(format!("WebFetch {}", host.as_deref().unwrap_or_default())),
        SubjectKind::Command(line) => line.outside(roots).or_else(|| line.beside(extra)),
        SubjectKind::Nothing if tool.starts_with("mcp__") || tool == "WebSearch" => Some(tool.to_owned()),
        SubjectKind::File(file) => {
            let is_outside = !file.real.starts_with(&roots.project);
            is_outside.then(|| format!("{tool} {}", file.real.display()))
        }
        // A line that cannot be parsed is refused, unless nothing is forbidden.
        SubjectKind::Unreadable => extra.first().map(|path| format!("Bash {}", path.display())),
        SubjectKind::Nothing | SubjectKind::Agent(_) => None,
    }
}
