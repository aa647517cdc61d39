//! A Restate server and its workers, for the duration of a measurement.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bare::StoredBytes;
use anyhow::{Context, Result, ensure};
use rawko_host::Library;
use rawko_restate::client::{Force, Restate};
use rawko_restate::{RestateEngine, Worker};

use rawko_testkit::{Guarded, RestateOptions, RestateServer, Spawn};

/// The operator's token of `rawko serve`.
pub(crate) const TOKEN: &str = "a-token-of-the-measurement";
const READY_WITHIN: Duration = Duration::from_secs(60);
/// The server's default is 128; with fewer, all workers behind one address receive requests.
const SHARED_STREAMS: usize = 8;

pub(crate) struct Site {
    server: RestateServer,
    workers: Vec<Guarded>,
    project: tempfile::TempDir,
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
            let (program, name) = worker_program()?;
            let spawn = Spawn {
                program,
                arguments: [
                    name,
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
        Ok(Site { server, workers, project })
    }

    pub(crate) fn restate(&self) -> Result<Restate> {
        Ok(Restate::new(&self.server.ingress(), &self.server.admin())?)
    }

    /// Returns the processor time of the server and of the workers so far.
    pub(crate) fn processor_time(&self) -> Result<(Duration, Duration)> {
        let workers =
            self.workers.iter().map(|worker| processor_time(worker.pid())).sum::<Result<Duration>>()?;
        Ok((processor_time(self.server.pid().unwrap_or(0))?, workers))
    }

    /// Starts the bare handler as one more worker, the last one.
    pub(crate) async fn start_bare(&mut self, bytes: StoredBytes) -> Result<()> {
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let arguments = ["bare".to_owned(), address.clone()];
        let bytes = [bytes.live, bytes.row, bytes.record].map(|it| it.to_string());
        let spawn = Spawn {
            program: std::env::current_exe()?,
            arguments: arguments.into_iter().chain(bytes).collect(),
            folder: self.project.path().to_owned(),
            log: self.project.path().join("bare.log"),
            ..Spawn::default()
        };
        self.workers.push(Guarded::start(&spawn)?);
        let (uri, restate) = (format!("http://{address}"), self.restate()?);
        let begun = std::time::Instant::now();
        while let Err(error) = restate.admin().register(&uri, Force::Replace, &BTreeMap::new()).await {
            ensure!(begun.elapsed() < READY_WITHIN, "the bare handler cannot be registered: {error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Starts `rawko serve` and returns its address.
    pub(crate) fn serve(&mut self) -> Result<String> {
        std::fs::write(self.folder().join(".rawko/config.yaml"), "server: {rate: {per_second: 0}}\n")?;
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let spawn = Spawn {
            program: rawko()?,
            arguments: [
                "serve",
                "--listen",
                &address,
                "--restate",
                &self.ingress(),
                "--admin",
                &self.admin(),
            ]
            .map(str::to_owned)
            .to_vec(),
            environment: vec![("RAWKO_TOKEN".to_owned(), TOKEN.to_owned())],
            folder: self.folder().to_owned(),
            log: self.folder().join("serve.log"),
        };
        self.workers.push(Guarded::start(&spawn)?);
        Ok(address)
    }

    pub(crate) fn ingress(&self) -> String {
        self.server.ingress()
    }

    pub(crate) fn admin(&self) -> String {
        self.server.admin()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.project.path()
    }

    pub(crate) fn engine(&self) -> Result<RestateEngine> {
        Ok(RestateEngine::new(self.restate()?, Library::default())?)
    }
}

/// Returns the processor time of all threads of a process, in ticks of 10 ms. Nothing where there is no `/proc`.
fn processor_time(pid: u32) -> Result<Duration> {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return Ok(Duration::ZERO) };
    // The name may contain spaces.
    let fields = stat.rsplit_once(')').context("a line of /proc")?.1.split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(10 * ticks))
}

/// Returns the program of workers and its first argument: the `rawko` binary of the same build, or this one if there is none.
fn worker_program() -> Result<(PathBuf, &'static str)> {
    Ok(match rawko() {
        Ok(program) => (program, "worker"),
        Err(_) => (std::env::current_exe()?, "own-worker"),
    })
}

/// Serves as a worker without services, until the process is killed.
pub(crate) async fn serve_as_worker(arguments: &[String]) -> Result<()> {
    let [_, address, _, ingress, _, admin] = arguments else {
        anyhow::bail!("usage: restate own-worker --listen ADDRESS --restate URL --admin URL");
    };
    let restate = Restate::new(ingress, admin)?;
    let worker = Worker::builder().build(&restate)?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    let serving = worker.serve(listener, std::future::pending::<()>());
    let registered = async {
        let begun = std::time::Instant::now();
        let uri = format!("http://{address}");
        while let Err(error) = restate.admin().register(&uri, Force::Keep, &BTreeMap::new()).await {
            ensure!(begun.elapsed() < READY_WITHIN, "the worker cannot be registered: {error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        writeln!(std::io::stdout(), "registered")?;
        std::future::pending().await
    };
    tokio::select! {
        () = serving => Ok(()),
        result = registered => result,
    }
}

/// Returns the `rawko` binary of the same build.
pub(crate) fn rawko() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let program = own.parent().context("a program lies in a directory")?.join("rawko");
    ensure!(program.exists(), "there is no {}: build it with `cargo build -p rawko`", program.display());
    Ok(program)
}
