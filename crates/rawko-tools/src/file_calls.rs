//! Calls of the file tools. The rules judge a call twice: the path that was asked for before the call, and the file that
//! was opened. In between, another process of the agent may have replaced a file or a directory by a link.

use std::path::Path;
use std::sync::Arc;

use rawko_core::Value;

use super::builtin::Builtin;
use super::files;
use super::grant::Grant;
use super::outcome::{RefusedCall, ToolFailure, ToolOutcome};
use super::permissions::{Judgement, PermissionEffect, hides, judge};
use super::toolbox::{Clearance, ToolCall, Toolbox};

impl Toolbox {
    /// Runs file operations on the blocking pool.
    pub(super) async fn on_files(
        &self,
        tool: Builtin,
        call: ToolCall<'_>,
        grant: &Grant,
    ) -> Result<ToolOutcome, ToolFailure> {
        let (tools, input) = (Arc::clone(&self.tools), call.input.clone());
        let is_hidden = hides(&grant.permissions, &self.roots());
        let check = self.place_check(tool, grant, call.clearance);
        let done = tokio::task::spawn_blocking(move || match tool {
            Builtin::Write => files::write(&tools.project, &input, &check),
            Builtin::Edit => files::edit(&tools.project, &input, &check),
            Builtin::Glob => files::glob(&tools.project, &input, &is_hidden),
            Builtin::Grep => files::grep(&tools.project, &input, &is_hidden),
            Builtin::Read
            | Builtin::Bash
            | Builtin::WebFetch
            | Builtin::PlanWrite
            | Builtin::PlanRead
            | Builtin::PlanUpdate
            | Builtin::WebSearch
            | Builtin::Think
            | Builtin::AskUser
            | Builtin::Skill => files::read(&tools.project, &input, &check),
        });
        done.await
            .unwrap_or_else(|error| Err(ToolFailure::Said(format!("the tool stopped unexpectedly: {error}"))))
    }

    /// Returns the judgement on the file that a call opened.
    pub(super) fn place_check(
        &self,
        tool: Builtin,
        grant: &Grant,
        clearance: Clearance<'_>,
    ) -> impl Fn(&Path) -> Result<(), RefusedCall> + Send + 'static + use<> {
        let (permissions, roots) = (grant.permissions.clone(), self.roots());
        let (approved, untrusted) = (clearance.approved, clearance.untrusted.map(str::to_owned));
        move |place| {
            let path = roots.project.join(place).display().to_string();
            let input = Value::map([("path", Value::from(path))]);
            decided(judge(&permissions, tool.name(), &input, &roots, untrusted.as_deref()), approved)
        }
    }
}

/// Refuses a call that is denied, or that needs an approval and has none.
pub(super) fn decided(judgement: Judgement, approved: bool) -> Result<(), RefusedCall> {
    match judgement.effect {
        PermissionEffect::Allow => Ok(()),
        PermissionEffect::Ask if approved => Ok(()),
        PermissionEffect::Ask => {
            let why = format!("this call needs the approval of a person by {}", judgement.rule);
            Err(RefusedCall::new("approval_required", &judgement.source, why))
        }
        PermissionEffect::Deny => {
            let why = format!("this call is denied by {}", judgement.rule);
            Err(RefusedCall::new("permission_denied", &judgement.source, why))
        }
    }
}
