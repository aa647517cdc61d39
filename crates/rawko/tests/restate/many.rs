//! Many at once on Restate: a fan-out whose workers are killed, one item that is retried, and the queue of tasks.
//! `RAWKO_FLEET=1000` runs a long fan-out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rawko_testkit::RestateOptions;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::jobs;
use crate::support::{Site, directory, free_address, process, wait_for};

/// Notes each call, and answers with its number; number 1 fails until there is a file `fixed`.
const WORK: &str = "\
number=$(cat | sed 's/.*\"n\":\\([0-9]*\\).*/\\1/')
echo \"$number\" >> ran.txt
sleep 0.1
if [ -e broken ] && [ \"$number\" = 1 ] && [ ! -e fixed ]; then echo broken >&2; exit 1; fi
echo \"$number\"
";

fn fan(items: usize, join: &str) -> String {
    format!(
        "statechart: {{id: fan, version: 1.0.0, initial: working, states: {{working: {{invoke: {{id: jobs, src: work,
        each: range({items}), max_concurrent: 4, join: {join}, input: {{n: item}}, onDone: done}}}},
        done: {{type: final, output: {{results: event.data}}}}}}}}\n"
    )
}

fn project(items: usize, join: &str) -> TempDir {
    jobs::project(WORK, "", &[("fan.yaml", &*fan(items, join))])
}

