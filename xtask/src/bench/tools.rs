//! Prerequisites of a benchmark run: builds our programs and installs the peers' packages under `target/bench`. The
//! only file here that uses the network, through `npm` and `pip`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::options::Options;
use super::peers::{Language, Peer};
use super::progress;

pub(crate) struct Tools {
    pub(crate) root: PathBuf,
    pub(crate) rawko_bench: PathBuf,
    pub(crate) limits: PathBuf,
    pub(crate) durable: PathBuf,
    pub(crate) rawko: PathBuf,
    /// The peers written in Rust.
    pub(crate) agents: PathBuf,
    js: PathBuf,
    py: PathBuf,
}

impl Tools {
    /// Returns the command of a program in `benches/peers/js`, whose packages are outside the source tree.
    pub(crate) fn node(&self, program: &str) -> Command {
        let mut command = Command::new("node");
        command.arg("--expose-gc").arg(self.root.join("benches/peers/js").join(program));
        command.env("NODE_PATH", self.js.join("node_modules"));
        command
    }

    pub(crate) fn python(&self, program: &str) -> Command {
        let mut command = Command::new(self.py.join("bin/python"));
        command.arg("-B").arg(self.root.join("benches/peers/py").join(program));
        command
    }

    /// Returns the version of an installed npm package.
    pub(crate) fn js_version(&self, package: &str) -> Option<String> {
        let path = self.js.join("node_modules").join(package).join("package.json");
        let manifest: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        manifest["version"].as_str().map(str::to_owned)
    }
}

pub(crate) fn prepare(root: &Path, options: &Options) -> Result<Tools> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let built = target.join(&options.profile);
    let tools = Tools {
        root: root.to_path_buf(),
        rawko_bench: built.join("rawko-bench"),
        limits: built.join("limits"),
        durable: built.join("durable"),
        rawko: built.join("rawko"),
        agents: target.join("bench/rust/release/agent-peers"),
        js: target.join("bench/js"),
        py: target.join("bench/py"),
    };
    build(root, &options.profile)?;
    let needs = |language| options.peers.iter().any(|peer| peer.language() == language);
    if needs(Language::JavaScript) {
        install_js(&tools)?;
    }
    if needs(Language::Python) {
        install_py(&tools)?;
    }
    if options.peers.iter().any(|peer| matches!(peer, Peer::GraphFlow | Peer::AdkGraph)) {
        build_peers(root, &target.join("bench/rust"))?;
    }
    Ok(tools)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The peers written in Rust are a workspace of their own, so that ours does not depend on them.
fn build_peers(root: &Path, target: &Path) -> Result<()> {
    progress("building the peers written in Rust under target/bench/rust");
    let mut cargo = cargo();
    cargo.current_dir(root.join("benches/peers/rust")).args(["build", "--release", "--locked", "--quiet"]);
    quietly(cargo.arg("--target-dir").arg(target), "cargo build of the peers")
}

fn build(root: &Path, profile: &str) -> Result<()> {
    progress(&format!("building rawko-bench and rawko with the profile {profile}"));
    let mut cargo = cargo();
    cargo.current_dir(root).args([
        "build",
        "--profile",
        profile,
        "--quiet",
        "--package",
        "rawko-bench",
        "--package",
        "rawko",
        "--features",
        "rawko/full",
    ]);
    quietly(&mut cargo, "cargo build")
}

fn install_js(tools: &Tools) -> Result<()> {
    let wanted = std::fs::read_to_string(tools.root.join("benches/peers/js/package.json"))?;
    if is_installed(&tools.js, "package.json", &wanted, "node_modules") {
        return Ok(());
    }
    progress("installing the JavaScript peers under target/bench/js");
    std::fs::create_dir_all(&tools.js)?;
    std::fs::write(tools.js.join("package.json"), wanted)?;
    let mut npm = Command::new("npm");
    npm.current_dir(&tools.js).args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]);
    quietly(&mut npm, "npm install")
}

fn install_py(tools: &Tools) -> Result<()> {
    let wanted = std::fs::read_to_string(tools.root.join("benches/peers/py/requirements.txt"))?;
    if is_installed(&tools.py, "requirements.txt", &wanted, "bin/python") {
        return Ok(());
    }
    progress("installing the Python peers into a venv under target/bench/py");
    quietly(Command::new("python3").args(["-m", "venv"]).arg(&tools.py), "python3 -m venv")?;
    std::fs::write(tools.py.join("requirements.txt"), wanted)?;
    let mut pip = Command::new(tools.py.join("bin/pip"));
    pip.args(["install", "--quiet", "--requirement"]).arg(tools.py.join("requirements.txt"));
    let installed = quietly(&mut pip, "pip install");
    if installed.is_err() {
        // Without the list, the next run does not mistake a partial venv for a complete one.
        std::fs::remove_file(tools.py.join("requirements.txt"))?;
    }
    installed
}

fn is_installed(place: &Path, list: &str, wanted: &str, proof: &str) -> bool {
    std::fs::read_to_string(place.join(list)).is_ok_and(|have| have == wanted) && place.join(proof).exists()
}

fn quietly(command: &mut Command, name: &str) -> Result<()> {
    let status =
        command.stdout(Stdio::null()).status().with_context(|| format!("{name} could not be started"))?;
    ensure!(status.success(), "{name} failed");
    Ok(())
}
