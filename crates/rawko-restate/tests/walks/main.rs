//! The same walks on the host of one machine, on Restate and in the simulation, with the same traces: every record with
//! its event, states and context, including children. Times are omitted, since they depend on the clock.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod brought;
mod charts;
mod families;
mod project;
mod refused;
mod restarts;
mod simulated;
mod site;
mod table;
mod trace;
mod walk;

use std::sync::Arc;
use std::time::Duration;

use rawko_host::{Engine, Host};
use site::Site;
use walk::{Walk, take};

async fn here() -> Host {
    let mut host = Host::builder();
    for edition in project::editions() {
        host = host.chart(edition);
    }
    host.services(project::services())
        .endpoints(project::endpoints())
        .gate(project::gate())
        .limits(project::limits())
        .agents(Arc::new(project::Office))
        .start()
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_hosts_walk_the_same_way() {
    let only = std::env::var("RAWKO_WALK").ok();
    let mut site = Site::start().await;
    site.work(project::worker()).await;
    let (engine, host) = (site.engine(project::library()), here().await);
    let is_wanted = |walk: &&Walk| only.as_ref().is_none_or(|only| only == walk.name);
    let walks: Vec<&Walk> = table::WALKS.iter().filter(is_wanted).collect();
    assert!(!walks.is_empty(), "there is no walk of the name that RAWKO_WALK says: {only:?}");
    let mut wrong = Vec::new();
    for walk in walks {
        let (expected, found) = (walked(&host, walk).await, walked(&engine, walk).await);
        assert!(expected.lines().count() > 1, "{}: an empty trace shows nothing", walk.name);
        if expected != found {
            wrong.push(format!("# {}\n## here\n{expected}\n## on Restate\n{found}\n", walk.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_simulation_walks_the_same_way() {
    let (host, mut wrong) = (here().await, Vec::new());
    for walk in table::WALKS {
        let expected = walked(&host, walk).await;
        let runtime = tokio::runtime::Handle::current();
        let found = tokio::task::block_in_place(|| simulated::walked(walk, runtime));
        if expected != found {
            wrong.push(format!("# {}\n## here\n{expected}\n## simulated\n{found}\n", walk.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn walked(engine: &dyn Engine, walk: &Walk) -> String {
    match tokio::time::timeout(Duration::from_secs(60), take(engine, walk)).await {
        Ok(trace) => trace,
        // Fails here, because two equal incomplete traces would pass the comparison.
        Err(_) => panic!("{} did not end; so far\n{}", walk.name, trace::of(engine, walk.name).await),
    }
}
