//! The checks of `rawko doctor`. Each part of a project has a file with its checks; the common result type is here.

mod approvals;
pub(crate) mod contradictions;
mod instances;
pub(crate) mod models;
mod sandbox;
mod services;
mod settings;
mod store;
mod triggers;

pub(crate) use sandbox::layers_of;

use crate::hosting::ProjectContext;

/// The result of one check.
#[derive(Clone, Debug)]
pub(crate) struct DoctorResult {
    /// `store`, `settings`, `service` …
    pub(crate) about: &'static str,
    pub(crate) state: CheckState,
    pub(crate) text: String,
    /// Instructions for fixing the problem.
    pub(crate) help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckState {
    Ok,
    Warn,
    Problem,
}

impl CheckState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CheckState::Ok => "ok",
            CheckState::Warn => "warn",
            CheckState::Problem => "problem",
        }
    }
}

impl DoctorResult {
    fn new(about: &'static str, state: CheckState, text: impl Into<String>) -> DoctorResult {
        DoctorResult { about, state, text: text.into(), help: None }
    }

    fn help(mut self, help: impl Into<String>) -> DoctorResult {
        self.help = Some(help.into());
        self
    }
}

/// Runs all checks; `offline` asks no model and no MCP server.
pub(crate) fn look(place: &ProjectContext, offline: bool) -> Vec<DoctorResult> {
    let mut checks = store::look(place);
    checks.extend(instances::look(place));
    checks.extend(settings::look(place));
    checks.extend(settings::look_at_trust(place));
    checks.extend(services::look(place));
    checks.extend(triggers::look(place));
    checks.extend(sandbox::look(place));
    checks.extend(approvals::look(place));
    checks.extend(settings::look_at_project(place));
    if !offline && place.is_set_up() {
        checks.extend(models::look(place));
    }
    checks
}
