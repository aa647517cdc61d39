//! Scenario files of a project, for `rawko test` and the page: what the project adds to them, and the report of
//! `rawko-testing` with colour.

pub(crate) mod report;

use std::path::Path;

use rawko_testing::ProjectContent;

use crate::failure::CommandFailure;
use crate::loading;
use crate::project::LoadedProject;
use crate::simulation::gate::project_gate;

/// Returns the charts, the agents and the gate of the project around a scenario file.
pub(crate) fn project_content(path: &Path) -> Result<ProjectContent, CommandFailure> {
    let project = LoadedProject::around(path)?;
    let mut content = ProjectContent::default();
    loading::add_registered(&mut content.charts, project.as_ref());
    content.gate = project_gate(path)?;
    content.agents = project.map(|project| project.agents).unwrap_or_default();
    Ok(content)
}
