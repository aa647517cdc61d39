//! Definitions of a check besides its command: the script of `package.json`, the rule of a `Makefile`, the options of
//! pytest, the configuration of a linter. An agent that changes one of them changes what the check runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::definition::Check;
use super::run::shown;

const MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Returns a hash for each definition, by a name for people.
pub(super) fn all(root: &Path, checks: &[Check]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for check in checks {
        let folder = root.join(&check.cwd);
        let text = shown(&check.command);
        let words: Vec<&str> = text.split_whitespace().collect();
        for (name, definition) in definitions(&folder, &words) {
            found.insert(name, blake3::hash(definition.as_bytes()).to_hex()[..32].to_owned());
        }
    }
    found
}

/// Returns the scripts and rules that the command of a check runs.
pub(super) fn commands(root: &Path, check: &Check) -> String {
    let (folder, text) = (root.join(&check.cwd), shown(&check.command));
    let words: Vec<&str> = text.split_whitespace().collect();
    let all = scripts(&folder, &words).into_iter().chain(rules(&folder, &words));
    all.map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

/// A tool, the files that configure it, and the sections of shared files.
type Tool = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const TOOLS: [Tool; 12] = [
    (
        "pytest",
        &["pytest.ini", ".pytest.ini"],
        &[("pyproject.toml", "[tool.pytest"), ("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")],
    ),
    ("tox", &["tox.ini"], &[("pyproject.toml", "[tool.tox")]),
    ("nox", &["noxfile.py"], &[]),
    ("mypy", &["mypy.ini", ".mypy.ini"], &[("pyproject.toml", "[tool.mypy"), ("setup.cfg", "[mypy")]),
    ("pyright", &["pyrightconfig.json"], &[("pyproject.toml", "[tool.pyright")]),
    ("ruff", &["ruff.toml", ".ruff.toml"], &[("pyproject.toml", "[tool.ruff")]),
    ("flake8", &[".flake8"], &[("setup.cfg", "[flake8]"), ("tox.ini", "[flake8]")]),
    ("tsc", &["tsconfig.json"], &[]),
    (
        "eslint",
        &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            ".eslintrc",
            ".eslintrc.json",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.yml",
            ".eslintrc.yaml",
            ".eslintignore",
        ],
        &[],
    ),
    (
        "jest",
        &["jest.config.js", "jest.config.ts", "jest.config.mjs", "jest.config.cjs", "jest.config.json"],
        &[],
    ),
    ("vitest", &["vitest.config.js", "vitest.config.ts", "vitest.config.mjs", "vitest.config.mts"], &[]),
    ("mocha", &[".mocharc.js", ".mocharc.json", ".mocharc.yml", ".mocharc.yaml", ".mocharc.cjs"], &[]),
];
/// Further tools that one file configures.
const FILES: [(&str, &str); 6] = [
    ("just", "justfile"),
    ("just", "Justfile"),
    ("task", "Taskfile.yml"),
    ("phpunit", "phpunit.xml"),
    ("golangci-lint", ".golangci.yml"),
    ("rake", "Rakefile"),
];
/// Keys of `Cargo.toml` that leave tests or packages out.
const CARGO_KEYS: [&str; 9] = [
    "autotests",
    "test",
    "doctest",
    "harness",
    "members",
    "default-members",
    "exclude",
    "path",
    "required-features",
];

