//! Rolling out a new project beside the old one, as in the guide: instances keep their charts, running calls finish on
//! the old workers, all new work goes to the new workers, and then the old ones can stop.

use std::fs;
use std::path::Path;
use std::process::Command;

use rawko_testkit::{Guarded, RestateOptions};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{
    PATIENCE, Place, Site, directory, free_address, on_restate, repository, wait_for, worker,
};

/// Waits for an event or its timer, then calls a program. Releases differ in the final state.
fn chart(version: &str, end: &str) -> String {
    let text = "
statechart:
  id: job
  version: VERSION
  initial: waiting
  context: {by: null, rest_ms: 3600000}
  states:
    waiting: {on: {GO: working}, after: {context.rest_ms: working}}
    working:
      invoke:
        id: work
        src: work
        onDone: {target: END, actions: [{type: assign, context_updates: {by: event.data.by}}]}
    END: {type: final, output: {by: context.by}}
";
    text.replace("VERSION", version).replace("END", end)
}

/// Prints its release once `release-KEY` exists, and creates `begun-KEY` when it starts. Exits when its project is
/// removed, since the worker that called it may be killed.
const WORK: &str = "\
import json, os, sys, time
name, call = sys.argv[1], json.load(sys.stdin)
key = call['instance']
with open('begun-' + key, 'a') as begun:
    begun.write(name + '\\n')
while not os.path.exists('release-' + key):
    if not os.path.exists('work.py'):
        sys.exit('the project is gone')
    time.sleep(0.02)
print(json.dumps({'by': name}))
";

const SETTINGS: &str = "
services: {work: {command: [python3, work.py, NAME], on_restart: retry}}
governance: {allow: [work]}
";

/// Creates a release of the project: its chart and its programs.
pub(crate) fn release(name: &str, version: &str, end: &str) -> TempDir {
    directory(&[
        (".rawko/charts/job.yaml", &chart(version, end)),
        (".rawko/config.yaml", &SETTINGS.replace("NAME", name)),
        ("work.py", WORK),
    ])
}

pub(crate) fn begin(place: &Place, id: &str, rest: &str) {
    let ran = place.run(&format!("run job --id {id} --patience 0s --input rest_ms={rest}"));
    assert_eq!(ran.code, Some(55), "{ran:?}");
}

pub(crate) fn work(place: &Place, id: &str) {
    let sent = place.run(&format!("send {id} GO --no-wait"));
    assert_eq!(sent.code, Some(0), "{sent:?}");
}

