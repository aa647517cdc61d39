//! The queue of tasks with the real binary: order, limits, changes, kills. The chart itself is tested by
//! `charts/task_queue.scenario.yaml`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::jobs::{self, JOB, NOTED};
use crate::parking::Background;
use crate::serving::{ask, serve};
use crate::support::{command, run};

fn project(settings: &str) -> TempDir {
    jobs::project(NOTED, settings, &[])
}

fn queue(dir: &Path, name: &str, more: &[&str]) {
    let args = [&["task", name, "--queue", "--chart", "job.yaml", "--id", name], more].concat();
    let queued = run(dir, &args, "");
    assert_eq!(queued.code, Some(0), "{}{}", queued.stdout, queued.stderr);
    assert!(queued.stdout.starts_with(&format!("{name}  queued  {name}")), "{}", queued.stdout);
}

fn log(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("log.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until something is so, for a minute at most.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn json(dir: &Path, args: &[&str]) -> Json {
    let printed = run(dir, args, "");
    serde_json::from_str(&printed.stdout).unwrap_or_else(|_| panic!("{}{}", printed.stdout, printed.stderr))
}

#[test]
fn queued_tasks_run_by_priority_and_can_be_moved_and_removed() {
    let dir = project("");
    let dir = dir.path();
    for (name, more) in [("a", &[][..]), ("b", &[]), ("c", &["--priority", "5"]), ("d", &[]), ("e", &[])] {
        queue(dir, name, more);
    }
    assert!(log(dir).is_empty(), "nothing runs before the queue does");
    let shown = json(dir, &["ps", "--json"]);
    let rows = shown["instances"].as_array().unwrap().iter();
    let waiting: Vec<_> =
        rows.filter(|row| row["waiting_for"] == "queue").map(|row| row["id"].clone()).collect();
    assert_eq!(waiting, ["e", "d", "b", "c", "a"], "the last one first");
    assert_eq!(run(dir, &["queue", "move", "e", "--first"], "").code, Some(0));
    assert_eq!(run(dir, &["queue", "remove", "b"], "").code, Some(0));
    let cancelled = run(dir, &["cancel", "d"], "");
    expect!["d  removed from the queue\n"].assert_eq(&cancelled.stdout);
    let refused = run(dir, &["queue", "move", "b", "--last"], "");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("task `b` is not in the queue"), "{}", refused.stderr);
    let asked = run(dir, &["show", "c"], "");
    assert!(asked.stderr.contains("task `c` is queued and has not started"), "{}", asked.stderr);
    let ran = run(dir, &["queue", "run"], "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(log(dir), ["begin a", "end a", "begin e", "end e", "begin c", "end c"]);
    expect![[r#"
        a  succeeded  a
        e  succeeded  e
        c  succeeded  c
    "#]]
    .assert_eq(&ran.stdout);
    let empty = json(dir, &["queue", "--json"]);
    assert_eq!((&empty["running"], &empty["waiting"]), (&Json::Array(vec![]), &Json::Array(vec![])));
}

#[test]
fn as_many_run_at_the_same_time_as_the_settings_say() {
    let dir = project("queue: {at_once: 2}\n");
    let dir = dir.path();
    fs::write(dir.join("hold"), "").unwrap();
    for name in ["a", "b", "c", "d"] {
        queue(dir, name, &[]);
    }
    let mut running =
        command(dir, &["queue", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    until("two tasks begin", || log(dir).len() == 2);
    // Another task joins while the queue runs.
    queue(dir, "e", &[]);
    assert_eq!(json(dir, &["queue", "--json"])["running"].as_array().unwrap().len(), 2);
    assert_eq!(log(dir).len(), 2, "a third began");
    fs::remove_file(dir.join("hold")).unwrap();
    assert!(running.wait().unwrap().success());
    let lines = log(dir);
    let mut at_once = 0;
    for line in &lines {
        at_once = if line.starts_with("begin") { at_once + 1 } else { at_once - 1 };
        assert!(at_once <= 2, "{lines:?}");
    }
    assert_eq!(lines.iter().filter(|line| line.starts_with("end")).count(), 5, "{lines:?}");
}

#[test]
fn a_killed_queue_continues_and_runs_no_finished_task_again() {
    let dir = project("");
    let dir = dir.path();
    let names: Vec<String> = (0..6).map(|number| format!("t{number}")).collect();
    names.iter().for_each(|name| queue(dir, name, &[]));
    for round in 0..4 {
        let mut running =
            command(dir, &["queue", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let before = log(dir).len();
        until("another task begins or ends", || log(dir).len() > before + round % 2);
        let _ = running.kill();
        running.wait().unwrap();
    }
    assert_eq!(run(dir, &["queue", "run"], "").code, Some(0));
    // A call whose result was not stored is repeated under its key; a task that has ended is not: names never go back.
    let lines = log(dir);
    assert!(lines.iter().map(|line| line.rsplit(' ').next()).is_sorted(), "{lines:?}");
    for name in &names {
        assert!(lines.contains(&format!("end {name}")), "{name}: {lines:?}");
        let shown = json(dir, &["show", name, "--json"]);
        assert_eq!(shown["outcome"], "succeeded", "{shown}");
        let history = run(dir, &["history", name, "--json"], "").stdout;
        assert_eq!(
            history.lines().filter(|line| line.contains("\"type\":\"invoked\"")).count(),
            1,
            "{history}"
        );
    }
}

#[test]
fn a_task_that_needs_a_person_does_not_hold_up_the_others() {
    let dir = project("");
    let dir = dir.path();
    let asking = JOB.replace("src: work", "src: human").replace("id: job", "id: ask");
    fs::write(dir.join("ask.yaml"), asking).unwrap();
    let args = ["task", "first", "--queue", "--chart", "ask.yaml", "--id", "first"];
    assert_eq!(run(dir, &args, "").code, Some(0));
    queue(dir, "second", &[]);
    let ran = run(dir, &["queue", "run"], "");
    assert_eq!(ran.code, Some(55), "{}{}", ran.stdout, ran.stderr);
    expect![[r#"
        first  waiting  first
        second  succeeded  second
    "#]]
    .assert_eq(&ran.stdout);
    assert_eq!(run(dir, &["approve", "first"], "").code, Some(0));
}

#[test]
fn a_task_runs_the_chart_that_was_queued_and_one_that_cannot_start_is_reported() {
    let dir = project("");
    let dir = dir.path();
    queue(dir, "a", &[]);
    let broken =
        r#"{"id": "x", "priority": 9, "rank": -9, "charts": [{"name": "x.yaml", "text": "nonsense"}]}"#;
    run(dir, &["send", "task-queue", "QUEUE_ADD", "--data", broken], "");
    queue(dir, "b", &[]);
    fs::write(dir.join("job.yaml"), JOB.replace("src: work", "src: nothing")).unwrap();
    let ran = run(dir, &["queue", "run"], "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(log(dir), ["begin a", "end a", "begin b", "end b"]);
    let listed = run(dir, &["queue"], "");
    assert!(listed.stderr.contains("x could not start: "), "{}", listed.stderr);
}

#[test]
fn serve_runs_the_queue() {
    let dir = project("");
    let dir = dir.path();
    queue(dir, "a", &[]);
    let mut served = Background::start(dir, &["serve", "--listen", "127.0.0.1:0"], "http://");
    until("the queued task ends", || log(dir).iter().any(|line| line == "end a"));
    queue(dir, "b", &[]);
    until("the task that was added ends", || log(dir).iter().any(|line| line == "end b"));
    let note = run(dir, &["queue", "run"], "");
    assert_eq!(note.code, Some(0), "{}", note.stderr);
    served.child.kill().unwrap();
    served.child.wait().unwrap();
}

#[test]
fn the_api_queues_a_task_with_a_priority() {
    let settings = jobs::SETTINGS.replace("[work]", "[work, 'agent:*']");
    let agent = "---\nname: worker\nwhenToUse: Always.\n---\nYou are the worker.\n";
    let files = [(".rawko/config.yaml", &*settings), (".rawko/agents/worker.md", agent)];
    let dir = jobs::project(NOTED, "", &files);
    let dir = dir.path();
    fs::write(dir.join("hold"), "").unwrap();
    queue(dir, "running", &[]);
    let serving = serve(dir);
    until("the first task begins", || log(dir).len() == 1);
    let refused = ask(dir, &serving, "POST", "/v1/tasks", r#"{"task": "Later", "priority": 3}"#);
    assert_eq!(refused.0, 422, "{}", refused.1);
    assert!(refused.1.contains("`priority` needs `queue: true`"), "{}", refused.1);
    for (id, priority) in [("low", -1), ("high", 7)] {
        let body = format!(r#"{{"task": "Do {id}", "id": "{id}", "queue": true, "priority": {priority}}}"#);
        let (status, answer) = ask(dir, &serving, "POST", "/v1/tasks", &body);
        assert_eq!(status, 202, "{answer}");
        let answer: Json = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["instance"], &answer["queued"]), (&Json::from(id), &Json::Bool(true)));
        let again = ask(dir, &serving, "POST", "/v1/tasks", &body);
        assert_eq!(again.0, 409, "{}", again.1);
    }
    let listed = json(dir, &["queue", "--json"]);
    let waiting: Vec<_> = listed["waiting"].as_array().unwrap().iter().map(|task| &task["id"]).collect();
    assert_eq!(waiting, ["high", "low"], "{listed}");
    fs::remove_file(dir.join("hold")).unwrap();
    until("the queued tasks start", || run(dir, &["show", "low", "--json"], "").code == Some(0));
    serving.signal("-TERM");
    serving.end();
}
