//! The settings files and their precedence: managed by an administrator, the user's, the project's.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::codes::settings::UNREADABLE;
use rawko_chart::{Finding, SourceFile, Span, source_from_bytes};

use super::layer::SettingsLayer;
use super::{Settings, is_wrong};
use crate::services::Environment;
use rawko_instance::SETTINGS_FILE;

/// The file of an administrator, for all users of a machine.
const MANAGED: &str = "/etc/rawko/settings.yaml";
/// A further managed file. It cannot replace the one above, because users set variables.
const MANAGED_VARIABLE: &str = "RAWKO_MANAGED_SETTINGS";

/// Names that are probably meant as settings, beside the right one, and in its place.
const BESIDE: [&str; 2] = ["config.yml", "config.json"];
const INSTEAD: [&str; 3] = ["settings.yaml", "settings.yml", "Config.yaml"];

/// One file: its path, and its name in the gate and the audit.
struct File {
    path: PathBuf,
    shown: Arc<str>,
    /// True if its absence is a problem.
    is_required: bool,
}

pub(super) fn read(root: &Path, environment: &Environment) -> (Settings, Vec<(SourceFile, Vec<Finding>)>) {
    let (mut said, wrong) = SettingsLayer::of_environment(environment);
    let mut problems: Vec<(SourceFile, Vec<Finding>)> = Vec::new();
    let mut read = Vec::new();
    let files = [Some(project_file(root)), user_file(environment)].into_iter().flatten();
    for file in files.chain(managed_files(environment)) {
        let Some((source, layer, findings)) = file.read(environment) else { continue };
        said = said.over(layer);
        read.push((file, source, findings));
    }
    let sources = read.iter().map(|(file, source, _)| (Arc::clone(&file.shown), source.clone())).collect();
    let remote = crate::services::RemoteServices::default();
    let settings = Settings { said, environment: environment.clone(), sources, remote };
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
    File { path: root.join(SETTINGS_FILE), shown: SETTINGS_FILE.into(), is_required: false }
}

/// Returns the managed files, the outermost last.
fn managed_files(environment: &Environment) -> Vec<File> {
    let named = environment.get(MANAGED_VARIABLE).filter(|value| !value.is_empty());
    let file = |path: &str, is_required| File { path: path.into(), shown: path.into(), is_required };
    named.map(|path| file(path, true)).into_iter().chain([file(MANAGED, false)]).collect()
}

/// Returns true for the name of a file that an administrator manages.
pub(super) fn is_managed(file: &str, environment: &Environment) -> bool {
    file == MANAGED || environment.get(MANAGED_VARIABLE) == Some(file)
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
        return Some(File { shown: path.display().to_string().into(), path, is_required: false });
    }
    let path = Path::new(set("HOME")?).join(".config").join(inside);
    Some(File { shown: format!("~/.config/{inside}").into(), path, is_required: false })
}

impl File {
    /// Returns true if there is no such file. A link to nothing, or a file in place of its directory, cannot be read.
    fn is_absent(&self, error: &io::Error) -> bool {
        let is_gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let mut above = self.path.ancestors().take(3);
        let is_directory = self.path.parent().is_none_or(|parent| !parent.exists() || parent.is_dir());
        let is_linked = above.any(|path| path.is_symlink() && !path.exists());
        is_gone && is_directory && !is_linked && !self.is_required
    }

    /// Reports settings under a name that is not read: what they narrow would be lost.
    fn misnamed(&self, names: &[&str]) -> Option<Vec<Finding>> {
        let name = self.path.file_name()?;
        let mut others =
            names.iter().filter(|other| name != **other).map(|other| self.path.with_file_name(other));
        let other = others.find(|path| path.is_file())?;
        let message = format!("`{}` is not read", other.display());
        Some(vec![
            UNREADABLE.at(Span::new(0, 0), message).help(format!("rename it to `{}`", self.path.display())),
        ])
    }

    /// Returns `None` if the file does not exist.
    fn read(&self, environment: &Environment) -> Option<(SourceFile, SettingsLayer, Vec<Finding>)> {
        let name = self.path.display().to_string();
        let nothing = |findings| (SourceFile::new(name.as_str(), ""), SettingsLayer::default(), findings);
        let bytes = match rawko_process::read_regular(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if self.is_absent(&error) => {
                return self.misnamed(&[&BESIDE[..], &INSTEAD].concat()).map(nothing);
            }
            Err(error) => {
                let finding = UNREADABLE.at(Span::new(0, 0), format!("cannot read the settings: {error}"));
                return Some(nothing(vec![finding.help("nothing runs until the settings can be read")]));
            }
        };
        let source = match source_from_bytes(name.as_str(), &bytes) {
            Ok(source) => source,
            Err(wrong) => return Some((wrong.0, SettingsLayer::default(), vec![wrong.1])),
        };
        let (layer, mut findings) = SettingsLayer::of_text(&source.text, &self.shown, environment);
        findings.extend(self.misnamed(&BESIDE).into_iter().flatten());
        Some((source, layer, findings))
    }
}
