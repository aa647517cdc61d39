//! Kills three workers and the server repeatedly while orders run and events arrive. Afterwards nothing is lost, no
//! payment was made twice, no unrepeatable call was repeated, and every timer fired once. `RAWKO_SEED=n` repeats a run,
//! `RAWKO_KILLS=n` makes a longer one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rawko_host::SnapshotReader;
use rawko_restate::client::Restate;
use rawko_restate::store::RestateStore;
use rawko_store::Filter;
use rawko_testkit::RestateOptions;

use crate::bank::{Bank, Books};
use crate::charts::{PARCEL, settings};
use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::support::{PATIENCE, Site, directory, free_address, wait_for};

const KILLS: u64 = 30;
const WORKERS: usize = 3;
/// Number of concurrent orders.
const WORKING: usize = 8;
/// Number of kills between two checks.
const CHECKED_EVERY: u64 = 10;
/// One in this many kills is of the server.
const SERVER_KILLS: u64 = 4;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn slow_kills_of_workers_and_server_lose_nothing_and_repeat_nothing() {
    let seed = variable("RAWKO_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let kills = variable("RAWKO_KILLS").unwrap_or(KILLS);
    run(seed, kills);
}

#[expect(clippy::print_stdout, reason = "the seed is needed to repeat a failure")]
fn run(seed: u64, kills: u64) {
    println!("kills: RAWKO_SEED={seed} RAWKO_KILLS={kills}");
    let mut dice = Dice::new(seed);
    let bank = Bank::open(seed);
    let project = directory(&[(".rawko/charts/parcel.yaml", PARCEL)]);
    fs::write(project.path().join(".rawko/config.yaml"), settings(&bank.address)).unwrap();

    // Few requests per connection, so that all workers behind one address get some.
    let options = RestateOptions { streams_per_connection: 2, ..RestateOptions::default() };
    let mut site = Site::new(project.path(), &options);
    // At debug level, workers log their own steps and calls.
    site.place = site.place.with("RAWKO_LOG", "debug");
    let address = free_address();
    let mut workers: Vec<_> =
        (0..WORKERS).map(|number| site.worker(&address, &format!("worker-{number}"))).collect();
    workers[0].says("registered", 0, PATIENCE).unwrap();

    let restate = Restate::new(&site.server.ingress(), &site.server.admin()).unwrap();
    let reader = SnapshotReader::new(Arc::new(RestateStore::new(&restate).unwrap()));
    // Read from the beginning, so that the feed is checked too.
    assert_eq!(reader.store().last_seq().unwrap(), 0);
    let mut ledger = Ledger::default();
    let load = Load::begin(&restate, WORKING);
    let (mut of_server, mut of_workers) = (0, 0);
    for kill in 1..=kills {
        std::thread::sleep(Duration::from_millis(50 + dice.below(350)));
        if dice.below(SERVER_KILLS) == 0 {
            site.server.kill();
            site.server.restart().unwrap();
            site.server.wait_ready().unwrap();
            of_server += 1;
        } else {
            let number = dice.below(WORKERS as u64) as usize;
            workers[number].kill();
            workers[number] = site.worker(&address, &format!("worker-{number}"));
            of_workers += 1;
        }
        if kill % CHECKED_EVERY == 0 {
            load.paused(|| check(&mut ledger, &reader, &load, &bank));
            println!("{kill} kills: {} instances, {} records", ledger.instances(), ledger.records);
        }
    }
    load.finish(&reader);
    check(&mut ledger, &reader, &load, &bank);
    ledger.close(&reader, &bank.books.lock().unwrap());
    assert!(ledger.last().is_some());
    let books = bank.books.lock().unwrap();
    let calls: u32 = books.calls.values().sum();
    let told = format!(
        "{of_workers} workers and {of_server} times the server killed; {} orders with {} instances, {} records, \
         {} payments in {calls} calls, {} events acknowledged",
        load.started(),
        ledger.instances(),
        ledger.records,
        books.paid.len(),
        load.acknowledged().values().map(|last| last + 1).sum::<i64>(),
    );
    println!("{told}");
    assert!(load.started() >= WORKING as u64 && of_server > 0, "too little happened: {told}");
    assert!(!books.once.is_empty(), "nothing was called that may not be repeated");
    for (number, worker) in workers.iter().enumerate() {
        assert!(worker.said().contains(" instance=order-"), "worker {number} had no work");
    }
}

/// Checks that everything acknowledged and paid before the read is in the journal.
fn check(ledger: &mut Ledger, reader: &SnapshotReader, load: &Load, bank: &Bank) {
    let acknowledged = load.acknowledged();
    let books = Books::clone(&bank.books.lock().unwrap());
    wait_for_index(reader, acknowledged.keys());
    ledger.check(reader, &acknowledged, &books);
}

/// Waits until the index has the steps that these instances, and all that it lists, have taken by now.
fn wait_for_index<'a>(reader: &SnapshotReader, ids: impl Iterator<Item = &'a String>) {
    let listed = || reader.store().list(&Filter::default()).unwrap().rows;
    let ids: BTreeSet<String> =
        listed().iter().map(|row| row.new.id.to_string()).chain(ids.cloned()).collect();
    let taken: Vec<_> = ids.iter().map(|id| reader.store().find(id).unwrap().unwrap()).collect();
    wait_for("the index", || {
        let steps: BTreeMap<_, _> = listed().into_iter().map(|row| (row.key, row.step)).collect();
        taken.iter().all(|row| steps.get(&row.key).is_some_and(|step| *step >= row.step))
    });
}
