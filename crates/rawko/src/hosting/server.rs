//! The server side: a socket on which other rawko processes of the same user send requests to the holder of the store.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::RwLock;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::execute::execute;
use super::feed::ProgressFeed;
use super::local_client::LocalClient;
use super::protocol::{Hello, HostAnswer, HostReply, SocketRequest};
use crate::authority::Operator;
use crate::failure::CommandFailure;

/// Maximum length of a request: a chart and its data are far smaller.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The first line is read before the client is known.
const HELLO_BYTES_MAX: u64 = 8 * 1024;
const HELLO_WITHIN: Duration = Duration::from_secs(10);
const WRONG_DELAY: Duration = Duration::from_millis(100);

/// Time for open requests to finish when the host closes.
const GRACE: Duration = Duration::from_secs(1);

/// Held for reading while a request is executed and answered; closing takes it for writing.
type Open = Arc<RwLock<()>>;

/// Listens until it is closed or dropped.
pub(crate) struct SocketServer {
    path: PathBuf,
    task: JoinHandle<()>,
    open: Open,
}

/// Binds the socket. Only the holder of the lock may call this: an existing file at the path is left over from a dead
/// host.
pub(crate) fn bind(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

impl SocketServer {
    pub(crate) fn serve(
        path: PathBuf,
        listener: UnixListener,
        local_client: LocalClient,
        operator: Operator,
    ) -> SocketServer {
        let open = Open::default();
        let feed = Arc::new(ProgressFeed::new(local_client.host.progress()));
        let task = tokio::spawn(accept(listener, local_client, Arc::new(operator), feed, Arc::clone(&open)));
        SocketServer { path, task, open }
    }

    /// Finishes open requests and accepts no more. A request that was executed but not answered would look undone.
    pub(crate) async fn close(self) {
        let open = Arc::clone(&self.open);
        let _ = tokio::time::timeout(GRACE, open.write()).await;
    }
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        self.task.abort();
        // The file may already be removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn accept(
    listener: UnixListener,
    local_client: LocalClient,
    operator: Arc<Operator>,
    feed: Arc<ProgressFeed>,
    open: Open,
) {
    // Connections end with the listener, so that a closing host accepts no further requests.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (local_client, operator) = (local_client.clone(), Arc::clone(&operator));
                    connections.spawn(talk(stream, local_client, operator, Arc::clone(&feed), Arc::clone(&open)));
                }
                // Most likely out of file descriptors; open connections continue.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Handles one connection: the credential, then a request, its reply, the next request.
async fn talk(
    stream: UnixStream,
    local_client: LocalClient,
    operator: Arc<Operator>,
    feed: Arc<ProgressFeed>,
    open: Open,
) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let greeting = timeout(HELLO_WITHIN, greet(&mut read, &operator)).await;
    let greeted = match greeting {
        Ok(Some(outcome)) => outcome,
        // Silent, or gone.
        Ok(None) | Err(_) => return,
    };
    let is_known = greeted.is_ok();
    if !is_known {
        // Slows down guessing of a short RAWKO_TOKEN.
        tokio::time::sleep(WRONG_DELAY).await;
    }
    let welcome = match greeted {
        Ok(()) => HostReply::Ok(HostAnswer::Pong { pid: std::process::id() }),
        Err(failure) => HostReply::Error(failure.into()),
    };
    if send(&mut write, &welcome).await.is_err() || !is_known {
        return;
    }
    loop {
        let mut line = Vec::new();
        let length = (&mut read).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await;
        if length.unwrap_or(0) == 0 {
            return;
        }
        let request: Result<SocketRequest, _> = serde_json::from_slice(&line);
        if matches!(request, Ok(SocketRequest::Watch)) {
            return show_progress(&feed, read, write).await;
        }
        // A waiting request can be cut off: its client looks for another host.
        let is_waiting = request.as_ref().is_ok_and(SocketRequest::only_waits);
        let _open = if is_waiting { None } else { Some(open.read().await) };
        let reply = match request {
            Ok(request) => reply(&local_client, operator.name(), request).await,
            Err(error) => HostReply::Error(CommandFailure::Usage(format!("invalid request: {error}")).into()),
        };
        if send(&mut write, &reply).await.is_err() {
            return;
        }
    }
}

/// Sends live output until the client leaves. It sends nothing more itself.
async fn show_progress(feed: &ProgressFeed, read: BufReader<OwnedReadHalf>, mut write: OwnedWriteHalf) {
    let (begun, mut heard) = feed.subscribe();
    for told in begun {
        if send(&mut write, &HostReply::Ok(HostAnswer::Progress(told.into()))).await.is_err() {
            return;
        }
    }
    let (mut limited, mut rest) = (read.take(HELLO_BYTES_MAX), Vec::new());
    let left = limited.read_to_end(&mut rest);
    tokio::pin!(left);
    loop {
        let told = tokio::select! {
            told = heard.recv() => told,
            _ = &mut left => return,
        };
        let sent = match told {
            Ok(told) => send(&mut write, &HostReply::Ok(HostAnswer::Progress(told.into()))).await,
            // Missed events are recoverable from the journal.
            Err(RecvError::Lagged(_)) => Ok(()),
            Err(RecvError::Closed) => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Reads the first line. `None`: the client left.
async fn greet(
    read: &mut BufReader<OwnedReadHalf>,
    operator: &Operator,
) -> Option<Result<(), CommandFailure>> {
    let mut line = Vec::new();
    let length = read.take(HELLO_BYTES_MAX).read_until(b'\n', &mut line).await;
    if length.unwrap_or(0) == 0 {
        return None;
    }
    let refused = |message: &str| Some(Err(CommandFailure::Credentials(message.to_owned())));
    match serde_json::from_slice(&line) {
        Ok(Hello::Hello { token }) if operator.is_proven_by(&token) => Some(Ok(())),
        Ok(Hello::Hello { .. }) => refused(
            "the host of the store refuses the operator credential; it was started with another RAWKO_TOKEN or state \
             directory",
        ),
        Err(_) => refused("the host of the store requires the operator credential in the first line"),
    }
}

async fn send(write: &mut OwnedWriteHalf, reply: &HostReply) -> io::Result<()> {
    let mut text = serde_json::to_vec(reply).unwrap_or_default();
    text.push(b'\n');
    write.write_all(&text).await
}

async fn reply(local_client: &LocalClient, by: &str, request: SocketRequest) -> HostReply {
    match execute(local_client, by, request).await {
        Ok(answer) => HostReply::Ok(answer),
        Err(failure) => HostReply::Error(failure.into()),
    }
}
