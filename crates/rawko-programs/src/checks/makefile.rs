//! The part of a Makefile that decides what a target runs: its rules and those of its prerequisites, the variables that
//! name their commands, and settings such as `SHELL`. Other rules may change freely.

use std::collections::{BTreeMap, BTreeSet};

/// Variables that change how every recipe runs.
const SPECIAL: [&str; 14] = [
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "MAKEFILES",
    ".RECIPEPREFIX",
    "PATH",
    "VPATH",
    "ENV",
    "BASH_ENV",
    "PYTHONPATH",
    "PYTEST_ADDOPTS",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "GOFLAGS",
];
/// Targets without influence on the result of a recipe.
const HARMLESS: [&str; 3] = [".PHONY", ".SILENT", ".DELETE_ON_ERROR"];
/// Parts of the names of variables that list tests.
const LISTS: [&str; 5] = ["TEST", "CHECK", "SPEC", "CASE", "SUITE"];
/// Variables refer to each other up to this depth.
const DEPTH_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Makefile {
    rules: Vec<MakeRule>,
    variables: Vec<(String, String)>,
    /// Included files, conditionals and definitions.
    directives: Vec<String>,
}

#[derive(Debug)]
struct MakeRule {
    targets: Vec<String>,
    head: String,
    recipe: Vec<String>,
}

impl Makefile {
    pub(super) fn read(text: &str) -> Self {
        let mut file = Self::default();
        let text = text.replace("\\\n", " ");
        let mut in_rule = false;
        for line in text.lines() {
            let is_recipe = line.starts_with('\t') && in_rule;
            let bare = line.trim();
            if is_recipe {
                if let Some(rule) = file.rules.last_mut() {
                    rule.recipe.push(bare.to_owned());
                }
            } else if bare.is_empty() || bare.starts_with('#') {
            } else if let Some((name, _)) = assignment(bare) {
                in_rule = false;
                file.variables.push((name, bare.to_owned()));
            } else if let Some((targets, rest)) = bare.split_once(':') {
                in_rule = true;
                let targets = targets.split_whitespace().map(str::to_owned).collect();
                // `target: prerequisites ; recipe`
                let (head, first) = rest.split_once(';').unwrap_or((rest, ""));
                let first = Some(first.trim().to_owned()).filter(|first| !first.is_empty());
                let head = head.trim_start_matches(':').trim().to_owned();
                file.rules.push(MakeRule { targets, head, recipe: first.into_iter().collect() });
            } else {
                in_rule = false;
                file.directives.push(bare.to_owned());
            }
        }
        file
    }

    /// Returns those of the words that are targets; without any, the default target.
    pub(super) fn targets(&self, words: &[&str]) -> Vec<String> {
        let is_target =
            |word: &str| self.rules.iter().any(|rule| rule.targets.iter().any(|name| name == word));
        let named: Vec<String> =
            words.iter().filter(|word| is_target(word)).map(|word| (*word).to_owned()).collect();
        if !named.is_empty() {
            return named;
        }
        let names = self.rules.iter().flat_map(|rule| &rule.targets);
        names.filter(|name| !name.starts_with('.') && !name.contains('%')).take(1).cloned().collect()
    }

    /// Returns everything that decides what a target runs, in a fixed form.
    pub(super) fn definition(&self, target: &str) -> String {
        let mut lines: Vec<String> = self.directives.clone();
        let mut commands: BTreeSet<String> = SPECIAL.iter().map(|name| (*name).to_owned()).collect();
        for rule in self.closure(target) {
            lines.push(format!("{}: {}", rule.targets.join(" "), rule.head));
            lines.extend(rule.recipe.iter().cloned());
            commands.extend(rule.recipe.iter().flat_map(|line| command_variables(line)));
        }
        for rule in self.rules.iter().filter(|rule| rule.is_special()) {
            lines.push(format!("{}: {}", rule.targets.join(" "), rule.head));
        }
        for _ in 0..DEPTH_MAX {
            let used = self.variables.iter().filter(|(name, _)| commands.contains(name));
            let more: Vec<String> = used.flat_map(|(_, line)| references(line)).collect();
            commands.extend(more);
        }
        // Exported variables reach every program of a recipe.
        let is_used = |name: &String, line: &str| commands.contains(name) || line.starts_with("export ");
        let variables = self.variables.iter().filter(|(name, line)| is_used(name, line));
        lines.extend(variables.map(|(_, line)| line.clone()));
        lines.join("\n")
    }