/// Items that are agents with a scripted model: each makes a tool call and answers with its number.
fn agents(items: usize) -> TempDir {
    let script: Vec<Json> = (0..items)
        .map(|number| {
            let call = json!([{"name": "Bash", "input": {"command": format!("echo {number} >> ran.txt; sleep 0.1")}}]);
            json!({"agent": "worker", "when": format!("part {number}."), "steps": [
                {"tool_calls": call}, {"text": format!("result {number}")},
            ]})
        })
        .collect();
    let fan = format!(
        "statechart: {{id: fan, version: 1.0.0, initial: working, states: {{working: {{invoke: {{id: jobs, src: 'agent:worker',
        each: range({items}), max_concurrent: 4, input: {{prompt: \"'part ' ~ item ~ '.'\"}}, onDone: done, onError: failed}}}},
        done: {{type: final, output: {{results: \"pluck(event.data, 'text')\"}}}}, failed: {{type: final, tags: [error], output: event.data}}}}}}\n"
    );
    directory(&[
        ("fan.yaml", &*fan),
        (".rawko/config.yaml", SETTINGS_OF_AGENTS),
        (".rawko/agents/worker.md", "---\nname: worker\nwhenToUse: For work.\n---\nYou work.\n"),
        (".rawko/script.yaml", &*Json::from(script).to_string()),
    ])
}

const SETTINGS_OF_AGENTS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
";

fn ran(dir: &Path) -> usize {
    fs::read_to_string(dir.join("ran.txt")).unwrap_or_default().lines().count()
}

fn shown(site: &Site, id: &str) -> Json {
    serde_json::from_str(&site.place.run(&format!("show {id} --json")).stdout).unwrap_or_default()
}

fn started(site: &Site, id: &str) -> BTreeMap<String, usize> {
    let history = site.place.run(&format!("history {id} --json --limit 0")).stdout;
    let mut started = BTreeMap::new();
    for line in history.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        if line["type"] == "invoked" {
            *started.entry(line["invoke"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    started
}

fn fleet_size() -> usize {
    std::env::var("RAWKO_FLEET").ok().and_then(|count| count.parse().ok()).unwrap_or(12)
}

#[test]
fn killed_workers_start_no_finished_item_again() {
    let items = fleet_size();
    let expected: Vec<usize> = (0..items).collect();
    killed_fan_out(&project(items, "all"), items, &json!(expected));
}

#[test]
fn killed_workers_start_no_finished_agent_again() {
    let items = fleet_size();
    let expected: Vec<String> = (0..items).map(|number| format!("result {number}")).collect();
    killed_fan_out(&agents(items), items, &json!(expected));
}

/// Runs the fan-out of a project to its end while workers are killed.
#[expect(clippy::print_stdout, reason = "the nightly tier reports the numbers")]
fn killed_fan_out(dir: &TempDir, items: usize, expected: &Json) {
    let site = Site::new(dir.path(), &RestateOptions::default());
    let address = free_address();
    let mut worker = site.ready_worker(&address, "worker");
    let _running = process(&site.place, "run", &["run", "fan.yaml", "--id", "f"]);
    let (mut kills, mut seen) = (0, 0);
    let has_ended = || !shown(&site, "f")["outcome"].is_null();
    while seen < items {
        // Killed while items run: more were begun than before. The tool call of an agent that a kill cuts off is not made
        // again, so the last ones may never come.
        wait_for("more items", || ran(dir.path()) > seen || has_ended());
        if has_ended() {
            break;
        }
        seen = (ran(dir.path()) + items / 12).max(seen + 1);
        drop(worker);
        kills += 1;
        worker = site.ready_worker(&address, "worker");
    }
    wait_for("the end", has_ended);
    drop(worker);
    assert_eq!(&shown(&site, "f")["output"]["results"], expected, "lost, or out of order");
    let started = started(&site, "f");
    assert_eq!(started.len(), items);
    assert!(started.values().all(|count| *count == 1), "an item was started again: {started:?}");
    // A call that a kill cuts off is made again under its key; no more than run at one time.
    let calls = ran(dir.path());
    assert!(calls <= items + kills * 4, "{calls} calls of {items} items with {kills} kills");
    println!("fleet on Restate: {items} items, {kills} kills, {calls} calls");
}

#[test]
fn one_item_is_retried_on_restate() {
    let dir = project(3, "all");
    fs::write(dir.path().join("broken"), "").unwrap();
    let site = Site::new(dir.path(), &RestateOptions::default());
    let _worker = site.ready_worker(&free_address(), "worker");
    site.place.run("run fan.yaml --id f");
    let refused = site.place.run("resume f --item jobs[9]");
    assert!(refused.stderr.contains("`jobs` has 3 items, counted from 0"), "{refused:?}");
    fs::write(dir.path().join("fixed"), "").unwrap();
    let retried = site.place.run("resume f --item jobs[1]");
    assert_eq!(retried.code, Some(0), "{retried:?}");
    assert_eq!(shown(&site, "f")["output"]["results"], json!([0, 1, 2]));
    assert_eq!(started(&site, "f")["jobs[1]"], 2);
}

#[test]
fn queued_tasks_run_on_restate() {
    let dir = project(1, "all");
    let site = Site::new(dir.path(), &RestateOptions::default());
    let _worker = site.ready_worker(&free_address(), "worker");
    for id in ["a", "b", "c"] {
        let queued = site.place.run(&format!("task {id} --queue --chart job.yaml --id {id}"));
        assert_eq!(queued.code, Some(0), "{queued:?}");
    }
    let moved = site.place.run("queue move c --first");
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let drained = site.place.run("queue run");
    assert_eq!(drained.code, Some(0), "{drained:?}");
    assert_eq!(drained.stdout, "a  succeeded  a\nc  succeeded  c\nb  succeeded  b\n");
}

#[test]
fn queued_tasks_run_by_priority_and_two_at_a_time_on_restate() {
    let dir = jobs::project(jobs::NOTED, "queue: {at_once: 2}\n", &[]);
    let log = || -> Vec<String> {
        let text = fs::read_to_string(dir.path().join("log.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    fs::write(dir.path().join("hold"), "").unwrap();
    let site = Site::new(dir.path(), &RestateOptions::default());
    let _worker = site.ready_worker(&free_address(), "worker");
    let queue = |id: &str, more: &str| {
        let queued = site.place.run(&format!("task {id} --queue --chart job.yaml --id {id}{more}"));
        assert_eq!(queued.code, Some(0), "{queued:?}");
    };
    queue("a", "");
    queue("b", "");
    let _running = process(&site.place, "queue", &["queue", "run"]);
    wait_for("two tasks", || log().len() == 2);
    queue("c", "");
    queue("d", " --priority 5");
    let listed: Json = serde_json::from_str(&site.place.run("queue --json").stdout).unwrap();
    let ids = |key: &str| -> Vec<&str> {
        listed[key].as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect()
    };
    assert_eq!((ids("running"), ids("waiting")), (vec!["a", "b"], vec!["d", "c"]), "{listed}");
    assert_eq!(log().len(), 2, "a third began: {:?}", log());
    fs::remove_file(dir.path().join("hold")).unwrap();
    wait_for("the end", || log().iter().filter(|line| line.starts_with("end")).count() == 4);
    let mut at_once = 0;
    for line in log() {
        at_once = if line.starts_with("begin") { at_once + 1 } else { at_once - 1 };
        assert!(at_once <= 2, "{:?}", log());
    }
}
