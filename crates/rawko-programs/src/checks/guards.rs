//! `Guards`: code that Python and Node load before a check in its control run. It sees the calls themselves, so that no
//! spelling of an exit, a replaced assertion or a comparison that always holds turns a check green. Separate from `exits`,
//! which changes the text of other languages.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rawko_process::Confinement;
use rawko_settings::Environment;
use serde_json::json;

use super::definition::ProjectCheck;
use crate::changes::{ChangeStatus, FileChange, FolderSnapshot};

const PYTHON: &str = include_str!("guard.py");
const NODE: &str = include_str!("guard.cjs");
const PYTHON_VARIABLE: &str = "PYTHONPATH";
const NODE_VARIABLE: &str = "NODE_OPTIONS";
const ENDINGS: [&str; 9] = ["py", "js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"];

/// A folder outside the project, removed when dropped.
#[derive(Debug)]
pub struct Guards(PathBuf);

impl Guards {
    /// Writes the guards. `None` if only files were changed that they do not see. Code that git ignores counts as changed.
    pub fn of(
        root: &Path,
        snapshot: &FolderSnapshot,
        changes: &[FileChange],
        judges_exits: bool,
    ) -> io::Result<Option<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let root = root.canonicalize()?;
        let is_code = |change: &&FileChange| {
            let ending = Path::new(&change.path).extension().and_then(|ending| ending.to_str());
            let is_there = change.status != ChangeStatus::Deleted && !change.is_test;
            is_there && ending.is_some_and(|ending| ENDINGS.contains(&ending))
        };
        // Git ignores what an agent lists in `.gitignore`, and then only the guards see it.
        let is_hidden = |change: &FileChange| change.path.ends_with(".gitignore");
        if !changes.is_empty() && !changes.iter().any(|change| is_code(&change) || is_hidden(change)) {
            return Ok(None);
        }
        let changed: BTreeSet<&str> =
            changes.iter().filter(is_code).map(|change| change.path.as_str()).collect();
        let unchanged: Vec<PathBuf> =
            snapshot.paths().filter(|path| !changed.contains(path)).map(|path| root.join(path)).collect();
        let tests: Vec<PathBuf> =
            changes.iter().filter(|change| change.is_test).map(|change| root.join(&change.path)).collect();
        let others = [unchanged, tests].concat();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("rawko-guard-{}-{number}", std::process::id()));
        // Left behind by a killed process with the same id.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder)?;
        let guards = Self(folder.canonicalize()?);
        let given = json!({"root": root, "others": others, "judges_exits": judges_exits});
        std::fs::write(guards.0.join("guard.json"), given.to_string())?;
        std::fs::write(guards.0.join("sitecustomize.py"), PYTHON)?;
        std::fs::write(guards.0.join("guard.cjs"), NODE)?;
        Ok(Some(guards))
    }

    /// Returns the checks, their environment and their confinement with the guards.
    pub fn around(
        &self,
        checks: &[ProjectCheck],
        environment: &Environment,
        confinement: &Confinement,
    ) -> (Vec<ProjectCheck>, Environment, Confinement) {
        let mut variables = environment.all();
        let mut prepend = |name: &str, text: String, separator: &str| {
            let is_passed = checks.iter().any(|check| check.pass_env.iter().any(|passed| passed == name))
                || rawko_process::is_inherited(name);
            let known = environment.get(name).filter(|_| is_passed);
            variables.retain(|(other, _)| other != name);
            let whole = known.map_or(text.clone(), |known| format!("{text}{separator}{known}"));
            variables.push((name.to_owned(), whole));
        };
        let folder = self.0.display().to_string();
        prepend(PYTHON_VARIABLE, folder.clone(), ":");
        prepend(NODE_VARIABLE, format!("--require={folder}/guard.cjs"), " ");
        let environment =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Environment>();
        let mut confinement = confinement.clone();
        confinement.extra_read.push(self.0.clone());
        let checks = checks.iter().cloned().map(|mut check| {
            check.pass_env.extend([PYTHON_VARIABLE, NODE_VARIABLE].map(str::to_owned));
            check
        });
        (checks.collect(), environment, confinement)
    }
}

impl Drop for Guards {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns true if Python and Node load the guards: no command of the checks replaces the variables that name them.
pub(super) fn are_loaded(root: &Path, checks: &[ProjectCheck]) -> bool {
    let replaces = |word: &str| {
        ["-I", "-E", "-S"].contains(&word) || word.contains("PYTHONPATH") || word.contains("NODE_OPTIONS")
    };
    let texts = checks.iter().map(|check| super::settings_of::whole_text(root, check));
    !checks.is_empty() && !texts.into_iter().any(|text| text.split_whitespace().any(replaces))
}

/// Returns true if tests look at how a program ends: then an exit with 0 may be what they ask for.
pub(super) fn tests_judge_exits(root: &Path, changes: &[FileChange], snapshot: &FolderSnapshot) -> bool {
    let words = ["SystemExit", "returncode", "exitCode", "exit_code", "process.exit", "status", "exec"];
    let is_about = |text: String| words.iter().any(|word| text.contains(word));
    let changed = changes.iter().filter(|change| change.is_test).map(|change| change.path.as_str());
    let tests = snapshot.paths().filter(|path| crate::changes::is_test(path)).chain(changed);
    tests.filter_map(|path| crate::checkpoints::text_inside(root, Path::new(path))).any(is_about)
}