    /// Returns the names of tests in the variables that a target uses, by variable. A new one leaves nothing out.
    pub(super) fn listed_tests(&self, target: &str) -> Vec<(String, String)> {
        let of_variable = |(name, line): &(String, String)| -> Vec<(String, String)> {
            let is_list = LISTS.iter().any(|part| name.to_ascii_uppercase().contains(part));
            let value = assignment(line).map(|(_, value)| value).unwrap_or_default();
            let words = value.split_whitespace().filter(|word| is_list || crate::changes::is_test(word));
            words.map(|word| (name.clone(), word.to_owned())).collect()
        };
        self.used(target).into_iter().flat_map(of_variable).collect()
    }

    /// Returns true if a variable that a target uses turns assertions off.
    pub(super) fn turns_assertions_off(&self, target: &str) -> bool {
        self.used(target).iter().any(|(_, line)| line.contains("-DNDEBUG"))
    }

    /// Returns the variables that a target uses, also through others.
    fn used(&self, target: &str) -> Vec<&(String, String)> {
        let rules = self.closure(target);
        let lines = rules.iter().flat_map(|rule| rule.recipe.iter().chain([&rule.head]));
        let mut names: BTreeSet<String> = lines.flat_map(|line| references(line)).collect();
        for _ in 0..DEPTH_MAX {
            let own = self.variables.iter().filter(|(name, _)| names.contains(name));
            let more: Vec<String> = own.flat_map(|(_, line)| references(line)).collect();
            names.extend(more);
        }
        self.variables.iter().filter(|(name, _)| names.contains(name)).collect()
    }

    /// Returns the commands of a target with its variables inserted, and the files that are included.
    pub(super) fn commands(&self, target: &str) -> String {
        let mut values: BTreeMap<&str, String> = BTreeMap::new();
        for (name, line) in &self.variables {
            let value = assignment(line).map(|(_, value)| value).unwrap_or_default();
            let known = values.entry(name).or_default();
            *known = if line.contains("+=") { format!("{known} {value}") } else { value };
        }
        let recipes = self.closure(target).into_iter().flat_map(|rule| rule.recipe.iter().cloned());
        let included =
            self.directives.iter().filter_map(|line| line.split_once("include ")).map(|(_, files)| files);
        let mut text = recipes.chain(included.map(str::to_owned)).collect::<Vec<_>>().join("\n");
        for _ in 0..DEPTH_MAX {
            for (name, value) in &values {
                text = text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
            }
        }
        text
    }

    /// Returns true if a file with the name of this target would keep its recipe from running.
    pub(super) fn is_skipped_by_a_file(&self, target: &str) -> bool {
        let mut own = self.rules.iter().filter(|rule| rule.targets.iter().any(|name| name == target));
        let is_phony = self.rules.iter().any(|rule| {
            rule.targets.iter().any(|name| name == ".PHONY")
                && rule.head.split_whitespace().any(|name| name == target)
        });
        // A recipe that makes the file is meant to be skipped.
        let makes_it =
            |line: &String| line.contains("$@") || line.split_whitespace().any(|word| word == target);
        !is_phony && own.any(|rule| !rule.recipe.is_empty() && !rule.recipe.iter().any(makes_it))
    }

    /// Returns the names that the rules of a target make: files, unless they are phony.
    pub(super) fn made(&self, target: &str) -> Vec<String> {
        let names = self.closure(target).into_iter().filter(|rule| !rule.recipe.is_empty());
        names.flat_map(|rule| rule.targets.iter().cloned()).collect()
    }

    /// Returns the rules of a target and of its prerequisites.
    fn closure(&self, target: &str) -> Vec<&MakeRule> {
        let (mut names, mut found) = (vec![target.to_owned()], Vec::new());
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            for rule in self.rules.iter().filter(|rule| rule.targets.contains(&name)) {
                found.push(rule);
                let before = rule.head.split_whitespace().filter(|word| *word != "|");
                let new: Vec<String> = before
                    .filter(|word| !names.iter().any(|known| known == word))
                    .map(str::to_owned)
                    .collect();
                names.extend(new);
            }
        }
        found
    }
}

