//! A language server as a check: opens the files and requests diagnostics. As with any check, a missing result is an
//! error, never silence. Servers keep running between the passes of a task, because starting one takes long.

mod files;
mod servers;
mod session;
mod talk;
mod wire;

use std::path::Path;
use std::time::Duration;

use rawko_process::Launch;
use serde_json::Value;

use super::formats::{CheckCount, many};
use super::report::{CheckFinding, first};
use files::OpenFile;
pub use servers::LanguageServers;
pub(crate) use wire::count_messages;

/// Severity 1 of the protocol.
const ERROR: u64 = 1;

/// Counts the errors that a language server reports for some files.
pub(super) async fn ask(
    servers: &LanguageServers,
    launch: Launch,
    root: &Path,
    patterns: &[String],
    time: Duration,
) -> Result<CheckCount, String> {
    let opened = files::open(root, patterns)?;
    let diagnostics = servers.diagnostics(launch, root, &opened, time).await?;
    Ok(counted(&opened, &diagnostics))
}

/// Diagnostics are in the order of the files.
fn counted(opened: &[OpenFile], diagnostics: &[Vec<Value>]) -> CheckCount {
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
    let summary = format!("{} in {files}", many(errors, "error"));
    CheckCount { errors, summary, findings: first(findings), ..CheckCount::default() }
}
