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

/// A question, a paid call with retry and timeout, and a timer.
const ORDER: &str = "
statechart:
  id: order
  initial: open
  states:
    open: {on: {SUBMIT: [{target: paying, guard: event.data.amount > 100}, {target: free}]}}
    paying:
      invoke: {id: pay, src: 'tool:Bash', timeout: 30s, retry: {max_attempts: 2, initial_delay: 1s}, onDone: done, onError: asking, onTimeout: asking}
    asking:
      invoke: {id: ask, src: human, guards: [pay], input: {expires: \"'1h'\"}, onDone: [{target: paying, guard: event.data.approved}, {target: failed}], onError: failed}
    free: {after: {5s: done}}
    done: {type: final}
    failed: {type: final, tags: [failed]}
";

#[test]
fn the_verbose_report_has_formulas_and_bounds() {
    let dir = directory(&[("holes.yaml", DEPLOY)]);
    let ran = run(dir.path(), &["verify", "holes.yaml", "-v"], "");
    let line = |text: &str| ran.stdout.lines().any(|line| line.trim() == text);
    assert!(line("formula: !(invoked('deploy')) W (in('approved'))"), "{}", ran.stdout);
    assert!(ran.stdout.matches("explored: all ").count() == 10, "{}", ran.stdout);
    let brief = run(dir.path(), &["verify", "holes.yaml"], "");
    assert!(!brief.stdout.contains("formula: "), "{}", brief.stdout);
}

#[test]
fn generated_scenarios_cover_every_state_and_transition() {
    let dir = directory(&[("order.yaml", ORDER)]);
    let ran = run(dir.path(), &["test", "--generate", "order.yaml"], "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("(everything reachable)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("100% (6 of 6 states"), "{}", ran.stdout);
    let again = run(dir.path(), &["test", "order.yaml"], "");
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    let refused = run(dir.path(), &["test", "--generate", "."], "");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn a_manifest_shows_ceilings_tools_and_approvals() {
    let looping = ORDER.replace("{target: failed}]", "{target: open}]");
    let unguarded = ORDER.replace("guards: [pay], ", "").replace("tool:Bash", "tool:Write");
    let dir = directory(&[("order.yaml", ORDER), ("looping.yaml", &looping), ("unguarded.yaml", &unguarded)]);
    let manifest = |chart: &str| -> Json {
        let ran = run(dir.path(), &["verify", "--manifest", "--json", chart], "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let order = manifest("order.yaml");
    assert_eq!(
        order["approvals"][0],
        serde_json::json!({"question": "ask", "state": "asking", "guards": ["pay"]})
    );
    assert_eq!(order["ceiling"]["agents"], 0);
    // A person may approve again and again.
    assert_eq!(order["ceiling"]["tool_calls"], Json::Null);
    assert_eq!(manifest("looping.yaml")["ceiling"]["tool_calls"], Json::Null);
    let diff = run(dir.path(), &["verify", "unguarded.yaml", "--diff", "order.yaml", "--json"], "");
    assert_eq!(diff.code, Some(1), "{}", diff.stderr);
    let diff: Json = serde_json::from_str(&diff.stdout).unwrap();
    assert_eq!(
        diff["more"],
        serde_json::json!(["+ `paying` invokes tool:Write", "- `pay` needs the approval `ask`"])
    );
    let same = run(dir.path(), &["verify", "order.yaml", "--diff", "order.yaml"], "");
    assert_eq!((same.code, same.stdout.trim()), (Some(0), "no change in authority"));
}

#[test]
fn a_proof_is_for_the_default_input_a_given_one_or_any() {
    let chart = "
statechart:
  id: c
  initial: a
  context: {stuck: false}
  states:
    a: {always: [{target: hole, guard: context.stuck}, {target: done}]}
    hole: {}
    done: {type: final}
";
    let dir = directory(&[("c.yaml", chart)]);
    for (args, code, words) in [
        (&[][..], 0, "with the default input"),
        (&["--input", "stuck=true"][..], 1, "VIOLATED  no_trap"),
        (&["--any-input"][..], 3, "unknown   no_trap"),
    ] {
        let ran = run(dir.path(), &[&["verify", "c.yaml"], args].concat(), "");
        assert_eq!(ran.code, Some(code), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(words), "{args:?}: {}", ran.stdout);
    }
}
