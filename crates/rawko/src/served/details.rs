//! Details of the served project for the page: the definition of an agent, settings files, and the checks of `rawko doctor`.

use std::path::Path;

use rawko_agents::agent::AgentFile;
use rawko_server::{DoctorCheck, SettingsText};
use serde_json::Value as Json;

use crate::doctor;
use crate::failure::CommandFailure;
use crate::hosting::{ProjectContext, StoreArgs};

/// Keys of a definition that the page shows. Commands are not among them, because their environment may have secrets.
const SHOWN: [&str; 16] = [
    "systemPrompt",
    "system_prompt",
    "model",
    "fallback_models",
    "vision_model",
    "reasoning",
    "chart",
    "tools",
    "skills",
    "permissions",
    "transitions",
    "limits",
    "isolation",
    "roles",
    "task_types",
    "level",
];
const SETTINGS: &str = ".rawko/config.yaml";

pub(super) fn of_agent(agent: &AgentFile) -> Json {
    let mut definition = serde_json::to_value(agent).unwrap_or_default();
    if let Some(map) = definition.as_object_mut() {
        map.retain(|key, value| SHOWN.contains(&key.as_str()) && !value.is_null());
    }
    definition
}

/// Runs the checks that ask nothing outside.
pub(super) fn doctor(root: &Path, store: Option<&Path>) -> Result<Vec<DoctorCheck>, CommandFailure> {
    let args = StoreArgs { store: store.map(Path::to_owned), ..StoreArgs::default() };
    let place = ProjectContext::in_directory(root, &args)?;
    let checks = doctor::look(&place, true).into_iter().map(|check| DoctorCheck {
        about: check.about.to_owned(),
        state: check.state.as_str().to_owned(),
        text: check.text,
        help: check.help,
    });
    Ok(checks.collect())
}

/// Returns the settings file of the project.
pub(super) fn settings(root: &Path) -> Vec<SettingsText> {
    let text = std::fs::read_to_string(root.join(SETTINGS)).ok();
    text.map(|text| SettingsText { file: SETTINGS.to_owned(), text: Some(text) }).into_iter().collect()
}
