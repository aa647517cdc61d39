//! A server on loopback, and workers that come and go at one address. A worker has a runtime of its own: dropping it
//! leaves nothing behind, as if its process had been killed.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rawko_host::Library;
use rawko_restate::client::{Force, Restate};
use rawko_restate::{RestateEngine, WorkerBuilder};
use rawko_testkit::{RestateOptions, RestateServer, free_port};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

pub(crate) struct Site {
    pub(crate) restate: Restate,
    worker: Option<Runtime>,
    address: Option<SocketAddr>,
    _server: RestateServer,
}

impl Site {
    pub(crate) async fn start() -> Site {
        let server = RestateServer::start(&RestateOptions::default()).unwrap();
        let restate = Restate::new(&server.ingress(), &server.admin()).unwrap();
        Site { restate, worker: None, address: None, _server: server }
    }

    /// Starts a worker in place of the previous one.
    pub(crate) async fn work(&mut self, worker: WorkerBuilder) {
        self.kill();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let worker = worker.build(&self.restate).unwrap();
        let address =
            self.address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], free_port().unwrap())));
        let listener = runtime.spawn(bind(address)).await.unwrap();
        runtime.spawn(worker.serve(listener, std::future::pending()));
        (self.worker, self.address) = (Some(runtime), Some(address));
        let uri = format!("http://{address}");
        self.restate.admin().register(&uri, Force::Replace, &Default::default()).await.unwrap();
    }

    /// Kills the worker at once.
    pub(crate) fn kill(&mut self) {
        self.worker.take().into_iter().for_each(Runtime::shutdown_background);
    }

    pub(crate) fn engine(&self, library: Library) -> RestateEngine {
        RestateEngine::new(self.restate.clone(), library).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Retries, because the previous worker's runtime ends in the background and may still hold the address.
async fn bind(address: SocketAddr) -> TcpListener {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => assert!(Instant::now() < until, "{address}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Polls until the condition holds; fails after a timeout that suits a loaded machine.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, look: impl Fn() -> F) {
    let looked = async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), looked).await.is_ok(), "{what}");
}
