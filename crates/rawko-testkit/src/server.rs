//! HTTP/1.1 server written by hand, because tests mostly need responses that a proper server never sends.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::reply::{ModelReply, ReplyEnding};
use crate::request::ReceivedRequest;

/// Between two repetitions of the last piece.
const REPEAT_EVERY: Duration = Duration::from_millis(5);

type Answering = dyn Fn(&ReceivedRequest) -> ModelReply + Send + Sync;

/// Server on loopback with its own port. Stops when dropped.
pub struct ProviderServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    task: JoinHandle<()>,
}

impl ProviderServer {
    /// Computes each reply from the request.
    pub async fn new(
        answer: impl Fn(&ReceivedRequest) -> ModelReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(serve(listener, Arc::new(answer), Arc::clone(&asked)));
        Ok(Self { address, asked, task })
    }

    /// Sends these replies in order, then a failure for any further request.
    pub async fn replying(replies: impl IntoIterator<Item = ModelReply>) -> io::Result<Self> {
        let replies = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        Self::new(move |_| {
            let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| {
                ModelReply::json(418, &json!({"error": {"message": "the test has no reply left"}}))
            })
        })
        .await
    }

    /// `http://127.0.0.1:…` without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all requests so far.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ProviderServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connections end with this task; a silent one would otherwise stay open forever.
async fn serve(listener: TcpListener, answer: Arc<Answering>, asked: Arc<Mutex<Vec<ReceivedRequest>>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (answer, asked) = (Arc::clone(&answer), Arc::clone(&asked));
        connections.spawn(async move {
            // The client may close the connection at any time, which some tests do.
            let _ = converse(stream, &*answer, &asked).await;
        });
    }
}

async fn converse(
    mut stream: TcpStream,
    answer: &Answering,
    asked: &Mutex<Vec<ReceivedRequest>>,
) -> io::Result<()> {
    let Some(request) = ReceivedRequest::read(&mut stream).await? else { return Ok(()) };
    let reply = answer(&request);
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    stream.set_nodelay(true)?;
    stream.write_all(head(&reply).as_bytes()).await?;
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        write_piece(&mut stream, piece).await?;
        // Lets the other side see the pieces one by one.
        tokio::task::yield_now().await;
    }
    match reply.ending {
        ReplyEnding::Whole => stream.write_all(b"0\r\n\r\n").await,
        ReplyEnding::Cut => Ok(()),
        ReplyEnding::Silent => std::future::pending().await,
        ReplyEnding::Repeating => loop {
            tokio::time::sleep(REPEAT_EVERY).await;
            write_piece(&mut stream, reply.pieces.last().map_or(b"\n", Vec::as_slice)).await?;
        },
    }
}

async fn write_piece(stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
    stream.write_all(piece).await?;
    stream.write_all(b"\r\n").await?;
    stream.flush().await
}

fn head(reply: &ModelReply) -> String {
    let headers: String = reply.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "HTTP/1.1 {} Reply\r\n{headers}transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        reply.status
    )
}
