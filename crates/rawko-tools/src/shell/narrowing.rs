//! Property test: adding a layer never widens a grant, for tools and for command lines.

use std::path::Path;

use proptest::prelude::*;

use super::check;
use crate::confine::ProjectRoot;
use crate::grant::{BashFilter, Grant, GrantLayer};

fn some_of(of: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(of).prop_map(str::to_owned), 0..=most)
}

const NAMES: &[&str] = &[
    "Read",
    "Write",
    "editFile",
    "Bash",
    "Bash(git log:*)",
    "Bash(ls)",
    "*",
    "mcp__*",
    "Grep",
    "search",
    "Plan*",
];
const COMMANDS: &[&str] = &["git", "git log", "ls", "touch", "cargo *", "*"];
const PATTERNS: &[&str] = &["rm", "git push", "^ls", "x$", "("];

fn some_layer() -> impl Strategy<Value = GrantLayer> {
    let filter = (prop::option::of(some_of(COMMANDS, 3)), some_of(PATTERNS, 1));
    let filter = filter
        .prop_map(|(allowed_commands, blocked_patterns)| BashFilter { allowed_commands, blocked_patterns });
    let parts = (prop::option::of(some_of(NAMES, 4)), some_of(NAMES, 1), prop::option::of(filter));
    parts.prop_map(|(allowed, blocked, bash)| GrantLayer {
        source: "a layer".into(),
        allowed,
        blocked,
        bash,
        network: None,
    })
}

const TOOLS: [&str; 7] = ["Read", "Write", "Edit", "Bash", "Grep", "PlanWrite", "mcp__git__log"];
const LINES: [&str; 10] = [
    "ls",
    "git log",
    "git push",
    "touch x",
    "ls; git log",
    "echo x > y",
    "echo $(touch x)",
    "cargo test | cat",
    "$x y",
    "PATH=x ls",
];

fn allows(grant: &Grant, line: &str) -> bool {
    check(line, grant, &ProjectRoot::new(Path::new("/"))).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A refusal remains with any additional layer at any position.
    #[test]
    fn adding_a_layer_never_allows_more(
        layers in prop::collection::vec(some_layer(), 0..3), more in some_layer(), at in 0..4_usize,
    ) {
        let before = Grant::new(layers.clone());
        let mut after = layers;
        after.insert(at.min(after.len()), more);
        let after = Grant::new(after);
        for tool in TOOLS {
            prop_assert!(before.allows(tool) || !after.allows(tool), "{}", tool);
        }
        for line in LINES {
            prop_assert!(allows(&before, line) || !allows(&after, line), "{}", line);
        }
    }
}
