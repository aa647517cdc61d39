//! Tests that a task weakened before it was stopped do not let the next task succeed: no run has judged them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rawko_core::Value;
use rawko_host::StartOptions;
use rawko_store::MemoryStore;
use serde_json::json;

use crate::puppet::{Act, Puppet, Turn, decide, say};
use crate::yard::{Yard, yard};

const SETTINGS: &str = "phases: {validate: {checks: [{name: u, command: python3 -m unittest}]}}\nloop: {retries_max: 1, stuck_after: 2}\n";
const TEST: &str = "import unittest, app\nclass T(unittest.TestCase):\n    def test_add(self): self.assertEqual(app.add(1, 2), 3)\n";
const WEAKEN: &str = "sed -i 's/, 3)/, -1)/' test_app.py";

/// The first task weakens the test and does not end, the second one claims success, the third one fixes the program and its
/// test.
fn project(number: &Arc<AtomicUsize>) -> Yard {
    let number = number.clone();
    let acting = move |turn: &Turn<'_>| {
        if turn.agent == "arbiter" {
            return decide(turn, &["COMPLETE", "CONTINUE"], "worker");
        }
        let command = match number.load(Ordering::SeqCst) {
            10 => format!("{WEAKEN}; echo x > waiting; sleep 60"),
            20 => "true".to_owned(),
            30 => "sed -i 's/a - b/a + b/' app.py; sed -i 's/, -1)/, 3)/' test_app.py".to_owned(),
            _ => return say("All tests pass now."),
        };
        number.fetch_add(1, Ordering::SeqCst);
        Act::Call("Bash", json!({"command": command}))
    };
    yard("[]\n")
        .settings(SETTINGS)
        .file("app.py", "def add(a, b):\n    return a - b\n")
        .file("test_app.py", TEST)
        .answered_by(Puppet::new(acting))
}

async fn wait_for(yard: &Yard, file: &str) {
    let there = async {
        while yard.read(file).is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), there).await.unwrap();
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Kill,
    Pause,
    Cancel,
    OutOfTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_a_stopped_task_weakened_is_still_taken_back() {
    for end in [End::Kill, End::Pause, End::Cancel, End::OutOfTime] {
        let (state, number) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(10)));
        let yard = project(&number).state_dir(state.path());
        let mut input = json!({"task": "t", "remember": false});
        if end == End::OutOfTime {
            input["timeoutMs"] = json!(3000);
            let output = yard.run("rawko", input).await;
            assert_eq!(output.get("outcome").as_str(), Some("limit_reached"), "{output}");
        } else {
            let host = yard.host_on(Arc::new(MemoryStore::new())).await;
            let options =
                StartOptions { chart: "rawko".into(), input: input.into(), id: Some("first".into()) };
            host.start(options).await.unwrap();
            wait_for(&yard, "waiting").await;
            match end {
                End::Pause => drop(host.pause("first", Value::Null).await.unwrap()),
                End::Cancel => drop(host.cancel("first", Value::Null).await.unwrap()),
                End::Kill | End::OutOfTime => {}
            }
            host.close().await;
        }
        assert_ne!(yard.read("test_app.py").as_deref(), Some(TEST), "{end:?}: the test is weak");
        for (task, is_complete) in [(20, false), (30, true)] {
            number.store(task, Ordering::SeqCst);
            let output = yard.run("rawko", json!({"task": "Solve it", "remember": false})).await;
            let outcome = output.get("outcome").as_str() == Some("complete");
            assert_eq!(outcome, is_complete, "{end:?}, task {task}: {output}");
        }
    }
}

/// A person who edits the test has decided.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_edits_the_test_has_decided() {
    let (state, number) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(10)));
    let yard = project(&number).state_dir(state.path());
    let input = json!({"task": "t", "remember": false, "timeoutMs": 3000});
    assert_eq!(yard.run("rawko", input).await.get("outcome").as_str(), Some("limit_reached"));
    std::fs::write(yard.root().join("test_app.py"), TEST.replace(", 3)", ", -1)") + "# as it should be\n")
        .unwrap();
    number.store(20, Ordering::SeqCst);
    let output = yard.run("rawko", json!({"task": "Solve it", "remember": false})).await;
    assert_eq!(output.get("outcome").as_str(), Some("complete"), "{output}");
}
