//! The folders of agent files: the project's and the user's, ours and Claude's. Every file in them is examined, and a
//! file that is not an agent file by its name is reported.

use std::io;
use std::path::{Path, PathBuf};

use rawko_chart::codes::agents::{UNKNOWN_ENDING, UNREADABLE};
use rawko_chart::{Finding, SourceFile, Span, source_from_bytes};
use rawko_host::Environment;

use super::file::Level;

/// Depth limit of folders below `agents`.
const DEPTH_MAX: usize = 4;

/// A file in one of the folders.
pub(super) struct FoundFile {
    pub(super) source: SourceFile,
    pub(super) stem: String,
    pub(super) level: Level,
    /// The error if it cannot be read.
    pub(super) unread: Option<Finding>,
    /// True if the name is not that of an agent file.
    pub(super) is_other: bool,
}

impl FoundFile {
    pub(super) fn of_source(source: SourceFile, level: Level) -> Self {
        let stem = Path::new(&*source.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self { stem: stem.unwrap_or_default(), source, level, unread: None, is_other: false }
    }

    fn broken(path: &Path, level: Level, finding: Finding) -> Self {
        let source = SourceFile::new(path.display().to_string(), "");
        Self { unread: Some(finding), ..Self::of_source(source, level) }
    }
}

/// Lists all files by level, then by name.
pub(super) fn look(project_root: &Path, environment: &Environment) -> Vec<FoundFile> {
    // `.rawko` is more readable than `./.rawko`.
    let root = project_root.strip_prefix(".").unwrap_or(project_root);
    let mut found = Vec::new();
    walk(&root.join(".rawko/agents"), Level::Project, 0, &mut found);
    walk(&root.join(".claude/agents"), Level::ProjectClaude, 0, &mut found);
    if let Some(folder) = user_folder(environment) {
        walk(&folder, Level::User, 0, &mut found);
    }
    if let Some(home) = absolute(environment, "HOME") {
        walk(&home.join(".claude/agents"), Level::UserClaude, 0, &mut found);
    }
    found
}

fn user_folder(environment: &Environment) -> Option<PathBuf> {
    let configuration = absolute(environment, "XDG_CONFIG_HOME")
        .or_else(|| absolute(environment, "HOME").map(|home| home.join(".config")));
    Some(configuration?.join("rawko/agents"))
}

fn absolute(environment: &Environment, name: &str) -> Option<PathBuf> {
    environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn walk(folder: &Path, level: Level, depth: usize, found: &mut Vec<FoundFile>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return;
        }
        Err(error) => {
            let finding = UNREADABLE.at(Span::new(0, 0), format!("the folder cannot be read: {error}"));
            found.push(FoundFile { is_other: true, ..FoundFile::broken(folder, level, finding) });
            return;
        }
    };
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| !is_hidden(path)).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && depth < DEPTH_MAX {
            walk(&path, level, depth + 1, found);
        } else {
            found.extend(file(&path, level));
        }
    }
}

/// Hidden files and editor backups are skipped.
fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(['.', '#']) || name.ends_with('~')
}

fn file(path: &Path, level: Level) -> Option<FoundFile> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "md" => Some(read(path, level)),
        "yaml" | "yml" if !level.is_claude() => Some(read(path, level)),
        // Other files in Claude's folders are ignored.
        _ if level.is_claude() => None,
        _ => {
            let message = "this file is not read: agents are in files that end in `.md`, `.yaml` or `.yml`";
            let finding = UNKNOWN_ENDING.at(Span::new(0, 0), message).help("rename it, or move it elsewhere");
            Some(FoundFile { is_other: true, ..FoundFile::broken(path, level, finding) })
        }
    }
}

fn read(path: &Path, level: Level) -> FoundFile {
    let bytes = match rawko_process::read_regular(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let finding = UNREADABLE.at(Span::new(0, 0), format!("the agent cannot be read: {error}"));
            return FoundFile::broken(path, level, finding.help("make it readable, or remove it"));
        }
    };
    match source_from_bytes(&path.display().to_string(), &bytes) {
        Ok(source) => FoundFile::of_source(source, level),
        Err(unread) => {
            let (source, finding) = *unread;
            FoundFile { unread: Some(finding), ..FoundFile::of_source(source, level) }
        }
    }
}
