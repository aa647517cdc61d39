//! Programs that stay between calls: what they leave in a call, between two, and at their end is set aside; what a person
//! writes while they wait stays.

use std::fs;

use rawko_process::{LastingWatch, Launch, Processes, Profile, ProjectAccess, WatchedCall};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::Yard;

/// Runs the lines that it reads, and prints `done` after each.
const SHELL: &str = "while read -r line; do eval \"$line\"; echo done; done";
/// Attempts to write a file while the shell waits: the end of its last line takes a moment.
const ATTEMPTS: usize = 200;

struct Shell {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    processes: Processes,
    watch: LastingWatch,
    _child: Child,
}

impl Shell {
    async fn start(yard: &Yard, profile: Profile) -> (Self, WatchedCall) {
        let launch = Launch {
            args: vec!["-c".into(), SHELL.into()],
            inherited: std::env::vars().collect(),
            ..Launch::new("bash", profile, yard.confinement())
        };
        let launched = launch.start().await.unwrap();
        let (mut child, processes) = (launched.child, launched.processes);
        let (watch, start) = LastingWatch::start(launched.authority, &processes);
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (Self { stdin, lines, processes, watch, _child: child }, start)
    }

    async fn run(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        while self.lines.next_line().await.unwrap().unwrap() != "done" {}
    }
}

#[tokio::test]
async fn what_a_program_leaves_at_any_time_is_set_aside() {
    let yard = Yard::new();
    yard.write("src/AGENTS.md", "mine");
    let has = |name: &str| yard.root.join(name).exists();
    let (mut shell, start) = Shell::start(&yard, Profile::Program(ProjectAccess::Write)).await;
    shell.run("echo x > .envrc").await;
    drop(start);
    assert!(!has(".envrc") && has(".envrc.refused"), "in its start");
    shell.run("echo x > lefthook.yml; touch plain").await;
    assert!(has("lefthook.yml"), "the control");
    let call = shell.watch.call().await;
    assert!(!has("lefthook.yml") && has("lefthook.yml.refused") && has("plain"), "between two calls");
    shell.run("mkdir .vscode; echo x > .vscode/tasks.json").await;
    drop(call);
    assert!(!has(".vscode"), "in a call");
    shell.run("mv src old; mkdir src; echo x > src/AGENTS.md").await;
    shell.watch.look().await;
    assert!(!has("src/AGENTS.md") && has("old/AGENTS.md"), "another directory in the place of one");
    shell.run("echo x > .mcp.json").await;
    let Shell { processes, watch, .. } = shell;
    processes.kill_all().await;
    drop(watch);
    assert!(!has(".mcp.json") && has(".mcp.json.refused"), "at its end");
}

#[tokio::test]
async fn what_a_person_writes_meanwhile_stays() {
    let yard = Yard::new();
    yard.write("AGENTS.md", "mine");
    let (mut shell, start) = Shell::start(&yard, Profile::Program(ProjectAccess::Write)).await;
    drop(start);
    // Saved as many editors do, while the program runs.
    shell.run("true").await;
    yard.write("AGENTS.md.new", "edited");
    fs::rename(yard.root.join("AGENTS.md.new"), yard.root.join("AGENTS.md")).unwrap();
    drop(shell.watch.call().await);
    assert_eq!(fs::read_to_string(yard.root.join("AGENTS.md")).unwrap(), "edited");
    // New, while it waits.
    for attempt in 0..ATTEMPTS {
        shell.watch.look().await;
        yard.write("src/CLAUDE.md", "mine");
        drop(shell.watch.call().await);
        if yard.root.join("src/CLAUDE.md").exists() {
            break;
        }
        assert!(attempt + 1 < ATTEMPTS, "the file was always taken for one of the program");
    }
    shell.run("touch plain").await;
    drop(shell.watch.call().await);
    assert!(yard.root.join("src/CLAUDE.md").exists(), "it is known from now on");
}

#[tokio::test]
async fn a_program_that_only_reads_is_not_watched() {
    let yard = Yard::new();
    let (mut shell, start) = Shell::start(&yard, Profile::Program(ProjectAccess::Read)).await;
    shell.run("touch .envrc 2> /dev/null; test -w . || touch /tmp/x").await;
    yard.write(".envrc", "mine");
    drop(start);
    drop(shell.watch.call().await);
    assert_eq!(fs::read_to_string(yard.root.join(".envrc")).unwrap(), "mine");
}
