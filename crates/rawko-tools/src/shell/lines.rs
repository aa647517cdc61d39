//! Two lists of command lines under a read-only grant: ordinary ones, nearly all of which must pass, and writing ones,
//! none of which may.

use std::path::Path;

use super::check;
use crate::confine::ProjectRoot;
use crate::grant::{Grant, GrantLayer};

const ORDINARY: &str = include_str!("../../tests/lines/ordinary.txt");
const WRITING: &str = include_str!("../../tests/lines/writing.txt");

fn lines(text: &'static str) -> impl Iterator<Item = (String, Option<&'static str>)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(|line| match line.split_once(" ## ") {
        Some((line, mark)) => (line.replace("\\n", "\n"), Some(mark)),
        // `\n` within quotes is an escape of the program.
        None if line.contains("'\\n'") || line.contains("\\n\"") || line.contains("\\n'") => {
            (line.to_owned(), None)
        }
        None => (line.replace("\\n", "\n"), None),
    })
}

fn reading() -> Grant {
    let allowed = Some(["Read", "Grep", "Glob", "Bash"].map(str::to_owned).to_vec());
    Grant::new([GrantLayer { source: "the phase `research`".into(), allowed, ..GrantLayer::default() }])
}

#[test]
fn ordinary_lines_run_under_a_read_only_grant() {
    let (grant, project) = (reading(), ProjectRoot::new(Path::new("/usr")));
    let all: Vec<_> = lines(ORDINARY).collect();
    let refused: Vec<String> = all
        .iter()
        .filter_map(|(line, _)| match check(line, &grant, &project) {
            Ok(permit) if permit.is_read_only => None,
            Ok(_) => Some(format!("{line:?}: not read-only")),
            Err(refused) => Some(format!("{line:?}: {}", refused.why)),
        })
        .collect();
    let permitted = all.len() - refused.len();
    println!("{permitted} of {} ordinary lines permitted\n{}", all.len(), refused.join("\n"));
    assert!(all.len() >= 750, "{} lines", all.len());
    assert!(permitted * 100 >= all.len() * 97, "{permitted} of {}:\n{}", all.len(), refused.join("\n"));
}

#[test]
fn writing_lines_are_held() {
    let (grant, project) = (reading(), ProjectRoot::new(Path::new("/usr")));
    let all: Vec<_> = lines(WRITING).collect();
    let escaped: Vec<String> = all
        .iter()
        .filter_map(|(line, mark)| match (check(line, &grant, &project), mark) {
            (Err(_), None) => None,
            (Err(refused), Some(_)) => Some(format!("{line:?} does not reach the kernel: {}", refused.why)),
            (Ok(permit), Some("kernel")) if permit.needs_kernel.is_some() && permit.is_read_only => None,
            // The checked line runs: text between quotes, not a command.
            (Ok(permit), Some("printed")) if permit.line.contains("\"$(  )\ntouch x") => None,
            (Ok(permit), _) => Some(format!("{line:?} runs as {:?}", permit.line)),
        })
        .collect();
    println!("{} of {} writing lines held", all.len() - escaped.len(), all.len());
    assert!(all.len() >= 400, "{} lines", all.len());
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}

/// A blocked command is blocked in any order of its flags, and if another program runs it.
#[test]
fn a_blocked_command_is_blocked_by_any_means() {
    let blocked = vec!["Bash(rm -rf:*)".to_owned()];
    let grant = Grant::new([GrantLayer { source: "the agent".into(), blocked, ..GrantLayer::default() }]);
    let project = ProjectRoot::new(Path::new("/usr"));
    for (line, expected) in [
        ("rm x", "ok"),
        ("rm x -fr", "command_blocked"),
        ("rm -r -f x", "command_blocked"),
        ("git -c alias.z='!rm -rf x' z", "command_blocked"),
        ("tar tf a --to-command='rm -rf x'", "command_blocked"),
        ("tar tf a", "ok"),
        ("vim -c '!rm -rf x'", "command_unknowable"),
        ("python3 -c 'print(1)'", "ok"),
        ("python3 -c 'import os; os.system(\"rm -rf x\")'", "command_unknowable"),
    ] {
        let found = check(line, &grant, &project).map_or_else(|refused| refused.rule, |_| "ok");
        assert_eq!(found, expected, "{line}");
    }
}
