//! Kills and restarts nodes of three in turn while orders continue: `RAWKO_NODE_KILLS` of them (1).

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use rawko_core::Status;
use rawko_host::SnapshotReader;
use rawko_restate::client::Restate;
use rawko_restate::store::RestateStore;
use rawko_store::Filter;
use rawko_testkit::{RestateCluster, RestateOptions};

use crate::bank::Bank;
use crate::charts::{PARCEL, settings};
use crate::ledger::Ledger;
use crate::load::Load;
use crate::support::{PATIENCE, directory, free_address, on_restate, wait_for, worker};

const WORKING: usize = 6;
/// Orders that must be completed while a node is down.
const MEANWHILE: u64 = 3;

/// Returns the number of completed orders; `None` while leaders move and no node can respond.
fn look(reader: &SnapshotReader) -> Option<u64> {
    let filter = Filter { statuses: vec![Status::Done], roots_only: true, limit: 1, ..Filter::default() };
    reader.store().list(&filter).ok().map(|page| page.total)
}

/// Like [`look`], repeated until a node responds.
fn done(reader: &SnapshotReader) -> u64 {
    let mut found = None;
    wait_for("somebody can say how many orders are done", || {
        found = look(reader);
        found.is_some()
    });
    found.unwrap()
}

fn are_done(reader: &SnapshotReader, orders: u64) -> bool {
    look(reader).is_some_and(|done| done >= orders)
}

#[test]
fn slow_three_nodes_go_on_while_one_is_down() {
    let bank = Bank::open(7);
    let project = directory(&[(".rawko/charts/parcel.yaml", PARCEL)]);
    fs::write(project.path().join(".rawko/config.yaml"), settings(&bank.address)).unwrap();

    let begun = Instant::now();
    let mut cluster = RestateCluster::start(&RestateOptions::default()).unwrap();
    println!("three nodes are ready after {:.1} s", begun.elapsed().as_secs_f64());
    let all = |address: &dyn Fn(usize) -> String| {
        (0..RestateCluster::NODES).map(address).collect::<Vec<_>>().join(",")
    };
    let (ingress, admin) = (all(&|node| cluster.ingress(node)), all(&|node| cluster.admin(node)));
    let place = on_restate(project.path(), &ingress, &admin);
    let address = free_address();
    let workers = [worker(&place, &address, "worker-0"), worker(&place, &address, "worker-1")];
    workers[0].says("registered", 0, PATIENCE).unwrap();

    let restate = Restate::new(&ingress, &admin).unwrap();
    let reader = SnapshotReader::new(Arc::new(RestateStore::new(&restate).unwrap()));
    assert_eq!(reader.store().last_seq().unwrap(), 0);
    let load = Load::begin(&restate, WORKING);
    wait_for("orders come to their end", || are_done(&reader, MEANWHILE));
    let kills = std::env::var("RAWKO_NODE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for node in (0..RestateCluster::NODES).cycle().take(kills) {
        let before = done(&reader);
        cluster.kill(node);
        let first = wait_for("orders go on without a node", || are_done(&reader, before + 1));
        wait_for("orders go on without a node", || are_done(&reader, before + MEANWHILE));
        println!(
            "node {} is down: the next order is done after {:.1} s, {} by now",
            node + 1,
            first.as_secs_f64(),
            done(&reader)
        );
        cluster.restart(node).unwrap();
        cluster.wait_ready(node).unwrap();
        println!("node {} is back", node + 1);
    }
    load.finish(&reader);
    let mut ledger = Ledger::default();
    let books = bank.books.lock().unwrap();
    ledger.check(&reader, &load.acknowledged(), &books);
    ledger.close(&reader, &books);
    assert!(ledger.last().is_some());
    println!(
        "{} orders with {} instances, {} records, {} payments; nothing lost, nothing twice",
        load.started(),
        ledger.instances(),
        ledger.records,
        books.paid.len()
    );
}
