//! Permission checks for external agents that run their own tools: their calls are checked against the same rules
//! before they run, and they get raw project files. Separate from the toolbox, which runs the calls it allows.

use std::sync::Arc;

use rawko_core::Value;

use super::builtin::Builtin;
use super::files;
use super::grant::Grant;
use super::input::text;
use super::outcome::{RefusedCall, ToolFailure, ToolOutcome};
use super::shell;
use super::toolbox::{Clearance, Resolved, Toolbox};
use super::web;

const SOURCE: &str = "the rule that nothing unknown is done where nothing may be written";

impl Toolbox {
    /// Checks if a grant permits a tool that an external agent runs itself. Only the input keys of the built-in tools
    /// are considered: `path`, `command`, `url`.
    pub async fn permits(
        &self,
        name: &str,
        input: &Value,
        grant: &Grant,
        clearance: Clearance<'_>,
    ) -> ToolOutcome {
        match self.permitted(name, input, grant, clearance).await {
            Ok(()) => ToolOutcome::ok("allowed"),
            Err(failure) => told(failure),
        }
    }

    /// Returns a file's text without line numbers, under the same rules as Read. `from` is the first line, counted from
    /// 1.
    pub async fn read_text(
        &self,
        path: &str,
        from: Option<u32>,
        count: Option<u32>,
        (grant, clearance): (&Grant, Clearance<'_>),
    ) -> ToolOutcome {
        let input = Value::map([("path", Value::str(path))]);
        let checked = grant.check(Builtin::Read.name());
        let cleared = checked.and_then(|()| self.cleared("Read", &input, grant, clearance));
        if let Err(refused) = cleared {
            return refused.outcome("");
        }
        let (tools, path) = (Arc::clone(&self.tools), path.to_owned());
        let check = self.place_check(Builtin::Read, grant, clearance);
        let read = move || files::raw(&tools.project, &path, (from, count), &check);
        let done = tokio::task::spawn_blocking(read).await;
        match done {
            Ok(Ok(text)) => ToolOutcome::ok(text),
            Ok(Err(failure)) => told(failure),
            Err(error) => ToolOutcome::failed(format!("the tool stopped unexpectedly: {error}")),
        }
    }

    /// Checks that a path is within the project, for any operation.
    pub fn confines(&self, path: &str) -> ToolOutcome {
        self.readable(path).map_or_else(told, |()| ToolOutcome::ok("inside"))
    }

    async fn permitted(
        &self,
        name: &str,
        input: &Value,
        grant: &Grant,
        clearance: Clearance<'_>,
    ) -> Result<(), ToolFailure> {
        match self.resolve(name) {
            Some((name, Resolved::Builtin(tool))) => {
                grant.check(&name)?;
                // The program runs the call itself and cannot wait for a person.
                self.cleared(&name, input, grant, clearance)?;
                self.permitted_input(tool, input, grant).await
            }
            Some((name, Resolved::Source(_))) => {
                grant.check(&name)?;
                Ok(self.cleared(&name, input, grant, clearance)?)
            }
            None => {
                grant.check(name)?;
                self.cleared(name, input, grant, clearance)?;
                if grant.is_read_only() {
                    let why = format!("it is not known what `{name}` does, and nothing may be written");
                    return Err(RefusedCall::new("tool_unknown", SOURCE, why).into());
                }
                Ok(())
            }
        }
    }

    async fn permitted_input(&self, tool: Builtin, input: &Value, grant: &Grant) -> Result<(), ToolFailure> {
        let tools = &self.tools;
        match tool {
            Builtin::Read | Builtin::Glob | Builtin::Grep => self.readable(text(input, "path")),
            Builtin::Write | Builtin::Edit => {
                // Commands may write to a few directories outside; external agents may only write project files.
                tools.project.relative(text(input, "path"))?;
                Ok(tools.project.check_writable(text(input, "path"))?)
            }
            Builtin::Bash => Ok(shell::check(text(input, "command"), grant, &tools.project).map(drop)?),
            Builtin::WebFetch => web::check(&self.web_egress(grant), text(input, "url")).await,
            Builtin::PlanWrite | Builtin::PlanRead | Builtin::PlanUpdate => Ok(()),
            Builtin::WebSearch | Builtin::Think | Builtin::Skill | Builtin::AskUser => Ok(()),
        }
    }

    /// A missing file may be looked up; an existing one must be within the project.
    fn readable(&self, path: &str) -> Result<(), ToolFailure> {
        match self.tools.project.searched(path) {
            Ok(_) | Err(ToolFailure::Said(_)) => Ok(()),
            Err(ToolFailure::Refused(refused)) => Err(refused.into()),
        }
    }
}

fn told(failure: ToolFailure) -> ToolOutcome {
    match failure {
        ToolFailure::Refused(refused) => refused.outcome(""),
        ToolFailure::Said(said) => ToolOutcome::failed(said),
    }
}
