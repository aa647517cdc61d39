//! `RestateServer`: a single Restate node.

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

use super::node::{Ports, RestateNode};
use super::{ports, restate_program};

/// Ports may be taken between finding and using them.
const ATTEMPTS: usize = 3;

/// Server configuration.
#[derive(Clone, Debug)]
pub struct RestateOptions {
    /// Number of partitions; 4 by default.
    pub partitions: usize,
    /// Concurrent requests per connection to a worker. Few, if several workers share an address.
    pub streams_per_connection: usize,
    /// Log filter: `warn`, `info`, or any value of Restate's `log-filter`.
    pub log: String,
    /// Further configuration, appended to the file: in `[worker.invoker]`, or in separate sections.
    pub more: String,
}

impl Default for RestateOptions {
    fn default() -> Self {
        RestateOptions { partitions: 4, streams_per_connection: 128, log: "warn".into(), more: String::new() }
    }
}

/// Restate server with temporary storage, deleted on drop.
#[derive(Debug)]
pub struct RestateServer {
    node: RestateNode,
    /// Dropped after the process.
    _folder: TempDir,
}

impl RestateServer {
    /// Starts a server and waits until it is ready.
    pub fn start(options: &RestateOptions) -> io::Result<RestateServer> {
        let program = restate_program()?;
        let mut last = io::Error::other("not tried");
        for _ in 0..ATTEMPTS {
            let folder = tempfile::tempdir()?;
            let free = ports::free(3)?;
            let ports = Ports { ingress: free[0], admin: free[1], fabric: free[2] };
            let cluster = format!("rawko-{}-{}", std::process::id(), ports.fabric);
            let mut node = RestateNode::new(&program, folder.path(), &cluster, 0, &[ports], options)?;
            node.start()?;
            match node.wait_ready() {
                Ok(()) => return Ok(RestateServer { node, _folder: folder }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Returns the ingress URL.
    pub fn ingress(&self) -> String {
        format!("http://127.0.0.1:{}", self.node.ports.ingress)
    }

    /// Returns the admin URL.
    pub fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.node.ports.admin)
    }

    /// Sends SIGKILL. Data on disk is kept.
    pub fn kill(&mut self) {
        self.node.kill();
    }

    /// Sends SIGTERM and waits for a clean exit.
    pub fn stop(&mut self) -> io::Result<()> {
        self.node.stop()
    }

    /// Returns its process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.node.pid()
    }

    /// Returns its `base-dir`.
    pub fn data(&self) -> PathBuf {
        self.node.data()
    }

    /// Restarts the server with its data on disk, without waiting until it is ready.
    pub fn restart(&mut self) -> io::Result<()> {
        self.node.start()
    }

    /// Waits until the server answers queries over all partitions.
    pub fn wait_ready(&self) -> io::Result<()> {
        self.node.wait_ready()
    }

    /// Returns its log.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.node.log()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_server_comes_back_after_a_kill() {
        let mut server = RestateServer::start(&RestateOptions::default()).unwrap();
        server.kill();
        assert!(!server.node.is_ready(), "it still answers");
        server.restart().unwrap();
        server.wait_ready().unwrap();
    }
}
