//! How messages come and go, whatever carries them.

use std::future::Future;

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Text(String),
    /// A sign of life without content.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only a socket has pings"))]
    Alive,
    /// A message that is too long; it was not kept.
    Oversized,
    /// A message that is not text.
    NotText,
    /// The other side is gone.
    Closed,
}

pub(crate) trait Transport: Send {
    /// May be dropped and called again without losing anything.
    fn recv(&mut self) -> impl Future<Output = Incoming> + Send;
    /// Whether it went out.
    fn send(&mut self, text: String) -> impl Future<Output = bool> + Send;
    /// Asks for a sign of life, where the carrier has a way to.
    fn ping(&mut self) -> impl Future<Output = bool> + Send;
}
