//! Detects the checks of a project without settings from its files. Each check carries the reason.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::definition::{CheckFormat, ProjectCheck, TIMEOUT};

/// A first full compilation takes long.
const BUILD_TIMEOUT: Duration = Duration::from_secs(1800);
/// npm's default script when there is no test.
const NO_TEST: &str = "no test specified";
/// Characters that require a shell.
const SHELL: [char; 12] = ['&', '|', ';', '<', '>', '$', '`', '(', '"', '\'', '*', '='];

/// Detects the checks of a project; empty if its layout is unknown.
pub fn detect(project_root: &Path) -> Vec<ProjectCheck> {
    let mut checks = cargo(project_root);
    checks.extend(node(project_root));
    checks.extend(python(project_root));
    checks.extend(go(project_root));
    if checks.is_empty() {
        checks.extend(make(project_root));
    }
    checks
}

fn check(name: &str, command: &[&str], format: CheckFormat, reason: impl Into<String>) -> ProjectCheck {
    ProjectCheck {
        name: name.to_owned(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        format,
        timeout: TIMEOUT,
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: reason.into(),
        decides: true,
        sources: Vec::new(),
    }
}

fn cargo(root: &Path) -> Vec<ProjectCheck> {
    if !root.join("Cargo.toml").is_file() {
        return Vec::new();
    }
    let reason = "there is a `Cargo.toml`";
    let compile = ["cargo", "check", "--workspace", "--all-targets", "--message-format=json"];
    let test = ["cargo", "test", "--workspace", "--no-fail-fast", "--message-format=json"];
    [("cargo check", &compile), ("cargo test", &test)]
        .map(|(name, words)| ProjectCheck {
            timeout: BUILD_TIMEOUT,
            ..check(name, words, CheckFormat::Cargo, reason)
        })
        .to_vec()
}

fn node(root: &Path) -> Vec<ProjectCheck> {
    let Some(package) = read(root, "package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok())
    else {
        return Vec::new();
    };
    let manager =
        [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")]
            .into_iter()
            .find(|(file, _)| root.join(file).is_file())
            .map_or("npm", |(_, manager)| manager);
    let script = |name: &str| package.get("scripts")?.get(name)?.as_str().map(str::to_owned);
    let found = ["typecheck", "lint", "test"].into_iter().filter_map(|name| Some((name, script(name)?)));
    found
        .filter(|(_, script)| !script.contains(NO_TEST))
        .map(|(name, script)| of_script(manager, name, &script))
        .collect()
}

/// Node's own test runner reports structured results; other scripts only an exit code.
fn of_script(manager: &str, name: &str, script: &str) -> ProjectCheck {
    let reason = format!("`package.json` has a script `{name}`");
    let words: Vec<&str> = script.split_whitespace().collect();
    let is_plain = !script.contains(SHELL) && !script.contains("reporter");
    match words.as_slice() {
        ["node", "--test", rest @ ..] if is_plain => {
            let command = [&["node", "--test", "--test-reporter=tap"], rest].concat();
            check(name, &command, CheckFormat::Tap, reason)
        }
        _ => check(name, &[manager, "run", name], CheckFormat::Exit, reason),
    }
}

fn python(root: &Path) -> Vec<ProjectCheck> {
    let says = |file: &str, words: &str| read(root, file).is_some_and(|text| text.contains(words));
    let pytest = [
        (root.join("pytest.ini").is_file(), "there is a `pytest.ini`"),
        (
            root.join("conftest.py").is_file() || root.join("tests/conftest.py").is_file(),
            "there is a `conftest.py`",
        ),
        (says("pyproject.toml", "[tool.pytest"), "`pyproject.toml` configures pytest"),
        (says("setup.cfg", "[tool:pytest]"), "`setup.cfg` configures pytest"),
    ];
    let of_pytest = |reason: &str| {
        let command = ["python3", "-m", "pytest", "-q", "--junitxml={report}"];
        vec![check("pytest", &command, CheckFormat::Junit, reason)]
    };
    if let Some((_, reason)) = pytest.into_iter().find(|(is_there, _)| *is_there) {
        return of_pytest(reason);
    }
    for folder in ["tests", "test", "."] {
        if let Some(file) = first_test(&root.join(folder)) {
            let shown = Path::new(folder).join(&file).display().to_string().replace("./", "");
            if read(root, &shown).is_some_and(|text| is_for_pytest(&text)) {
                return of_pytest(&format!("`{shown}` has tests that unittest does not find"));
            }
            let command = ["python3", "-m", "unittest", "discover", "-s", folder];
            return vec![check("unittest", &command, CheckFormat::Unittest, format!("there is a `{shown}`"))];
        }
    }
    Vec::new()
}

/// Returns true for tests that are plain functions: unittest finds none of them, and would report success.
fn is_for_pytest(text: &str) -> bool {
    let starts = |words: [&str; 4]| text.lines().any(|line| words.iter().any(|word| line.starts_with(word)));
    !text.contains("unittest") && starts(["import pytest", "from pytest", "def test", "async def test"])
}

/// Returns the first file that unittest would discover.
fn first_test(folder: &Path) -> Option<String> {
    let names =
        std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("test") && name.ends_with(".py")).min()
}

fn go(root: &Path) -> Vec<ProjectCheck> {
    if !root.join("go.mod").is_file() {
        return Vec::new();
    }
    let reason = "there is a `go.mod`";
    vec![
        check("go vet", &["go", "vet", "./..."], CheckFormat::Exit, reason),
        check("go test", &["go", "test", "-json", "./..."], CheckFormat::Go, reason),
    ]
}

fn make(root: &Path) -> Vec<ProjectCheck> {
    let is_target =
        |line: &str| line.strip_prefix("test").is_some_and(|rest| rest.trim_start().starts_with(':'));
    let has_target = ["Makefile", "makefile", "GNUmakefile"]
        .iter()
        .any(|file| read(root, file).is_some_and(|text| text.lines().any(is_target)));
    let found = has_target.then(|| {
        check("make test", &["make", "test"], CheckFormat::Exit, "the `Makefile` has a target `test`")
    });
    found.into_iter().collect()
}

fn read(root: &Path, file: &str) -> Option<String> {
    String::from_utf8(rawko_process::read_regular(&root.join(file)).ok()?).ok()
}