fn show(place: &Place, id: &str) -> Json {
    let ran = place.run(&format!("show {id} --json"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Waits until it is done; returns its chart version, final state and release.
pub(crate) fn end(place: &Place, id: &str) -> String {
    wait_for(&format!("{id} is done"), || show(place, id)["status"] == "ended");
    let shown = show(place, id);
    format!("{} {} {}", shown["version"], shown["configuration"][0], shown["output"]["by"])
}

/// Runs the command of the guide, except for the port: it lists the deployments with open invocations.
fn pinned(admin: &str) -> Vec<(Option<String>, u64)> {
    let guide = fs::read_to_string(repository().join("docs/guide/scale-out.md")).unwrap();
    let from = guide.find("curl -s http://127.0.0.1:9070/query").unwrap();
    let command = guide[from..].split("```").next().unwrap().replace("http://127.0.0.1:9070", admin);
    let output = Command::new("sh").arg("-c").arg(&command).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answer: Json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{command}: {text}"));
    let row = |row: &Json| {
        (row["pinned_deployment_id"].as_str().map(str::to_owned), row["calls"].as_u64().unwrap())
    };
    answer["rows"].as_array().unwrap_or_else(|| panic!("{command}: {text}")).iter().map(row).collect()
}

fn deployment(worker: &Guarded) -> String {
    let said = worker.said();
    said.split("registered as ").nth(1).unwrap().split(' ').next().unwrap().to_owned()
}

pub(crate) fn wait_for_file(path: &Path) {
    wait_for(&format!("{} is there", path.display()), || path.exists());
}

#[test]
fn a_new_project_is_rolled_out_beside_the_old_one_and_nothing_is_lost() {
    let (old, new) = (release("old", "1.0.0", "ended_old"), release("new", "1.1.0", "ended_new"));
    let site = Site::new(old.path(), &RestateOptions::default());
    let admin = site.server.admin();
    let newer = on_restate(new.path(), &site.server.ingress(), &admin);
    let old_worker = site.ready_worker(&free_address(), "old");

    for id in ["idle", "late", "busy"] {
        begin(&site.place, id, "3600000");
    }
    // Due once the new workers are running, even on a slow machine.
    begin(&site.place, "timed", "20000");
    work(&site.place, "busy");
    wait_for_file(&old.path().join("begun-busy"));

    let new_worker = worker(&newer, &free_address(), "new");
    new_worker.says("registered", 0, PATIENCE).unwrap();
    let (of_old, of_new) = (deployment(&old_worker), deployment(&new_worker));
    assert_ne!(of_old, of_new);
    let calls = |of: &str| -> u64 {
        let rows = pinned(&admin);
        rows.into_iter().filter(|(id, _)| id.as_deref() == Some(of)).map(|(_, calls)| calls).sum()
    };
    assert_eq!(calls(&of_old), 1, "the call under way");
    let waiting = pinned(&admin).into_iter().find(|(id, _)| id.is_none());
    assert!(waiting.is_some_and(|(_, timers)| timers >= 2), "timers are nobody's yet");

    // New instances use the new chart and the new workers; existing ones keep their chart.
    for id in ["fresh", "idle", "timed"] {
        fs::write(new.path().join(format!("release-{id}")), "").unwrap();
    }
    let ran = newer.run("run job --id fresh --input rest_ms=0");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(end(&newer, "fresh"), r#""1.1.0" "ended_new" "new""#);
    work(&site.place, "idle");
    assert_eq!(end(&newer, "idle"), r#""1.0.0" "ended_old" "new""#);
    assert_eq!(end(&newer, "timed"), r#""1.0.0" "ended_old" "new""#);

    // The running call finishes on the old workers, which then have no more work.
    assert_eq!(show(&newer, "busy")["configuration"][0], "working");
    fs::write(old.path().join("release-busy"), "").unwrap();
    assert_eq!(end(&newer, "busy"), r#""1.0.0" "ended_old" "old""#);
    assert_eq!(fs::read_to_string(old.path().join("begun-busy")).unwrap(), "old\n", "it was called once");
    wait_for("nothing is left to the old worker", || calls(&of_old) == 0);
    assert_eq!(old_worker.terminate().unwrap(), Some(143));

    fs::write(new.path().join("release-late"), "").unwrap();
    work(&newer, "late");
    assert_eq!(end(&newer, "late"), r#""1.0.0" "ended_old" "new""#);
}

#[test]
fn who_takes_the_old_workers_away_too_early_starts_one_at_their_address() {
    let (old, new) = (release("old", "1.0.0", "ended_old"), release("new", "1.1.0", "ended_new"));
    let site = Site::new(old.path(), &RestateOptions::default());
    let newer = on_restate(new.path(), &site.server.ingress(), &site.server.admin());
    let address = free_address();
    let mut old_worker = site.ready_worker(&address, "old");
    begin(&site.place, "busy", "3600000");
    work(&site.place, "busy");
    wait_for_file(&old.path().join("begun-busy"));
    let newest = free_address();
    let new_worker = worker(&newer, &newest, "new");
    new_worker.says("registered", 0, PATIENCE).unwrap();
    old_worker.kill();

    fs::write(new.path().join("release-busy"), "").unwrap();
    let at_the_old_address = worker(&newer, &address, "third");
    at_the_old_address.says(&format!("new invocations go to http://{newest}"), 0, PATIENCE).unwrap();
    assert!(!new_worker.said().contains("outdated"), "{}", new_worker.said());
    assert_eq!(end(&newer, "busy"), r#""1.0.0" "ended_old" "new""#);
    // New work still goes to the new workers.
    drop(at_the_old_address);
    fs::write(new.path().join("release-fresh"), "").unwrap();
    let ran = newer.run("run job --id fresh --input rest_ms=0");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(end(&newer, "fresh"), r#""1.1.0" "ended_new" "new""#);
}

/// Only rawko's own services are registered: workers read a project's charts and services themselves, so these may
/// change at any time.
#[test]
fn workers_are_restarted_at_the_same_address_with_another_project() {
    let (old, new) = (release("old", "1.0.0", "ended_old"), release("new", "1.1.0", "ended_new"));
    let site = Site::new(old.path(), &RestateOptions::default());
    let newer = on_restate(new.path(), &site.server.ingress(), &site.server.admin());
    let address = free_address();
    let old_worker = site.ready_worker(&address, "old");
    begin(&site.place, "idle", "3600000");
    let before = deployment(&old_worker);
    assert_eq!(old_worker.terminate().unwrap(), Some(143));

    let new_worker = worker(&newer, &address, "new");
    new_worker.says("registered", 0, PATIENCE).unwrap();
    assert_eq!(deployment(&new_worker), before);
    for id in ["fresh", "idle"] {
        fs::write(new.path().join(format!("release-{id}")), "").unwrap();
    }
    let ran = newer.run("run job --id fresh --input rest_ms=0");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(end(&newer, "fresh"), r#""1.1.0" "ended_new" "new""#);
    work(&newer, "idle");
    assert_eq!(end(&newer, "idle"), r#""1.0.0" "ended_old" "new""#);
}
