//! Tidy: repository checks beyond those of the compiler. Plain tests, so that `cargo test` runs them.

mod documents;
mod effects;
mod glossary;
mod layers;
mod licences;
mod sources;
mod types;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::root;

/// Returns all files below a folder with this ending, without build output and installed packages.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join(folder), ending, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && !["target", "node_modules", ".git"].contains(&name.as_str()) {
            collect(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

/// Returns the lines of a source outside its `#[cfg(test)]` modules, with their numbers. A module in a file of its own is
/// a file with `tests` in its path.
fn code_lines(text: &str) -> Vec<(usize, &str)> {
    let mut code = Vec::new();
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line)).peekable();
    while let Some((number, line)) = lines.next() {
        let mut held = vec![(number, line)];
        if line.trim() == "#[cfg(test)]" {
            while let Some(attribute) = lines.next_if(|(_, next)| next.trim_start().starts_with("#[")) {
                held.push(attribute);
            }
            let is_module = |line: &str| {
                let line = line.trim_start();
                let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
                line.starts_with("mod ") && line.ends_with('{')
            };
            if lines.next_if(|(_, next)| is_module(next)).is_some() {
                // rustfmt puts the closing brace below the attribute.
                let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
                lines.by_ref().find(|(_, next)| *next == end);
                continue;
            }
        }
        code.extend(held);
    }
    code
}

#[test]
fn only_the_module_of_tests_is_cut() {
    let text = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    c {\n    }\n}\nd\n\
                #[cfg(test)]\nfn e() {\n}\n    #[cfg(test)]\n    mod inner {\n    f\n    }\ng";
    let lines: Vec<&str> = code_lines(text).into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines, ["a", "#[cfg(test)]", "mod tests;", "b", "d", "#[cfg(test)]", "fn e() {", "}", "g"]);
    let numbers: Vec<usize> = code_lines(text).into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 11, 12, 13, 14, 19]);
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn metadata() -> serde_json::Value {
    let output = std::process::Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}
