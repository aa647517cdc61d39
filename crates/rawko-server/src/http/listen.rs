//! `HttpServer`: accepts connections and serves the router on them. A custom loop, because `axum::serve` has no header
//! timeout, no connection limit, and no bounded shutdown.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::app::{App, AppOptions, reachable};
use super::limits::{HttpTimeouts, Impatient};
use super::live::Hangup;
use super::notify::{Notifier, NotifyOptions};
use super::router;
use super::triggers::TriggerRunner;

/// Concurrent connections, including event streams and agents. Further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 22_000;
/// Larger headers end the connection.
const HEADER_BYTES_MAX: usize = 64 * 1024;
/// Time for running requests to finish on shutdown.
const GRACE: Duration = Duration::from_secs(3);

/// Address of the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// Issues one-time links.
#[derive(Clone)]
pub struct LinkIssuer {
    app: App,
    address: SocketAddr,
    token: String,
}

impl LinkIssuer {
    /// Returns the address of a link with this code, which must be random.
    pub fn link(&self, code: &str) -> String {
        self.app.access().links.issue(code, &self.token, self.app.now_ms());
        format!("http://{}/login/{code}", reachable(self.address))
    }
}

/// A listening server. Runs until it is closed.
pub struct HttpServer {
    address: SocketAddr,
    app: App,
    task: JoinHandle<()>,
    /// What the server does besides responding: each ends after its current step when the server closes.
    background: Mutex<JoinSet<()>>,
}

impl HttpServer {
    /// Starts serving on a bound listener.
    pub fn start(listener: TcpListener, options: AppOptions) -> io::Result<HttpServer> {
        let address = listener.local_addr()?;
        let app = App::new(options, address);
        app.live().start(&app);
        let task = tokio::spawn(accept(listener, router(app.clone()), app.patience(), app.closing()));
        Ok(HttpServer { address, app, task, background: Mutex::default() })
    }

    /// Returns the bound address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Issues one-time links that log a browser in as a token.
    pub fn inviter(&self, token: &str) -> LinkIssuer {
        LinkIssuer { app: self.app.clone(), address: self.address, token: token.to_owned() }
    }

    /// Sends messages about pending requests to the receivers of the settings, until the server closes.
    pub fn notify(&self, options: NotifyOptions) -> Result<(), String> {
        if let Some(notifier) = Notifier::new(&self.app, options)? {
            self.spawn(notifier.serve());
        }
        Ok(())
    }

    /// Drives the schedules until the server closes.
    pub fn run_triggers(&self) {
        if !self.app.triggers().is_empty() {
            self.spawn(self.triggers().serve());
        }
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.background.lock().unwrap_or_else(PoisonError::into_inner).spawn(work);
    }

    /// Returns the driver of the schedules, for tests that decide when it looks.
    pub fn triggers(&self) -> TriggerRunner {
        TriggerRunner::new(&self.app)
    }

    /// Stops accepting connections, ends streams, and gives running requests and messages time to finish: a message
    /// that was cut off after its receiver took it would be sent again.
    pub async fn close(self) {
        self.app.close();
        let mut task = self.task;
        let mut background = self.background.into_inner().unwrap_or_else(PoisonError::into_inner);
        let finished = async {
            let _ = (&mut task).await;
            while background.join_next().await.is_some() {}
        };
        if tokio::time::timeout(GRACE, finished).await.is_err() {
            task.abort();
        }
    }
}

async fn accept(
    listener: TcpListener,
    router: Router,
    patience: HttpTimeouts,
    mut closing: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            _ = closing.wait_for(|closing| *closing) => break,
            Some(_) = connections.join_next() => continue,
            accepted = one(&listener, &room) => accepted,
        };
        let Some((stream, peer, place)) = stream else {
            // Most likely out of file descriptors; open connections continue.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (router, closing) = (router.clone(), closing.clone());
        connections.spawn(async move {
            talk(stream, peer, router, patience, closing).await;
            drop(place);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn one(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    let (stream, peer) = listener.accept().await.ok()?;
    // Responses are written whole, so delaying packets gains nothing.
    let _ = stream.set_nodelay(true);
    Some((stream, peer, place))
}

async fn talk(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    patience: HttpTimeouts,
    mut closing: watch::Receiver<bool>,
) {
    let hangup = Hangup::default();
    let cut = hangup.clone();
    let router = TowerToHyperService::new(router.into_service::<Incoming>());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(PeerAddress(peer));
        request.extensions_mut().insert(hangup.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.headers)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(Impatient::new(stream, patience.taken)), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        // Errors only affect this connection.
        _ = connection.as_mut() => return,
        // The client does not read its event stream.
        () = cut.wanted() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
