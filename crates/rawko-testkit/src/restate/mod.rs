//! Real Restate servers on loopback, installed by `cargo xtask tools`: one node or three, small, without telemetry,
//! each in its own folder, killed and restarted on demand.

mod cluster;
mod node;
mod ports;
mod server;

use std::io;
use std::path::{Path, PathBuf};

pub use cluster::RestateCluster;
pub use ports::free_port;
pub use server::{RestateOptions, RestateServer};

/// Returns the path of the server program; fails if it is not installed.
pub fn restate_program() -> io::Result<PathBuf> {
    let packages =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/restate/node_modules/@restatedev");
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let program = packages.join(format!("restate-server-{platform}-{machine}/bin/restate-server"));
    match program.exists() {
        true => Ok(program),
        false => Err(io::Error::other(format!(
            "there is no Restate server at {}; `cargo xtask tools` installs one",
            program.display()
        ))),
    }
}
