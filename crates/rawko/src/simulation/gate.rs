//! The gate of a project for simulations of its charts: what `rawko run` refuses there, a simulation refuses, too.

use std::path::Path;

use rawko_chart::Severity;
use rawko_host::{Gate, Settings};

use crate::failure::CommandFailure;
use crate::project::LoadedProject;

/// Returns the gate of the project around a file; `None` outside of a project. Settings with errors have no gate: a rule
/// that was not read would refuse nothing.
pub(crate) fn project_gate(file: &Path) -> Result<Option<Gate>, CommandFailure> {
    let Some(root) = LoadedProject::home_of(file) else { return Ok(None) };
    let (settings, problems) = Settings::read(&root);
    let is_wrong = |(_, findings): &&(_, Vec<rawko_chart::Finding>)| {
        findings.iter().any(|finding| finding.severity >= Severity::Error)
    };
    if let Some((source, _)) = problems.iter().find(is_wrong) {
        let name = &source.name;
        let message = format!("invalid settings in `{name}`; see `rawko check`, or pass --open-gate");
        return Err(CommandFailure::Invalid(message));
    }
    Ok(Some(settings.simulated_gate()))
}
