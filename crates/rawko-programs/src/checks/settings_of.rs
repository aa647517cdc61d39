//! Definitions of a check besides its command: the script of `package.json`, the rule of a `Makefile`, the options of
//! pytest, the configuration of a linter. An agent that changes one of them changes what the check runs.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde_json::Value;

use super::cargo_settings;
use super::definition::ProjectCheck;
use super::makefile::Makefile;
use super::named::shell_words;
use super::places::{CheckPlace, places};
use crate::changes::is_test;

/// Scripts that run each other are followed up to this depth.
const SCRIPTS_DEPTH_MAX: usize = 3;
/// A larger script is not searched.
const SCRIPT_BYTES_MAX: u64 = 256 * 1024;
/// Included Makefiles are followed up to this depth.
const INCLUDES_DEPTH_MAX: usize = 4;
/// Tests in git's index that are compared; further ones are not.
const LISTED_MAX: usize = 500;
const MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Files that decide how a package manager runs scripts.
const PACKAGE_SETTINGS: [&str; 4] = [".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"];

/// Returns a hash for each definition, by a name for people.
pub(super) fn all(root: &Path, checks: &[ProjectCheck]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for place in checks.iter().flat_map(|check| places(root, check)) {
        for (name, definition) in definitions(&root.join(&place.folder), &place.words()) {
            found.insert(place.named(&name), blake3::hash(definition.as_bytes()).to_hex()[..32].to_owned());
        }
        for (name, definition) in
            cargo_settings::of_workspace(root, &place).into_iter().chain(listed_tests(root, &place))
        {
            found.insert(name, blake3::hash(definition.as_bytes()).to_hex()[..32].to_owned());
        }
    }
    found
}

/// Tests that a check finds by `git ls-files`: it does not run one that left the index.
fn listed_tests(root: &Path, place: &CheckPlace) -> Vec<(String, String)> {
    if !place.text.contains("ls-files") {
        return Vec::new();
    }
    let files = rawko_process::tracked_files(root).into_iter();
    let tests = files.filter_map(|path| path.to_str().map(str::to_owned)).filter(|path| is_test(path));
    tests.take(LISTED_MAX).map(|path| (format!("git's entry of `{path}`"), String::new())).collect()
}

/// Returns the scripts and rules that a text runs in this folder, each on lines of its own.
pub(super) fn commands_in(folder: &Path, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut all: Vec<String> = scripts(folder, &words).into_iter().map(|(_, text)| text).collect();
    if let Some((_, makefile)) = makefile(folder).filter(|_| words.iter().any(|word| is_make(word))) {
        all.extend(makefile.targets(&words).iter().map(|target| makefile.commands(target)));
    }
    all.join("\n")
}

/// Returns the commands of a check in all folders that it runs in, and all scripts and rules that it runs.
pub(super) fn whole_text(root: &Path, check: &ProjectCheck) -> String {
    let text = |place: &CheckPlace| {
        format!("{}\n{}", place.text, commands_in(&root.join(&place.folder), &place.text))
    };
    places(root, check).iter().map(text).collect::<Vec<_>>().join("\n")
}

/// Returns files that would keep a rule from running: make skips a target that exists.
pub(super) fn skipping_files(root: &Path, check: &ProjectCheck) -> Vec<String> {
    of_makefiles(root, check, |makefile, target| match makefile.is_skipped_by_a_file(target) {
        true => vec![target.to_owned()],
        false => Vec::new(),
    })
    .into_iter()
    .filter(|path| !root.join(path).exists())
    .collect()
}

/// Returns the existing files that make would take for done, by path in the project.
pub(super) fn made_files(root: &Path, check: &ProjectCheck) -> Vec<String> {
    let made = of_makefiles(root, check, Makefile::made);
    made.into_iter().filter(|path| root.join(path).is_file()).collect()
}

/// Returns names that belong to the targets of a check, in each folder, as paths in the project.
fn of_makefiles(
    root: &Path,
    check: &ProjectCheck,
    names: impl Fn(&Makefile, &str) -> Vec<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for place in places(root, check) {
        let words = place.words();
        let runs = words.iter().any(|word| is_make(word));
        let Some((_, makefile)) = makefile(&root.join(&place.folder)).filter(|_| runs) else { continue };
        for target in makefile.targets(&words) {
            found.extend(names(&makefile, &target).iter().filter_map(|name| place.path(name)));
        }
    }
    found
}

/// Appends the shell scripts that a command runs, and those that they run: `sh check.sh` may run `npm test`.
pub(super) fn with_scripts(folder: &Path, command: &str) -> String {
    let (mut text, mut seen) = (command.to_owned(), Vec::new());
    for _ in 0..SCRIPTS_DEPTH_MAX {
        let words = shell_words(&text).into_iter().filter(|word| !seen.contains(word));
        let new: Vec<String> = words.filter(|word| is_shell_script(folder, word)).collect();
        for word in new.iter().filter(|word| !word.is_empty()) {
            text.push('\n');
            text.push_str(&read(folder, word));
        }
        if new.is_empty() {
            break;
        }
        seen.extend(new);
    }
    text
}