impl MakeRule {
    /// Returns true for rules such as `.IGNORE:`.
    fn is_special(&self) -> bool {
        self.targets.iter().any(|name| name.starts_with('.') && !HARMLESS.contains(&name.as_str()))
    }
}

/// Returns the name and value of `NAME = value`, with any of make's operators.
fn assignment(line: &str) -> Option<(String, String)> {
    let (left, value) = line.split_once('=')?;
    let left = left.trim_end_matches([':', '?', '+', '!']).trim();
    let name = left.split_whitespace().last()?;
    let prefixes = ["export", "override", "private"];
    let is_name = left.split_whitespace().rev().skip(1).all(|word| prefixes.contains(&word));
    (is_name && !name.contains(':')).then(|| (name.to_owned(), value.trim().to_owned()))
}

/// Returns the variables that stand where a recipe line names a program.
fn command_variables(line: &str) -> Vec<String> {
    let commands = line.split(['|', ';', '&', '(', '`']).flat_map(|part| part.split("$$("));
    let mut found = Vec::new();
    for command in commands.chain(std::iter::once(line)) {
        let words = command.trim_start_matches(['@', '-', '+', ' ']).split_whitespace();
        let program = words.skip_while(|word| word.contains('=') && !word.starts_with('$')).take(1);
        found.extend(program.flat_map(references));
    }
    found
}

/// Returns the variables named by `$(NAME)` and `${NAME}`.
fn references(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [("$(", ')'), ("${", '}')] {
        let parts = text.split(open).skip(1);
        found.extend(parts.filter_map(|part| part.split(close).next()).map(str::to_owned));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Makefile;

    const TEXT: &str = "PY = python3\nSRC = a.c\nRUN = $(PY) -m unittest\n.PHONY: test\n\
                        test: unit lint\nunit:\n\t@$(RUN) $(SRC)\nlint: ; ruff .\nclean:\n\trm -f $(SRC)\n";

    /// Changes of the file, and true if they change what `make test` runs.
    #[test]
    fn only_the_part_that_decides_counts() {
        let table = [
            ("PY = python3", "PY = true", true),
            ("RUN = $(PY)", "RUN = true #", true),
            ("unit:\n", "unit:\n\ttrue\n", true),
            ("test: unit", "test: other", true),
            ("ruff .", "true", true),
            ("clean:", "test:\n\ttrue\nclean:", true),
            ("clean:", ".IGNORE:\nclean:", true),
            ("clean:", "SHELL = /bin/true\nclean:", true),
            ("clean:", "include other.mk\nclean:", true),
            ("clean:", "export PATH := fake:$(PATH)\nclean:", true),
            ("clean:", "PATH = fake\nclean:", true),
            ("clean:", "export NOT_KNOWN = 1\nclean:", true),
            ("SRC = a.c", "SRC = a.c b.c", false),
            ("rm -f", "rm -rf", false),
            ("clean:", "deploy:\n\tscp x\nclean:", false),
        ];
        let before = Makefile::read(TEXT).definition("test");
        for (old, new, is_changed) in table {
            let after = Makefile::read(&TEXT.replacen(old, new, 1)).definition("test");
            assert_eq!(before != after, is_changed, "{old} -> {new}\n{after}");
        }
    }

    #[test]
    fn targets_and_commands() {
        let file = Makefile::read(TEXT);
        assert_eq!(file.targets(&["make", "unit"]), ["unit"]);
        assert_eq!(file.targets(&["make"]), ["test"]);
        assert_eq!(file.commands("unit"), "@python3 -m unittest a.c");
        let listed =
            Makefile::read("TESTS = a b\nFLAGS = -DNDEBUG\nt:\n\trun $(TESTS)\nfast:\n\tcc $(FLAGS)\n");
        let tests: Vec<String> = listed.listed_tests("t").into_iter().map(|(_, test)| test).collect();
        assert_eq!(tests, ["a", "b"]);
        assert!(!listed.turns_assertions_off("t") && listed.turns_assertions_off("fast"));
        assert!(!file.is_skipped_by_a_file("test") && file.is_skipped_by_a_file("unit"));
    }
}
