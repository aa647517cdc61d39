//! A separate `rawko serve` process in its own folder.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

const CHART: &str = "
statechart:
  id: bench
  version: 1.0.0
  initial: even
  context: {count: 0}
  states:
    even: {on: {'*': {target: odd, actions: [{type: assign, context_updates: {count: context.count + 1}}]}}}
    odd: {on: {'*': {target: even, actions: [{type: assign, context_updates: {count: context.count + 1}}]}}}
";
/// The operator's token of the server.
pub(crate) const TOKEN: &str = "bench";

/// Disables the rate limit, because all clients of the benchmark share one address.
const SETTINGS: &str = "server: {rate: {per_second: 0}}\n";

pub(crate) struct Served {
    process: Child,
    address: SocketAddr,
    place: PathBuf,
}

impl Served {
    pub(crate) fn start(rawko: &Path) -> Result<Served> {
        let program = std::env::current_exe()?;
        // Beside the program, because a temporary directory may be in memory.
        let beside = program.parent().context("a program lies in a directory")?;
        let place = beside.join(format!("bench-api-{}", std::process::id()));
        std::fs::create_dir_all(place.join(".rawko/charts"))?;
        std::fs::write(place.join(".rawko/config.yaml"), SETTINGS)?;
        std::fs::write(place.join(".rawko/charts/bench.yaml"), CHART)?;
        let rawko = std::fs::canonicalize(rawko)?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(&rawko);
            let state = place.join("state");
            command.args(arguments).current_dir(&place).env("RAWKO_STATE_DIR", state);
            command
        };
        // The settings and the chart are new to this state directory.
        let trusted = command(&["trust", "--yes"]).stdout(Stdio::null()).status()?;
        ensure!(trusted.success(), "`rawko trust` failed");
        let mut process = command(&["serve", "--listen", "127.0.0.1:0"])
            .env("RAWKO_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = process.stdout.take().context("its output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").context("it prints its address")?.parse()?;
        Ok(Served { process, address, place })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn stop(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        std::fs::remove_dir_all(&self.place)?;
        Ok(())
    }
}
