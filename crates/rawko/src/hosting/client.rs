//! The client side: a connection to the rawko process that holds the store.

use std::path::Path;

use rawko_host::Progress;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::broadcast;

use super::protocol::{Answer, Hello, Reply, Request};
use crate::authority::Operator;
use crate::failure::Failure;

/// A connection to a host in another process.
pub(crate) struct Client {
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
    Refused(Failure),
}

impl Client {
    /// Connects and proves that this process acts for the operator.
    pub(crate) async fn connect(path: &Path, operator: &Operator) -> Result<Client, NoAnswer> {
        let stream = UnixStream::connect(path).await.map_err(|_| NoAnswer::Gone)?;
        let (read, write) = stream.into_split();
        let mut client = Client { read: BufReader::new(read), write, pid: 0 };
        match client.send(&Hello::Hello { token: operator.token().to_owned() }).await? {
            Answer::Pong { pid } => client.pid = pid,
            _ => {
                return Err(NoAnswer::Gone);
            }
        }
        Ok(client)
    }

    pub(crate) async fn ask(&mut self, request: &Request) -> Result<Answer, NoAnswer> {
        self.send(request).await
    }

    /// Passes the live output of the host's running calls on, until the host ends or all receivers are gone.
    pub(crate) async fn watch(mut self, receivers: broadcast::Sender<Progress>) {
        let mut answer = self.send(&Request::Watch).await;
        while let Ok(Answer::Progress(line)) = answer {
            if receivers.send(line.into()).is_err() {
                return;
            }
            answer = self.receive().await;
        }
    }

    async fn send(&mut self, request: &impl Serialize) -> Result<Answer, NoAnswer> {
        let mut text = serde_json::to_vec(request).unwrap_or_default();
        text.push(b'\n');
        self.write.write_all(&text).await.map_err(|_| NoAnswer::Gone)?;
        self.receive().await
    }

    async fn receive(&mut self) -> Result<Answer, NoAnswer> {
        let mut line = String::new();
        let length = self.read.read_line(&mut line).await.map_err(|_| NoAnswer::Gone)?;
        if length == 0 {
            return Err(NoAnswer::Gone);
        }
        match serde_json::from_str(&line) {
            Ok(Reply::Ok(answer)) => Ok(answer),
            Ok(Reply::Error(refusal)) => Err(NoAnswer::Refused(refusal.into())),
            Err(error) => {
                let message =
                    format!("the rawko that holds the store answered what this one cannot read: {error}");
                Err(NoAnswer::Refused(Failure::Failed(message)))
            }
        }
    }
}
