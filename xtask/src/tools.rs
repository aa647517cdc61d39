//! `cargo xtask tools`: what the tests need beyond Rust, Node and Python, installed by name from the package
//! registries: Debian packages into the system, npm packages into `target/tools`.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::run::{is_there, root, run};

/// `(program, argument it answers to, Debian package)`.
const DEBIAN: &[(&str, &str, &str)] = &[("dot", "-V", "graphviz"), ("plantuml", "-version", "plantuml")];

/// npm packages of `tests/tools`, installed as its package.json says.
const NPM_FOLDER: &str = "target/tools/node";

/// The public SCXML suite. Packed, not installed: its install script hangs.
const SCXML_SUITE: &str = "@scion-scxml/test-framework@2.0.16";

#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
pub(crate) fn install() -> Result<()> {
    install_debian()?;
    install_npm()?;
    unpack_scxml_suite()?;
    eprintln!("tools: all there");
    Ok(())
}

fn install_debian() -> Result<()> {
    let missing: Vec<&str> = DEBIAN
        .iter()
        .filter(|(program, argument, _)| !is_there(program, argument))
        .map(|tool| tool.2)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_there("apt-get", "--version") {
        bail!(
            "the tests need the programs of {missing:?}; install them (on Debian: apt-get install {})",
            missing.join(" ")
        );
    }
    run("apt-get", &["update", "-qq"], &[])?;
    let mut command = vec!["install", "-y", "-qq", "--no-install-recommends"];
    command.extend(missing);
    run("apt-get", &command, &[("DEBIAN_FRONTEND", "noninteractive")])
}

fn install_npm() -> Result<()> {
    let folder = root().join(NPM_FOLDER);
    let wanted = fs::read_to_string(root().join("tests/tools/package.json"))?;
    let stamp = folder.join("installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), &wanted)?;
    run("npm", &["install", "--prefix", NPM_FOLDER, "--no-audit", "--no-fund", "--ignore-scripts"], &[])?;
    fs::write(stamp, wanted).context("cannot note what was installed")
}

fn unpack_scxml_suite() -> Result<()> {
    let folder = root().join("target/tools/scxml-suite");
    if folder.join("package/package.json").exists() {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    run("npm", &["pack", SCXML_SUITE, "--silent", "--pack-destination", "target/tools/scxml-suite"], &[])?;
    let archive = fs::read_dir(&folder)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ending| ending == "tgz"))
        .context("npm pack left no archive")?;
    let archive = archive.to_string_lossy().into_owned();
    run("tar", &["-xzf", &archive, "-C", "target/tools/scxml-suite"], &[])
}
