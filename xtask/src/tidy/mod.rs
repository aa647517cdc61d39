//! Tidy: repository checks beyond those of the compiler. Plain tests, so that `cargo test` runs them.

mod documents;
mod effects;
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
