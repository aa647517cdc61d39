//! `RestateCluster`: three nodes, each with every role; data is replicated twice, metadata three times.

use std::io;

use tempfile::TempDir;

use super::node::{Ports, RestateNode};
use super::{RestateOptions, ports, restate_program};

/// Three nodes with temporary storage, deleted on drop.
#[derive(Debug)]
pub struct RestateCluster {
    nodes: Vec<RestateNode>,
    /// Dropped after the processes.
    _folder: TempDir,
}

impl RestateCluster {
    /// Number of nodes: the fewest that keep a majority when one is killed.
    pub const NODES: usize = 3;

    /// Starts the nodes and waits until each serves all partitions.
    pub fn start(options: &RestateOptions) -> io::Result<RestateCluster> {
        let program = restate_program()?;
        let folder = tempfile::tempdir()?;
        let free = ports::free(3 * Self::NODES)?;
        let all: Vec<Ports> =
            free.chunks(3).map(|free| Ports { ingress: free[0], admin: free[1], fabric: free[2] }).collect();
        let cluster = format!("rawko-{}-{}", std::process::id(), free[0]);
        let mut nodes = Vec::new();
        for number in 0..Self::NODES {
            let mut node = RestateNode::new(&program, folder.path(), &cluster, number, &all, options)?;
            node.start()?;
            nodes.push(node);
        }
        let started = RestateCluster { nodes, _folder: folder };
        (0..Self::NODES).try_for_each(|number| started.wait_ready(number))?;
        Ok(started)
    }

    /// Returns the ingress URL of a node; nodes are counted from 0.
    pub fn ingress(&self, node: usize) -> String {
        format!("http://127.0.0.1:{}", self.nodes[node].ports.ingress)
    }

    /// Returns the admin URL of a node; nodes are counted from 0.
    pub fn admin(&self, node: usize) -> String {
        format!("http://127.0.0.1:{}", self.nodes[node].ports.admin)
    }

    /// Sends SIGKILL. Data on disk is kept.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].kill();
    }

    /// Restarts a node with its data on disk.
    pub fn restart(&mut self, node: usize) -> io::Result<()> {
        self.nodes[node].start()
    }

    /// Waits until a node serves all partitions, with any leaders.
    pub fn wait_ready(&self, node: usize) -> io::Result<()> {
        self.nodes[node].wait_ready()
    }

    /// Returns the log of a node; empty if it cannot be read.
    pub fn said(&self, node: usize) -> String {
        std::fs::read_to_string(self.nodes[node].log()).unwrap_or_default()
    }
}
