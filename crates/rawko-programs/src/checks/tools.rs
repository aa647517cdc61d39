//! Programs that a check runs from folders of the project: `node_modules/.bin`, a virtual environment, `vendor/bin`. Git
//! ignores them, so an agent that rewrites one would change the result of the check without a trace.

use std::path::{Path, PathBuf};

/// Folders with programs, by path in the project.
const FOLDERS: [&str; 4] = ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"];
/// Virtual environments.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];
/// Files of a virtual environment that Python runs at every start.
const STARTUP: [&str; 2] = ["sitecustomize.py", "usercustomize.py"];
/// Limits of one package; the rest of a larger one is not compared.
const FILES_MAX: usize = 4_000;
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Returns the programs that these words name, as paths in the project.
pub(super) fn programs(root: &Path, cwd: &Path, words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders(cwd) {
        let names = words.iter().filter(|word| !word.is_empty() && !word.contains('/'));
        let paths = names.map(|word| folder.join(word)).filter(|path| root.join(path).is_file());
        found.extend(
            paths.filter_map(|path| Some(path.strip_prefix(".").unwrap_or(&path).to_str()?.to_owned())),
        );
    }
    found
}

/// Package managers that search `node_modules/.bin` before the system.
const MANAGERS: [&str; 5] = ["npm", "npx", "pnpm", "yarn", "bun"];

/// Returns the places in which a new program would run instead of an installed one that these commands name.
pub(super) fn absent_programs(root: &Path, cwd: &Path, commands: &[Vec<String>]) -> Vec<String> {
    let is_manager = |word: &String| MANAGERS.contains(&word.as_str());
    if !commands.iter().flatten().any(is_manager) {
        return Vec::new();
    }
    let named = |words: &Vec<String>| {
        let word = words.iter().find(|word| !word.contains('='))?;
        let is_plain = word.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter));
        let search = std::env::var_os("PATH").unwrap_or_default();
        let is_installed = std::env::split_paths(&search).any(|folder| folder.join(word).is_file());
        // npm searches the packages of the folders above, too.
        let places = cwd.ancestors().map(|folder| folder.join(FOLDERS[0]).join(word));
        (is_plain && is_installed).then(|| places.collect::<Vec<_>>())
    };
    let absent = commands.iter().filter_map(named).flatten();
    let absent = absent.filter(|path| root.join(path).symlink_metadata().is_err());
    absent.filter_map(|path| Some(path.strip_prefix(".").unwrap_or(&path).to_str()?.to_owned())).collect()
}

/// Returns the contents of the packages behind these words as definitions: a name for people, and a text that changes
/// with any of their files. `folder` is where the check runs.
pub(super) fn packages(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for word in words.iter().filter(|word| !word.is_empty() && !word.contains(['/', '.', '$', '='])) {
        if let Some(package) = node_package(folder, word) {
            let name = format!("the installed package `{}`", shown(folder, &package));
            found.push((name, contents(&package)));
        }
    }
    for environment in ENVIRONMENTS.map(|name| folder.join(name)).iter().filter(|path| path.is_dir()) {
        let Some(site) = site_packages(environment) else { continue };
        found.push((format!("the start-up files of `{}`", shown(folder, environment)), startup(&site)));
        for word in
            words.iter().filter(|word| word.chars().all(|letter| letter.is_alphanumeric() || letter == '_'))
        {
            let parts = [site.join(word), site.join(format!("_{word}")), site.join(format!("{word}.py"))];
            let is_there = parts.iter().any(|part| part.exists());
            if is_there && !word.is_empty() {
                let text: Vec<String> = parts.iter().map(|part| contents(part)).collect();
                found.push((format!("the installed module `{word}`"), text.join("\n")));
            }
        }
    }
    found
}

/// Libraries of Python that judge values or replace what tests use.
const TEST_MODULES: [&str; 12] = [
    "hypothesis",
    "hamcrest",
    "assertpy",
    "mock",
    "sure",
    "expects",
    "testfixtures",
    "responses",
    "freezegun",
    "parameterized",
    "ddt",
    "pytest_mock",
];

/// Returns the contents of the packages that only development needs and that tests judge by.
pub(super) fn test_packages(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let package = std::fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    let names = |key: &str| package.get(key).and_then(serde_json::Value::as_object).into_iter().flatten();
    let is_shipped = |name: &str| names("dependencies").any(|(other, _)| other == name);
    for (name, _) in names("devDependencies").filter(|(name, _)| !is_shipped(name)) {
        let place = folder.join("node_modules").join(name);
        let is_inside = !Path::new(name).components().any(|part| part == std::path::Component::ParentDir);
        if is_inside && is_judge(name) && place.is_dir() {
            found.push((format!("the installed package `node_modules/{name}`"), contents(&place)));
        }
    }
    for site in ENVIRONMENTS.iter().filter_map(|name| site_packages(&folder.join(name))) {
        for name in TEST_MODULES {
            let parts = [site.join(name), site.join(format!("{name}.py"))];
            if parts.iter().any(|part| part.exists()) {
                let text: Vec<String> = parts.iter().map(|part| contents(part)).collect();
                found.push((format!("the installed module `{name}`"), text.join("\n")));
            }
        }
    }
    found
}

