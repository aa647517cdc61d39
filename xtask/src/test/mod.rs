//! `cargo xtask test`: all checks that a change must pass, cheapest first. CI runs the same command.

mod lanes;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::run;
use crate::{deny, tools};

/// Integration tests that start no program and need no tool; `--quick` runs them beside all unit tests.
const PURE: &[&str] = &[
    "broken",
    "codes",
    "conformance",
    "content",
    "crash_and_faults",
    "draw",
    "endless",
    "expressions",
    "faults",
    "features",
    "hostile",
    "interleavings",
    "metrics",
    "operations",
    "outside",
    "properties",
    "reading",
    "schema",
    "seeds",
    "snapshots",
    "sqlite",
    "valid",
    "walk",
    "walkthroughs",
    "writer",
];

pub(crate) fn main(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => whole(),
        [flag] if flag == "--fast" => {
            tools::install()?;
            tests()
        }
        [flag] if flag == "--quick" => quick(),
        other => bail!("unknown arguments {other:?}; there are --fast and --quick"),
    }
}

fn whole() -> Result<()> {
    tools::install()?;
    run("cargo", &["fmt", "--all", "--check"], &[])?;
    run("cargo", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"], &[])?;
    // The default features, as in the README, the library alone, and the smallest command line.
    for features in [&[][..], &["--no-default-features"], &["--no-default-features", "--features", "cli"]] {
        let command =
            [&["clippy", "-p", "rawko", "--all-targets"], features, &["--", "-D", "warnings"]].concat();
        run("cargo", &command, &[])?;
    }
    run(
        "cargo",
        &["doc", "--workspace", "--all-features", "--no-deps", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    deny::check_if_installed()?;
    tests()?;
    let least = ["test", "-p", "rawko", "--no-default-features", "--features", "cli", "--test", "features"];
    run("cargo", &least, &[])
}

/// With all features: the tests of what a build may leave out are skipped otherwise.
fn tests() -> Result<()> {
    let path = path_with_python();
    lanes::run_all(&["--workspace", "--all-features"], &[("PATH", &path)])
}

/// Returns `PATH` with the directory of the Python interpreter first. A version manager puts scripts there, which take
/// several times as long to start as the interpreter, and the tests start it thousands of times.
fn path_with_python() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let program = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    match program.ok().as_deref().and_then(|program| Path::new(program).parent()) {
        Some(folder) if folder.is_absolute() => format!("{}:{path}", folder.display()),
        Some(_) | None => path,
    }
}

fn quick() -> Result<()> {
    let mut command = vec!["test", "--workspace", "--exclude", "rawko-bench", "--lib", "--bins"];
    command.extend(PURE.iter().flat_map(|name| ["--test", name]));
    run("cargo", &command, &[])
}

#[cfg(test)]
mod tests {
    use super::PURE;
    use super::lanes::LONG;
    use crate::run::root;

    #[test]
    fn every_named_test_is_there() {
        let crates = std::fs::read_dir(root().join("crates")).into_iter().flatten().flatten();
        let folders: Vec<_> = crates.map(|entry| entry.path().join("tests")).collect();
        for name in PURE.iter().chain(LONG).filter(|name| **name != "doc") {
            let is_there = folders.iter().any(|folder| {
                folder.join(format!("{name}.rs")).exists() || folder.join(name).join("main.rs").exists()
            });
            assert!(is_there, "no crate has a test `{name}`");
        }
    }
}
