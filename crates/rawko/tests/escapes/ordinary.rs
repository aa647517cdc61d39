//! Ordinary read-only command lines, run with the real binary: they run, change no byte, and open no socket. Every tenth of
//! them, or all with `RAWKO_ORDINARY=1`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::shell::{Project, has_namespaces};

const ORDINARY: &str = include_str!("../../../rawko-tools/tests/lines/ordinary.txt");
/// Every tenth line takes about ten seconds.
const SAMPLE: usize = 10;
const READING: &str = "limits: {maxIterations: 2000}\ntools: {allowed: [Read, Grep, Glob, Bash]}\n";
/// Lines run in one conversation.
const CHUNK: usize = 100;
/// Each prints `OPENED` where sockets may be opened.
const SOCKETS: [&str; 3] = [
    "python3 -c 'import socket; socket.socket(); print(\"OPENED\")'",
    "python3 -c 'import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); print(\"OPENED\")'",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX); print(\"OPENED\")'",
];

/// The files that the lines name most often.
const FILES: [(&str, &str); 14] = [
    ("README.md", "# Project\n\nfoo TODO\n"),
    ("Cargo.toml", "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("src/main.rs", "fn main() {}\n"),
    ("src/lib.rs", "pub fn made() {}\n"),
    ("package.json", "{\"name\": \"made\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"true\"}}\n"),
    ("a.txt", "a\nb\n"),
    ("b.txt", "b\nc\n"),
    ("c.txt", "c\n"),
    ("log.txt", "ERROR one\nINFO two\n"),
    ("data.csv", "a,b\n1,2\n"),
    ("data.json", "{\"a\": [1, 2]}\n"),
    ("go.mod", "module made\n"),
    ("Makefile", "all:\n\ttrue\n"),
    ("docs/index.md", "index\n"),
];

/// As `rawko-tools` reads the list in its own test.
fn lines() -> impl Iterator<Item = String> {
    let lines = ORDINARY.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
    lines.map(|line| {
        let line = line.split_once(" ## ").map_or(line, |(line, _)| line);
        let is_escape = ["'\\n'", "\\n\"", "\\n'"].iter().any(|quoted| line.contains(quoted));
        if is_escape { line.to_owned() } else { line.replace("\\n", "\n") }
    })
}

fn bash(line: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": line, "timeout_ms": 10_000}))
}

/// Mode and content of everything below a directory.
fn tree(at: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let content = match fs::read_link(&path) {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) if about.is_file() => fs::read(&path).unwrap(),
            Err(_) => Vec::new(),
        };
        found.insert(path.clone(), (about.permissions().mode(), content));
        if about.is_dir() {
            tree(&path, found);
        }
    }
}

fn state(project: &Project) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    tree(project.dir.path(), &mut found);
    // The snapshots of rawko itself.
    let own = [".git/objects", ".git/refs/rawko"].map(|name| project.dir.path().join(name));
    found.retain(|path, _| !own.iter().any(|own| path.starts_with(own)));
    found
}

fn project(agent: &str, lines: &[String]) -> Project {
    let calls: Vec<_> = lines.iter().map(|line| bash(line)).collect();
    let project = Project::new("", agent, &calls);
    for (name, text) in FILES {
        let file = project.dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    project
}

#[test]
fn ordinary_lines_run_and_change_nothing() {
    if !has_namespaces() {
        println!("ordinary: not tried, this machine has no namespaces");
        return;
    }
    let step = if std::env::var_os("RAWKO_ORDINARY").is_some() { 1 } else { SAMPLE };
    let all: Vec<String> = lines().step_by(step).collect();
    let (mut ran, mut wrong) = (0, Vec::new());
    for chunk in all.chunks(CHUNK) {
        let lines: Vec<String> = chunk.iter().cloned().chain(SOCKETS.map(str::to_owned)).collect();
        let project = project(READING, &lines);
        let before = state(&project);
        let results = project.run(&["--permission-mode", "deny"]);
        assert_eq!(results.len(), lines.len(), "{:?}", results.last());
        let after = state(&project);
        let paths = before.keys().chain(after.keys());
        let changed: Vec<_> = paths.filter(|path| before.get(*path) != after.get(*path)).collect();
        assert!(changed.is_empty(), "one of {chunk:#?} changed {changed:?}");
        let (of_lines, of_sockets) = results.split_at(chunk.len());
        assert!(!of_sockets.concat().contains("OPENED"), "{of_sockets:?}");
        for (line, result) in chunk.iter().zip(of_lines) {
            match result.starts_with("refused:") {
                true => wrong.push(format!("{line:?}: {}", result.lines().next().unwrap_or_default())),
                false => ran += 1,
            }
        }
    }
    println!("ordinary: {ran} of {} ran, nothing changed\n{}", all.len(), wrong.join("\n"));
    assert!(ran * 100 >= all.len() * 95, "{ran} of {}:\n{}", all.len(), wrong.join("\n"));
}

/// The controls: where writing is allowed, the same lines change a file and open sockets.
#[test]
fn an_agent_that_may_write_does_both() {
    let lines: Vec<String> =
        ["touch made".to_owned()].into_iter().chain(SOCKETS.map(str::to_owned)).collect();
    let project = project("", &lines[..3]);
    let before = state(&project);
    let results = project.run(&[]);
    assert_ne!(state(&project), before);
    assert!(results[1].contains("OPENED") && results[2].contains("OPENED"), "{results:?}");
}
