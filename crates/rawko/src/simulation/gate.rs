//! The gate of a project for simulations of its charts: what `rawko run` refuses there, a simulation refuses, too.

use std::path::Path;

use rawko_host::{Gate, Settings};

use crate::project::LoadedProject;

/// Returns the gate of the project around a file; `None` outside of a project.
pub(crate) fn project_gate(file: &Path) -> Option<Gate> {
    let root = LoadedProject::home_of(file)?;
    Some(Settings::read(&root).0.simulated_gate())
}
