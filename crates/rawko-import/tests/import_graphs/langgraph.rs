//! Graphs of LangGraph, written by hand and by the real library.

use std::path::Path;
use std::process::Command;

use expect_test::expect;
use rawko_core::{Value, World};
use rawko_import::NoteKind;
use rawko_sim::{Simulation, Stimulus, Stubs};

use crate::{chart, golden, imported, notes, walk};

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

/// The node `a` chooses itself: a superstep of its own, without an end.
const AGAIN: &str = r#"{"nodes": [{"id": "__start__"}, {"id": "a"}, {"id": "b"}],
 "edges": [{"source": "__start__", "target": "a"}, {"source": "a", "target": "a", "conditional": true},
 {"source": "a", "target": "b", "conditional": true}, {"source": "b", "target": "a"}]}"#;

#[test]
fn a_node_that_follows_itself_runs_again() {
    let mut simulation =
        Simulation::new(chart(&imported(AGAIN)), Vec::new(), Stubs::default(), World::default(), Value::Null);
    simulation.start();
    let line = simulation.apply(&Stimulus::event("done.invoke.a", Value::str("a")));
    assert_eq!(line.invoked.len(), 1, "{line:?}");
}

#[test]
fn a_graph_without_an_end_has_no_end_state() {
    let graph = imported(AGAIN);
    assert!(!graph.yaml.contains("__end__"), "{}", graph.yaml);
}

/// LangGraph draws an end for a graph that has none: a conditional edge beside the loop.
#[test]
fn a_drawn_end_is_not_a_choice() {
    let graph = r#"{"nodes": [{"id": "__start__"}, {"id": "a"}, {"id": "b"}, {"id": "__end__"}],
 "edges": [{"source": "__start__", "target": "a"}, {"source": "a", "target": "b"}, {"source": "b", "target": "a"},
 {"source": "b", "target": "__end__", "conditional": true}]}"#;
    expect!["a | b | a"].assert_eq(&walk(graph, &["a=null", "b=null"]));
}
