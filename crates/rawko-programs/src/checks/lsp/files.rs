//! Files opened in a language server.

use std::path::Path;

use globset::{Glob, GlobSetBuilder};
use rawko_tools::IgnoreRules;

const FILES_MAX: usize = 500;
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// An open file, as sent to the server.
pub(super) struct OpenFile {
    /// Path relative to the directory of the check.
    pub(super) shown: String,
    pub(super) uri: String,
    pub(super) language: &'static str,
    pub(super) text: String,
}

/// Returns the matching files, without ignored ones. No match at all is an error, because it is probably a mistake.
pub(super) fn open(root: &Path, patterns: &[String]) -> Result<Vec<OpenFile>, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).map_err(|error| error.to_string())?);
    }
    let set = set.build().map_err(|error| error.to_string())?;
    let mut walk = ignore::WalkBuilder::new(root);
    walk.require_git(false).sort_by_file_name(|a, b| a.cmp(b));
    let rules = IgnoreRules::of_walk(&mut walk, root, true, true);
    let walk = walk.filter_entry(move |entry| !rules.is_ignored(entry)).build();
    let mut opened = Vec::new();
    for entry in walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
        let Ok(shown) = entry.path().strip_prefix(root) else { continue };
        if set.is_match(shown) {
            opened.push(read(entry.path(), shown)?);
        }
        if opened.len() > FILES_MAX {
            return Err(format!("more than {FILES_MAX} files match `files`"));
        }
    }
    if opened.is_empty() {
        return Err(format!("no file matches {}", patterns.join(", ")));
    }
    Ok(opened)
}

fn read(path: &Path, shown: &Path) -> Result<OpenFile, String> {
    let shown = shown.display().to_string();
    let is_large = path.metadata().is_ok_and(|metadata| metadata.len() > FILE_BYTES_MAX);
    if is_large {
        return Err(format!("{shown} is too large for a language server"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(OpenFile { uri: uri(path), language: language(ending), shown, text })
}

/// Returns `file:///…` with special characters percent-encoded.
pub(super) fn uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.display().to_string().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

/// Returns the language id of the protocol.
fn language(ending: &str) -> &'static str {
    match ending {
        "rs" => "rust",
        "py" => "python",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "go" => "go",
        "c" | "h" => "c",
        "cc" | "cpp" | "hpp" | "cxx" => "cpp",
        "java" => "java",
        "rb" => "ruby",
        "yaml" | "yml" => "yaml",
        "json" => "json",
        _ => "plaintext",
    }
}
