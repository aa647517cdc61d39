//! `WatchedCall`: files of authority that a server creates in a call, or while it starts, are set aside when that ends.
//! Between calls they are not watched: a person may write such a file while the server runs.

use std::path::Path;

use rawko_process::AuthorityWatch;

use super::config::McpTransport;

/// Restores when it is dropped, however the call ends.
pub(super) struct WatchedCall(AuthorityWatch);

impl WatchedCall {
    /// Begins to watch. `None` for a server that is not a program of this machine.
    pub(super) async fn begin(root: &Path, transport: &McpTransport) -> Option<Self> {
        match transport {
            McpTransport::Stdio { .. } => {}
            McpTransport::Http { .. } | McpTransport::Unusable { .. } => return None,
        }
        let root = root.to_owned();
        let watching = tokio::task::spawn_blocking(move || {
            let mut watch = AuthorityWatch::of_project(&root);
            watch.guard();
            watch
        });
        watching.await.ok().map(Self)
    }
}

impl Drop for WatchedCall {
    fn drop(&mut self) {
        self.0.restore();
    }
}
