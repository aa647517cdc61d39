//! The settings files and their precedence.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::codes::settings::UNREADABLE;
use rawko_chart::{Finding, Source, Span, source_from_bytes};

use super::layer::Layer;
use super::{Settings, is_wrong};
use crate::services::Environment;
use rawko_instance::SETTINGS_FILE;

/// One file: its path, and its name in the gate and the audit.
struct File {
    path: PathBuf,
    shown: Arc<str>,
}

pub(super) fn read(root: &Path, environment: &Environment) -> (Settings, Vec<(Source, Vec<Finding>)>) {
    let (mut said, wrong) = Layer::of_environment(environment);
    let mut problems: Vec<(Source, Vec<Finding>)> = Vec::new();
    let mut read = Vec::new();
    for file in [Some(project_file(root)), user_file(environment)].into_iter().flatten() {
        let Some((source, layer, findings)) = file.read(environment) else { continue };
        said = said.over(layer);
        read.push((file, source, findings));
    }
    let settings = Settings { said, environment: environment.clone() };
    let is_any_wrong = read.iter().any(|(_, _, findings)| is_wrong(findings));
    for (file, source, mut findings) in read {
        if !is_any_wrong {
            findings.extend(settings.never_allowed(&file.shown));
        }
        problems.push((source, findings));
    }
    problems.extend(wrong.into_iter().map(|(source, finding)| (source, vec![finding])));
    problems.retain(|(_, findings)| !findings.is_empty());
    (settings, problems)
}

fn project_file(root: &Path) -> File {
    // Shown as `.rawko` instead of `./.rawko`.
    let root = root.strip_prefix(".").unwrap_or(root);
    File { path: root.join(SETTINGS_FILE), shown: SETTINGS_FILE.into() }
}

/// Returns the path of the user's settings file, and its name in messages.
pub(super) fn user(environment: &Environment) -> Option<(PathBuf, Arc<str>)> {
    user_file(environment).map(|file| (file.path, file.shown))
}

/// Returns `$XDG_CONFIG_HOME/rawko/config.yaml`, else `~/.config/rawko/config.yaml`.
fn user_file(environment: &Environment) -> Option<File> {
    let set = |name: &str| environment.get(name).filter(|value| Path::new(value).is_absolute());
    let inside = "rawko/config.yaml";
    if let Some(folder) = set("XDG_CONFIG_HOME") {
        let path = Path::new(folder).join(inside);
        return Some(File { shown: path.display().to_string().into(), path });
    }
    let path = Path::new(set("HOME")?).join(".config").join(inside);
    Some(File { shown: format!("~/.config/{inside}").into(), path })
}

impl File {
    /// Returns `None` if the file does not exist.
    fn read(&self, environment: &Environment) -> Option<(Source, Layer, Vec<Finding>)> {
        let name = self.path.display().to_string();
        let nothing = |findings| (Source::new(name.as_str(), ""), Layer::default(), findings);
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return None;
            }
            Err(error) => {
                let finding = UNREADABLE.at(Span::new(0, 0), format!("cannot read the settings: {error}"));
                return Some(nothing(vec![finding.help("nothing runs until the settings can be read")]));
            }
        };
        let source = match source_from_bytes(name.as_str(), &bytes) {
            Ok(source) => source,
            Err(wrong) => return Some((wrong.0, Layer::default(), vec![wrong.1])),
        };
        let (layer, findings) = Layer::of_text(&source.text, &self.shown, environment);
        Some((source, layer, findings))
    }
}
