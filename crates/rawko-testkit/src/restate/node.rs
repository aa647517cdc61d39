//! One node: its configuration file, its process, and its readiness.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::RestateOptions;
use crate::guarded::{Guarded, Spawn, wait_until};

/// Generous, because the machine may be loaded.
const READY_WITHIN: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Ports of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) ingress: u16,
    pub(super) admin: u16,
    pub(super) fabric: u16,
}

#[derive(Debug)]
pub(super) struct RestateNode {
    spawn: Spawn,
    process: Option<Guarded>,
    cluster: String,
    pub(super) ports: Ports,
}

impl RestateNode {
    /// Writes the configuration below `folder` without starting the node. `all` lists the nodes of the cluster,
    /// including this one.
    pub(super) fn new(
        program: &Path,
        folder: &Path,
        cluster: &str,
        number: usize,
        all: &[Ports],
        options: &RestateOptions,
    ) -> io::Result<RestateNode> {
        let ports = all[number];
        let own = folder.join(format!("node-{}", number + 1));
        std::fs::create_dir_all(&own)?;
        let file = own.join("restate.toml");
        std::fs::write(&file, settings(&own, cluster, number, all, options))?;
        let spawn = Spawn {
            program: program.to_owned(),
            arguments: vec!["--no-logo".into(), "--config-file".into(), file.display().to_string()],
            log: own.join("restate.log"),
            folder: own,
            ..Spawn::default()
        };
        Ok(RestateNode { spawn, process: None, cluster: cluster.to_owned(), ports })
    }

    pub(super) fn start(&mut self) -> io::Result<()> {
        self.process = Some(Guarded::start(&self.spawn)?);
        Ok(())
    }

    pub(super) fn kill(&mut self) {
        self.process = None;
    }

    /// Sends SIGTERM and waits for a clean exit.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.process.take().map_or(Ok(None), Guarded::terminate).map(drop)
    }

    /// Returns the process id while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Guarded::pid)
    }

    /// Returns the data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.spawn.folder.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.spawn.log.clone()
    }

    /// Returns true if the node answers queries over all partitions, under its own name: another server may have taken
    /// the port.
    pub(super) fn is_ready(&self) -> bool {
        let query = r#"{"query":"select count(*) as n from state"}"#;
        ask(self.ports.admin, "GET", "/cluster-health", "")
            .is_some_and(|answer| answer.contains(&self.cluster))
            && ask(self.ports.admin, "POST", "/query", query)
                .is_some_and(|answer| answer.contains("\"rows\""))
            && ask(self.ports.ingress, "GET", "/restate/health", "")
                .is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    pub(super) fn wait_ready(&self) -> io::Result<()> {
        wait_until(READY_WITHIN, || self.is_ready()).map_err(|_| {
            let said = std::fs::read_to_string(&self.spawn.log).unwrap_or_default();
            io::Error::other(format!("the Restate server did not become ready:\n{said}"))
        })
    }
}

/// Returns the whole response as text; `None` if there is none.
fn ask(port: u16, method: &str, path: &str, body: &str) -> Option<String> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN).ok()?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\naccept: application/json\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Small, quick to start and to retry, without telemetry.
fn settings(own: &Path, cluster: &str, number: usize, all: &[Ports], options: &RestateOptions) -> String {
    let Ports { ingress, admin, fabric } = all[number];
    let addresses: Vec<String> =
        all.iter().map(|ports| format!("\"http://127.0.0.1:{}/\"", ports.fabric)).collect();
    let mut text = format!(
        r#"cluster-name = "{cluster}"
node-name = "node-{name}"
base-dir = "{base}"
roles = ["http-ingress", "admin", "worker", "log-server", "metadata-server"]
auto-provision = {first}
bind-ip = "127.0.0.1"
bind-port = {fabric}
advertised-address = "http://127.0.0.1:{fabric}/"
listen-mode = "tcp"
default-num-partitions = {partitions}
default-replication = {replication}
rocksdb-total-memory-size = "128MiB"
disable-telemetry = true
log-filter = "{log}"
log-format = "compact"
log-disable-ansi-codes = true
shutdown-timeout = "2s"

[default-retry-policy]
initial-interval = "50ms"
exponentiation-factor = 2.0
max-attempts = 200
max-interval = "1s"
on-max-attempts = "pause"

[metadata-client]
type = "replicated"
addresses = [{addresses}]

[ingress]
bind-address = "127.0.0.1:{ingress}"

[admin]
bind-address = "127.0.0.1:{admin}"
disable-web-ui = true

[admin.query-engine]
memory-size = "256MiB"

[worker.invoker]
http2-streams-per-connection-limit = {streams}
"#,
        name = number + 1,
        log = options.log,
        // Same path as in `data`.
        base = own.join("data").display(),
        first = number == 0,
        partitions = options.partitions,
        replication = if all.len() > 1 { 2 } else { 1 },
        addresses = addresses.join(", "),
        streams = options.streams_per_connection,
    );
    let _ = write!(text, "{}", options.more);
    text
}
