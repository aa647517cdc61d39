//! Runs the binary in a temporary directory and records the result as a terminal would show it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rawko_settings::{Environment, StateDir};
use tempfile::TempDir;

pub(crate) const RAWKO: &str = env!("CARGO_BIN_EXE_rawko");

/// The result of one run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The root of the repository, with examples and docs.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Creates a directory with these files, removed after the test.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// Variables that would lead commands to the state of the user who runs the tests.
pub(crate) const ELSEWHERE: [&str; 4] = ["XDG_STATE_HOME", "RAWKO_STATE_DIR", "RAWKO_TOKEN", "RAWKO_CALL"];

/// Returns the state directory of the commands in a directory: one for everything below the same temporary directory.
pub(crate) fn state_of(dir: &Path) -> PathBuf {
    let temporary = std::env::temp_dir();
    let top = dir.ancestors().find(|folder| folder.parent() == Some(&temporary));
    top.map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"),
        |top| top.join(".local/state/rawko"),
    )
}

/// Returns the store of a project.
pub(crate) fn store_of(dir: &Path) -> PathBuf {
    let state = state_of(dir);
    let environment: Environment = [("RAWKO_STATE_DIR", state.to_str().unwrap())].into_iter().collect();
    StateDir::of(&environment).unwrap().store(dir)
}

/// Returns the token of the operator, which the first acting command created.
pub(crate) fn token_of(dir: &Path) -> String {
    fs::read_to_string(state_of(dir).join("operator.token")).unwrap().trim().to_owned()
}

/// Returns the name of the user who runs the tests, which the credential proves.
pub(crate) fn operator() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Replaces the proven name of the operator with `ada`, as a JSON string, in parentheses, and before a message.
pub(crate) fn by_ada(text: &str) -> String {
    let name = operator();
    let text = text.replace(&format!("\"{name}\":"), "\"\0\":").replace(&format!("\"{name}\""), "\"ada\"");
    let text = text.replace("\"\0\":", &format!("\"{name}\":"));
    let text = text
        .replace(&format!(" ({name})"), " (ada)")
        .replace(&format!("  {name}: "), "  ada: ")
        .replace(&format!(" human {name}"), " human ada");
    text.split_inclusive('\n').map(|line| paused_by_ada(line, &name)).collect()
}

/// The same for the column of a pause or a resume, which is as wide as before.
fn paused_by_ada(line: &str, name: &str) -> String {
    let is_it = ["> pause by ", "> resume by "].iter().any(|lead| line.trim_start().starts_with(lead));
    match line.split_once(&format!("by {name} ")) {
        Some((lead, rest)) if is_it => {
            let width = (name.len() + 1 + rest.len() - rest.trim_start().len()).max(4);
            format!("{lead}by {:<width$}{}", "ada", rest.trim_start())
        }
        _ => line.to_owned(),
    }
}

/// Returns the binary with a clean environment.
pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(RAWKO);
    command.args(args).current_dir(dir);
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "RUST_BACKTRACE", "RAWKO_STORE", "LOGNAME"]
        .into_iter()
        .chain(ELSEWHERE)
    {
        command.env_remove(name);
    }
    // Hides the settings of the user who runs the tests.
    command.env("USER", "ada").env("HOME", dir).env_remove("XDG_CONFIG_HOME");
    command.env("RAWKO_STATE_DIR", state_of(dir));
    command
}

/// Maximum runs of a scenario with many kills. Each run is slower, until one lasts long enough for all kills.
pub(crate) const STORIES_MAX: u64 = 5;

/// Delays every step of a script (list items indented by four spaces) by `ms`.
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
    // A command that does not read its input may close it early.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns a run as a transcript: the command, its output, its messages, and the exit code unless it is 0.
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

/// Replaces the parts that differ in every run: ages, timestamps, process ids, the directory.
pub(crate) fn stable(text: &str, dir: &Path) -> String {
    let place = dir.canonicalize().unwrap();
    let text = text.replace(&*place.to_string_lossy(), "DIR").replace(&*dir.to_string_lossy(), "DIR");
    let text = (1..30)
        .rev()
        .fold(text, |text, version| text.replace(&format!("Landlock v{version}"), "Landlock vN"));
    let without = |line| without_project(&without_numbers(&without_ages(&without_moments(line))));
    by_ada(&text.split_inclusive('\n').map(without).collect::<String>())
}

/// Masks the name and the hash of a project's directory in the state directory.
fn without_project(line: &str) -> String {
    let mut parts = line.split("/projects/");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "/projects/PROJECT";
        out += part.find(['/', ' ', ':', '\n']).map_or("", |end| &part[end..]);
    }
    out
}

/// Masks `2026-11-16 01:32:46Z`, also with a `T`.
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

/// Replaces `3s ago` with `just now`.
fn without_ages(line: &str) -> String {
    let mut parts = line.split(" ago");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number =
            out.trim_end_matches(['s', 'm']).trim_end_matches(|byte: char| byte.is_ascii_digit()).len();
        // In a table the cell is as wide as `just now`.
        let padding = " ".repeat("just now".len().saturating_sub(out.len() - number + " ago".len()));
        out.truncate(number);
        out += "just now";
        out += part.strip_prefix(&padding).filter(|rest| rest.starts_with("  ")).unwrap_or(part);
    }
    out
}

/// Masks times in JSON and process ids.
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

/// Returns a transcript of several commands.
pub(crate) fn played(dir: &Path, commands: &[&str]) -> String {
    let transcripts = commands.iter().map(|command| {
        let words: Vec<_> = command.split(' ').collect();
        transcript(dir, &words, "")
    });
    stable(&transcripts.collect::<String>(), dir)
}
