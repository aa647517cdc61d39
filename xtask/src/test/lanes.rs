//! Runs the test programs of the workspace, several at a time. `cargo test` runs them one after the other, and many
//! mostly wait: for processes, timers and servers.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::{command, root};

/// Programs that run at the same time.
const LANES: usize = 2;

/// Programs that take longest, the longest first: one that starts last would run alone.
pub(super) const LONG: &[&str] = &[
    "work",
    "escapes",
    "page",
    "cli",
    "restate",
    "drivers",
    "doc",
    "crash",
    "sdks",
    "walks",
    "cluster",
    "packages",
    "acp",
    "verify",
    "mcp",
    "provider",
    "api",
    "mcp_conformance",
    "editor",
    "service_types",
    "launch",
    "fuzz",
    "interleavings",
    "seeds",
    "tools",
    "checks_lsp",
];

/// A program to run: a test program of cargo, or the documentation tests.
struct TestProgram {
    /// The target: `cli`.
    name: String,
    /// The heading, as `cargo test` prints it.
    title: String,
    command: Command,
}

/// The result of one program.
struct ProgramResult {
    title: String,
    took: Duration,
    passed: u64,
    failed: u64,
    ignored: u64,
    success: bool,
}

/// Builds all test programs, runs them and the documentation tests, and prints a summary.
pub(super) fn run_all(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let mut programs = build(arguments)?;
    let mut documentation = command("cargo");
    documentation.arg("test").args(arguments).args(["--no-fail-fast", "--doc"]).current_dir(root());
    programs.push(TestProgram { name: "doc".into(), title: "Doc-tests".into(), command: documentation });
    programs.sort_by_key(|program| LONG.iter().position(|name| *name == program.name).unwrap_or(LONG.len()));
    for program in &mut programs {
        program.command.envs(environment.iter().copied()).envs(built_once());
    }
    let started = Instant::now();
    let results = run_in_lanes(programs, print)?;
    summary(results, started.elapsed())
}

/// CI builds everything once: incremental data would cost gigabytes of disk and save nothing.
fn built_once() -> Option<(&'static str, &'static str)> {
    std::env::var_os("CI").map(|_| ("CARGO_INCREMENTAL", "0"))
}

/// Builds the test programs and returns them.
#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
fn build(arguments: &[&str]) -> Result<Vec<TestProgram>> {
    eprintln!("\n── cargo test {} --no-run", arguments.join(" "));
    let mut cargo = command("cargo")
        .arg("test")
        .args(arguments)
        .args(["--no-run", "--message-format", "json-render-diagnostics"])
        .envs(built_once())
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `cargo`")?;
    let output = cargo.stdout.take().context("cargo has no output")?;
    let mut programs = Vec::new();
    for line in BufReader::new(output).lines() {
        let message: Value = serde_json::from_str(&line?).context("cargo printed no JSON")?;
        programs.extend(test_program(&message));
    }
    if !cargo.wait()?.success() {
        bail!("the tests do not compile");
    }
    Ok(programs)
}

/// Returns the test program that a message of cargo reports, with the directory and the variables that cargo gives it.
fn test_program(message: &Value) -> Option<TestProgram> {
    let executable = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let target = &message["target"];
    let name = target["name"].as_str()?.to_owned();
    let source = Path::new(target["src_path"].as_str()?);
    let source = source.strip_prefix(folder).unwrap_or(source).display();
    let is_unit = target["kind"][0] != "test";
    let shown = Path::new(executable).strip_prefix(root()).unwrap_or(Path::new(executable)).display();
    let title = format!("Running {}{source} ({shown})", if is_unit { "unittests " } else { "" });
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let mut command = Command::new(executable);
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder).env("CARGO_PKG_NAME", package);
    Some(TestProgram { name, title, command })
}