fn definitions(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let has = |name: &str| words.iter().any(|word| word.rsplit('/').next() == Some(name));
    let mut found = Vec::new();
    if MANAGERS.into_iter().any(has) {
        found.extend(scripts(folder, words));
    }
    if has("make") {
        found.extend(rules(folder, words));
    }
    // The tools may be named by the command, or by the script or rule that it runs.
    let inner: Vec<String> = found.iter().map(|(_, text)| text.clone()).collect();
    let inner: Vec<&str> = inner.iter().flat_map(|text| text.split_whitespace()).collect();
    let runs = |name: &str| has(name) || inner.iter().any(|word| word.rsplit('/').next() == Some(name));
    for (_, files, sections) in TOOLS.iter().filter(|(tool, ..)| runs(tool)) {
        found.extend(files.iter().map(|file| whole(folder, file)));
        found.extend(sections.iter().map(|(file, start)| section(folder, file, start)));
    }
    found.extend(FILES.iter().filter(|(tool, _)| runs(tool)).map(|(_, file)| whole(folder, file)));
    if runs("jest") {
        let package: Value = serde_json::from_str(&read(folder, "package.json")).unwrap_or_default();
        let text = package.get("jest").map(Value::to_string).unwrap_or_default();
        found.push(("`jest` of `package.json`".to_owned(), text));
    }
    if runs("cargo") {
        let files = [".cargo/config.toml", ".cargo/config", "clippy.toml", ".clippy.toml"];
        found.extend(files.into_iter().map(|file| whole(folder, file)));
        found.push(cargo(folder));
    }
    found
}

/// The lines of `Cargo.toml` that leave tests or packages out, and its lints.
fn cargo(folder: &Path) -> (String, String) {
    let text = read(folder, "Cargo.toml");
    let mut is_lints = false;
    let mut kept = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_lints = line.contains("lints");
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        if is_lints || CARGO_KEYS.contains(&key) {
            kept.push(line);
        }
    }
    ("the targets, members and lints in `Cargo.toml`".to_owned(), kept.join("\n"))
}

fn whole(folder: &Path, file: &str) -> (String, String) {
    (format!("`{file}`"), read(folder, file))
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap_or_default()
}

/// The scripts that the command runs, with npm's `pre` and `post` scripts.
fn scripts(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let package: Value = serde_json::from_str(&read(folder, "package.json")).unwrap_or_default();
    let script =
        |name: &str| package.get("scripts").and_then(|scripts| scripts.get(name)).and_then(Value::as_str);
    let names = words.iter().filter(|word| script(word).is_some());
    names
        .map(|name| {
            let parts = [format!("pre{name}"), (*name).to_owned(), format!("post{name}")];
            let text: Vec<&str> = parts.iter().map(|part| script(part).unwrap_or_default()).collect();
            (format!("the script `{name}` of `package.json`"), text.join("\n"))
        })
        .collect()
}

/// The rules of the targets that the command names.
fn rules(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let Some(file) = MAKEFILES.into_iter().find(|file| folder.join(file).is_file()) else {
        return Vec::new();
    };
    let text = read(folder, file);
    words
        .iter()
        .filter_map(|word| Some((format!("the rule `{word}` of `{file}`"), rule(&text, word)?)))
        .collect()
}

fn rule(text: &str, target: &str) -> Option<String> {
    let is_target = |line: &&str| {
        let names = line.split_once(':').map(|(names, _)| names);
        !line.starts_with(['\t', ' '])
            && names.is_some_and(|names| names.split_whitespace().any(|name| name == target))
    };
    let mut lines = text.lines().skip_while(|line| !is_target(line));
    let head = lines.next()?;
    let recipe = lines.take_while(|line| line.starts_with(['\t', ' ']) || line.is_empty());
    Some(std::iter::once(head).chain(recipe).collect::<Vec<_>>().join("\n").trim_end().to_owned())
}

/// The sections of a file whose heads begin so.
fn section(folder: &Path, file: &str, start: &str) -> (String, String) {
    let text = read(folder, file);
    let mut is_own = false;
    let mut own = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with('[') {
            is_own = line.trim_start().starts_with(start);
        }
        if is_own {
            own.push(line.trim_end());
        }
    }
    own.retain(|line| !line.is_empty());
    (format!("`{}` in `{file}`", start.trim_matches(['[', ']'])), own.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::rule;

    #[test]
    fn a_rule_is_its_head_and_its_recipe() {
        let text = "all: test\n\ntest: build\n\tpytest\n\n\techo ok\n\nlint:\n\truff\n";
        assert_eq!(rule(text, "test").unwrap(), "test: build\n\tpytest\n\n\techo ok");
        assert_eq!(rule(text, "lint").unwrap(), "lint:\n\truff");
        assert_eq!(rule(text, "deploy"), None);
    }
}
