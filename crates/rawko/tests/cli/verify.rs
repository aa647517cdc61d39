//! `rawko verify` as a person and a program use it: exit codes, the JSON, and a trace that replays in `simulate` and
//! fails in `test`.

use serde_json::Value as Json;

use crate::support::{directory, run};

/// A workflow with two holes: a state without a way out, and a way around the approval.
const DEPLOY: &str = "
statechart:
  id: deploy
  initial: asking
  properties:
    approval_first: {before: {first: \"in('approved')\", then: \"invoked('deploy')\"}}
    exclusive: {never: \"in('approved') and in('asking')\"}
  states:
    asking:
      invoke: {id: ask, src: human, onDone: [{target: approved, guard: event.data.approved}, denied], onError: denied}
      on: {SKIP: deploying}
    approved: {always: deploying}
    deploying:
      invoke: {id: deploy, src: deploy_service, onDone: done, onError: asking}
    denied: {}
    done: {type: final}
";

const GROWING: &str = "
statechart:
  id: growing
  initial: a
  context: {n: 0}
  states:
    a:
      on:
        MORE: {actions: [{type: assign, context_updates: {n: context.n * 2 + 1}}]}
        STOP: {target: b, guard: context.n % 7 == 3}
    b: {type: final}
";

fn verdicts(json: &Json) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let all = json["properties"].as_array().unwrap();
    all.iter().map(|property| (text(&property["name"]), text(&property["verdict"]))).collect()
}

#[test]
fn exit_codes_say_proved_violated_undecided_and_invalid() {
    let fixed =
        DEPLOY.replace("      on: {SKIP: deploying}\n", "").replace("denied: {}", "denied: {type: final}");
    let wrong = DEPLOY.replace("{never:", "{nevr:");
    let dir = directory(&[
        ("holes.yaml", DEPLOY),
        ("fixed.yaml", &fixed),
        ("growing.yaml", GROWING),
        ("wrong.yaml", &wrong),
    ]);
    let table: [(&[&str], i32, &str); 6] = [
        (&["holes.yaml"], 1, "VIOLATED  approval_first"),
        (&["fixed.yaml"], 0, "holds     approval_first"),
        (&["growing.yaml", "--max-states", "50"], 3, "unknown   no_trap"),
        (&["wrong.yaml"], 52, ""),
        (&["missing.yaml"], 2, ""),
        (&["fixed.yaml", "holes.yaml"], 1, "VIOLATED  no_trap"),
    ];
    for (args, code, words) in table {
        let ran = run(dir.path(), &[&["verify"], args].concat(), "");
        assert_eq!(ran.code, Some(code), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(words), "{args:?}: {}", ran.stdout);
    }
}

#[test]
fn a_trace_replays_in_simulate_and_fails_in_test() {
    let dir = directory(&[("holes.yaml", DEPLOY)]);
    let ran = run(dir.path(), &["verify", "holes.yaml", "--json", "--save", "holes.scenario.yaml"], "");
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    let violated: Vec<String> = verdicts(&json)
        .into_iter()
        .filter_map(|(name, verdict)| (verdict == "violated").then_some(name))
        .collect();
    assert_eq!(violated, ["no_trap", "approval_first"]);
    let trace = &json["properties"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "approval_first")
        .unwrap()["trace"];
    let events: String =
        trace["events"].as_array().unwrap().iter().map(|event| format!("{event}\n")).collect();
    std::fs::write(dir.path().join("events.jsonl"), events).unwrap();
    let played = run(dir.path(), &["simulate", "holes.yaml", "--events", "events.jsonl", "--json"], "");
    let last: Json = serde_json::from_str(played.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["configuration"], serde_json::json!(["deploying"]), "{}", played.stdout);
    let tested = run(dir.path(), &["test", "holes.scenario.yaml"], "");
    assert_eq!(tested.code, Some(1), "{}", tested.stdout);
    assert!(tested.stdout.contains("0 passed, 2 failed"), "{}", tested.stdout);
}
