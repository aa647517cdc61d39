//! The client side: a connection to the rawko process that holds the store.

use std::path::Path;

use rawko_host::CallProgress;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::broadcast;

use super::protocol::{Hello, HostAnswer, HostReply, SocketRequest};
use crate::authority::Operator;
use crate::failure::CommandFailure;

/// A connection to a host in another process.
pub(crate) struct SocketClient {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    /// The process id of the host.
    pub(crate) pid: u32,
}

/// The reason that there is no response.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The connection is closed; the store is free now.
    Gone,
    Refused(CommandFailure),
}

impl SocketClient {
    /// Connects and proves that this process acts for the operator.
    pub(crate) async fn connect(path: &Path, operator: &Operator) -> Result<SocketClient, NoAnswer> {
        let stream = UnixStream::connect(path).await.map_err(|_| NoAnswer::Gone)?;
        let (read, write) = stream.into_split();
        let mut client = SocketClient { read: BufReader::new(read), write, pid: 0 };
        match client.send(&Hello::Hello { token: operator.token().to_owned() }).await? {
            HostAnswer::Pong { pid } => client.pid = pid,
            _ => {
                return Err(NoAnswer::Gone);
            }
        }
        Ok(client)
    }

    pub(crate) async fn ask(&mut self, request: &SocketRequest) -> Result<HostAnswer, NoAnswer> {
        self.send(request).await
    }

    /// Passes the live output of the host's running calls on, until the host ends or all receivers are gone.
    pub(crate) async fn watch(mut self, receivers: broadcast::Sender<CallProgress>) {
        let mut answer = self.send(&SocketRequest::Watch).await;
        while let Ok(HostAnswer::Progress(line)) = answer {
            if receivers.send(line.into()).is_err() {
                return;
            }
            answer = self.receive().await;
        }
    }

    async fn send(&mut self, request: &impl Serialize) -> Result<HostAnswer, NoAnswer> {
        let mut text = serde_json::to_vec(request).unwrap_or_default();
        text.push(b'\n');
        self.write.write_all(&text).await.map_err(|_| NoAnswer::Gone)?;
        self.receive().await
    }

    async fn receive(&mut self) -> Result<HostAnswer, NoAnswer> {
        let mut line = String::new();
        let length = self.read.read_line(&mut line).await.map_err(|_| NoAnswer::Gone)?;
        if length == 0 {
            return Err(NoAnswer::Gone);
        }
        match serde_json::from_str(&line) {
            Ok(HostReply::Ok(answer)) => Ok(answer),
            Ok(HostReply::Error(refusal)) => Err(NoAnswer::Refused(refusal.into())),
            Err(error) => {
                let message =
                    format!("the rawko that holds the store answered what this one cannot read: {error}");
                Err(NoAnswer::Refused(CommandFailure::Failed(message)))
            }
        }
    }
}
