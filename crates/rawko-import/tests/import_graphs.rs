//! Imports of graphs: DOT workflows and LangGraph, as goldens, as walks with stubbed services, and with hostile texts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use expect_test::{Expect, expect};
use rawko_chart::{Registry, Source, load};
use rawko_core::{Value, World};
use rawko_import::{self as import, ImportOptions, Imported, NoteKind};
use rawko_sim::{Simulation, Stimulus, Stubs};

fn imported(text: &str) -> Imported {
    let imported = import::import(text, ImportOptions { id: Some("example"), ..ImportOptions::default() });
    imported.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn chart(imported: &Imported) -> Arc<rawko_core::Chart> {
    let loaded = load(&Source::new("imported.yaml", imported.yaml.as_str()), &Registry::default());
    Arc::new(loaded.chart.unwrap_or_else(|| panic!("{}\n{:#?}", imported.yaml, loaded.findings)))
}

fn golden(text: &str, expected: Expect) {
    let imported = imported(text);
    chart(&imported);
    expected.assert_eq(&imported.yaml);
}

/// Answers each invoke in turn and returns the configurations: `id=json` for a result, `id!` for an error.
fn walk(text: &str, answers: &[&str]) -> String {
    let imported = imported(text);
    let lost: Vec<_> = imported.notes.iter().filter(|note| note.kind == NoteKind::Lost).collect();
    assert!(lost.is_empty(), "{lost:?}\n{}", imported.yaml);
    let mut simulation =
        Simulation::new(chart(&imported), Vec::new(), Stubs::default(), World::default(), Value::Null);
    let mut seen = vec![simulation.start().configuration.join(" ")];
    for answer in answers {
        let stimulus = match (answer.split_once('='), answer.strip_suffix('!')) {
            (Some((id, data)), _) => {
                let data: Value = serde_json::from_str(data).unwrap();
                Stimulus::event(&format!("done.invoke.{id}"), data)
            }
            (None, Some(id)) => Stimulus::event(&format!("error.invoke.{id}"), Value::Null),
            (None, None) => Stimulus::event(answer, Value::Null),
        };
        let line = simulation.apply(&stimulus);
        assert_eq!(line.error, None, "{answer}\n{}", imported.yaml);
        seen.push(line.configuration.join(" "));
    }
    seen.join(" | ")
}

fn notes(text: &str) -> String {
    let notes: Vec<_> = imported(text).notes.iter().map(ToString::to_string).collect();
    notes.join("\n")
}

const PIPELINE: &str = r#"// A plan, a person, a loop.
digraph Feature {
    graph [goal="Add a login page", rankdir=LR]
    node [shape=box, timeout="900s"]
    start [shape=Mdiamond label="Start"]; exit [shape=Msquare, label="Done"]
    plan [label="Plan", prompt="Plan: $goal", llm_model=claude-sonnet-4-5]
    approve [shape=hexagon, label="Approve the plan?"]
    subgraph cluster_loop {
        label = "Loop"
        node [max_retries=2]
        implement [prompt="Implement it"]
        test [shape=parallelogram, tool_command="cargo test"]
    }
    gate [shape=diamond, label="Tests pass?"]
    start -> plan:e -> approve:w
    approve -> implement [label="[A] Approve"]
    approve -> plan [label="[R] Revise"]
    implement -> test -> gate /* then */
    gate -> exit [label="Yes", condition="outcome=success && tests.failed != 3"]
    gate -> implement [label="No", condition="outcome!=success", weight=5]
    gate -> exit
}
"#;

#[test]
fn a_pipeline_becomes_a_chart() {
    golden(
        PIPELINE,
        expect![[r##"
        # Imported from DOT.
        statechart:
          id: Feature
          version: 1.0.0
          description: Add a login page
          initial: start
          context:
            outcome: success
            preferred_label: null
            suggested: null
            tests_failed: null
          states:
            start: {description: Start, always: '#Feature.plan'}
            exit:
              description: Done
              type: final
              output: {outcome: context.outcome}
            plan:
              description: Plan
              invoke:
                id: plan
                src: plan
                input:
                  prompt: "'Plan: Add a login page'"
                  goal: "'Add a login page'"
                  llm_model: "'claude-sonnet-4-5'"
                timeout: 900s
                onDone:
                  target: '#Feature.approve'
                  actions:
                    - type: assign
                      context_updates:
                        outcome: "type(event.data) == 'map' ? default(event.data.outcome, default(event.data.status, 'success')) : 'success'"
                        preferred_label: "type(event.data) == 'map' ? event.data.preferred_label : null"
                        suggested: "type(event.data) == 'map' ? event.data.suggested_next_ids : null"
                        tests_failed: "type(event.data) == 'map' ? default(get(default(event.data.context_updates, {}), 'tests.failed'), default(get(event.data, 'tests.failed'), context.tests_failed)) : context.tests_failed"
                onError:
                  target: '#Feature.approve'
                  actions:
                    - {type: assign, context_updates: {outcome: "'fail'", preferred_label: null, suggested: null}}
            approve:
              description: 'Approve the plan?'
              initial: run
              states:
                run:
                  invoke:
                    id: approve
                    src: human
                    input:
                      title: "'Approve the plan?'"
                      form: "{'choice': {'enum': ['[A] Approve', '[R] Revise'], 'required': true}}"
                    timeout: 900s
                    onDone:
                      target: route
                      actions:
                        - type: assign
                          context_updates:
                            outcome: "type(event.data) == 'map' and event.data.approved == false ? 'fail' : 'success'"
                            preferred_label: "type(event.data) == 'map' ? default(event.data.preferred_label, default(event.data.choice, (type(event.data.data) == 'map' ? event.data.data.choice : null))) : event.data"
                            suggested: "type(event.data) == 'map' ? event.data.suggested_next_ids : null"
                            tests_failed: "type(event.data) == 'map' ? default(get(default(event.data.context_updates, {}), 'tests.failed'), default(get(event.data, 'tests.failed'), context.tests_failed)) : context.tests_failed"
                    onError:
                      target: route
                      actions:
                        - {type: assign, context_updates: {outcome: "'fail'", preferred_label: null, suggested: null}}
                route:
                  always:
                    - target: '#Feature.implement'
                      guard: "lower(trim(string(default(context.preferred_label, '')))) in ['[a] approve', 'approve', 'a', 'implement']"
                    - target: '#Feature.plan'
                      guard: "lower(trim(string(default(context.preferred_label, '')))) in ['[r] revise', 'revise', 'r', 'plan']"
                    - {target: '#Feature.failed'}
            implement:
              invoke:
                id: implement
                src: implement
                input: {prompt: "'Implement it'", goal: "'Add a login page'"}
                timeout: 900s
                retry: {max_attempts: 3, backoff: exponential, initial_delay: 200ms, max_delay: 60s}
                onDone:
                  target: '#Feature.test'
                  actions:
                    - type: assign
                      context_updates:
                        outcome: "type(event.data) == 'map' ? default(event.data.outcome, default(event.data.status, 'success')) : 'success'"
                        preferred_label: "type(event.data) == 'map' ? event.data.preferred_label : null"
                        suggested: "type(event.data) == 'map' ? event.data.suggested_next_ids : null"
                        tests_failed: "type(event.data) == 'map' ? default(get(default(event.data.context_updates, {}), 'tests.failed'), default(get(event.data, 'tests.failed'), context.tests_failed)) : context.tests_failed"
                onError:
                  target: '#Feature.test'
                  actions:
                    - {type: assign, context_updates: {outcome: "'fail'", preferred_label: null, suggested: null}}
            test:
              invoke:
                id: test
                src: test
                input: {prompt: "'test'", goal: "'Add a login page'", tool_command: "'cargo test'"}
                timeout: 900s
                retry: {max_attempts: 3, backoff: exponential, initial_delay: 200ms, max_delay: 60s}
                onDone:
                  target: '#Feature.gate'
                  actions:
                    - type: assign
                      context_updates:
                        outcome: "type(event.data) == 'map' ? default(event.data.outcome, default(event.data.status, 'success')) : 'success'"
                        preferred_label: "type(event.data) == 'map' ? event.data.preferred_label : null"
                        suggested: "type(event.data) == 'map' ? event.data.suggested_next_ids : null"
                        tests_failed: "type(event.data) == 'map' ? default(get(default(event.data.context_updates, {}), 'tests.failed'), default(get(event.data, 'tests.failed'), context.tests_failed)) : context.tests_failed"
                onError:
                  target: '#Feature.gate'
                  actions:
                    - {type: assign, context_updates: {outcome: "'fail'", preferred_label: null, suggested: null}}
            gate:
              description: 'Tests pass?'
              always:
                - {target: '#Feature.implement', guard: "string(default(context.outcome, '')) != 'success'"}
                - target: '#Feature.exit'
                  guard: "string(default(context.outcome, '')) == 'success' and string(default(context.tests_failed, '')) != '3'"
                - {target: '#Feature.exit'}
            failed:
              type: final
              output: {outcome: "'fail'"}
    "##]],
    );
}

#[test]
fn a_pipeline_runs_as_its_runner_runs_it() {
    let table: [(&[&str], Expect); 4] = [
        (
            &[
                "plan=null",
                "approve={\"approved\":true,\"data\":{\"choice\":\"[A] Approve\"}}",
                "implement=null",
                "test=null",
            ],
            expect!["plan | approve.run | implement | test | exit"],
        ),
        (
            &[
                "plan=null",
                "approve=\"revise\"",
                "plan={}",
                "approve={\"choice\":\"a\"}",
                "implement=null",
                "test=null",
            ],
            expect!["plan | approve.run | plan | approve.run | implement | test | exit"],
        ),
        (
            &[
                "plan=null",
                "approve={\"choice\":\"Approve\"}",
                "implement=null",
                "test={\"outcome\":\"fail\"}",
                "implement=1",
                "test!",
            ],
            expect!["plan | approve.run | implement | test | implement | test | test"],
        ),
        (&["plan=null", "approve={\"approved\":false}"], expect!["plan | approve.run | failed"]),
    ];
    for (answers, expected) in table {
        expected.assert_eq(&walk(PIPELINE, answers));
    }
}

#[test]
fn branches_join_and_gates_hold() {
    let text = r#"strict digraph "review" {
  start [shape=Mdiamond] end [shape=Msquare]
  fork [shape=component] merge [shape=tripleoctagon]
  a; b [goal_gate=false]; c
  fix [goal_gate=true, retry_target=fork]
  start -> fork -> {a; b}
  b -> c
  {a c} -> merge
  merge -> fix -> end
}"#;
    expect!["fork.branch_1.a fork.branch_2.b | fork.branch_1.joined fork.branch_2.b | fork.branch_1.joined fork.branch_2.c | fix | fork.branch_1.a fork.branch_2.b | fork.branch_1.joined fork.branch_2.b | fork.branch_1.joined fork.branch_2.c | fix | end"].assert_eq(&walk(text, &["a=1", "b=1", "c!", "fix={\"outcome\":\"fail\"}", "a=1", "b=1", "c=1", "fix=1"]));
}

#[test]
fn what_a_chart_does_not_have_is_refused_by_name() {
    let text = r#"digraph w {
  start [shape=Mdiamond]; exit [shape=Msquare]
  boss [shape=house, manager.max_cycles=3]
  fork [shape=component,
        join_policy=first_success]
  start -> boss
  boss -> fork [condition="last matches \"a.*b\""]
  boss -> exit [loop_restart=true]
  fork -> x -> exit
  fork -> y -> exit
  island
}"#;
    expect![[r#"
        line 3: not carried over: `manager.max_cycles` of the node `boss`
        line 3: not carried over: the node `boss`: `house` has no counterpart
        line 4: not carried over: the fan-out `fork`: a branch leads to `exit` without a fan-in (`shape=tripleoctagon`) before it
        line 5: not carried over: `join_policy=first_success` of a fan-out
        line 7: not carried over: `matches`: expressions have no regular expressions
        line 8: not carried over: `loop_restart`: a run does not start anew
        line 11: changed: the node `island` cannot be reached: left out"#]].assert_eq(&notes(text));
}

#[test]
fn malformed_graphs_have_a_line() {
    for (text, expected) in [
        ("digraph {\n a -> \n}", expect!["line 3: expected a node after `->`"]),
        ("digraph {\n a -- b }", expect!["line 2: `--` in a digraph: expected `->`"]),
        ("graph { a -- b }", expect!["line 1: an undirected `graph`: a workflow is a `digraph`"]),
        ("digraph { a [label=\"x }", expect!["line 1: a string that is not closed"]),
        (
            "digraph { a -> b }",
            expect!["line 1: no start node: give one `shape=Mdiamond`, or name it `start`"],
        ),
        ("digraph { start -> b", expect!["line 1: the graph is not closed: expected `}`"]),
        ("digraph {\n s1 [shape=Mdiamond]\n s2 [shape=Mdiamond] }", expect!["line 3: a second start node"]),
        ("{\"nodes\": [], \"edges\": []}", expect!["line 1: the graph has no node `__start__`"]),
        (
            "{\"nodes\": [{\"id\": \"__start__\"}], \"edges\": []}",
            expect!["line 1: no edge leads from `__start__` to a node"],
        ),
    ] {
        let error = import::import(text, ImportOptions::default()).unwrap_err();
        expected.assert_eq(&error.to_string());
    }
}

const LOOP: &str = r#"{"nodes": [{"id": "__start__", "type": "runnable"}, {"id": "agent", "type": "runnable", "metadata": {"owner": "x"}},
 {"id": "tools", "type": "runnable", "metadata": {"__interrupt": "before"}}, {"id": "__end__"}],
 "edges": [{"source": "__start__", "target": "agent"}, {"source": "agent", "target": "tools", "data": "continue", "conditional": true},
 {"source": "agent", "target": "__end__", "data": "end", "conditional": true}, {"source": "tools", "target": "agent"}]}"#;

#[test]
fn a_loop_of_an_agent_and_its_tools() {
    golden(
        LOOP,
        expect![[r##"
        # Imported from LangGraph.
        statechart:
          id: example
          version: 1.0.0
          initial: agent
          context:
            agent: null
            tools: null
          states:
            agent:
              meta: {owner: x}
              invoke:
                id: agent
                src: agent
                input: context
                onDone:
                  - target: before_tools
                    guard: "(type(event.data) == 'map' ? event.data.next : event.data) in ['continue', 'tools']"
                    actions:
                      - {type: assign, context_updates: {agent: event.data}}
                  - target: __end__
                    guard: "(type(event.data) == 'map' ? event.data.next : event.data) in ['end', '__end__']"
                    actions:
                      - {type: assign, context_updates: {agent: event.data}}
                  - target: no_route
                    actions:
                      - {type: assign, context_updates: {agent: event.data}}
                onError: failed
            before_tools:
              on:
                RESUME: tools
            tools:
              invoke:
                id: tools
                src: tools
                input: context
                onDone:
                  target: agent
                  actions:
                    - {type: assign, context_updates: {tools: event.data}}
                onError: failed
            __end__: {type: final, output: context}
            failed: {type: final, output: '{error: event.data}'}
            no_route: {type: final, output: "{error: 'a node returned a choice that no edge has'}"}
    "##]],
    );
    expect!["agent | before_tools | tools | agent | __end__"]
        .assert_eq(&walk(LOOP, &["agent={\"next\":\"continue\"}", "RESUME", "tools=null", "agent=\"end\""]));
    expect!["agent | no_route"].assert_eq(&walk(LOOP, &["agent=\"elsewhere\""]));
    expect!["agent | failed"].assert_eq(&walk(LOOP, &["agent!"]));
}

#[test]
fn a_fan_in_of_unequal_branches_is_refused() {
    let text = r#"{"nodes": [{"id": "__start__"}, {"id": "a"}, {"id": "b"}, {"id": "c"},
  {"id": "d"}, {"id": "lost"}, {"id": "__end__"}],
  "edges": [{"source": "__start__", "target": "a"}, {"source": "__start__", "target": "b"}, {"source": "b", "target": "c"},
  {"source": "a", "target": "d"}, {"source": "c", "target": "d"}, {"source": "d", "target": "__end__"}, {"source": "d", "target": "nowhere"}]}"#;
    expect![[r#"
        line 1: not carried over: the fan-in at `d`: `c` ends in a later superstep, and the JSON does not contain whether `d` waits for it or runs twice
        line 2: not carried over: the node `lost`: no edge leads to it (a `Command` may; declare its `destinations`)
        line 4: not carried over: the edge `d` → `nowhere`: one of its nodes does not exist"#]].assert_eq(&notes(text));
}

/// Graphs of the real library, from `tests/tools/langgraph-graphs.py`: each with the order of nodes in a run.
#[test]
fn real_graphs_run_in_the_same_supersteps() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/tools/graphs/bin/python");
    let output = Command::new(python).arg("-B").arg(root.join("tests/tools/langgraph-graphs.py")).output();
    let output = output.expect("python is not installed: run `cargo xtask tools`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() >= 8, "{text}");
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let imported = imported(&case["graph"].to_string());
        let lost: Vec<_> = imported.notes.iter().filter(|note| note.kind == NoteKind::Lost).collect();
        if case["refused"] == true {
            assert!(!lost.is_empty(), "{}\n{}", case["name"], imported.yaml);
            continue;
        }
        assert!(lost.is_empty(), "{} {lost:?}", case["name"]);
        let mut simulation =
            Simulation::new(chart(&imported), Vec::new(), Stubs::default(), World::default(), Value::Null);
        let mut line = simulation.start();
        for step in case["steps"].as_array().unwrap() {
            let mut running: Vec<_> = line.invoked.iter().map(|invoked| invoked.src.to_string()).collect();
            running.sort();
            let mut expected: Vec<_> = step.as_object().unwrap().keys().cloned().collect();
            expected.sort();
            assert_eq!(running, expected, "{}\n{}", case["name"], imported.yaml);
            for (node, result) in step.as_object().unwrap() {
                let data: Value = serde_json::from_value(result.clone()).unwrap();
                let next = simulation.apply(&Stimulus::event(&format!("done.invoke.{node}"), data));
                line = next;
            }
        }
        assert_eq!(line.configuration, ["__end__"], "{}\n{}", case["name"], imported.yaml);
    }
}

proptest::proptest! {
    /// No text makes an importer panic; what it accepts loads.
    #[test]
    fn hostile_texts_do_not_panic(
        parts in proptest::collection::vec(proptest::sample::select(&[
            "digraph", "strict ", "subgraph", "{", "}", "[", "]", "->", "--", "=", ";", ",", "\"", "<", ">", "a", "start", "b.c",
            "node", "edge", "graph", "shape=Mdiamond", "shape=component", "shape=tripleoctagon", "condition=\"outcome=x && !y\"",
            "label=\"[A] b\"", "/*", "*/", "//", "\n", "#", "\\", "é", "\u{0}", ":", "+", "max_visits=2", "goal_gate=true", " ",
        ][..]), 0..60),
    ) {
        let text = parts.concat();
        for text in [text.clone(), format!("digraph {{ start -> {text} }}"), format!("digraph {{ start -> a [{text}] a -> b }}")] {
            if let Ok(imported) = import::dot(&text, ImportOptions::default())
                && imported.notes.iter().all(|note| note.kind != NoteKind::Lost)
            {
                chart(&imported);
            }
        }
    }

    /// Arbitrary JSON in the places of machines and graphs.
    #[test]
    fn hostile_json_does_not_panic(json in any_machine()) {
        let text = json.to_string();
        for imported in [import::xstate(&text, ImportOptions::default()), import::langgraph(&text, ImportOptions::default())] {
            if let Ok(imported) = imported && imported.notes.iter().all(|note| note.kind != NoteKind::Lost) {
                chart(&imported);
            }
        }
    }
}

fn any_machine() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    use proptest::prelude::*;
    const WORDS: [&str; 62] = [
        "",
        "a",
        "b",
        "#a",
        ".b",
        "a.b",
        "a\\.b",
        "*",
        "x.*",
        "#m",
        "parallel",
        "final",
        "history",
        "deep",
        "compound",
        "atomic",
        "m",
        "xstate.raise",
        "xstate.log",
        "event.x",
        "context",
        "GO",
        "a b",
        "1",
        "10",
        "-1",
        "1.5",
        "xstate.stateIn",
        "__start__",
        "__end__",
        "states",
        "on",
        "initial",
        "type",
        "entry",
        "exit",
        "always",
        "after",
        "invoke",
        "src",
        "id",
        "target",
        "guard",
        "actions",
        "onDone",
        "onError",
        "reenter",
        "tags",
        "meta",
        "context",
        "output",
        "nodes",
        "edges",
        "source",
        "conditional",
        "data",
        "metadata",
        "params",
        "guards",
        "cond",
        "in",
        "internal",
    ];
    let word = (0..WORDS.len()).prop_map(|at| WORDS[at].to_owned());
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i32>().prop_map(Into::into),
        word.clone().prop_map(Into::into),
        word.clone().prop_map(Into::into),
    ];
    let value = leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
            proptest::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    });
    (value.clone(), value.clone(), value).prop_map(|(states, on, nodes)| {
        serde_json::json!({"id": "m", "initial": "a", "states": {"a": states, "b": {"on": on, "states": nodes.clone()}}, "nodes": nodes, "edges": [nodes]})
    })
}
