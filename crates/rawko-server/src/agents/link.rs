//! `Link`: the sending side of a connection. Bounded in messages and bytes: whoever does not read is cut, and nobody
//! else waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};

/// Messages and bytes that may wait for a slow reader.
const QUEUE_MAX: usize = 256;
const QUEUE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why the server ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It does not read what it is sent.
    TooSlow,
    /// A newer connection of the same agent took its place.
    Superseded,
    /// The server stops.
    Closing,
}

/// To a connection.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) generation: u64,
    pub(crate) session: String,
    /// Whether it wants to read along.
    pub(crate) observe: bool,
    queue: mpsc::Sender<String>,
    waiting_bytes: Arc<AtomicUsize>,
    cut: Arc<watch::Sender<Option<Cut>>>,
}

/// The connection's own side.
pub(crate) struct Outgoing {
    queue: mpsc::Receiver<String>,
    waiting_bytes: Arc<AtomicUsize>,
    pub(crate) cut: watch::Receiver<Option<Cut>>,
}

impl Link {
    pub(crate) fn new(generation: u64, session: String, observe: bool) -> (Link, Outgoing) {
        let (sender, receiver) = mpsc::channel(QUEUE_MAX);
        let (cut, cutting) = watch::channel(None);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let outgoing = Outgoing { queue: receiver, waiting_bytes: Arc::clone(&waiting_bytes), cut: cutting };
        (Link { generation, session, observe, queue: sender, waiting_bytes, cut: Arc::new(cut) }, outgoing)
    }

    /// Never waits. A connection that cannot take more is cut.
    pub(crate) fn send(&self, text: String) {
        let waiting = self.waiting_bytes.fetch_add(text.len(), Ordering::Relaxed) + text.len();
        if waiting > QUEUE_BYTES_MAX || self.queue.try_send(text).is_err() {
            self.cut(Cut::TooSlow);
        }
    }

    /// The first reason stands.
    pub(crate) fn cut(&self, cut: Cut) {
        self.cut.send_if_modified(|reason| {
            let first = reason.is_none();
            reason.get_or_insert(cut);
            first
        });
    }
}

impl Outgoing {
    pub(crate) async fn next(&mut self) -> Option<String> {
        let text = self.queue.recv().await?;
        self.waiting_bytes.fetch_sub(text.len(), Ordering::Relaxed);
        Some(text)
    }
}

/// Waits until the server wants to end the connection.
pub(crate) async fn cut_off(cut: &mut watch::Receiver<Option<Cut>>) -> Cut {
    loop {
        if let Some(reason) = *cut.borrow_and_update() {
            return reason;
        }
        if cut.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

impl Cut {
    /// What the agent is told: a code and words.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Cut::TooSlow => ("too_slow", "too many messages wait to be read"),
            Cut::Superseded => ("superseded", "a newer connection of this agent took over"),
            Cut::Closing => ("closing", "the server stops; reconnect with your session"),
        }
    }
}
