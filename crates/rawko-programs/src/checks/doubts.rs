//! `Doubts`: what agents changed of the checks and left so when their task ended without success. The next task would
//! otherwise begin with it and be judged by it. Kept in the user's state directory, out of agents' reach.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::base::{CheckBase, KeptFile};
use super::settings_of;

const FILE: &str = "doubts.json";

/// Definitions and files by name, with their hashes at the start and the end of the task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Doubts {
    settings: BTreeMap<String, Doubt>,
    files: BTreeMap<String, Doubt>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Doubt {
    /// `None` for a file that did not exist.
    before: Option<String>,
    after: Option<String>,
}

impl Doubts {
    /// Compares the project with the base of a task that ends.
    pub fn left(base: &CheckBase, root: &Path) -> Self {
        let now = settings_of::all(root, &base.checks);
        let changed = base.settings.iter().filter(|(name, hash)| now.get(*name) != Some(hash));
        let settings = changed
            .map(|(name, hash)| {
                (name.clone(), Doubt { before: Some(hash.clone()), after: now.get(name).cloned() })
            })
            .collect();
        let kept = base.files.iter().map(|(path, kept)| (path, Some(kept.hash.clone())));
        let new = base.new_files(root);
        let files = kept.chain(new.iter().map(|path| (path, None))).filter_map(|(path, before)| {
            let after = hash_of(root, path);
            (after != before).then(|| (path.clone(), Doubt { before, after }))
        });
        Self { files: files.collect(), settings }
    }

    /// Notes a file with its hashes before and after the agents; `None` if it did not exist.
    pub(super) fn note_file(&mut self, path: String, before: Option<String>, after: Option<String>) {
        self.files.insert(path, Doubt { before, after });
    }

    pub(super) fn note_setting(&mut self, name: String, before: String, after: Option<String>) {
        self.settings.insert(name, Doubt { before: Some(before), after });
    }

    /// Returns true if there is no doubt.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the doubts of another task.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.settings.extend(other.settings);
        self.files.extend(other.files);
        self
    }

    /// Returns the doubts of the last task of a project.
    pub fn read(folder: &Path) -> Self {
        let text = std::fs::read(folder.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Keeps them for the next task; removes the file if there are none.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        let (place, draft) = (folder.join(FILE), folder.join("doubts.json.new"));
        if self.is_empty() {
            return match std::fs::remove_file(place) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        std::fs::create_dir_all(folder)?;
        std::fs::write(&draft, serde_json::to_vec(self)?)?;
        std::fs::rename(draft, place)
    }

    /// Lets a new base begin with the state before the agents, where the project is still as the agents left it. A person who
    /// changed it since then has decided.
    pub fn apply(&self, base: &mut CheckBase, root: &Path) {
        for (name, doubt) in &self.settings {
            if let (Some(before), true) = (&doubt.before, base.settings.get(name) == doubt.after.as_ref()) {
                base.settings.insert(name.clone(), before.clone());
            }
        }
        for (path, doubt) in &self.files {
            if hash_of(root, path) != doubt.after {
                continue;
            }
            base.files.remove(path);
            match &doubt.before {
                None => {
                    base.absent.insert(path.clone());
                }
                Some(before) => {
                    let kept = KeptFile { hash: before.clone(), text: None, mode: None, link: None };
                    base.files.insert(path.clone(), kept);
                }
            }
        }
    }

    /// Returns the names, for people.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.settings.keys().chain(self.files.keys()).map(String::as_str)
    }
}

fn hash_of(root: &Path, path: &str) -> Option<String> {
    KeptFile::read(&root.join(path)).map(|file| file.hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::detect;

    #[test]
    fn the_next_task_begins_with_the_checks_before_the_agents() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = project.path();
        let package = |script: &str| {
            std::fs::write(root.join("package.json"), format!(r#"{{"scripts": {{"test": "{script}"}}}}"#))
        };
        package("sh run.sh").unwrap();
        std::fs::write(root.join("run.sh"), "exit 1\n").unwrap();
        let begin = || {
            let mut base = CheckBase::of(root, detect(root), &["golden/**".to_owned()]);
            Doubts::read(state.path()).apply(&mut base, root);
            base
        };
        let failing = |base: &CheckBase| base.restore(root).1.len() + base.redefined(root).len();
        let first = begin();
        package("true").unwrap();
        std::fs::create_dir(root.join("golden")).unwrap();
        std::fs::write(root.join("golden/new"), "x").unwrap();
        assert_eq!(failing(&first), 2);
        Doubts::left(&first, root).keep(state.path()).unwrap();
        assert_eq!(failing(&begin()), 2, "as the agents left it");
        std::fs::write(root.join("golden/new"), "a person's").unwrap();
        package("npm run other").unwrap();
        assert_eq!(failing(&begin()), 0, "a person has changed both");
        package("sh run.sh").unwrap();
        assert_eq!(failing(&begin()), 0, "put back");
        Doubts::default().keep(state.path()).unwrap();
        package("true").unwrap();
        assert_eq!(failing(&begin()), 0, "accepted");
    }
}
