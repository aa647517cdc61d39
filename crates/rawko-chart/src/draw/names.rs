//! Identifiers for formats that need them: plain ASCII words, unique for each state node and never a keyword. People
//! read the title; the identifier only has to be valid in every version of every tool.

use std::collections::{BTreeMap, BTreeSet};

use super::picture::Picture;

/// Words with a special meaning to one of the tools at the start of a line, and properties of every JavaScript object:
/// Mermaid's layout keeps its nodes in plain objects.
const RESERVED: &[&str] = &[
    "__proto__",
    "constructor",
    "hasownproperty",
    "isprototypeof",
    "propertyisenumerable",
    "tolocalestring",
    "tostring",
    "valueof",
    "accdescr",
    "acctitle",
    "allowmixing",
    "as",
    "choice",
    "class",
    "classdef",
    "click",
    "default",
    "digraph",
    "direction",
    "edge",
    "else",
    "end",
    "endif",
    "endpoint",
    "entrypoint",
    "exitpoint",
    "exit",
    "fork",
    "footer",
    "graph",
    "header",
    "hide",
    "history",
    "href",
    "if",
    "include",
    "join",
    "left",
    "legend",
    "newpage",
    "node",
    "note",
    "over",
    "right",
    "rotate",
    "scale",
    "show",
    "skin",
    "skinparam",
    "start",
    "state",
    "statediagram",
    "strict",
    "style",
    "subgraph",
    "then",
    "title",
    "top",
];

/// Returns one identifier for each node of the picture, in its order: the key if it is unique, else the path.
pub(crate) fn names(picture: &Picture) -> Vec<String> {
    let keys: Vec<String> = picture.nodes.iter().map(|n| word(&n.key)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    keys.iter().for_each(|key| *counts.entry(key).or_default() += 1);
    let mut taken = BTreeSet::new();
    let mut names = Vec::with_capacity(keys.len());
    for (node, key) in picture.nodes.iter().zip(&keys) {
        let unique = counts.get(key.as_str()) == Some(&1);
        let base = if unique || node.path.is_empty() { key.clone() } else { word(&node.path) };
        let mut name = if base.is_empty() { format!("s{}", node.id.0) } else { base.clone() };
        let mut n = 2;
        while !taken.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        names.push(name);
    }
    names
}

/// Keeps letters, digits and `_` and replaces everything else with `_`; empty if nothing readable is left.
fn word(text: &str) -> String {
    let word: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !word.chars().any(|c| c.is_ascii_alphanumeric()) {
        return String::new();
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("s{word}");
    }
    if RESERVED.contains(&word.to_ascii_lowercase().as_str()) {
        return format!("{word}_");
    }
    word
}
