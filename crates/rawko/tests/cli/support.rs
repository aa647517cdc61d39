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
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command
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
