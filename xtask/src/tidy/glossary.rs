//! The glossary against the code: words of its last column ("instead of") are not in public type names and help texts,
//! and a type that it names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::types;
use crate::run::root;

/// Words of the last column that also have a meaning of their own: a *task* of agents, the *store*, a *message* of a
/// conversation. In a type name each needs an entry in `xtask/avoided-names.txt`; in help texts they are free.
const AMBIGUOUS: [&str; 21] = [
    "checkpoint",
    "client",
    "command",
    "config",
    "driver",
    "engine",
    "graph",
    "hook",
    "iteration",
    "machine",
    "map",
    "message",
    "mode",
    "permissions",
    "process",
    "round",
    "stage",
    "store",
    "task",
    "variables",
    "worker",
];

/// Returns each word to avoid, with the entry to use instead.
fn avoided() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let mut avoided = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| **")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [entry, _, instead] = cells[..] else { panic!("three columns: {line}") };
        for word in instead.split(',').map(str::trim) {
            if !word.is_empty() && word.chars().all(char::is_alphabetic) {
                avoided.insert(word.to_lowercase(), entry.trim_matches('*').to_owned());
            }
        }
    }
    avoided
}

/// The words of a type name, in lower case: `TaskResult` has two.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_uppercase() => word.push(letter),
            _ => words.push(letter.to_lowercase().to_string()),
        }
    }
    words
}

#[test]
fn public_names_use_the_words_of_the_glossary() {
    let list = fs::read_to_string(root().join("xtask/avoided-names.txt")).unwrap();
    let allowed: BTreeSet<&str> =
        list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let avoided = avoided();
    let mut found = BTreeMap::new();
    for (name, _) in types::all().into_iter().filter(|(_, is_public)| *is_public) {
        if let Some(entry) = words(&name).iter().find_map(|word| avoided.get(word)) {
            found.insert(name, entry.clone());
        }
    }
    let new: Vec<_> = found.iter().filter(|(name, _)| !allowed.contains(name.as_str())).collect();
    assert!(new.is_empty(), "the glossary has another word (type, word to use): {new:#?}");
    let gone: Vec<_> = allowed.iter().filter(|name| !found.contains_key(**name)).collect();
    assert!(gone.is_empty(), "remove from xtask/avoided-names.txt: {gone:?}");
}

#[test]
fn help_texts_use_the_words_of_the_glossary() {
    let text = fs::read_to_string(root().join("docs/reference/cli.md")).unwrap();
    let mut wrong = Vec::new();
    for (word, entry) in avoided().iter().filter(|(word, _)| !AMBIGUOUS.contains(&word.as_str())) {
        for (number, line) in text.lines().enumerate() {
            // `lint.yaml` in an example is a file.
            let mut all = line.split(|letter: char| !letter.is_alphanumeric() && letter != '.');
            if all.any(|other| other.trim_end_matches('.').eq_ignore_ascii_case(word)) {
                wrong.push(format!("docs/reference/cli.md:{}: `{word}`, use {entry}", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let unknown: Vec<_> = AMBIGUOUS.iter().filter(|word| !avoided().contains_key(**word)).collect();
    assert!(unknown.is_empty(), "no longer in the glossary: {unknown:?}");
}

/// `**AgentServices**` is a type; other entries are words.
#[test]
fn a_type_that_the_glossary_names_exists() {
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let types = types::all();
    let entries = text.lines().filter_map(|line| line.strip_prefix("| **")?.split("**").next());
    let lost: Vec<&str> = entries
        .filter(|entry| words(entry).len() > 1 && !entry.contains(' '))
        .filter(|entry| !types.contains_key(*entry))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn a_name_is_split_into_its_words() {
    assert_eq!(words("TaskResult"), ["task", "result"]);
    assert_eq!(words("Map"), ["map"]);
}
