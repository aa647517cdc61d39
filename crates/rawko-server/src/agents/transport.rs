//! `Transport`: messages over any carrier.

use std::future::Future;

/// Received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReceivedMessage {
    Text(String),
    /// Heartbeat without content.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only a socket has pings"))]
    Alive,
    /// Message over the size limit; its content was discarded.
    Oversized,
    /// Binary message.
    NotText,
    /// The connection is closed.
    Closed,
}

pub(crate) trait Transport: Send {
    /// Cancel-safe: no message is lost if the future is dropped.
    fn recv(&mut self) -> impl Future<Output = ReceivedMessage> + Send;
    /// Returns false if the message could not be sent.
    fn send(&mut self, text: String) -> impl Future<Output = bool> + Send;
    /// Requests a heartbeat, if the carrier supports it.
    fn ping(&mut self) -> impl Future<Output = bool> + Send;
    /// Ends the other side, where it is ours to end.
    fn close(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}
