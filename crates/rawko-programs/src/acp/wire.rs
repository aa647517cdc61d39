//! Connects a child's stdin and stdout to the protocol library as message frames, so that the library does not depend
//! on our processes.

use agent_client_protocol::{Channel, RawJsonRpcMessage, TransportFrame};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::process::{LineReader, LineWriter, ProgramLine};

/// One message may contain a file.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The reason why the agent's output ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    Ended,
    LineTooLong,
    /// The agent leaves too much input unread.
    DoesNotRead,
}

/// Transports frames in both directions until the agent's output ends. Dropping it stops the transport and closes the
/// agent's input.
pub(super) struct Wire(AbortHandle);

impl Wire {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout) -> (Self, Channel, oneshot::Receiver<Closed>) {
        let (mut ours, theirs) = Channel::duplex();
        let (tell, closed) = oneshot::channel();
        let carrying = tokio::spawn(async move {
            let closed = carry(stdin, stdout, &mut ours).await;
            // Sent before the library notices, so that the receiver of an error knows its cause.
            let _ = tell.send(closed);
            drop(ours);
        });
        (Self(carrying.abort_handle()), theirs, closed)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn carry(stdin: ChildStdin, stdout: ChildStdout, channel: &mut Channel) -> Closed {
    let mut lines = LineReader::new(stdout, LINE_BYTES_MAX);
    let writer = LineWriter::new(stdin);
    loop {
        tokio::select! {
            line = lines.next() => match line {
                // Programs print unrelated text to stdout: lines that are not messages are ignored.
                ProgramLine::Text(text) => if let Ok(message) = serde_json::from_str::<RawJsonRpcMessage>(&text) {
                    let _ = channel.tx.unbounded_send(TransportFrame::Single(message));
                },
                ProgramLine::NotUtf8 => {}
                ProgramLine::TooLong => return Closed::LineTooLong,
                ProgramLine::End => return Closed::Ended,
            },
            Ok(frame) = channel.rx.recv() => {
                if let TransportFrame::Single(message) = frame
                    && let Ok(line) = serde_json::to_string(&message)
                    && !writer.send(line)
                {
                    return Closed::DoesNotRead;
                }
            }
        }
    }
}
