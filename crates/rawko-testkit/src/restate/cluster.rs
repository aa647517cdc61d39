//! `RestateCluster`: three nodes, each with every role, everything kept twice, the metadata three times.

use std::io;

use tempfile::TempDir;

use super::node::{Node, Ports};
use super::{RestateOptions, ports, restate_program};

/// Three nodes that forget everything when they are dropped.
#[derive(Debug)]
pub struct RestateCluster {
    nodes: Vec<Node>,
    /// Gone after the processes.
    _folder: TempDir,
}

impl RestateCluster {
    pub const NODES: usize = 3;

    /// Starts them and waits until each answers for all partitions.
    pub fn start(options: &RestateOptions) -> io::Result<RestateCluster> {
        let program = restate_program()?;
        let folder = tempfile::tempdir()?;
        let free = ports::free(3 * Self::NODES)?;
        let all: Vec<Ports> =
            free.chunks(3).map(|free| Ports { ingress: free[0], admin: free[1], fabric: free[2] }).collect();
        let cluster = format!("rawko-{}-{}", std::process::id(), free[0]);
        let mut nodes = Vec::new();
        for number in 0..Self::NODES {
            let mut node = Node::new(&program, folder.path(), &cluster, number, &all, options)?;
            node.start()?;
            nodes.push(node);
        }
        let started = RestateCluster { nodes, _folder: folder };
        (0..Self::NODES).try_for_each(|number| started.wait_ready(number))?;
        Ok(started)
    }

    /// Where requests to a node go, as a URL; nodes are counted from 0.
    pub fn ingress(&self, node: usize) -> String {
        format!("http://127.0.0.1:{}", self.nodes[node].ports.ingress)
    }

    pub fn admin(&self, node: usize) -> String {
        format!("http://127.0.0.1:{}", self.nodes[node].ports.admin)
    }

    /// SIGKILL. What it had on disk stays.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].kill();
    }

    /// Starts a node again on what is on its disk.
    pub fn restart(&mut self, node: usize) -> io::Result<()> {
        self.nodes[node].start()
    }

    /// Waits until a node answers for all partitions, whoever leads them.
    pub fn wait_ready(&self, node: usize) -> io::Result<()> {
        self.nodes[node].wait_ready()
    }

    pub fn said(&self, node: usize) -> String {
        std::fs::read_to_string(self.nodes[node].log()).unwrap_or_default()
    }
}
