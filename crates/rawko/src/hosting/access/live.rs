//! News of running instances: when to read the journal again, and live output of calls. Separate from the requests.

use std::time::Duration;

use rawko_host::CallProgress;
use tokio::sync::{broadcast, watch};

use super::super::client::SocketClient;
use super::HostAccess;

/// Number of progress events that are kept until they are shown.
const BEHIND_MAX: usize = 4_096;
/// Polling interval for a store that another process writes.
const LOOK: Duration = Duration::from_millis(100);

/// When to check for news.
pub(crate) enum Pulse {
    Changes(watch::Receiver<u64>),
    Clock,
}

impl HostAccess {
    pub(crate) fn pulse(&self) -> Pulse {
        match self {
            HostAccess::Here(hosting) => Pulse::Changes(hosting.host.changes()),
            HostAccess::There { .. } | HostAccess::Elsewhere { .. } => Pulse::Clock,
        }
    }

    /// Returns the progress events of an instance's running calls, and perhaps of others.
    pub(crate) fn progress_of(&self, id: &str) -> Option<broadcast::Receiver<CallProgress>> {
        match self {
            HostAccess::Elsewhere { engine, .. } => Some(engine.watch_output(id)),
            HostAccess::Here(_) | HostAccess::There { .. } => self.progress(),
        }
    }

    /// Returns the progress events of all running calls. Restate has them by instance only.
    pub(crate) fn progress(&self) -> Option<broadcast::Receiver<CallProgress>> {
        match self {
            HostAccess::Here(hosting) => Some(hosting.host.progress()),
            HostAccess::There { socket, operator, .. } => {
                let (socket, operator) = (socket.clone(), operator.clone());
                let (sender, receiver) = broadcast::channel(BEHIND_MAX);
                tokio::spawn(async move {
                    // Without a second connection, text appears once it is complete.
                    if let Ok(client) = SocketClient::connect(&socket, &operator).await {
                        client.watch(sender).await;
                    }
                });
                Some(receiver)
            }
            HostAccess::Elsewhere { .. } => None,
        }
    }
}

impl Pulse {
    pub(crate) async fn beat(&mut self) {
        match self {
            Pulse::Changes(changes) => {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            Pulse::Clock => tokio::time::sleep(LOOK).await,
        }
    }
}