/// Runs all programs; `print` gets the output of each when it ends.
fn run_in_lanes(
    programs: Vec<TestProgram>,
    print: fn(&ProgramResult, &[u8]) -> Result<()>,
) -> Result<Vec<ProgramResult>> {
    let queue = Mutex::new(VecDeque::from(programs));
    let results = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        let lane = || -> Result<()> {
            while let Some(program) = next() {
                let (result, output) = run_one(program)?;
                // The lock keeps the output of each program together.
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                print(&result, &output)?;
                results.push(result);
            }
            Ok(())
        };
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        for lane in lanes {
            lane.join().unwrap_or_else(|_| bail!("a lane panicked"))?;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a program to its end. Standard output and error go to one file, in the order in which they were written.
#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
fn run_one(mut program: TestProgram) -> Result<(ProgramResult, Vec<u8>)> {
    eprintln!("     {}", program.title);
    let (output, mut written) = output_file(&program.name)?;
    let started = Instant::now();
    let status = program
        .command
        .stdin(Stdio::null())
        .stdout(written.try_clone()?)
        .stderr(written.try_clone()?)
        .status()
        .with_context(|| format!("cannot start {}", program.title))?;
    written.flush()?;
    let took = started.elapsed();
    let text = std::fs::read(&output)?;
    let (passed, failed, ignored) = counts(&String::from_utf8_lossy(&text));
    let success = status.success();
    Ok((ProgramResult { title: program.title, took, passed, failed, ignored, success }, text))
}

/// Creates `target/tests/NAME-N.txt`; the outputs stay there until the next run.
fn output_file(name: &str) -> Result<(PathBuf, std::fs::File)> {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let folder = root().join("target/tests");
    std::fs::create_dir_all(&folder)?;
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = folder.join(format!("{number:03}-{name}.txt"));
    let file =
        std::fs::OpenOptions::new().create(true).truncate(true).append(false).write(true).open(&path)?;
    Ok((path, file))
}

fn print(result: &ProgramResult, output: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "\n     {} {:.1} s", result.title, result.took.as_secs_f64())?;
    stdout.write_all(output)?;
    stdout.flush()?;
    Ok(())
}

/// Adds up the closing lines of `cargo test`: `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
fn counts(output: &str) -> (u64, u64, u64) {
    let mut sums = (0, 0, 0);
    for line in output.lines().filter(|line| line.starts_with("test result: ")) {
        for part in line.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(Ok(number)), Some(word)) = (words.next().map(str::parse::<u64>), words.next()) else {
                continue;
            };
            match word {
                "passed" => sums.0 += number,
                "failed" => sums.1 += number,
                "ignored" => sums.2 += number,
                _ => {}
            }
        }
    }
    sums
}

/// Prints the longest programs, the failed ones and the sums; an error if a program failed.
#[expect(clippy::print_stdout, reason = "this is a terminal program")]
fn summary(mut results: Vec<ProgramResult>, took: Duration) -> Result<()> {
    results.sort_by_key(|result| std::cmp::Reverse(result.took));
    println!("\nlongest test programs:");
    for result in results.iter().take(12) {
        println!("{:8.1} s  {}", result.took.as_secs_f64(), result.title);
    }
    let failed: Vec<_> = results.iter().filter(|result| !result.success).collect();
    for result in &failed {
        println!("failed: {}", result.title);
    }
    let sum = |part: fn(&ProgramResult) -> u64| results.iter().map(part).sum::<u64>();
    println!(
        "test programs: {} ok, {} failed; tests: {} passed; {} failed; {} ignored; finished in {:.0} s",
        results.len() - failed.len(),
        failed.len(),
        sum(|result| result.passed),
        sum(|result| result.failed),
        sum(|result| result.ignored),
        took.as_secs_f64(),
    );
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("{} of {} test programs failed", failed.len(), results.len())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::{ProgramResult, TestProgram, counts, run_in_lanes, summary, test_program};

    #[test]
    fn closing_lines_are_added_up() {
        let output = "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n\
            noise: 9 passed; 9 failed\ntest result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s\n";
        assert_eq!(counts(output), (7, 2, 1));
    }

    #[test]
    fn only_test_programs_are_run() {
        let mut message = json!({
            "reason": "compiler-artifact",
            "manifest_path": "/a/crates/b/Cargo.toml",
            "target": {"kind": ["test"], "name": "c", "src_path": "/a/crates/b/tests/c.rs"},
            "profile": {"test": true},
            "executable": "/a/target/debug/deps/c-1",
        });
        let program = test_program(&message).expect("a test program");
        assert_eq!(
            (program.name.as_str(), program.title.as_str()),
            ("c", "Running tests/c.rs (/a/target/debug/deps/c-1)")
        );
        assert_eq!(program.command.get_current_dir(), Some(std::path::Path::new("/a/crates/b")));
        message["profile"]["test"] = json!(false);
        assert!(test_program(&message).is_none());
    }

    #[test]
    fn every_program_runs_and_one_that_fails_fails_the_whole() {
        let program = |name: &str, script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            TestProgram { name: name.to_owned(), title: name.to_owned(), command }
        };
        let good = || program("good", "echo 'test result: ok. 2 passed; 0 failed; 1 ignored'");
        let bad = program("bad", "echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101");
        let silent = program("silent", "exit 3");
        // Its closing lines would count as those of this program.
        let quiet = |_: &ProgramResult, _: &[u8]| Ok(());
        let mut results = run_in_lanes(vec![good(), bad, silent, good()], quiet).expect("all can be started");
        results.sort_by(|one, other| one.title.cmp(&other.title));
        let seen: Vec<_> = results
            .iter()
            .map(|result| (result.title.as_str(), result.passed, result.failed, result.success))
            .collect();
        assert_eq!(
            seen,
            [("bad", 1, 1, false), ("good", 2, 0, true), ("good", 2, 0, true), ("silent", 0, 0, false)]
        );
        let error = summary(results, std::time::Duration::ZERO).expect_err("two failed").to_string();
        assert_eq!(error, "2 of 4 test programs failed");
        summary(run_in_lanes(vec![good()], quiet).expect("it can be started"), std::time::Duration::ZERO)
            .expect("it passed");
    }
}