fn is_shell_script(folder: &Path, word: &str) -> bool {
    let path = Path::new(word);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let place = folder.join(path);
    if !is_inside || std::fs::metadata(&place).map_or(true, |about| about.len() > SCRIPT_BYTES_MAX) {
        return false;
    }
    let is_named = path.extension().is_some_and(|ending| ending == "sh" || ending == "bash");
    let text = read(folder, word);
    let first = text.lines().next().unwrap_or_default();
    place.is_file() && (is_named || first.starts_with("#!") && first.contains("sh"))
}

fn is_make(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("make" | "gmake"))
}

/// Returns the Makefile that make would read.
fn makefile(folder: &Path) -> Option<(&'static str, Makefile)> {
    let file = MAKEFILES.into_iter().find(|file| folder.join(file).is_file())?;
    Some((file, Makefile::read(&with_included(folder, &read(folder, file), INCLUDES_DEPTH_MAX))))
}

/// Inserts the files that a Makefile includes. A file that is not there yet decides as soon as it is.
fn with_included(folder: &Path, text: &str, depth: usize) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        whole.extend([line, "\n"]);
        let is_include = |word: &&str| matches!(*word, "include" | "-include" | "sinclude");
        let mut words = line.split_whitespace();
        if depth == 0 || line.starts_with('\t') || words.next().filter(is_include).is_none() {
            continue;
        }
        for file in words.take_while(|word| !word.starts_with('#')) {
            let is_inside = Path::new(file)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if is_inside {
                whole.push_str(&with_included(folder, &read(folder, file), depth - 1));
            }
        }
    }
    whole
}

/// A tool, the files that configure it, and the sections of shared files.
type Tool = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const TOOLS: [Tool; 13] = [
    (
        "pytest",
        &["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"],
        &[("pyproject.toml", "[tool.pytest"), ("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")],
    ),
    (
        "coverage",
        &[".coveragerc"],
        &[("pyproject.toml", "[tool.coverage"), ("setup.cfg", "[coverage:"), ("tox.ini", "[coverage:")],
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
fn definitions(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let has = |name: &str| words.iter().any(|word| word.rsplit('/').next() == Some(name));
    let mut found = Vec::new();
    if MANAGERS.into_iter().any(has) {
        found.extend(scripts(folder, words));
        found.extend(PACKAGE_SETTINGS.map(|file| whole(folder, file)));
    }
    if words.iter().any(|word| is_make(word)) {
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
    let every: Vec<&str> = words.iter().chain(&inner).copied().collect();
    found.extend(super::tools::packages(folder, &every));
    found.extend(super::tools::test_packages(folder));
    found.extend(FILES.iter().filter(|(tool, _)| runs(tool)).map(|(_, file)| whole(folder, file)));
    if runs("jest") {
        let package: Value = serde_json::from_str(&read(folder, "package.json")).unwrap_or_default();
        let text = package.get("jest").map(Value::to_string).unwrap_or_default();
        found.push(("`jest` of `package.json`".to_owned(), text));
    }
    if runs("cargo") {
        let files = [".cargo/config.toml", ".cargo/config", "clippy.toml", ".clippy.toml"];
        found.extend(files.into_iter().map(|file| whole(folder, file)));
        found.extend(cargo_settings::of(folder));
    }
    found
}

fn whole(folder: &Path, file: &str) -> (String, String) {
    (format!("`{file}`"), read(folder, file))
}

pub(super) fn read(folder: &Path, file: &str) -> String {
    let bytes = rawko_process::read_regular(&folder.join(file)).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// The scripts that the command runs, with npm's `pre` and `post` scripts and those that they run in turn.
fn scripts(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let package: Value = serde_json::from_str(&read(folder, "package.json")).unwrap_or_default();
    let script =
        |name: &str| package.get("scripts").and_then(|scripts| scripts.get(name)).and_then(Value::as_str);
    let mut names: Vec<String> =
        words.iter().filter(|word| script(word).is_some()).map(|word| (*word).to_owned()).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(name) = names.get(at).cloned() {
        at += 1;
        let parts = [format!("pre{name}"), name.clone(), format!("post{name}")];
        let text: Vec<&str> = parts.iter().map(|part| script(part).unwrap_or_default()).collect();
        let text = text.join("\n");
        let inner = shell_words(&text).into_iter().filter(|word| script(word).is_some() && *word != name);
        let new: Vec<String> = inner.filter(|word| !names.contains(word)).collect();
        names.extend(new);
        found.push((format!("the script `{name}` of `package.json`"), text));
    }
    found
}

/// The rules of the targets that the command names, and everything else that decides what they run.
fn rules(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let Some((file, makefile)) = makefile(folder) else { return Vec::new() };
    let targets = makefile.targets(words);
    let named = |target: String| {
        let definition = makefile.definition(&target);
        (format!("the rule `{target}` of `{file}`"), definition)
    };
    let mut found: Vec<(String, String)> = targets.iter().cloned().map(named).collect();
    for (variable, test) in targets.iter().flat_map(|target| makefile.listed_tests(target)) {
        found.push((format!("`{test}` in `{variable}` of `{file}`"), test));
    }
    let is_off = targets.iter().any(|target| makefile.turns_assertions_off(target));
    let assertions = if is_off { "off" } else { "on" };
    found.push((format!("the assertions of `{file}`"), assertions.to_owned()));
    found
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
