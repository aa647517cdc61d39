//! `Control`: the changes of a task that could turn a check green without fixing anything, taken back for one more run.
//! Tests and settings of test runners are as before the task, and no changed file ends the check with success. What
//! passes only with such a change is not fixed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::definition::ProjectCheck;
use super::influence::{self, Influence};
use super::judging::JudgingFiles;
use super::{embedded, exits, guards, limits, sourced, suppressions};
use crate::changes::{ChangeStatus, FileChange, FolderSnapshot};
use crate::checkpoints::Root;

const MANIFEST: &str = "swapped.json";

/// Files as they are in the control run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    swaps: Vec<Swap>,
    judges_exits: bool,
}

/// One file of the project; without a text it is absent in the control run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Swap {
    path: String,
    text: Option<String>,
    /// The file could run before the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    can_run: bool,
}

impl Control {
    /// Collects the changes that a control run takes back. Files that a check lists as `sources` stay.
    pub fn of(
        root: &Path,
        snapshot: &FolderSnapshot,
        changes: &[FileChange],
        checks: &[ProjectCheck],
    ) -> Self {
        let sources = sources_of(checks);
        let catches_exits = guards::tests_judge_exits(root, changes, snapshot);
        let guarded = guards::are_loaded(root, checks);
        let commands: Vec<String> =
            checks.iter().map(|check| super::settings_of::whole_text(root, check)).collect();
        let is_shared = |path: &str| commands.iter().any(|text| influence::is_shared(path, text));
        let sourced: BTreeSet<String> =
            checks.iter().flat_map(|check| super::named::named_files(root, check).sourced).collect();
        let judging = JudgingFiles::of(root, checks);
        let mut swaps = Vec::new();
        for change in changes.iter().filter(|change| !sources.is_match(&change.path)) {
            let (path, before) = (&change.path, snapshot.text_before(&change.path));
            let is_influence = influence::of(path).is_some() || is_shared(path);
            let is_weakened = before.as_deref().is_some_and(|before| {
                let now = crate::checkpoints::text_inside(root, Path::new(path));
                judging.is_weakened(root, path, before, now.as_deref())
            });
            let is_former_test = change.is_test || influence::is_expectation(path) || is_weakened;
            let swap = match change.status {
                ChangeStatus::Added if is_influence => Some(None),
                ChangeStatus::Modified | ChangeStatus::Deleted if is_influence || is_former_test => {
                    before.map(Some)
                }
                ChangeStatus::Added | ChangeStatus::Modified => {
                    let now = crate::checkpoints::text_inside(root, Path::new(path));
                    let harmless = |now: String| match sourced.contains(path) {
                        true => sourced::refused(before.as_deref(), &now),
                        false => harmless(path, before.as_deref(), &now, catches_exits, guarded),
                    };
                    now.and_then(harmless).map(Some)
                }
                ChangeStatus::Deleted => None,
            };
            swaps.extend(swap.map(|text| Swap {
                path: path.clone(),
                text,
                can_run: snapshot.could_run(path),
            }));
        }
        // Git ignores what an agent lists in `.gitignore`; Python and the runners do not.
        for path in influence::unlisted(root) {
            let is_known = snapshot.has(&path) || swaps.iter().any(|swap| swap.path == path);
            if !is_known && !sources.is_match(&path) && influence::of(&path) == Some(Influence::Everywhere) {
                swaps.push(Swap { path, text: None, can_run: false });
            }
        }
        // A file that make takes for done keeps its recipe from running.
        for path in checks.iter().flat_map(|check| super::settings_of::made_files(root, check)) {
            let is_known = snapshot.has(&path) || swaps.iter().any(|swap| swap.path == path);
            if !is_known && !sources.is_match(&path) {
                swaps.push(Swap { path, text: None, can_run: false });
            }
        }
        // A script may leave out what cannot run any more.
        for path in snapshot.paths().filter(|path| snapshot.could_run(path) && !sources.is_match(path)) {
            let is_there = root.join(path).metadata().is_ok_and(|about| about.is_file() && !can_run(&about));
            if is_there
                && swaps.iter().all(|swap| swap.path != path)
                && let Some(text) = snapshot.text_before(path)
            {
                swaps.push(Swap { path: path.to_owned(), text: Some(text), can_run: true });
            }
        }
        swaps.sort_by(|one, other| one.path.cmp(&other.path));
        Self { swaps, judges_exits: catches_exits }
    }

