//! Runs other programs: prints each command and reports its failure.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}

/// Prints and runs a command in the root of the repository; returns an error if it fails.
#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
pub(crate) fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    eprintln!("\n── {program} {}", arguments.join(" "));
    // CI builds everything once: incremental data would cost gigabytes of disk and save nothing.
    let once = std::env::var_os("CI").map(|_| ("CARGO_INCREMENTAL", "0"));
    let status = Command::new(program)
        .args(arguments)
        .envs(once)
        .envs(environment.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot start `{program}`"))?;
    if !status.success() {
        bail!("`{program} {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}

/// Returns true if the program can be run.
pub(crate) fn is_there(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}
