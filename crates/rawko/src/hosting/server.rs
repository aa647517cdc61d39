//! The server side: a socket on which other rawko processes of the same user send requests to the holder of the store.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::RwLock;
use tokio::task::JoinHandle;

use super::desk::Desk;
use super::obey::obey;
use super::protocol::{Reply, Request};
use crate::failure::Failure;

/// Maximum length of a request: a chart and its data are far smaller.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum length of the path of a Unix socket.
const PATH_BYTES_MAX: usize = 100;

/// Time for open requests to finish when the host closes.
const GRACE: Duration = Duration::from_secs(1);

/// Held for reading while a request is executed and answered; closing takes it for writing.
type Open = Arc<RwLock<()>>;

/// Listens until it is closed or dropped.
pub(crate) struct Server {
    path: PathBuf,
    task: JoinHandle<()>,
    open: Open,
}

/// Returns the socket path of a store: beside the store, or in the temporary directory if that path is too long.
pub(crate) fn socket_path(store: &Path) -> PathBuf {
    let beside = std::path::absolute(store.with_file_name("host.sock"));
    let beside = beside.unwrap_or_else(|_| store.with_file_name("host.sock"));
    if beside.as_os_str().len() <= PATH_BYTES_MAX {
        return beside;
    }
    std::env::temp_dir().join(format!("rawko-{}.sock", std::process::id()))
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

impl Server {
    pub(crate) fn serve(path: PathBuf, listener: UnixListener, desk: Desk) -> Server {
        let open = Open::default();
        Server { path, task: tokio::spawn(accept(listener, desk, Arc::clone(&open))), open }
    }

    /// Finishes open requests and accepts no more. A request that was executed but not answered would look undone.
    pub(crate) async fn close(self) {
        let open = Arc::clone(&self.open);
        let _ = tokio::time::timeout(GRACE, open.write()).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
        // The file may already be removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn accept(listener: UnixListener, desk: Desk, open: Open) {
    // Connections end with the listener, so that a closing host accepts no further requests.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(talk(stream, desk.clone(), Arc::clone(&open)))),
                // Most likely out of file descriptors; open connections continue.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Handles one connection: a request, its reply, the next request.
async fn talk(stream: UnixStream, desk: Desk, open: Open) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let length = (&mut read).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await;
        if length.unwrap_or(0) == 0 {
            return;
        }
        let request: Result<Request, _> = serde_json::from_slice(&line);
        // A waiting request can be cut off: its client looks for another host.
        let is_waiting = request.as_ref().is_ok_and(Request::only_waits);
        let _open = if is_waiting { None } else { Some(open.read().await) };
        let reply = match request {
            Ok(request) => reply(&desk, request).await,
            Err(error) => Reply::Error(Failure::Usage(format!("invalid request: {error}")).into()),
        };
        let mut text = serde_json::to_vec(&reply).unwrap_or_default();
        text.push(b'\n');
        if write.write_all(&text).await.is_err() {
            return;
        }
    }
}

async fn reply(desk: &Desk, request: Request) -> Reply {
    match obey(desk, request).await {
        Ok(answer) => Reply::Ok(answer),
        Err(failure) => Reply::Error(failure.into()),
    }
}
