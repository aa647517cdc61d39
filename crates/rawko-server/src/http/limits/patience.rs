//! Timeouts of the server and its connections.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Timeouts of requests and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// For the headers of a request, and for idle connections.
    pub headers: Duration,
    /// For a body, from its first byte to its last.
    pub body: Duration,
    /// For the start of a response.
    pub answer: Duration,
    /// For a client to read any of the data sent to it.
    pub taken: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        let [headers, body, answer, taken] = [20, 15, 30, 30].map(Duration::from_secs);
        Self { headers, body, answer, taken }
    }
}

/// Connection that times out if its client stops reading.
pub(crate) struct Impatient {
    stream: TcpStream,
    taken: Duration,
    /// Timer that runs while a write makes no progress.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    pub(crate) fn new(stream: TcpStream, taken: Duration) -> Self {
        Self { stream, taken, stuck: None }
    }

    fn bounded<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stuck = None;
            return polled;
        }
        let taken = self.taken;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(taken)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Impatient {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.bounded(polled, cx)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_flush(cx);
        this.bounded(polled, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.bounded(polled, cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.bounded(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
