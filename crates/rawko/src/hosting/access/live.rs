//! News of running instances: when to read the journal again, and live output of calls. Separate from the requests.

use std::time::Duration;

use rawko_host::Progress;
use tokio::sync::{broadcast, watch};

use super::super::client::Client;
use super::Access;

/// Number of progress events that are kept until they are shown.
const BEHIND_MAX: usize = 4_096;
/// Polling interval for a store that another process writes.
const LOOK: Duration = Duration::from_millis(100);

/// When to check for news.
pub(crate) enum Pulse {
    Changes(watch::Receiver<u64>),
    Clock,
}

impl Access {
    pub(crate) fn pulse(&self) -> Pulse {
        match self {
            Access::Here(hosting) => Pulse::Changes(hosting.host.changes()),
            Access::There { .. } | Access::Elsewhere { .. } => Pulse::Clock,
        }
    }

    /// Returns the progress events of an instance's running calls, and perhaps of others.
    pub(crate) fn progress_of(&self, id: &str) -> Option<broadcast::Receiver<Progress>> {
        match self {
            Access::Elsewhere { engine, .. } => Some(engine.watch_output(id)),
            Access::Here(_) | Access::There { .. } => self.progress(),
        }
    }

    /// Returns the progress events of all running calls. Restate has them by instance only.
    pub(crate) fn progress(&self) -> Option<broadcast::Receiver<Progress>> {
        match self {
            Access::Here(hosting) => Some(hosting.host.progress()),
            Access::There { socket, operator, .. } => {
                let (socket, operator) = (socket.clone(), operator.clone());
                let (sender, receiver) = broadcast::channel(BEHIND_MAX);
                tokio::spawn(async move {
                    // Without a second connection, text appears once it is complete.
                    if let Ok(client) = Client::connect(&socket, &operator).await {
                        client.watch(sender).await;
                    }
                });
                Some(receiver)
            }
            Access::Elsewhere { .. } => None,
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
