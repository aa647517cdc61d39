//! A Restate server and its workers, for the duration of a measurement.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rawko_host::Library;
use rawko_restate::RestateEngine;
use rawko_restate::client::Restate;
use rawko_testkit::{Guarded, RestateOptions, RestateServer, Spawn};

const READY_WITHIN: Duration = Duration::from_secs(60);
/// The server's default is 128; with fewer, all workers behind one address receive requests.
const SHARED_STREAMS: usize = 8;

pub(crate) struct Site {
    server: RestateServer,
    _workers: Vec<Guarded>,
    _project: tempfile::TempDir,
}

impl Site {
    pub(crate) fn start(workers: usize) -> Result<Site> {
        let streams_per_connection = if workers > 1 { SHARED_STREAMS } else { 128 };
        let server = RestateServer::start(&RestateOptions {
            partitions: 8,
            streams_per_connection,
            ..RestateOptions::default()
        })?;
        let project = tempfile::tempdir()?;
        std::fs::create_dir_all(project.path().join(".rawko"))?;
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let start = |number: usize| {
            let spawn = Spawn {
                program: rawko()?,
                arguments: [
                    "worker",
                    "--listen",
                    &address,
                    "--restate",
                    &server.ingress(),
                    "--admin",
                    &server.admin(),
                ]
                .map(str::to_owned)
                .to_vec(),
                folder: project.path().to_owned(),
                log: project.path().join(format!("worker-{number}.log")),
                ..Spawn::default()
            };
            let worker = Guarded::start(&spawn)?;
            worker.says("registered", 0, READY_WITHIN)?;
            anyhow::Ok(worker)
        };
        let workers = (0..workers).map(start).collect::<Result<Vec<_>>>()?;
        Ok(Site { server, _workers: workers, _project: project })
    }

    pub(crate) fn engine(&self) -> Result<RestateEngine> {
        let restate = Restate::new(&self.server.ingress(), &self.server.admin())?;
        Ok(RestateEngine::new(restate, Library::default())?)
    }
}

/// Returns the `rawko` binary of the same build.
fn rawko() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let program = own.parent().context("a program lies in a directory")?.join("rawko");
    ensure!(program.exists(), "there is no {}: build it with `cargo build -p rawko`", program.display());
    Ok(program)
}
