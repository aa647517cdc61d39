//! Licences, sources and advisories of dependencies, by cargo-deny. The advisory database is on the network: a machine
//! that cannot reach it prints a message and skips that check, because the change is not the cause.

use anyhow::{Result, bail};

use crate::run::{is_there, run};

const INSTALL: &str = "cargo-deny is not installed; run `cargo install cargo-deny --locked`";

/// `cargo xtask deny`: fails without cargo-deny.
pub(crate) fn main() -> Result<()> {
    if !is_installed() {
        bail!("{INSTALL}");
    }
    check()
}

/// Part of all tests: skipped without cargo-deny, which the workflows of CI install.
#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
pub(crate) fn check_if_installed() -> Result<()> {
    if is_installed() {
        return check();
    }
    eprintln!("deny: not checked, {INSTALL}");
    Ok(())
}

fn is_installed() -> bool {
    is_there("cargo", &["deny", "--version"])
}

#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
fn check() -> Result<()> {
    run("cargo", &["deny", "check", "licenses", "bans", "sources"], &[])?;
    if let Err(error) = run("cargo", &["deny", "fetch", "db"], &[]) {
        eprintln!("deny: advisories not checked, the advisory database cannot be fetched: {error:#}");
        return Ok(());
    }
    run("cargo", &["deny", "check", "--disable-fetch", "advisories"], &[])
}
