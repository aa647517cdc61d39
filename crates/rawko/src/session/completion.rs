//! Candidates for the word before the cursor: commands, agents, models and files of the project.

use std::fs;
use std::path::Path;

use super::commands;
use crate::hosting::ProjectContext;

/// Maximum number of paths in a completion.
const PATHS_MAX: usize = 200;

/// Returns the candidates for the last word; `None` if the text is not completed.
pub(crate) fn candidates(before: &str, place: &ProjectContext) -> Option<Vec<String>> {
    let (rest, word) = before.rsplit_once([' ', '\n']).unwrap_or(("", before));
    if let Some(path) = word.strip_prefix('@') {
        return Some(paths(path, &place.root).into_iter().map(|path| format!("@{path}")).collect());
    }
    if !before.starts_with('/') {
        return None;
    }
    match rest.trim() {
        "" => Some(commands::names()),
        "/agent" => {
            let (agent_services, _) = place.agent_services();
            Some(agent_services.agents.all().iter().map(|agent| agent.name.clone()).collect())
        }
        "/undo" => Some(vec!["all".to_owned()]),
        _ => Some(Vec::new()),
    }
}

/// Returns the paths that begin with a text; folders end with a slash.
fn paths(begun: &str, root: &Path) -> Vec<String> {
    let (folder, name) = begun.rsplit_once('/').map_or(("", begun), |(folder, name)| (folder, name));
    // Only paths of the project.
    if begun.starts_with('/') || folder.split('/').any(|part| part == "..") {
        return Vec::new();
    }
    let lead = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let found = entry.file_name().into_string().ok()?;
            let is_shown = found.starts_with(name) && (!found.starts_with('.') || name.starts_with('.'));
            let end = if entry.path().is_dir() { "/" } else { "" };
            is_shown.then(|| format!("{lead}{found}{end}"))
        })
        .collect();
    found.sort();
    found.truncate(PATHS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed_within_the_project() {
        let dir = tempfile::TempDir::new().unwrap_or_else(|error| panic!("{error}"));
        let made = fs::create_dir(dir.path().join("src"))
            .and_then(|()| fs::write(dir.path().join("src/main.rs"), ""))
            .and_then(|()| fs::write(dir.path().join(".env"), ""));
        assert!(made.is_ok());
        let table: [(&str, &[&str]); 6] = [
            ("s", &["src/"]),
            ("src/", &["src/main.rs"]),
            ("src/x", &[]),
            ("", &["src/"]),
            ("../", &[]),
            ("/etc/pass", &[]),
        ];
        for (begun, expected) in table {
            assert_eq!(paths(begun, dir.path()), expected, "{begun}");
        }
    }
}
