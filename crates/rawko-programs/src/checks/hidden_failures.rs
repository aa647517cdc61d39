//! `HiddenFailures`: changes without which a check fails, found by a control run. They outlive their task: the next one begins with
//! them, so its control runs take them back, too, until a person changes the files or accepts them. Kept in the user's state
//! directory, out of agents' reach. Separate from `Doubts`, which are about what a check runs.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::base::KeptFile;

const FILE: &str = "hidden-failures.json";

/// Checks that are not fixed, and the files that hide it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HiddenFailures {
    /// The snapshot of the project before the changes.
    pub snapshot: String,
    /// The errors of each check without the changes.
    pub failing: BTreeMap<String, u64>,
    /// The changed files with their hashes; `None` if the file was removed.
    files: BTreeMap<String, Option<String>>,
}

impl HiddenFailures {
    /// Records the files as they are now.
    pub fn new(root: &Path, snapshot: &str, failing: BTreeMap<String, u64>, paths: &[String]) -> Self {
        let files = paths.iter().map(|path| (path.clone(), hash_of(root, path)));
        Self { snapshot: snapshot.to_owned(), failing, files: files.collect() }
    }

    /// Returns what the last task left. `None` if a person has changed one of the files since then.
    pub fn read(folder: &Path, root: &Path) -> Option<Self> {
        let unfixed: Self = serde_json::from_slice(&std::fs::read(folder.join(FILE)).ok()?).ok()?;
        let is_left = unfixed.files.iter().all(|(path, hash)| hash_of(root, path) == *hash);
        is_left.then_some(unfixed)
    }

    /// Adds earlier marks.
    #[must_use]
    pub fn and(mut self, earlier: Self) -> Self {
        self.snapshot = earlier.snapshot;
        self.failing.extend(earlier.failing);
        self.files.extend(earlier.files);
        self
    }

    /// Keeps it for the next task.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        rawko_settings::make_private(folder)?;
        let (place, draft) = (folder.join(FILE), folder.join("hidden-failures.json.new"));
        std::fs::write(&draft, serde_json::to_vec(self)?)?;
        std::fs::rename(draft, place)
    }

    /// Forgets it: the checks pass, or a person accepts the files.
    pub fn remove(folder: &Path) -> io::Result<()> {
        match std::fs::remove_file(folder.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the changed files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns true for one of the changed files.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }
}

fn hash_of(root: &Path, path: &str) -> Option<String> {
    KeptFile::read(&root.join(path)).map(|kept| kept.hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_until_a_person_changes_a_file() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, folder) = (project.path(), state.path());
        std::fs::write(root.join("a.py"), "1").unwrap();
        let failing = BTreeMap::from([("ut".to_owned(), 2)]);
        let paths = ["a.py".to_owned(), "removed.py".to_owned()];
        let unfixed = HiddenFailures::new(root, "s", failing, &paths);
        unfixed.keep(folder).unwrap();
        assert_eq!(HiddenFailures::read(folder, root), Some(unfixed.clone()));
        assert!(unfixed.has("a.py") && !unfixed.has("b.py"));
        std::fs::write(root.join("removed.py"), "back").unwrap();
        assert_eq!(HiddenFailures::read(folder, root), None);
        std::fs::remove_file(root.join("removed.py")).unwrap();
        assert!(HiddenFailures::read(folder, root).is_some());
        HiddenFailures::remove(folder).unwrap();
        HiddenFailures::remove(folder).unwrap();
        assert_eq!(HiddenFailures::read(folder, root), None);
    }
}
