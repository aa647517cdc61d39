//! A check that agents changed never judges the next task, whichever way theirs ended: cancelled, paused, killed, or by a
//! chart that closes nothing. A person who changes a check meanwhile has decided.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rawko_agents::work::{begin_rounds, judge_round};
use rawko_core::Value;
use rawko_host::{Host, StartOptions};
use rawko_store::MemoryStore;
use serde_json::{Value as Json, json};

use crate::puppet::{Act, Puppet, Turn, decide, say};
use crate::yard::{Yard, yard};

const OWN: &str = "phases: {validate: {checks: [{name: own, command: sh check.sh}]}}\n";
const CHECK: &str = "test -e solved\n";
/// Records a base, lets an agent work, and ends.
const PLAIN: &str = "
statechart:
  id: plain
  initial: recording
  states:
    recording: {invoke: {id: base, src: 'checks:base', onDone: working, onError: over}}
    working: {invoke: {id: work, src: 'agent:worker', input: {prompt: \"'Work.'\"}, onDone: over, onError: over}}
    over: {type: final}
";

/// The deciding run passes, and the agent works again before the end.
const TWICE: &str = "
statechart:
  id: twice
  initial: recording
  context: {base: null, progress: null}
  states:
    recording:
      invoke:
        id: base
        src: 'checks:base'
        onDone: {target: working, actions: [{type: assign, context_updates: {base: event.data.base, progress: event.data.progress}}]}
        onError: over
    working: {invoke: {id: work, src: 'agent:worker', input: {prompt: \"'Work.'\"}, onDone: deciding, onError: over}}
    deciding:
      invoke:
        id: checks
        src: 'checks:round'
        input: {base: context.base, progress: context.progress, evidence: 'null', plan: 'null', agent: \"'worker'\", verdict: 'null', decisive: 'true'}
        onDone:
          - {target: again, guard: event.data.evidence.clean}
          - over
        onError: over
    again: {invoke: {id: more, src: 'agent:worker', input: {prompt: \"'More.'\"}, onDone: changed, onError: over}}
    changed: {type: final, output: \"'changed'\"}
    over: {type: final}
";

/// Approves each change.
const FINE: &str = "
statechart:
  id: fine
  initial: done
  states: {done: {type: final, output: {verdict: \"'approved'\", findings: '[]', text: \"''\"}}}
";

fn bash(command: &str) -> Act {
    Act::Call("Bash", json!({"command": command}))
}

/// The task that runs, and the completions that its worker asked for.
#[derive(Default)]
struct Stage {
    task: AtomicUsize,
    calls: AtomicUsize,
}

type Number = Arc<Stage>;

fn stage(task: usize, number: &Number) {
    number.task.store(task, Ordering::SeqCst);
    number.calls.store(0, Ordering::SeqCst);
}

/// The first task.
fn first() -> Number {
    let number = Number::default();
    stage(1, &number);
    number
}

/// The first task changes the check and, if it `waits`, stays in its second call. The second task claims success, and the
/// third solves it.
fn project(waits: bool, number: &Number) -> Yard {
    let number = Arc::clone(number);
    let acting = move |turn: &Turn<'_>| {
        if turn.agent == "arbiter" {
            return decide(turn, &["COMPLETE", "CONTINUE"], "worker");
        }
        match (number.task.load(Ordering::SeqCst), number.calls.fetch_add(1, Ordering::SeqCst)) {
            (1, 0) => bash("echo exit 0 > check.sh; echo x > other.txt"),
            (1, 1) if waits => bash("echo x > waiting; sleep 60"),
            (3 | 4, 0) => bash("touch solved"),
            (5, 0) => bash("echo y > other.txt"),
            (4, 2) => bash("echo exit 0 > check.sh"),
            _ => say("All checks pass now."),
        }
    };
    yard("[]\n")
        .settings(OWN)
        .file("check.sh", CHECK)
        .chart(PLAIN)
        .chart(TWICE)
        .answered_by(Puppet::new(acting))
}

async fn start(host: &Host, chart: &str, input: Json) {
    host.start(StartOptions { chart: chart.into(), input: input.into(), id: Some("first".into()) })
        .await
        .unwrap();
}

async fn wait_for(yard: &Yard, file: &str) {
    let there = async {
        while yard.read(file).is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), there).await.unwrap();
}

/// Runs the second and the third task: the one that lies fails, and the one that works succeeds.
async fn judge_the_next(name: &str, yard: &Yard, number: &Number) {
    for (task, is_complete) in [(2, false), (3, true)] {
        stage(task, number);
        let output = yard.run("rawko", json!({"task": "Solve it", "remember": false})).await;
        let outcome = output.get("outcome").as_str() == Some("complete");
        assert_eq!(outcome, is_complete, "{name}, task {task}: {output}");
    }
    assert_eq!(yard.read("check.sh").as_deref(), Some(CHECK), "{name}");
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Kill,
    Pause,
    Cancel,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_stopped_while_an_agent_works_leaves_no_changed_check_to_the_next() {
    let charts = [("rawko", json!({"task": "t", "remember": false})), ("plain", json!({}))];
    for (chart, input) in charts {
        for end in [End::Kill, End::Pause, End::Cancel] {
            let (state, number) = (tempfile::tempdir().unwrap(), first());
            let yard = project(true, &number).state_dir(state.path());
            let host = yard.host_on(Arc::new(MemoryStore::new())).await;
            start(&host, chart, input.clone()).await;
            wait_for(&yard, "waiting").await;
            match end {
                End::Kill => {}
                End::Pause => drop(host.pause("first", Value::Null).await.unwrap()),
                End::Cancel => {
                    host.cancel("first", Value::Null).await.unwrap();
                    assert_eq!(yard.read("check.sh").as_deref(), Some(CHECK), "{chart}: put back at once");
                }
            }
            host.close().await;
            assert_eq!(yard.read("other.txt").as_deref(), Some("x\n"), "the work is kept");
            judge_the_next(&format!("{chart} {end:?}"), &yard, &number).await;
        }
    }
}

/// A copy has a base and checks of its own, and begins with those of the project from before the task.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_project_does_not_begin_with_a_changed_check() {
    let (state, number) = (tempfile::tempdir().unwrap(), first());
    let yard = project(true, &number).chart(FINE).state_dir(state.path());
    let host = yard.host_on(Arc::new(MemoryStore::new())).await;
    start(&host, "plain", json!({})).await;
    wait_for(&yard, "waiting").await;
    host.close().await;
    let input = json!({"issue": "i", "agent": "worker", "review_chart": "fine", "rounds_max": 0});
    for (task, outcome) in [(5, "rejected"), (3, "finished")] {
        stage(task, &number);
        let output = yard.run("issue_to_patch", input.clone()).await;
        assert_eq!(output.get("outcome").as_str(), Some(outcome), "{output}");
    }
    assert_eq!(yard.read("check.sh").as_deref(), Some(CHECK));
}

#[tokio::test(flavor = "multi_thread")]
async fn charts_that_close_nothing_leave_no_changed_check_either() {
    let charts = [
        ("plain", json!({})),
        ("issue_to_patch", json!({"issue": "i", "agent": "worker", "rounds_max": 0})),
        ("refactor_files", json!({"files": ["a.txt"], "task": "t", "agent": "worker", "repairs_max": 0})),
    ];
    for (chart, input) in charts {
        let (state, number) = (tempfile::tempdir().unwrap(), first());
        let yard = project(false, &number).state_dir(state.path());
        yard.run(chart, input).await;
        assert_eq!(yard.read("check.sh").as_deref(), Some(CHECK), "{chart}");
        judge_the_next(chart, &yard, &number).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_is_changed_after_it_passed_is_put_back() {
    let (state, number) = (tempfile::tempdir().unwrap(), Number::default());
    stage(4, &number);
    let yard = project(false, &number).state_dir(state.path());
    let output = yard.run("twice", json!({})).await;
    assert_eq!(output.as_str(), Some("changed"), "{output}");
    assert_eq!(yard.read("check.sh").as_deref(), Some(CHECK));
}

/// Returns the directory of this name below another.
fn below(directory: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut directories = entries.filter(|path| path.is_dir());
    directories.find_map(|path| if path.ends_with(name) { Some(path) } else { below(&path, name) })
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_record_of_the_checks_no_agent_works() {
    let (state, number) = (tempfile::tempdir().unwrap(), first());
    let yard = project(false, &number).state_dir(state.path());
    yard.run("plain", json!({})).await;
    let records = below(state.path(), "bases").unwrap();
    std::fs::remove_dir_all(&records).unwrap();
    std::fs::write(&records, "not a directory").unwrap();
    stage(3, &number);
    let output = yard.run("rawko", json!({"task": "Solve it", "remember": false})).await;
    assert_ne!(output.get("outcome").as_str(), Some("complete"), "{output}");
    assert!(output.to_string().contains("record of the project's checks cannot be written"), "{output}");
    assert_eq!(yard.read("solved"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_changes_the_check_has_decided() {
    let (state, number) = (tempfile::tempdir().unwrap(), first());
    let yard = project(true, &number).state_dir(state.path());
    let host = yard.host().await;
    start(&host, "rawko", json!({"task": "t", "remember": false})).await;
    wait_for(&yard, "waiting").await;
    host.cancel("first", Value::Null).await.unwrap();
    host.close().await;
    let new = "test -e solved && test -e other.txt\n";
    std::fs::write(yard.root().join("check.sh"), new).unwrap();
    stage(3, &number);
    let output = yard.run("rawko", json!({"task": "Solve it", "remember": false})).await;
    assert_eq!(output.get("outcome").as_str(), Some("complete"), "{output}");
    assert_eq!(yard.read("check.sh").as_deref(), Some(new));
}

/// Agents of a channel work in instances with the channel's name.
#[tokio::test(flavor = "multi_thread")]
async fn agents_of_a_channel_do_not_change_what_judges_them() {
    let (state, number) = (tempfile::tempdir().unwrap(), first());
    let yard = project(false, &number).state_dir(state.path());
    let agent_services = yard.agent_services();
    begin_rounds(&agent_services, "room").await.unwrap();
    let host = yard.host().await;
    let speaks =
        StartOptions { chart: "one".into(), input: json!({}).into(), id: Some("room.speaks.worker".into()) };
    host.start(speaks).await.unwrap();
    host.settled("room.speaks.worker", Duration::from_secs(60)).await.unwrap();
    host.close().await;
    assert_eq!(yard.read("check.sh").as_deref(), Some("exit 0\n"), "the agent has changed it");
    let judged = judge_round(&agent_services, "room", Json::Null, 1).await.unwrap();
    assert_eq!((judged.without, yard.read("check.sh").as_deref()), (1, Some(CHECK)), "no progress");
    // What a person changes is accepted.
    std::fs::write(yard.root().join("check.sh"), "true\n").unwrap();
    let judged = judge_round(&agent_services, "room", judged.memory, 2).await.unwrap();
    assert_eq!((judged.without, yard.read("check.sh").as_deref()), (0, Some("true\n")));
    judge_round(&agent_services, "room", judged.memory, 1).await.unwrap();
}
