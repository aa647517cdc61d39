//! A language server as a check: starts it, opens the files, requests diagnostics and ends it. As with any check, a
//! missing result is an error, never silence.

mod files;
mod talk;
mod wire;

use std::path::Path;
use std::time::Duration;

use rawko_process::Launch;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::time::timeout;

use super::formats::{Counted, many};
use super::process;
use super::report::{CheckFinding, first};
use files::OpenFile;
use talk::Talk;

/// Limit of captured stderr.
const STDERR_BYTES_MAX: usize = 16 * 1024;
/// Time for stderr to arrive after the exit.
const GRACE: Duration = Duration::from_secs(1);
/// Severity 1 of the protocol.
const ERROR: u64 = 1;

/// Counts the errors that a language server reports for some files.
pub(super) async fn ask(
    launch: Launch,
    root: &Path,
    patterns: &[String],
    time: Duration,
) -> Result<Counted, String> {
    let opened = files::open(root, patterns)?;
    let launched = launch.start().await;
    let launched = launched.map_err(|error| format!("the language server could not be started: {error}"))?;
    let (mut child, processes) = (launched.child, launched.processes);
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the language server has no pipes".to_owned());
    };
    let complaints = tokio::spawn(last_line(child.stderr.take()));
    let mut talk = Talk::new(stdin, stdout, root);
    let answer = match timeout(time, talk.diagnostics(&opened)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("the language server did not answer within {time:?}")),
    };
    // Ended before its pipes are closed: an error about closed pipes would hide the cause.
    processes.end(process::GRACE).await;
    let _ = timeout(process::GRACE, child.wait()).await;
    drop(talk);
    match answer {
        Ok(diagnostics) => Ok(counted(&opened, &diagnostics)),
        Err(why) => match timeout(GRACE, complaints).await {
            Ok(Ok(line)) if !line.is_empty() => Err(format!("{why}: {line}")),
            _ => Err(why),
        },
    }
}

/// Returns the last line of stderr.
async fn last_line(pipe: Option<ChildStderr>) -> String {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else { return String::new() };
    while let Ok(1..) = pipe.read_buf(&mut kept).await {
        if kept.len() > 2 * STDERR_BYTES_MAX {
            kept.drain(..kept.len() - STDERR_BYTES_MAX);
        }
    }
    let text = String::from_utf8_lossy(&kept);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Diagnostics are in the order of the files.
fn counted(opened: &[OpenFile], diagnostics: &[Vec<Value>]) -> Counted {
    let mut findings = Vec::new();
    for (file, diagnostics) in opened.iter().zip(diagnostics) {
        let errors =
            diagnostics.iter().filter(|one| one.get("severity").and_then(Value::as_u64) == Some(ERROR));
        findings.extend(errors.map(|one| {
            let line = one.pointer("/range/start/line").and_then(Value::as_u64).map(|line| line + 1);
            let message = one.get("message").and_then(Value::as_str).unwrap_or_default();
            CheckFinding::new(Some(&file.shown), line, message)
        }));
    }
    let errors = u64::try_from(findings.len()).unwrap_or(u64::MAX);
    let files = many(u64::try_from(opened.len()).unwrap_or(u64::MAX), "file");
    Counted { errors, summary: format!("{} in {files}", many(errors, "error")), findings: first(findings) }
}
