//! Files that decide how tests run, by name: settings of test runners and linters, start-up files of Python, and modules
//! that hide a test runner. They are no work on the project, so a check must not depend on a change of one.

use std::path::Path;

/// Settings and start-up files.
const NAMES: [&str; 33] = [
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "noxfile.py",
    ".coveragerc",
    "mypy.ini",
    ".mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    ".flake8",
    ".pylintrc",
    "pyrightconfig.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".eslintignore",
    ".prettierignore",
    ".rspec",
    "spec_helper.rb",
    "rails_helper.rb",
    "phpunit.xml",
    "phpunit.xml.dist",
    ".golangci.yml",
    "clippy.toml",
    ".clippy.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];
/// The same with any ending: `jest.config.mjs`.
const STEMS: [&str; 9] = [
    "jest.config.",
    "jest.setup.",
    "vitest.config.",
    "vitest.setup.",
    ".mocharc.",
    "karma.conf.",
    "playwright.config.",
    ".eslintrc",
    "eslint.config.",
];
/// Folders of expected results.
const EXPECTATIONS: [&str; 6] = ["__snapshots__", "snapshots", "testdata", "golden", "goldens", "expected"];
/// Folders that are not searched for ignored files.
const SKIPPED: [&str; 6] = [".git", ".rawko", "node_modules", "target", ".venv", "venv"];
/// Folders that Python searches for modules, beside the project itself.
const PYTHON_FOLDERS: [&str; 4] = ["tests", "test", "src", "lib"];
/// Modules of test runners: a file of that name hides the installed one.
const RUNNERS: [&str; 9] =
    ["pytest", "_pytest", "pluggy", "iniconfig", "unittest", "coverage", "xdist", "nose", "nose2"];

/// How a file decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Influence {
    /// Settings and start-up files, wherever they are.
    Everywhere,
    /// A module that hides a test runner.
    Module,
}

/// Returns how a file decides, or `None` for all other files.
pub(super) fn of(path: &str) -> Option<Influence> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_cargo = folder.rsplit('/').next() == Some(".cargo") && name.starts_with("config");
    let is_setting = NAMES.contains(&name) || STEMS.iter().any(|stem| name.starts_with(stem)) || is_cargo;
    if is_setting || Path::new(name).extension().is_some_and(|ending| ending == "pth") {
        return Some(Influence::Everywhere);
    }
    is_hiding(folder, name).then_some(Influence::Module)
}

/// `pytest.py` and `pytest/__init__.py` hide the installed module.
fn is_hiding(folder: &str, name: &str) -> bool {
    let (folder, module) = match name {
        "__init__.py" | "__main__.py" => folder.rsplit_once('/').unwrap_or(("", folder)),
        _ => (folder, name.strip_suffix(".py").unwrap_or_default()),
    };
    let is_searched = folder.is_empty() || PYTHON_FOLDERS.contains(&folder);
    is_searched && RUNNERS.contains(&module)
}

/// Returns true for files that hold expected results.
pub(super) fn is_expectation(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.split('/').any(|part| EXPECTATIONS.contains(&part)) || path.ends_with(".snap")
}

/// Returns the files of influence below a folder, also those that git ignores.
pub(super) fn unlisted(root: &Path) -> Vec<String> {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.standard_filters(false);
    walk.filter_entry(|entry| entry.file_name().to_str().is_none_or(|name| !SKIPPED.contains(&name)));
    let files = walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.filter(|path| of(path) == Some(Influence::Everywhere)).collect()
}
