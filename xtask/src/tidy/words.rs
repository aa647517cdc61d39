//! Banned words in comments, counted per crate. A ratchet: the counts in `xtask/banned-words.txt` may only go down.

use std::collections::BTreeMap;
use std::fs;

use super::{files, name};
use crate::run::root;

/// Words and phrases that hide the noun. `docs/glossary.md` has the ones to use.
const BANNED: [&str; 22] = [
    "whoever",
    "whomever",
    "whatever",
    "somebody",
    "nobody",
    "anybody",
    "someone",
    "told",
    "tells",
    "said",
    "says",
    "say",
    "saying",
    "mend",
    "mends",
    "made up",
    "goes on",
    "go on",
    "all the same",
    "offered",
    "what is",
    "what was",
];

#[test]
fn banned_words_only_go_down() {
    let list = fs::read_to_string(root().join("xtask/banned-words.txt")).unwrap();
    let allowed: BTreeMap<&str, usize> = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once(' ').unwrap())
        .map(|(count, crate_name)| (crate_name, count.parse().unwrap()))
        .collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in ["crates", "xtask", "benches"].iter().flat_map(|folder| files(folder, ".rs")) {
        let file = name(&path);
        let crate_name = file.split('/').nth(usize::from(!file.starts_with("xtask"))).unwrap_or_default();
        let text = fs::read_to_string(&path).unwrap();
        let hits = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//"));
        let hits =
            hits.flat_map(|(number, line)| banned_in(line).into_iter().map(move |word| (number + 1, word)));
        let lines = hits.map(|(number, word)| format!("{file}:{number}: {word}"));
        found.entry(crate_name.to_owned()).or_default().extend(lines);
    }
    let mut wrong = Vec::new();
    for (crate_name, hits) in &found {
        let most = allowed.get(crate_name.as_str()).copied().unwrap_or_default();
        match hits.len() {
            count if count > most => {
                wrong.push(format!("{crate_name}: {count} banned words, at most {most}: {hits:#?}"));
            }
            count if count < most => {
                wrong
                    .push(format!("{crate_name}: only {count} left; lower {most} in xtask/banned-words.txt"));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn banned_in(line: &str) -> Vec<&'static str> {
    let lower = line.to_lowercase();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let stands_alone = |at: usize, word: &str| {
        let bytes = lower.as_bytes();
        !is_word(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && !is_word(bytes.get(at + word.len()))
    };
    let count = |word: &str| lower.match_indices(word).filter(|(at, _)| stands_alone(*at, word)).count();
    BANNED.into_iter().flat_map(|word| vec![word; count(word)]).collect()
}

/// Words that are never right in a text for readers; the others of [`BANNED`] also have an ordinary use there.
const NEVER: [&str; 8] =
    ["whoever", "whomever", "somebody", "nobody", "told", "made up", "goes on", "all the same"];

#[test]
fn documents_charts_and_the_page_name_the_subject() {
    let folders = [
        ("docs", ".md"),
        ("charts", ".yaml"),
        ("examples", ".yaml"),
        ("examples", ".md"),
        ("crates/rawko-server/page", ".js"),
        ("crates/rawko-server/page", ".css"),
        ("crates/rawko/src/templates", ".md"),
        ("crates/rawko/src/templates", ".yaml"),
    ];
    let own = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    let all = folders.iter().flat_map(|(folder, ending)| files(folder, ending));
    let mut wrong = Vec::new();
    for path in all.chain(own.map(|file| root().join(file))) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let found = banned_in(line).into_iter().filter(|word| NEVER.contains(word));
            wrong.extend(found.map(|word| format!("{}:{}: {word}", name(&path), number + 1)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn decisions_have_no_banned_word() {
    let mut wrong = Vec::new();
    for path in files("docs/decisions", ".md") {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let found = banned_in(line).into_iter();
            wrong.extend(found.map(|word| format!("{}:{}: {word}", name(&path), number + 1)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_banned_word_is_found_as_a_word() {
    let table: [(&str, &[&str]); 4] = [
        ("// Nobody is told.", &["nobody", "told"]),
        ("// essay, untold, retold, a_told_b", &[]),
        ("/// What is due goes on.", &["goes on", "what is"]),
        ("//! Returns the pending requests.", &[]),
    ];
    for (line, expected) in table {
        let mut found = banned_in(line);
        found.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{line}");
    }
}
