//! Commands on Restate and on this machine: the examples run on both, with the same histories.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rawko_testkit::{Guarded, RestateOptions, Spawn};
use serde_json::Value as Json;

use crate::support::{PATIENCE, Place, Site, copy, directory, free_address, process, repository};

/// The commands of `examples/fulfilment/run.sh`.
const FULFILMENT: [&str; 4] = [
    "run order.yaml --id o-1 --input order_id=o-1 --input amount=250",
    "approve o-1 --as ada",
    "run order.yaml --id o-2 --input order_id=o-2-nowhere --input amount=99",
    "approve o-2 --as bo",
];
const FULFILMENT_INSTANCES: [&str; 6] =
    ["o-1", "o-1.packing.4.1", "o-1.invoicing.4.2", "o-2", "o-2.packing.4.1", "o-2.invoicing.4.2"];

/// Starts the example's payment service, which counts receipts: each host gets its own.
fn payments(project: &Path) -> (Guarded, String) {
    let spawn = Spawn {
        program: "python3".into(),
        arguments: vec!["-u".into(), "services/payments.py".into()],
        folder: project.to_owned(),
        log: project.join("payments.log"),
        ..Spawn::default()
    };
    let service = Guarded::start(&spawn).unwrap();
    service.says("http", 0, PATIENCE).unwrap();
    let address = service.said().trim().to_owned();
    (service, address)
}

/// Returns the history of an instance without times.
fn history(place: &Place, id: &str) -> String {
    let ran = place.run(&format!("history {id} --json"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = ran.stdout.lines().map(|line| {
        let mut entry: Json =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {}", ran.stdout));
        forget_times(&mut entry);
        entry.to_string() + "\n"
    });
    lines.collect()
}

/// Removes times, durations, and positions in a store's journal.
fn forget_times(value: &mut Json) {
    match value {
        Json::Object(map) => {
            map.retain(|key, _| !key.ends_with("_ms") && key != "seq" && key != "at");
            map.values_mut().for_each(forget_times);
        }
        Json::Array(items) => items.iter_mut().for_each(forget_times),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

#[test]
fn the_order_example_has_the_same_history_on_both_hosts() {
    let example = repository().join("examples/fulfilment");
    let (here, there) = (copy(&example), copy(&example));

    let (_here_payments, address) = payments(here.path());
    let embedded = Place::embedded(here.path()).with("PAYMENTS_URL", &address);
    let (_there_payments, address) = payments(there.path());
    let mut site = Site::new(there.path(), &RestateOptions::default());
    site.place = site.place.with("PAYMENTS_URL", &address);
    let _worker = site.ready_worker(&free_address(), "worker");

    for command in FULFILMENT {
        let (one, other) = (embedded.run(command), site.place.run(command));
        assert_eq!(one.code, other.code, "{command}\nembedded: {one:?}\non Restate: {other:?}");
    }
    for id in FULFILMENT_INSTANCES {
        let (one, other) = (history(&embedded, id), history(&site.place, id));
        assert_eq!(one, other, "{id}");
    }
    // The same list, even while only the server runs.
    drop(_worker);
    let listed = |place: &Place| {
        let listed: Json = serde_json::from_str(&place.run("ps --all --json").stdout).unwrap();
        let mut rows: Vec<String> = listed["instances"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| format!("{} {} {} {}", row["id"], row["status"], row["step"], row["configuration"]))
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(listed(&embedded), listed(&site.place));
}

/// Errors about a missing part state the fix.
#[test]
fn commands_say_what_is_missing() {
    let dir = directory(&[(".rawko/config.yaml", "")]);
    let nowhere = Place::embedded(dir.path())
        .with("RAWKO_HOST", "restate")
        .with("RAWKO_RESTATE", "http://127.0.0.1:1")
        .with("RAWKO_RESTATE_ADMIN", "http://127.0.0.1:1");
    let ran = nowhere.run("ps");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("http://127.0.0.1:1 cannot be reached"), "{ran:?}");
    assert!(ran.stderr.contains("RAWKO_RESTATE_ADMIN"), "{ran:?}");

    let site = Site::new(dir.path(), &RestateOptions::default());
    fs::write(dir.path().join("light.yaml"), "statechart: {id: light, initial: on, states: {on: {}}}")
        .unwrap();
    let ran = site.place.run("run light.yaml");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("start `rawko worker` to register its services"), "{ran:?}");
    let ran = site.place.run("channels");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("remove `--host restate`"), "{ran:?}");
}

/// A worker that was registered and is gone is named by `doctor`, and by a command that waits for it.
#[test]
fn a_worker_that_is_gone_is_missed() {
    let dir = directory(&[(".rawko/config.yaml", "")]);
    fs::write(dir.path().join("light.yaml"), "statechart: {id: light, initial: on, states: {on: {}}}")
        .unwrap();
    let site = Site::new(dir.path(), &RestateOptions::default());
    let address = free_address();
    let worker = site.ready_worker(&address, "worker");
    let asked = site.place.run("doctor --offline");
    assert!(asked.stdout.contains("ok       worker    a worker answers"), "{asked:?}");
    drop(worker);
    let asked = site.place.run("doctor --offline");
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stdout.contains("problem  worker    no worker answers"), "{asked:?}");
    let place = &site.place;
    let waiting = std::thread::scope(|scope| {
        let ran = scope.spawn(|| place.run("run light.yaml --id one"));
        std::thread::sleep(Duration::from_secs(5));
        let worker = site.ready_worker(&address, "again");
        let ran = ran.join().unwrap();
        drop(worker);
        ran
    });
    assert!(waiting.stderr.contains("warning: no worker answers; waiting for one"), "{waiting:?}");
    assert_eq!(waiting.code, Some(55), "it starts with the next worker: {waiting:?}");
}

#[test]
fn who_stops_serving_on_restate_parks_nothing() {
    let dir = directory(&[(".rawko/config.yaml", "")]);
    let site = Site::new(dir.path(), &RestateOptions::default());
    let serving = process(&site.place, "serve", &["serve", "--listen", &free_address()]);
    serving.says("http://127.0.0.1:", 0, PATIENCE).unwrap();
    assert_eq!(serving.terminate().unwrap(), Some(143));
    let said = fs::read_to_string(dir.path().join("serve.log")).unwrap();
    assert!(
        said.contains("stopped: instances continue in Restate at http://127.0.0.1:")
            && !said.contains("parked"),
        "{said}"
    );
}
