//! The settings of a new project: a common text, with a model that the user has a key for and the checks detected in
//! the project.

use std::path::Path;
use std::time::Duration;

use rawko_programs::checks::{CheckFormat, ProjectCheck, detect, installed_language_servers};

const TEXT: &str = include_str!("project/config.yaml");

/// The variables of API keys, each with its recommended model. The first one that is set wins.
const MODELS: [(&str, &str); 6] = [
    ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-5"),
    ("OPENAI_API_KEY", "openai/gpt-5"),
    ("GEMINI_API_KEY", "gemini/gemini-2.5-pro"),
    ("GOOGLE_API_KEY", "gemini/gemini-2.5-pro"),
    ("ZAI_API_KEY", "zai/glm-4.6"),
    ("OPENROUTER_API_KEY", "openrouter/anthropic/claude-sonnet-4.5"),
];

const NO_CHECKS: &str = "\
# No checks found. Until you add some, rawko looks for them again before each use.
# phases:
#   validate:
#     checks:
#       - {name: tests, command: [make, test]}      # fails unless it exits with 0
#       - {name: unit, command: [python3, -m, unittest], format: unittest}
";

pub(crate) struct SettingsTemplate {
    /// The variable that holds a key, if any is set.
    pub(crate) key: Option<&'static str>,
    model: &'static str,
    pub(crate) checks: Vec<ProjectCheck>,
}

impl SettingsTemplate {
    /// Selects the settings for a directory; `is_set` looks up variables of the environment.
    pub(crate) fn of(dir: &Path, is_set: impl Fn(&str) -> bool) -> SettingsTemplate {
        let [(_, usual), ..] = MODELS;
        let found = MODELS.into_iter().find(|(key, _)| is_set(key));
        let (key, model) = found.map_or((None, usual), |(key, model)| (Some(key), model));
        let mut checks = detect(dir);
        checks.extend(installed_language_servers(dir, &std::env::var_os("PATH").unwrap_or_default()));
        SettingsTemplate { key, model, checks }
    }

    /// Returns the providers to choose from, each once: the variables of their keys, and their models.
    pub(crate) fn providers() -> Vec<(&'static str, &'static str)> {
        let mut providers = MODELS.to_vec();
        providers.dedup_by_key(|(_, model)| *model);
        providers
    }

    /// Returns the settings with the model of this variable.
    pub(crate) fn with_key(self, variable: &'static str) -> SettingsTemplate {
        let found = MODELS.into_iter().find(|(key, _)| *key == variable);
        match found {
            Some((key, model)) => SettingsTemplate { key: Some(key), model, ..self },
            None => self,
        }
    }

    /// Returns the variable to set if none is.
    pub(crate) fn wanted_key() -> &'static str {
        let [(first, _), ..] = MODELS;
        first
    }

    pub(super) fn text(&self) -> String {
        TEXT.replace("{{default}}", self.model).replace("{{checks}}\n", &checks(&self.checks))
    }
}

fn checks(checks: &[ProjectCheck]) -> String {
    let lines: Vec<String> = checks.iter().filter_map(line).collect();
    if lines.is_empty() {
        return NO_CHECKS.to_owned();
    }
    format!("phases:\n  validate:\n    checks:\n{}", lines.concat())
}

/// Formats one check as a line of the settings; JSON is valid YAML.
fn line(check: &ProjectCheck) -> Option<String> {
    let ProjectCheck { name, command, format, timeout, reason, decides, .. } = check;
    let name = serde_json::to_string(name).ok()?;
    let command = serde_json::to_string(command).ok()?.replace("\",\"", "\", \"");
    let format = match format {
        CheckFormat::Lsp { files } => format!("lsp, files: {}", serde_json::to_string(files).ok()?),
        // Another format with parameters is never detected.
        other => serde_json::to_value(other).ok()?.as_str()?.to_owned(),
    };
    let timeout = minutes(*timeout);
    let decides = if *decides { "" } else { ", decides: false" };
    Some(format!(
        "      # Because {reason}\n      - {{name: {name}, command: {command}, format: {format}, timeout: {timeout}{decides}}}\n"
    ))
}

fn minutes(time: Duration) -> String {
    format!("{}m", time.as_secs().div_ceil(60))
}
