//! Licences, sources and advisories of dependencies, by cargo-deny. The advisory database is on the network: a machine
//! that cannot reach it prints a message and skips that check, because the change is not the cause.

use anyhow::Result;

use crate::run::{is_there, run};

#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
pub(crate) fn check() -> Result<()> {
    if !is_there("cargo", &["deny", "--version"]) {
        eprintln!("deny: not checked, cargo-deny is not installed (`cargo install cargo-deny --locked`)");
        return Ok(());
    }
    run("cargo", &["deny", "check", "licenses", "bans", "sources"], &[])?;
    if let Err(error) = run("cargo", &["deny", "fetch", "db"], &[]) {
        eprintln!("deny: advisories not checked, the advisory database cannot be fetched: {error:#}");
        return Ok(());
    }
    run("cargo", &["deny", "check", "--disable-fetch", "advisories"], &[])
}
