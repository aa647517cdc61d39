//! Type names that several crates have. A ratchet: each needs a reason in `xtask/shared-types.txt`, and the list may only
//! get shorter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{code_lines, files, name};
use crate::run::root;

#[test]
fn a_type_name_belongs_to_one_crate() {
    let list = fs::read_to_string(root().join("xtask/shared-types.txt")).unwrap();
    let allowed: BTreeSet<&str> = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files("crates", ".rs") {
        let file = name(&path);
        if !file.contains("/src/") || file.contains("tests") {
            continue;
        }
        let crate_name = file.split('/').nth(1).unwrap_or_default();
        let text = fs::read_to_string(&path).unwrap();
        for found in code_lines(&text).into_iter().filter_map(|(_, line)| defined(line)) {
            crates.entry(found.to_owned()).or_default().insert(crate_name.to_owned());
        }
    }
    let shared: BTreeMap<&str, &BTreeSet<String>> = crates
        .iter()
        .filter(|(_, crates)| crates.len() > 1)
        .map(|(name, crates)| (&**name, crates))
        .collect();
    let new: Vec<_> = shared.iter().filter(|(name, _)| !allowed.contains(*name)).collect();
    assert!(new.is_empty(), "name these types after what is special about them: {new:#?}");
    let gone: Vec<_> = allowed.iter().filter(|name| !shared.contains_key(*name)).collect();
    assert!(gone.is_empty(), "no longer shared; remove from xtask/shared-types.txt: {gone:?}");
}

/// A ratchet: types are nouns, so names in -ed and -ing are listed in `xtask/participle-names.txt`.
#[test]
fn type_names_are_nouns() {
    let list = fs::read_to_string(root().join("xtask/participle-names.txt")).unwrap();
    let allowed: BTreeSet<&str> =
        list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let types = all();
    let found: BTreeSet<&str> = types
        .keys()
        .map(String::as_str)
        .filter(|name| name.ends_with("ed") || name.ends_with("ing"))
        .collect();
    let new: Vec<_> = found.difference(&allowed).collect();
    assert!(new.is_empty(), "name these types after what they hold: {new:?}");
    let gone: Vec<_> = allowed.difference(&found).collect();
    assert!(gone.is_empty(), "remove from xtask/participle-names.txt: {gone:?}");
}

/// Returns the names of types in the library code, and true for public ones.
pub(super) fn all() -> BTreeMap<String, bool> {
    let mut all = BTreeMap::new();
    for path in files("crates", ".rs") {
        let file = name(&path);
        if !file.contains("/src/") || file.contains("tests") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (_, line) in code_lines(&text) {
            if let Some(found) = defined(line) {
                *all.entry(found.to_owned()).or_default() |= line.starts_with("pub ");
            }
        }
    }
    all
}

/// Returns the name that a line at the top of a module defines.
fn defined(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let rest =
        ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|word| rest.strip_prefix(word))?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

#[test]
fn definitions_are_found() {
    let table = [
        ("pub(crate) struct Call<'c> {", Some("Call")),
        ("enum Kind {", Some("Kind")),
        ("pub type Reply = Result<(), Error>;", Some("Reply")),
        ("    struct Inner;", None),
        ("pub fn call() {}", None),
    ];
    for (line, expected) in table {
        assert_eq!(defined(line), expected, "{line}");
    }
}
