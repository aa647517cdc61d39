//! A backup of one node as in the guide: stop it, copy its folder, start it; then restore the copy after the node is
//! lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use rawko_testkit::RestateOptions;
use serde_json::Value as Json;

use crate::support::{Place, Site, directory, free_address, wait_for};

const EGG: &str = "
statechart:
  id: egg
  version: 1.0.0
  initial: boiling
  context: {turned: 0, boil_ms: 3600000}
  states:
    boiling:
      on: {TURNED: {actions: [{type: assign, context_updates: {turned: context.turned + 1}}]}}
      after: {context.boil_ms: boiled}
    boiled: {type: final, output: {turned: context.turned}}
";

fn copy_folder(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-R").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

fn begin(place: &Place, id: &str, boil: &str) {
    let ran = place.run(&format!("run egg --id {id} --patience 0s --input boil_ms={boil}"));
    assert_eq!(ran.code, Some(55), "{ran:?}");
}

fn ids(place: &Place) -> Vec<String> {
    let listed: Json = serde_json::from_str(&place.run("ps --json").stdout).unwrap();
    let rows = listed["instances"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_node_that_is_lost_comes_back_from_a_copy_of_its_folder() {
    let project = directory(&[(".rawko/charts/egg.yaml", EGG)]);
    let mut site = Site::new(project.path(), &RestateOptions::default());
    let worker = site.ready_worker(&free_address(), "worker");
    begin(&site.place, "slow", "3600000");
    begin(&site.place, "soon", "8000");
    assert_eq!(site.place.run("send slow TURNED").code, Some(0));
    let history = site.place.run("history slow --json").stdout;

    site.server.stop().unwrap();
    let copies = directory(&[]);
    let copy = copies.path().join("copy");
    copy_folder(&site.server.data(), &copy);
    site.server.restart().unwrap();
    site.server.wait_ready().unwrap();
    begin(&site.place, "later", "3600000");

    // The disk is lost; only the copy is left.
    site.server.kill();
    fs::remove_dir_all(site.server.data()).unwrap();
    copy_folder(&copy, &site.server.data());
    site.server.restart().unwrap();
    site.server.wait_ready().unwrap();

    assert_eq!(ids(&site.place), ["soon", "slow"], "what was there when it was copied");
    assert_eq!(site.place.run("history slow --json").stdout, history);
    // The worker kept running and is still registered.
    wait_for("the timer fires", || site.place.run("show soon").stdout.contains("[boiled]"));
    assert_eq!(site.place.run("send slow TURNED").code, Some(0), "{}", worker.said());
    let shown: Json = serde_json::from_str(&site.place.run("show slow --json").stdout).unwrap();
    assert_eq!((&shown["step"], &shown["context"]["turned"]), (&2.into(), &2.into()));
}
