//! Instances on Restate that a person paused: they move only on a resume, whichever worker comes.

use rawko_testkit::RestateOptions;
use serde_json::Value as Json;

use crate::support::{Place, Site, directory, free_address, wait_for};

const WAITER: &str = "
statechart:
  id: waiter
  initial: waiting
  context: {told: []}
  states:
    waiting:
      after: {1h: late}
      on:
        TOLD: {actions: [{type: assign, context_updates: {told: 'context.told + [event.data.what]'}}]}
        END: done
    late: {type: final, output: \"'late'\"}
    done: {type: final, output: context.told}
";

fn row(place: &Place) -> Json {
    let shown = place.run("ps --json");
    let document: Json = serde_json::from_str(&shown.stdout).unwrap_or_default();
    let rows = document["instances"].as_array().cloned().unwrap_or_default();
    rows.into_iter()
        .find(|row| row["id"] == "w")
        .unwrap_or_else(|| panic!("{}{}", shown.stdout, shown.stderr))
}

#[test]
fn a_paused_instance_moves_only_on_a_resume() {
    let project = directory(&[("waiter.yaml", WAITER)]);
    let site = Site::new(project.path(), &RestateOptions::default());
    let worker = site.ready_worker(&free_address(), "worker");
    assert_eq!(site.place.run("run waiter.yaml --id w").code, Some(55));
    let paused = site.place.run("pause w");
    assert_eq!(paused.code, Some(0), "{}{}", paused.stdout, paused.stderr);
    assert_eq!(row(&site.place)["status"], "paused");
    // An event is stored, other commands and another worker change nothing.
    let sent = site.place.run("send w TOLD --data what=hello");
    assert!(sent.stderr.contains("is paused"), "{}{}", sent.stdout, sent.stderr);
    let before = row(&site.place);
    drop(worker);
    let _worker = site.ready_worker(&free_address(), "second");
    for command in ["ps", "show w", "history w", "logs w", "charts"] {
        assert_eq!(site.place.run(command).code, Some(0), "{command}");
    }
    assert_eq!(row(&site.place)["step"], before["step"], "{before}");
    assert_eq!(row(&site.place)["status"], "paused");
    let resumed = site.place.run("resume w");
    assert_eq!(resumed.code, Some(55), "{}{}", resumed.stdout, resumed.stderr);
    site.place.run("send w END");
    wait_for("it ends", || row(&site.place)["status"] == "ended");
    let shown: Json = serde_json::from_str(&site.place.run("show w --json").stdout).unwrap();
    assert_eq!(shown["output"], serde_json::json!(["hello"]), "{shown}");
}
