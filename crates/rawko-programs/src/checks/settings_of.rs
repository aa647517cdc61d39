//! What defines a check besides its command: the script of `package.json`, the rule of a `Makefile`, the options of
//! pytest. An agent that changes one of them changes what the check runs.

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

fn definitions(folder: &Path, words: &[&str]) -> Vec<(String, String)> {
    let has = |name: &str| words.iter().any(|word| word.rsplit('/').next() == Some(name));
    let mut found = Vec::new();
    if MANAGERS.into_iter().any(has) {
        found.extend(scripts(folder, words));
    }
    if has("make") {
        found.extend(rules(folder, words));
    }
    if has("pytest") {
        found.extend(pytest(folder));
    }
    if has("cargo") {
        let files = [".cargo/config.toml", ".cargo/config"];
        found.extend(files.into_iter().map(|file| whole(folder, file)));
    }
    found
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

/// Files and sections with pytest's options, which can deselect tests.
fn pytest(folder: &Path) -> Vec<(String, String)> {
    let section = |file: &str, start: &str| {
        let text = read(folder, file);
        let lines = text.lines().skip_while(|line| !line.trim_start().starts_with(start));
        let own: Vec<&str> = lines
            .enumerate()
            .take_while(|(at, line)| *at == 0 || !line.starts_with('[') || line.starts_with(start))
            .map(|(_, line)| line)
            .collect();
        (format!("the pytest options in `{file}`"), own.join("\n").trim_end().to_owned())
    };
    vec![
        whole(folder, "pytest.ini"),
        section("pyproject.toml", "[tool.pytest"),
        section("setup.cfg", "[tool:pytest]"),
        section("tox.ini", "[pytest]"),
    ]
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
