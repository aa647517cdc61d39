//! The same walks on the host of one machine and on Restate, and the same traces: every record with its event, where the
//! instance was after it and what its context held, its children's too. Times are left out, since they are the clock's.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod charts;
mod project;
mod trace;
mod walk;

use std::sync::Arc;

use rawko_host::{Engine, Host};
use rawko_restate::client::{Force, Restate};
use rawko_restate::{RestateEngine, Worker};
use rawko_testkit::{RestateOptions, RestateServer};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use walk::{Walk, take};

/// A server with one worker.
struct Site {
    _server: RestateServer,
    engine: RestateEngine,
    _stop: oneshot::Sender<()>,
}

async fn site() -> Site {
    let server = RestateServer::start(&RestateOptions::default()).unwrap();
    let restate = Restate::new(&server.ingress(), &server.admin()).unwrap();
    let mut worker = Worker::builder();
    for edition in project::editions() {
        worker = worker.chart(edition);
    }
    let worker = worker
        .services(project::services())
        .endpoints(project::endpoints())
        .gate(project::gate())
        .build(&restate)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(worker.serve(listener, async move { drop(stopped.await) }));
    let uri = format!("http://{address}");
    restate.admin().register(&uri, Force::Replace, &Default::default()).await.unwrap();
    let engine = RestateEngine::new(restate, Arc::try_unwrap(project::library()).unwrap()).unwrap();
    Site { _server: server, engine, _stop: stop }
}

async fn here() -> Host {
    let mut host = Host::builder();
    for edition in project::editions() {
        host = host.chart(edition);
    }
    host.services(project::services())
        .endpoints(project::endpoints())
        .gate(project::gate())
        .start()
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_hosts_walk_the_same_way() {
    let only = std::env::var("RAWKO_WALK").ok();
    let (site, host) = (site().await, here().await);
    let mut wrong = Vec::new();
    for walk in charts::WALKS {
        if only.as_ref().is_some_and(|only| only != walk.name) {
            continue;
        }
        let (expected, found) = (walked(&host, walk).await, walked(&site.engine, walk).await);
        assert!(expected.lines().count() > 1, "{}: an empty trace shows nothing", walk.name);
        if expected != found {
            wrong.push(format!("# {}\n## here\n{expected}\n## on Restate\n{found}\n", walk.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn walked(engine: &dyn Engine, walk: &Walk) -> String {
    match tokio::time::timeout(std::time::Duration::from_secs(60), take(engine, walk)).await {
        Ok(trace) => trace,
        Err(_) => format!("it did not end; so far\n{}", trace::of(engine, walk.name).await),
    }
}