    /// Collects only the code that ends or disarms a check, for checks that passed before the task: their tests may change.
    pub fn disarmed(
        root: &Path,
        snapshot: &FolderSnapshot,
        changes: &[FileChange],
        checks: &[ProjectCheck],
    ) -> Self {
        let sources = sources_of(checks);
        let judges_exits = guards::tests_judge_exits(root, changes, snapshot);
        let is_code = |change: &&FileChange| {
            change.status != ChangeStatus::Deleted && !change.is_test && !sources.is_match(&change.path)
        };
        let swaps = changes.iter().filter(is_code).filter_map(|change| {
            let now = crate::checkpoints::text_inside(root, Path::new(&change.path))?;
            let before = snapshot.text_before(&change.path);
            let text = exits::refused(&change.path, before.as_deref(), &now, judges_exits, false)?;
            Some(Swap { path: change.path.clone(), text: Some(text), can_run: false })
        });
        Self { swaps: swaps.collect(), judges_exits }
    }

    /// Leaves out files that another control decides about.
    #[must_use]
    pub fn without(mut self, is_other: impl Fn(&str) -> bool) -> Self {
        self.swaps.retain(|swap| !is_other(&swap.path));
        self
    }

    /// Adds what another control takes back.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.swaps.retain(|swap| other.swaps.iter().all(|more| more.path != swap.path));
        self.swaps.extend(other.swaps);
        self.swaps.sort_by(|one, other| one.path.cmp(&other.path));
        self
    }

    /// Returns true if tests look at how a program ends.
    pub fn judges_exits(&self) -> bool {
        self.judges_exits
    }

    /// Returns the files that the control run itself changed, as a build script could. Formatters change only spaces.
    pub fn overwritten(&self, root: &Path) -> Vec<String> {
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        let is_other = |swap: &&Swap| {
            let now = crate::checkpoints::text_inside(root, Path::new(&swap.path)).unwrap_or_default();
            swap.text.as_ref().is_some_and(|text| plain(text) != plain(&now))
        };
        self.swaps.iter().filter(is_other).map(|swap| swap.path.clone()).collect()
    }

    /// Returns true if there is nothing to take back.
    pub fn is_empty(&self) -> bool {
        self.swaps.is_empty()
    }

    /// Returns the files that differ in the control run.
    pub fn paths(&self) -> Vec<String> {
        self.swaps.iter().map(|swap| swap.path.clone()).collect()
    }

    /// Takes the changes back, until [`Control::recover`]. The present files are kept in `folder` first, so that a kill
    /// loses none of them.
    pub fn apply(&self, root: &Path, folder: &Path) -> io::Result<()> {
        Self::recover(root, folder)?;
        rawko_settings::make_private(folder)?;
        // A directory may have become a link out of the project since: nothing is written there.
        let inside = Root::open(root)?;
        let resolved = self.swaps.iter().map(|swap| Ok((inside.without_links(Path::new(&swap.path))?, swap)));
        let swaps: Vec<(PathBuf, &Swap)> = resolved.collect::<io::Result<_>>()?;
        for (number, (path, _)) in swaps.iter().enumerate() {
            // The path leads through the open directory.
            let Ok(parent) = inside.parent(path) else { continue };
            let place = parent.path();
            let Ok(about) = place.symlink_metadata() else { continue };
            if about.is_symlink() {
                symlink(fs::read_link(&place)?, kept(folder, number))?;
            } else {
                fs::copy(&place, kept(folder, number))?;
            }
        }
        fs::write(folder.join(MANIFEST), serde_json::to_vec(&self.swaps)?)?;
        for (path, swap) in &swaps {
            match &swap.text {
                None => remove(&inside, path)?,
                Some(text) => put(&inside, path, text, swap.can_run)?,
            }
        }
        Ok(())
    }

    /// Puts the present files back, if a control run took them away; also one of a process that was killed.
    pub fn recover(root: &Path, folder: &Path) -> io::Result<()> {
        let manifest = match fs::read(folder.join(MANIFEST)) {
            Ok(manifest) => manifest,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return remove_folder(folder),
            Err(error) => return Err(error),
        };
        let swaps: Vec<Swap> = serde_json::from_slice(&manifest)?;
        let inside = Root::open(root)?;
        for (number, swap) in swaps.iter().enumerate() {
            let (path, kept) = (Path::new(&swap.path), kept(folder, number));
            // A directory that became a link out of the project during the run is none of the project's.
            let path = inside.without_links(path).or_else(|_| {
                inside.remove_links_above(path)?;
                inside.without_links(path)
            })?;
            remove(&inside, &path)?;
            let directory = path.parent().unwrap_or(Path::new(""));
            match kept.symlink_metadata() {
                Ok(about) => {
                    inside.make_directories(directory)?;
                    inside.parent(&path)?.put(|draft| match about.is_symlink() {
                        true => symlink(fs::read_link(&kept)?, draft),
                        false => fs::copy(&kept, draft).map(drop),
                    })?;
                }
                Err(_) => remove_empty_folders(&inside, &path),
            }
        }
        remove_folder(folder)
    }
}

