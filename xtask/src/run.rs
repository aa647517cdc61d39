//! Runs other programs: prints each command and reports its failure.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}

/// Returns a command without the variables that `cargo run` set for xtask itself: build scripts that read them would run
/// again, and with them a quarter of the dependencies, whenever `cargo xtask` and `cargo` take turns.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Prints and runs a command in the root of the repository; returns an error if it fails.
#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
pub(crate) fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    eprintln!("\n── {program} {}", arguments.join(" "));
    // CI builds everything once: incremental data would cost gigabytes of disk and save nothing.
    let once = std::env::var_os("CI").map(|_| ("CARGO_INCREMENTAL", "0"));
    let status = command(program)
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
