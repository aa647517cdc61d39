//! `Hangup`: cuts a connection whose client does not read. Ending a stream is not enough then, since nobody gets to see its
//! end.

use std::sync::Arc;

use tokio::sync::Notify;

/// The way to end a connection from within a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hangup(Arc<Notify>);

impl Hangup {
    pub(crate) fn cut(&self) {
        self.0.notify_one();
    }

    /// Returns when somebody cut it.
    pub(crate) async fn wanted(&self) {
        self.0.notified().await;
    }
}
