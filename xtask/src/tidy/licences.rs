//! Checks that every dependency has a licence that deny.toml allows.

use std::fs;

use super::metadata;
use crate::run::root;

#[test]
fn every_dependency_has_an_allowed_licence() {
    let rules = Rules::read();
    let metadata = metadata();
    let wrong: Vec<String> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap();
            let licence = package["license"].as_str().unwrap_or("none");
            (!rules.allow(name, licence)).then(|| format!("{name}: {licence}"))
        })
        .collect();
    assert!(wrong.is_empty(), "not allowed by deny.toml: {wrong:#?}");
}

#[test]
fn licence_expressions_are_understood() {
    let rules = Rules { allowed: vec!["MIT".into(), "BSD-3-Clause".into()], exceptions: vec![] };
    for (expression, allowed) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("MIT/Apache-2.0", true),
        ("MIT AND GPL-3.0-only", false),
        ("(GPL-3.0-only OR MIT) AND BSD-3-Clause", true),
        ("(GPL-3.0-only OR Apache-2.0) AND BSD-3-Clause", false),
    ] {
        assert_eq!(rules.allow("x", expression), allowed, "{expression}");
    }
}

struct Rules {
    allowed: Vec<String>,
    exceptions: Vec<(String, String)>,
}

impl Rules {
    /// Reads the two lists of deny.toml, which have one entry per line.
    fn read() -> Self {
        let text = fs::read_to_string(root().join("deny.toml")).unwrap();
        let quoted = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let mut rules = Self { allowed: Vec::new(), exceptions: Vec::new() };
        let mut list = "";
        for line in text.lines().map(str::trim) {
            match line {
                "allow = [" | "exceptions = [" => list = line,
                "]" => list = "",
                entry if list == "allow = [" => rules.allowed.extend(quoted(entry)),
                entry if list == "exceptions = [" => {
                    let parts = quoted(entry);
                    rules.exceptions.push((parts[1].clone(), parts[0].clone()));
                }
                _ => {}
            }
        }
        assert!(
            rules.allowed.len() > 3 && !rules.exceptions.is_empty(),
            "deny.toml is not written as expected"
        );
        rules
    }

    /// AND binds tighter than OR; `/` is the old notation for OR.
    fn allow(&self, package: &str, expression: &str) -> bool {
        let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut at = 0;
        self.any(package, &words, &mut at)
    }

    fn any(&self, package: &str, words: &[&str], at: &mut usize) -> bool {
        let mut allowed = self.all(package, words, at);
        while words.get(*at) == Some(&"OR") {
            *at += 1;
            allowed |= self.all(package, words, at);
        }
        allowed
    }

    fn all(&self, package: &str, words: &[&str], at: &mut usize) -> bool {
        let mut allowed = self.one(package, words, at);
        while words.get(*at) == Some(&"AND") {
            *at += 1;
            allowed &= self.one(package, words, at);
        }
        allowed
    }

    fn one(&self, package: &str, words: &[&str], at: &mut usize) -> bool {
        let word = words.get(*at).copied().unwrap_or_default();
        *at += 1;
        if word == "(" {
            let allowed = self.any(package, words, at);
            *at += 1;
            return allowed;
        }
        let mut licence = word.to_owned();
        if words.get(*at) == Some(&"WITH") {
            licence = format!("{word} WITH {}", words.get(*at + 1).copied().unwrap_or_default());
            *at += 2;
        }
        let excepted = (package.to_owned(), licence.clone());
        self.allowed.contains(&licence) || self.exceptions.contains(&excepted)
    }
}
