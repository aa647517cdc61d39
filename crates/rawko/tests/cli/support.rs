//! Running the binary in a directory of its own, and writing down what happened as a terminal would show it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(crate) const RAWKO: &str = env!("CARGO_BIN_EXE_rawko");

/// What one run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The repository, where examples and docs are.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A directory with these files in it, gone after the test.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// The binary with nothing of this machine in its environment.
pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(RAWKO);
    command.args(args).current_dir(dir);
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "RUST_BACKTRACE", "RAWKO_STORE", "LOGNAME"] {
        command.env_remove(name);
    }
    // Settings of whoever runs the tests are none of their business.
    command.env("USER", "ada").env("HOME", dir).env_remove("XDG_CONFIG_HOME");
    command
}

/// How often a story with many kills is begun anew, each time slower, when it was over before there were enough.
pub(crate) const STORIES_MAX: u64 = 5;

/// A script whose steps, one a list item of four spaces, take so long each.
pub(crate) fn slowed(script: &str, ms: u64) -> String {
    let slow = |line: &str| match line.strip_prefix("    - ") {
        Some(step) if !step.starts_with('{') => format!("    - delay_ms: {ms}\n      {step}\n"),
        Some(_) | None => format!("{line}\n"),
    };
    script.lines().map(slow).collect()
}

/// Runs `rawko ARGS` in a directory, with a text on standard input.
pub(crate) fn run(dir: &Path, args: &[&str], stdin: &str) -> Run {
    let mut command = command(dir, args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that does not read its input closes it early; that is its right.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A run as a transcript: the command, its output, what it said beside it, and the exit code unless it is 0.
pub(crate) fn transcript(dir: &Path, args: &[&str], stdin: &str) -> String {
    let run = run(dir, args, stdin);
    let mut text = format!("$ rawko {}\n{}", args.join(" "), run.stdout);
    if !run.stderr.is_empty() {
        text += "--- stderr\n";
        text += &run.stderr;
    }
    match run.code {
        Some(0) => {}
        Some(code) => text += &format!("--- exit code {code}\n"),
        None => text += "--- ended by a signal\n",
    }
    text
}

/// What is different at every run made the same: ages, moments, process numbers, the directory.
pub(crate) fn stable(text: &str, dir: &Path) -> String {
    let place = dir.canonicalize().unwrap();
    let text = text.replace(&*place.to_string_lossy(), "DIR").replace(&*dir.to_string_lossy(), "DIR");
    text.split_inclusive('\n').map(|line| without_numbers(&without_ages(&without_moments(line)))).collect()
}

/// `2026-11-16 01:32:46Z`, also with a `T`.
fn without_moments(line: &str) -> String {
    const SHAPE: &str = "0000-00-00 00:00:00Z";
    let is_moment = |text: &str| {
        text.len() == SHAPE.len()
            && text.bytes().zip(SHAPE.bytes()).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                b' ' => byte == b' ' || byte == b'T',
                other => byte == other,
            })
    };
    let mut out = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if rest.get(..SHAPE.len()).is_some_and(is_moment) {
            out += "2026-01-05 09:30:00Z";
            rest = &rest[SHAPE.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// `3s ago` becomes `just now`.
fn without_ages(line: &str) -> String {
    let mut parts = line.split(" ago");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number =
            out.trim_end_matches(['s', 'm']).trim_end_matches(|byte: char| byte.is_ascii_digit()).len();
        out.truncate(number);
        out += "just now";
        out += part;
    }
    out
}

/// Times in JSON and process numbers.
fn without_numbers(line: &str) -> String {
    let mut out = line.to_owned();
    for before in ["_ms\":", "_ms\": ", "process "] {
        let mut parts = out.split(before);
        let mut next = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|byte: char| byte.is_ascii_digit());
            next += before;
            next += if rest.len() < part.len() { "0" } else { "" };
            next += rest;
        }
        out = next;
    }
    out
}

/// A transcript of several commands, one after the other.
pub(crate) fn played(dir: &Path, commands: &[&str]) -> String {
    let transcripts = commands.iter().map(|command| {
        let words: Vec<_> = command.split(' ').collect();
        transcript(dir, &words, "")
    });
    stable(&transcripts.collect::<String>(), dir)
}
