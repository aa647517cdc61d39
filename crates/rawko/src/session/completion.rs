//! Candidates for the word before the cursor: commands, agents, models and files of the project.

use std::time::Duration;

use super::commands;
use crate::hosting::ProjectContext;

/// Files of the project that are searched, and the time in which they are listed.
const FILES_MAX: usize = 50_000;
const FILES_WITHIN: Duration = Duration::from_millis(400);
/// Candidates in a menu.
const CANDIDATES_MAX: usize = 50;

/// One entry of a menu: the word that it completes to, and a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) word: String,
    pub(crate) about: String,
    /// A command that needs another word: Enter completes it only.
    pub(crate) is_partial: bool,
}

/// Finds candidates. Files are listed once for each word that begins with `@`.
#[derive(Debug, Default)]
pub(crate) struct InputCompletion {
    files: Option<Vec<String>>,
}

impl InputCompletion {
    /// Returns the candidates for the last word of a text, the best first; `None` if it is not completed.
    pub(crate) fn candidates(&mut self, before: &str, place: &ProjectContext) -> Option<Vec<Candidate>> {
        let (rest, word) = before.rsplit_once([' ', '\n']).unwrap_or(("", before));
        if let Some(begun) = word.strip_prefix('@') {
            let files = self
                .files
                .get_or_insert_with(|| rawko_tools::nameable_files(&place.root, FILES_MAX, FILES_WITHIN));
            let named = |path: &String| candidate(&format!("@{path}"), "");
            return Some(best(begun, files).into_iter().map(named).collect());
        }
        self.files = None;
        if !before.starts_with('/') || before.contains('\n') {
            return None;
        }
        let all: Vec<Candidate> = match rest.trim() {
            "" => commands::all().map(|(name, about)| candidate(name, about)).collect(),
            "/agent" => {
                let (agent_services, _) = place.agent_services();
                let agents = agent_services.agents.all().iter();
                agents.map(|agent| candidate(&agent.name, &agent.when_to_use)).collect()
            }
            "/undo" => vec![candidate("all", "all changes of the task")],
            _ => return None,
        };
        Some(all.into_iter().filter(|candidate| candidate.word.starts_with(word)).collect())
    }
}

fn candidate(word: &str, about: &str) -> Candidate {
    let is_partial = word.starts_with('@') || about.starts_with("NAME:");
    Candidate {
        word: word.to_owned(),
        about: about.lines().next().unwrap_or_default().to_owned(),
        is_partial,
    }
}

/// Returns the paths that contain the letters in this order, the best first: a name that begins with them, one that contains
/// them, then the shorter path.
fn best<'a>(begun: &str, files: &'a [String]) -> Vec<&'a String> {
    let begun = begun.to_lowercase();
    let mut found: Vec<(u8, usize, &String)> = files
        .iter()
        .filter_map(|path| {
            let lower = path.to_lowercase();
            let name = lower.rsplit('/').next().unwrap_or_default();
            let mut letters = lower.chars();
            let rank = match () {
                () if lower.starts_with(&begun) || name.starts_with(&begun) => 0,
                () if name.contains(&begun) => 1,
                () if lower.contains(&begun) => 2,
                () if begun.chars().all(|letter| letters.any(|other| other == letter)) => 3,
                () => return None,
            };
            Some((rank, path.len(), path))
        })
        .collect();
    found.sort();
    found.into_iter().take(CANDIDATES_MAX).map(|(_, _, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_letters_of_their_path() {
        let files: Vec<String> = ["docs/guide/main.md", "src/main.rs", "src/session/menu.rs", "README.md"]
            .map(str::to_owned)
            .to_vec();
        let table: [(&str, &[&str]); 6] = [
            ("src/m", &["src/main.rs", "src/session/menu.rs"]),
            ("main", &["src/main.rs", "docs/guide/main.md"]),
            ("MENU", &["src/session/menu.rs"]),
            ("sesm", &["src/session/menu.rs"]),
            ("ead", &["README.md", "docs/guide/main.md"]),
            ("zz", &[]),
        ];
        for (begun, expected) in table {
            assert_eq!(best(begun, &files), expected, "{begun}");
        }
    }
}