/// Returns true for libraries by which tests judge, or replace what they need. All packages of development would be too
/// many to compare in each round.
fn is_judge(name: &str) -> bool {
    const PARTS: [&str; 14] = [
        "test",
        "assert",
        "expect",
        "chai",
        "should",
        "mock",
        "sinon",
        "spec",
        "jest",
        "mocha",
        "stub",
        "fake",
        "nock",
        "playwright",
    ];
    const NAMES: [&str; 5] = ["ava", "tap", "tape", "uvu", "unexpected"];
    !name.starts_with("@types/") && (NAMES.contains(&name) || PARTS.iter().any(|part| name.contains(part)))
}

fn folders(cwd: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = FOLDERS.iter().map(|folder| cwd.join(folder)).collect();
    if cwd != Path::new(".") {
        all.extend(FOLDERS.iter().map(PathBuf::from));
    }
    all
}

/// `node_modules/.bin/jest` leads to `node_modules/jest/bin/jest.js`; the package is `node_modules/jest`.
fn node_package(folder: &Path, program: &str) -> Option<PathBuf> {
    let modules = folder.join("node_modules").canonicalize().ok()?;
    let target = modules.join(".bin").join(program).canonicalize().ok()?;
    let inside = target.strip_prefix(&modules).ok()?;
    let mut parts = inside.iter();
    let first = parts.next()?;
    let package = match first.to_str()?.starts_with('@') {
        true => modules.join(first).join(parts.next()?),
        false => modules.join(first),
    };
    (package.is_dir() && first != ".bin").then_some(package)
}

fn site_packages(environment: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(environment.join("lib")).ok()?.flatten();
    versions.map(|version| version.path().join("site-packages")).find(|site| site.is_dir())
}

/// The files that Python runs before any program.
fn startup(site: &Path) -> String {
    let names = std::fs::read_dir(site).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_startup = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "pth")
            || path.file_name().and_then(|name| name.to_str()).is_some_and(|name| STARTUP.contains(&name))
    };
    let mut all: Vec<PathBuf> = names.filter(is_startup).collect();
    all.sort();
    all.iter().map(|path| contents(path)).collect::<Vec<_>>().join("\n")
}

/// Hashes a file, or all files of a folder with their paths. Compiled files of Python come and go.
fn contents(place: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut walk = ignore::WalkBuilder::new(place);
    walk.standard_filters(false).sort_by_file_name(|a, b| a.cmp(b));
    walk.filter_entry(|entry| entry.file_name() != "__pycache__");
    let files = walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let mut total = 0;
    for entry in files.take(FILES_MAX) {
        let length = entry.metadata().map_or(0, |about| about.len());
        total += length;
        let name = entry.path().strip_prefix(place).unwrap_or(entry.path());
        hasher.update(name.as_os_str().as_encoded_bytes()).update(&[0]).update(&length.to_le_bytes());
        if total <= BYTES_MAX {
            hasher.update(&std::fs::read(entry.path()).unwrap_or_default());
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn shown(folder: &Path, path: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.strip_prefix(&folder).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use crate::checks::{CheckBase, detect};

    /// A project with a runner in each tool folder, and the files that an agent would rewrite.
    #[test]
    fn rewritten_tools_count_as_failing_and_new_packages_do_not() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("package.json", r#"{"scripts": {"test": "jest && pytest -q && phpunit"}}"#);
        write("node_modules/jest/bin/jest.js", "process.exit(1)");
        write("node_modules/jest/lib/run.js", "run()");
        std::fs::create_dir_all(root.join("node_modules/.bin")).unwrap();
        symlink("../jest/bin/jest.js", root.join("node_modules/.bin/jest")).unwrap();
        write(".venv/bin/pytest", "import pytest");
        write(".venv/lib/python3.11/site-packages/_pytest/main.py", "main()");
        write(".venv/lib/python3.11/site-packages/a.pth", "");
        write("vendor/bin/phpunit", "<?php");
        let base = CheckBase::of(root, detect(root), &[]);
        let table = [
            ("node_modules/.bin/jest", "restored"),
            ("node_modules/jest/bin/jest.js", "restored"),
            ("node_modules/jest/lib/run.js", "failing"),
            (".venv/bin/pytest", "restored"),
            (".venv/lib/python3.11/site-packages/_pytest/main.py", "failing"),
            (".venv/lib/python3.11/site-packages/b.pth", "failing"),
            (".venv/lib/python3.11/site-packages/sitecustomize.py", "failing"),
            ("vendor/bin/phpunit", "restored"),
            ("node_modules/left-pad/index.js", "fine"),
            (".venv/lib/python3.11/site-packages/requests/api.py", "fine"),
            (".venv/lib/python3.11/site-packages/_pytest/__pycache__/main.pyc", "fine"),
        ];
        for (path, expected) in table {
            let place = root.join(path);
            let before = std::fs::read(&place).ok();
            let link = std::fs::read_link(&place).ok();
            if link.is_some() {
                std::fs::remove_file(&place).unwrap();
            }
            write(path, "exit 0");
            let (restored, lost) = base.restore(root);
            let redefined = base.redefined(root);
            let found = match (restored.is_empty(), lost.is_empty() && redefined.is_empty()) {
                (false, true) => "restored",
                (true, false) => "failing",
                (true, true) => "fine",
                (false, false) => "both",
            };
            assert_eq!(found, expected, "{path}: {restored:?} {lost:?} {redefined:?}");
            match (before, link) {
                (_, Some(_)) => {}
                (Some(before), None) => std::fs::write(place, before).unwrap(),
                (None, None) => std::fs::remove_file(place).unwrap(),
            }
        }
    }
}
