//! `Hangup`: cuts the connection of a client that does not read. Ending its stream is not enough, because the client
//! would never read the end.

use std::sync::Arc;

use tokio::sync::Notify;

/// Handle that closes a connection from within a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hangup(Arc<Notify>);

impl Hangup {
    pub(crate) fn cut(&self) {
        self.0.notify_one();
    }

    /// Returns once the connection was cut.
    pub(crate) async fn wanted(&self) {
        self.0.notified().await;
    }
}
