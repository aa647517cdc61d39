//! Files that decide how tests run, by name: settings of test runners and linters, start-up files of Python, and modules
//! that hide a test runner. They are no work on the project, so a check must not depend on a change of one.

use std::path::Path;

/// Settings and start-up files.
const NAMES: [&str; 50] = [
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
    "pytest.toml",
    ".pytest.toml",
    "tox.toml",
    ".babelrc",
    ".swcrc",
    ".taprc",
    ".nycrc",
    ".c8rc.json",
    ".rubocop.yml",
    ".shellcheckrc",
    ".yamllint",
    ".clang-tidy",
    ".proverc",
    // Headers and modules that hide those of the system.
    "assert.h",
    "cassert",
    "Test/More.pm",
    "Test/Builder.pm",
];
/// The same with any ending: `jest.config.mjs`.
const STEMS: [&str; 13] = [
    "jest.config.",
    "jest.setup.",
    "vitest.config.",
    "vitest.setup.",
    ".mocharc.",
    "karma.conf.",
    "playwright.config.",
    ".eslintrc",
    "eslint.config.",
    "ava.config.",
    "cypress.config.",
    "vitest.workspace.",
    ".nycrc.",
];
/// Settings of builds that a runner of tests reads, too: they decide only for that runner.
const SHARED: [(&str, &str); 3] =
    [("vitest", "vite.config."), ("jest", "babel.config."), ("mocha", "babel.config.")];
/// Folders of expected results.
const EXPECTATIONS: [&str; 6] = ["__snapshots__", "snapshots", "testdata", "golden", "goldens", "expected"];
/// Folders of cases, if they are data: code of a project may have such a name, too.
const CASES: [&str; 6] = ["cases", "testcases", "test-cases", "test_cases", "test-data", "test_data"];
/// Parts of the names of lists of tests that may fail or are left out.
const EXCUSES: [&str; 10] = [
    "known_failure",
    "known-failure",
    "knownfailure",
    "expected_failure",
    "expected-failure",
    "xfail",
    "skiplist",
    "skip_list",
    "skip-list",
    "quarantine",
];
const DATA: [&str; 14] = [
    "txt", "json", "yaml", "yml", "toml", "csv", "tsv", "xml", "in", "out", "input", "output", "data", "case",
];
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
    let is_header = NAMES.iter().any(|name| name.contains('/') && path.ends_with(name));
    let is_setting =
        NAMES.contains(&name) || STEMS.iter().any(|stem| name.starts_with(stem)) || is_cargo || is_header;
    // Plugins of pytest that are found by the metadata of a package.
    let is_plugin =
        name == "entry_points.txt" && folder.rsplit('/').next().is_some_and(|part| part.ends_with("-info"));
    if is_setting || is_plugin || Path::new(name).extension().is_some_and(|ending| ending == "pth") {
        return Some(Influence::Everywhere);
    }
    is_hiding(folder, name).then_some(Influence::Module)
}

/// Returns true for settings that the runner of these commands shares with other tools.
pub(super) fn is_shared(path: &str, commands: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let runs = |tool: &str| commands.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == tool);
    SHARED.iter().any(|(tool, stem)| name.starts_with(stem) && runs(tool))
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
    let is_named =
        [".snap", ".golden", ".expected", ".approved.txt"].iter().any(|ending| path.ends_with(ending));
    let is_data = path.rsplit('.').next().is_some_and(|ending| DATA.contains(&ending));
    let is_in = |names: &[&str]| folder.split('/').any(|part| names.contains(&part));
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let is_excuse = EXCUSES.iter().any(|part| name.contains(part));
    is_named || is_in(&EXPECTATIONS) || is_data && (is_excuse || is_in(&CASES))
}

/// Returns the files of influence below a folder, also those that git ignores.
pub(super) fn unlisted(root: &Path) -> Vec<String> {
    all_files(root).into_iter().filter(|path| of(path) == Some(Influence::Everywhere)).collect()
}

/// Returns all files below a folder, also those that git ignores, without installed packages and builds.
pub(super) fn all_files(root: &Path) -> Vec<String> {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.standard_filters(false);
    walk.filter_entry(|entry| entry.file_name().to_str().is_none_or(|name| !SKIPPED.contains(&name)));
    let files = walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.collect()
}
