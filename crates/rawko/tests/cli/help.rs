//! `--help` of every command is the published reference: `docs/reference/cli.md`.

use expect_test::expect_file;

use crate::support::{repository, run};

const COMMANDS: &[&str] = &[
    "init",
    "demo",
    "trust",
    "check",
    "verify",
    "simulate",
    "graph",
    "test",
    "task",
    "attach",
    "run",
    "pause",
    "resume",
    "queue",
    "ps",
    "top",
    "show",
    "history",
    "logs",
    "send",
    "approve",
    "deny",
    "cancel",
    "fork",
    "migrate",
    "replay",
    "diff",
    "undo",
    "worktrees",
    "serve",
    "triggers",
    "acp",
    "hook",
    "lsp",
    "mcp",
    "worker",
    "channels",
    "chat",
    "agents",
    "charts",
    "doctor",
    "audit",
    "backup",
    "restore",
    "instance",
    "prune",
    "import",
    "schema",
    "completions",
];

#[test]
fn the_reference_is_what_help_says() {
    let mut page = String::from(
        "# Command line\n\nWhat `rawko --help` and `rawko COMMAND --help` print. \
         Written by a test (`UPDATE_EXPECT=1 cargo test -p rawko --features full help`).\n",
    );
    page += &section("rawko", &["--help"]);
    for command in COMMANDS {
        page += &section(&format!("rawko {command}"), &[command, "--help"]);
    }
    expect_file!["../../../../docs/reference/cli.md"].assert_eq(&page);
}

fn section(title: &str, args: &[&str]) -> String {
    let run = run(&repository(), args, "");
    assert_eq!(run.code, Some(0));
    assert_eq!(run.stderr, "");
    // Trailing blanks are invisible and editors remove them.
    let text: Vec<_> = run.stdout.trim_end().lines().map(str::trim_end).collect();
    format!("\n## {title}\n\n```text\n{}\n```\n", text.join("\n"))
}

#[test]
fn every_command_has_examples_in_its_help() {
    for command in COMMANDS {
        let run = run(&repository(), &[command, "--help"], "");
        assert!(run.stdout.contains("Examples:"), "{command}");
    }
}

#[test]
fn every_command_is_in_the_reference() {
    let help = run(&repository(), &["--help"], "").stdout;
    let listed = help.lines().take_while(|line| !line.starts_with("Options:"));
    let listed =
        listed.filter_map(|line| line.strip_prefix("  ")?.split_once("  ").map(|(name, _)| name.trim()));
    let missing: Vec<_> = listed.filter(|name| !COMMANDS.contains(name)).collect();
    assert!(missing.is_empty(), "not in COMMANDS: {missing:?}");
}

/// Text that is broken by hand and longer than the width of the help is broken again, one word to a line.
#[test]
fn paragraphs_of_help_are_broken_once() {
    for command in COMMANDS {
        let help = run(&repository(), &[command, "--help"], "").stdout;
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        let lines: Vec<_> = help.lines().collect();
        for pair in lines.windows(2).filter(|pair| is_prose(pair[0]) && is_prose(pair[1])) {
            let next = pair[1].split(' ').next().unwrap_or_default();
            assert!(pair[0].len() + next.len() >= 80, "{command}: `{}` ends early", pair[0]);
        }
    }
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = run(&repository(), &["completions", shell], "");
        assert_eq!(run.code, Some(0));
        for command in COMMANDS {
            assert!(run.stdout.contains(command), "{shell} does not know {command}");
        }
    }
}

#[test]
fn completions_are_accepted_by_bash() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let script = run(&repository(), &["completions", "bash"], "").stdout;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}