/// Returns the text of a changed file without what could turn a check green: exits, and changes of tests within it.
fn harmless(
    path: &str,
    before: Option<&str>,
    now: &str,
    catches_exits: bool,
    guarded: bool,
) -> Option<String> {
    let exits = exits::refused(path, before, now, catches_exits, guarded);
    let plain = suppressions::removed(path, before, exits.as_deref().unwrap_or(now)).or(exits);
    let Some(before) = before else { return plain };
    let plain = limits::with_former(path, before, plain.as_deref().unwrap_or(now)).or(plain);
    embedded::with_former_tests(path, before, plain.as_deref().unwrap_or(now)).or(plain)
}

/// Returns the files that the checks list as `sources`.
fn sources_of(checks: &[ProjectCheck]) -> globset::GlobSet {
    let sources: Vec<String> = checks.iter().flat_map(|check| check.sources.clone()).collect();
    super::base::globs(&sources)
}

fn kept(folder: &Path, number: usize) -> PathBuf {
    folder.join(number.to_string())
}

fn remove(inside: &Root, path: &Path) -> io::Result<()> {
    let removed = inside.parent(path).and_then(|parent| fs::remove_file(parent.path()));
    match removed {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Writes a text in place of a file, with the permissions of the file.
fn put(inside: &Root, path: &Path, text: &str, runs: bool) -> io::Result<()> {
    inside.make_directories(path.parent().unwrap_or(Path::new("")))?;
    let parent = inside.parent(path)?;
    let before = parent.path().symlink_metadata().ok().filter(fs::Metadata::is_file);
    parent.put(|draft| {
        fs::write(draft, text)?;
        let mode = before.map_or(0o644, |before| before.permissions().mode()) | if runs { 0o111 } else { 0 };
        fs::set_permissions(draft, fs::Permissions::from_mode(mode))
    })
}

fn can_run(about: &fs::Metadata) -> bool {
    about.permissions().mode() & 0o111 != 0
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A file that agents deleted with its folder leaves an empty folder behind.
fn remove_empty_folders(inside: &Root, path: &Path) {
    for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        if inside.parent(folder).and_then(|parent| fs::remove_dir(parent.path())).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let place = root.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    /// Files before the task, and after it.
    fn control(before: &[(&str, &str)], after: &[(&str, Option<&str>)]) -> (tempfile::TempDir, Control) {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = project.path();
        before.iter().for_each(|(path, text)| write(root, path, text));
        let snapshot = FolderSnapshot::take(root, state.path(), "t").unwrap();
        for (path, text) in after {
            match text {
                Some(text) => write(root, path, text),
                None => fs::remove_file(root.join(path)).unwrap(),
            }
        }
        let control = Control::of(root, &snapshot, &snapshot.changes(root), &[]);
        (project, control)
    }

    #[test]
    fn what_could_turn_a_check_green_is_taken_back() {
        let before = [
            ("app.py", "x = 1\n"),
            ("tests/test_a.py", "assert False\n"),
            ("testdata/a.golden", "1\n"),
            ("setup.cfg", "[flake8]\n"),
        ];
        type Row<'a> = (&'a str, Option<&'a str>, &'a [&'a str]);
        let table: [Row<'_>; 17] = [
            ("app.py", Some("x = 2\n"), &[]),
            ("new.py", Some("y = 2\n"), &[]),
            ("tests/test_b.py", Some("assert True\n"), &[]),
            ("src/conftest.txt", Some("x"), &[]),
            ("tests/test_a.py", Some("assert True\n"), &["tests/test_a.py"]),
            ("tests/test_a.py", None, &["tests/test_a.py"]),
            ("testdata/a.golden", Some("2\n"), &["testdata/a.golden"]),
            ("setup.cfg", Some("[tool:pytest]\n"), &["setup.cfg"]),
            ("conftest.py", Some("x"), &["conftest.py"]),
            ("sub/conftest.py", Some("x"), &["sub/conftest.py"]),
            ("sitecustomize.py", Some("x"), &["sitecustomize.py"]),
            ("a.pth", Some("import os"), &["a.pth"]),
            ("tests/pluggy.py", Some("x"), &["tests/pluggy.py"]),
            ("queue.py", Some("x"), &[]),
            ("jest.config.js", Some("x"), &["jest.config.js"]),
            ("app.py", Some("x = 1\nimport os; os._exit(0)\n"), &["app.py"]),
            ("app.js", Some("process.exit(0)\n"), &["app.js"]),
        ];
        for (path, text, expected) in table {
            let (_project, control) = control(&before, &[(path, text)]);
            assert_eq!(control.paths(), expected, "{path}: {text:?}");
        }
    }

    #[test]
    fn a_new_gitignore_hides_nothing() {
        let before = [("tests/test_a.py", "assert False\n")];
        let after = [
            (".gitignore", Some("conftest.py\ntests/\n")),
            ("conftest.py", Some("x")),
            ("tests/test_a.py", Some("assert True\n")),
        ];
        let (_project, control) = control(&before, &after);
        assert_eq!(control.paths(), ["conftest.py", "tests/test_a.py"]);
    }

    #[test]
    fn the_present_files_come_back_also_after_a_kill() {
        let before = [("tests/test_a.py", "1\n"), ("tests/old/test_b.py", "2\n")];
        let after = [
            ("tests/test_a.py", Some("changed\n")),
            ("tests/old/test_b.py", None),
            ("conftest.py", Some("x\n")),
        ];
        let (project, control) = control(&before, &after);
        let (root, state) = (project.path(), tempfile::tempdir().unwrap());
        fs::remove_dir(root.join("tests/old")).unwrap();
        let folder = state.path().join("control");
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        control.apply(root, &folder).unwrap();
        let during = ["tests/test_a.py", "tests/old/test_b.py", "conftest.py"].map(read);
        assert_eq!(during, [Some("1\n".to_owned()), Some("2\n".to_owned()), None]);
        Control::recover(root, &folder).unwrap();
        let now = ["tests/test_a.py", "tests/old/test_b.py", "conftest.py"].map(read);
        assert_eq!(now, [Some("changed\n".to_owned()), None, Some("x\n".to_owned())]);
        assert!(!root.join("tests/old").exists() && !folder.exists());
        Control::recover(root, &folder).unwrap();
        assert_eq!(read("conftest.py").as_deref(), Some("x\n"));
    }

    /// A directory of tests that became a link: neither the run nor its end writes through it.
    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let before = [("tests/test_a.py", "evil\n"), ("src/a.py", "1\n")];
        let (project, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, state) = (project.path(), tempfile::tempdir().unwrap());
        before.iter().for_each(|(path, text)| write(root, path, text));
        let snapshot = FolderSnapshot::take(root, state.path(), "t").unwrap();
        let theirs = outside.path().join("test_a.py");
        fs::write(&theirs, "mine\n").unwrap();
        fs::rename(root.join("tests"), root.join("moved")).unwrap();
        symlink(outside.path(), root.join("tests")).unwrap();
        let control = Control::of(root, &snapshot, &snapshot.changes(root), &[]);
        assert_eq!(control.paths(), ["tests/test_a.py"]);
        let folder = state.path().join("control");
        assert!(control.apply(root, &folder).is_err());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine\n");
        Control::recover(root, &folder).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine\n");
        // The link appears while the control run works.
        fs::remove_file(root.join("tests")).unwrap();
        write(root, "tests/test_a.py", "changed\n");
        let control = Control::of(root, &snapshot, &snapshot.changes(root), &[]);
        control.apply(root, &folder).unwrap();
        assert_eq!(fs::read_to_string(root.join("tests/test_a.py")).unwrap(), "evil\n");
        fs::remove_dir_all(root.join("tests")).unwrap();
        symlink(outside.path(), root.join("tests")).unwrap();
        Control::recover(root, &folder).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine\n");
        assert_eq!(fs::read_to_string(root.join("tests/test_a.py")).unwrap(), "changed\n");
        // The file itself.
        fs::remove_file(root.join("tests/test_a.py")).unwrap();
        symlink(&theirs, root.join("tests/test_a.py")).unwrap();
        let control = Control::of(root, &snapshot, &snapshot.changes(root), &[]);
        control.apply(root, &folder).unwrap();
        Control::recover(root, &folder).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine\n");
        assert!(root.join("tests/test_a.py").is_symlink());
    }
}
