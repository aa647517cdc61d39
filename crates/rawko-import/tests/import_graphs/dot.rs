//! Workflows in DOT.

use expect_test::{Expect, expect};
use rawko_import::{self as import, ImportOptions};

use crate::{golden, notes, walk};

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
                      actions: [keep_result]
                    onError:
                      target: '#Feature.approve'
                      actions: [keep_failure]
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
                          actions: [keep_answer]
                        onError:
                          target: route
                          actions: [keep_failure]
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
                      actions: [keep_result]
                    onError:
                      target: '#Feature.test'
                      actions: [keep_failure]
                test:
                  invoke:
                    id: test
                    src: test
                    input: {prompt: "'test'", goal: "'Add a login page'", tool_command: "'cargo test'"}
                    timeout: 900s
                    retry: {max_attempts: 3, backoff: exponential, initial_delay: 200ms, max_delay: 60s}
                    onDone:
                      target: '#Feature.gate'
                      actions: [keep_result]
                    onError:
                      target: '#Feature.gate'
                      actions: [keep_failure]
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
              actions:
                keep_result:
                  type: assign
                  context_updates:
                    outcome: "type(event.data) == 'map' ? get({succeeded: 'success', failed: 'fail', partially_succeeded: 'partial_success'}, string(default(event.data.outcome, default(event.data.status, 'success'))), string(default(event.data.outcome, default(event.data.status, 'success')))) : 'success'"
                    preferred_label: "type(event.data) == 'map' ? default(event.data.preferred_label, event.data.preferred_next_label) : null"
                    suggested: "type(event.data) == 'map' ? event.data.suggested_next_ids : null"
                    tests_failed: "type(event.data) == 'map' ? default(get(default(event.data.context_updates, {}), 'tests.failed'), default(get(event.data, 'tests.failed'), context.tests_failed)) : context.tests_failed"
                keep_failure: {type: assign, context_updates: {outcome: "'fail'", preferred_label: null, suggested: null}}
                keep_answer:
                  type: assign
                  context_updates:
                    outcome: "type(event.data) == 'map' and event.data.approved == false ? 'fail' : 'success'"
                    preferred_label: "type(event.data) == 'map' ? default(get(event.data, 'preferred_label'), default(get(event.data, 'choice'), (type(event.data.data) == 'map' ? event.data.data.choice : null))) : event.data"
                    suggested: null
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

/// An attribute that may decide the way is refused, not ignored.
#[test]
fn what_may_decide_the_way_is_not_ignored() {
    let text = r#"digraph w {
  start [shape=Mdiamond]; exit [shape=Msquare]
  gate [shape=hexagon, human.reminder="1h"]
  start -> hello [color=red, labelangle=25, weight=3]
  hello -> exit [status="success"]
  hello -> gate [
    status="fail"]
  gate -> exit
}"#;
    expect![[r#"
        line 3: not carried over: `human.reminder` of the node `gate`
        line 5: not carried over: `status` of an edge: its meaning is not known
        line 7: not carried over: `status` of an edge: its meaning is not known"#]]
    .assert_eq(&notes(text));
}

/// Kinds of nodes by other words, and the deadline of a gate.
#[test]
fn kinds_by_other_words() {
    let text = r#"digraph m {
  begin [node_type=start]
  decide [handler=conditional]
  gate [handler="wait.human", human.timeout="5s", human.default_choice=work]
  work [handler=tool, cmd="echo hi"]
  over [node_type=exit]
  begin -> decide -> gate
  gate -> work [label="Go"]
  gate -> over [label="Stop"]
  work -> over
}"#;
    expect!["gate.run | over"].assert_eq(&walk(text, &["gate={\"choice\":\"stop\"}"]));
    let imported = crate::imported(text);
    assert!(imported.yaml.contains("timeout: 5s"), "{}", imported.yaml);
    assert_eq!(notes(text), "");
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

/// Labels in HTML and with escapes, ports, lists of attributes, joined strings, and an edge that stands twice.
#[test]
fn forms_of_the_language() {
    let text = r#"strict digraph "a b" {
  graph [label="\G" fontname=Helvetica]; start [shape=Mdiamond]
  "the end" [shape=Msquare, label=<<b>The</b> end&amp;more>]
  gate [shape=hexagon][label="Ask " + "\N"]
  start -> work [label="first", weight=-.5];
  work:out:se -> gate:in
  gate -> work [label=<<table><tr><td>Once</td><td>more</td></tr></table>>]
  gate -> "the end" ; gate -> "the end" [label="Stop \H"]
}"#;
    assert_eq!(notes(text), "");
    let imported = crate::imported(text);
    assert!(
        imported.yaml.contains("Ask gate") && imported.yaml.contains("The end&more"),
        "{}",
        imported.yaml
    );
    for (answer, expected) in [
        ("gate={\"choice\":\"once more\"}", expect!["work | gate.run | work"]),
        ("gate={\"choice\":\"Stop the end\"}", expect!["work | gate.run | the end"]),
    ] {
        expected.assert_eq(&walk(text, &["work=null", answer]));
    }
}

/// The words of another runner: `succeeded`, a pause, a label that the result prefers, equal weights by name.
#[test]
fn words_of_other_runners() {
    let text = r#"digraph Patterns {
  start [shape=Mdiamond]; exit [shape=Msquare]
  review [shape=tab, prompt="Review it. \
    Answer with a label."]
  pause [shape=insulator, duration="30s"]
  gate [shape=diamond]
  start -> review
  review -> pause [label="Fix"]
  review -> gate [label="Approve"]
  pause -> review
  gate -> exit [condition="outcome=succeeded"]
  gate -> pause [condition="outcome=failed"]
}"#;
    for (answers, expected) in [
        (
            &["review={\"preferred_next_label\":\"approve\",\"outcome\":\"succeeded\"}"][..],
            expect!["review.run | exit"],
        ),
        (&["review={\"outcome\":\"failed\"}"], expect!["review.run | pause"]),
        (&["review={\"preferred_label\":\"fix\"}"], expect!["review.run | pause"]),
        (&["review={\"suggested_next_ids\":[\"pause\"]}"], expect!["review.run | pause"]),
    ] {
        expected.assert_eq(&walk(text, answers));
    }
}

#[test]
fn visits_of_every_kind_of_node_are_counted() {
    let graph = |limits: &str, decision: &str| {
        format!(
            "digraph V {{ {limits} start [shape=Mdiamond] exit [shape=Msquare] w [prompt=x] d [shape=diamond{decision}]
             start -> w -> d; d -> exit [condition=\"outcome=success\"]; d -> w }}"
        )
    };
    let fail = r#"w={"outcome": "fail"}"#;
    assert_eq!(walk(&graph("", ", max_visits=2"), &[fail, fail, fail]), "w | w | w | failed");
    assert_eq!(walk(&graph("max_node_visits=2", ""), &[fail, fail]), "w.run | w.run | failed");
    assert_eq!(walk(&graph("max_node_visits=0", ""), &[fail, fail]), "w | w | w");
    let fan = "digraph F { start [shape=Mdiamond] exit [shape=Msquare] fan [shape=component, max_visits=2]
        a [prompt=a] b [prompt=b] join [shape=tripleoctagon]
        start -> fan; fan -> a; fan -> b; a -> join; b -> join; join -> exit }";
    assert!(
        notes(fan).contains("a limit of 2 visits of the node `fan`, which counts none"),
        "{}",
        notes(fan)
    );
}
