//! `--help` of every command is the published reference: `docs/reference/cli.md`.

use expect_test::expect_file;

use crate::support::{repository, run};

const COMMANDS: [&str; 44] = [
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
