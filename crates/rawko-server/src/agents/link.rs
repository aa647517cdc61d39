//! `AgentLink`: the sending side of a connection. Bounded in messages and bytes: a client that does not read is cut, without
//! delaying others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};

/// Limits on messages and bytes queued for a slow reader.
const QUEUE_MAX: usize = 256;
const QUEUE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Reason why the server ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisconnectReason {
    /// The client does not read its messages.
    TooSlow,
    /// A newer connection of the same agent replaced it.
    Superseded,
    /// The server is stopping.
    Closing,
}

/// Handle for sending to a connection.
#[derive(Clone)]
pub(crate) struct AgentLink {
    pub(crate) generation: u64,
    pub(crate) session: String,
    /// True if the agent reads along without having the turn.
    pub(crate) observe: bool,
    queue: mpsc::Sender<String>,
    waiting_bytes: Arc<AtomicUsize>,
    cut: Arc<watch::Sender<Option<DisconnectReason>>>,
}

/// The connection's side of the queue.
pub(crate) struct OutgoingQueue {
    queue: mpsc::Receiver<String>,
    waiting_bytes: Arc<AtomicUsize>,
    pub(crate) cut: watch::Receiver<Option<DisconnectReason>>,
}

impl AgentLink {
    pub(crate) fn new(generation: u64, session: String, observe: bool) -> (AgentLink, OutgoingQueue) {
        let (sender, receiver) = mpsc::channel(QUEUE_MAX);
        let (cut, cutting) = watch::channel(None);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let outgoing =
            OutgoingQueue { queue: receiver, waiting_bytes: Arc::clone(&waiting_bytes), cut: cutting };
        (
            AgentLink { generation, session, observe, queue: sender, waiting_bytes, cut: Arc::new(cut) },
            outgoing,
        )
    }

    /// Queues a message without waiting. If the queue is full, the connection is cut.
    pub(crate) fn send(&self, text: String) {
        let waiting = self.waiting_bytes.fetch_add(text.len(), Ordering::Relaxed) + text.len();
        if waiting > QUEUE_BYTES_MAX || self.queue.try_send(text).is_err() {
            self.cut(DisconnectReason::TooSlow);
        }
    }

    /// Only the first reason is kept.
    pub(crate) fn cut(&self, cut: DisconnectReason) {
        self.cut.send_if_modified(|reason| {
            let first = reason.is_none();
            reason.get_or_insert(cut);
            first
        });
    }
}

impl OutgoingQueue {
    pub(crate) async fn next(&mut self) -> Option<String> {
        let text = self.queue.recv().await?;
        self.waiting_bytes.fetch_sub(text.len(), Ordering::Relaxed);
        Some(text)
    }
}

/// Waits until the server ends the connection.
pub(crate) async fn cut_off(cut: &mut watch::Receiver<Option<DisconnectReason>>) -> DisconnectReason {
    loop {
        if let Some(reason) = *cut.borrow_and_update() {
            return reason;
        }
        if cut.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

impl DisconnectReason {
    /// Returns the code and text that are sent to the agent.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            DisconnectReason::TooSlow => ("too_slow", "too many unread messages"),
            DisconnectReason::Superseded => ("superseded", "replaced by a newer connection of this agent"),
            DisconnectReason::Closing => {
                ("closing", "the server is shutting down; reconnect with your session")
            }
        }
    }
}
