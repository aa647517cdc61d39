//! The files that a task changed: a snapshot of the project when it began, compared with the project now. Separate from
//! git, because a project may have none, may have uncommitted work, and Bash changes files that no tool reports.

mod diff;
mod patch;
mod shape;
mod snapshot;

use serde::{Deserialize, Serialize};

pub use patch::Patch;
pub use shape::ChangeShapes;
pub use snapshot::FolderSnapshot;

/// One file that differs from the beginning of the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path in the project.
    pub path: String,
    /// What happened to it.
    pub status: ChangeStatus,
    /// Lines; 0 for files without a diff.
    #[serde(default)]
    pub added: usize,
    /// Removed lines.
    #[serde(default)]
    pub removed: usize,
    /// Unified diff; `None` for large files and files that are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The end of the diff is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The file looks like a test by its path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_test: bool,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    /// It is new.
    Added,
    /// Its content differs.
    Modified,
    /// It is gone.
    Deleted,
}

/// Returns true for paths that test runners of common languages pick up.
pub(crate) fn is_test(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop().unwrap_or_default().to_ascii_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    let is_folder = |part: &&str| ["test", "tests", "spec", "specs", "__tests__", "testing"].contains(part);
    parts.iter().any(is_folder)
        || stem.starts_with("test_")
        || stem == "tests"
        || ["_test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end))
        || [".test.", ".spec."].iter().any(|middle| name.contains(middle))
}

#[cfg(test)]
mod tests {
    use super::is_test;

    #[test]
    fn tests_by_path() {
        let tests =
            ["tests/a.rs", "src/test_a.py", "a_test.go", "a.test.ts", "web/__tests__/a.js", "x/a_spec.rb"];
        assert!(tests.iter().all(|path| is_test(path)));
        let others =
            ["src/main.rs", "attest.py", "latest/a.py", "contest.go", "testing.md", "src/protest.rs"];
        assert_eq!(others.iter().filter(|path| is_test(path)).count(), 0);
    }
}
