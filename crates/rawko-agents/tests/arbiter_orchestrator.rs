//! The orchestrator's chart: for every state and every event, what happens. A row that changes shows in the table.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use expect_test::expect;
use rawko_chart::{Registry, Source, load};
use rawko_core::sim::{Line, Simulation, Stimulus, Stubs};
use rawko_core::{AgentEntry, Chart, Value, World};
use serde_json::{Value as Json, json};

const CHART: &str = include_str!("../../../charts/orchestrator.yaml");

fn chart() -> Arc<Chart> {
    let loaded = load(&Source::new("orchestrator.yaml", CHART), &Registry::default());
    assert!(loaded.findings.is_empty(), "{:?}", loaded.findings);
    Arc::new(loaded.chart.unwrap())
}

/// Nothing answers but what leads into the state.
fn simulation(chart: &Arc<Chart>, services: Json, input: Json) -> Simulation {
    let agent =
        |id: &str| AgentEntry { id: id.into(), roles: vec![], task_types: vec![], details: Value::Null };
    let world = World { env: Value::Null, agents: vec![agent("planner"), agent("developer")] };
    let stubs = Stubs::from_value(&Value::from_json(services)).unwrap();
    Simulation::new(Arc::clone(chart), vec![], stubs, world, Value::from_json(input))
}

/// How to get into each state in which the chart can rest.
fn resting() -> Vec<(&'static str, Json, Json)> {
    let plan = json!({"steps": [{"id": "a", "title": "Mend", "status": "pending"}]});
    let selected = json!({"done": {"agent": {"name": "planner"}, "decision": {"type": "SELECT_MODE"}}});
    let worked = json!({"done": {"text": "Done."}});
    let limited = json!({"error": {"category": "failed", "code": "rate_limited", "message": "slow down"}});
    let input = json!({"task": "t", "plan": plan});
    vec![
        ("idle", json!({}), json!({})),
        ("selecting", json!({}), input.clone()),
        ("executing", json!({"work:select": selected}), input.clone()),
        ("remembering", json!({"work:select": selected, "agent:planner": worked}), input.clone()),
        (
            "evaluating",
            json!({"work:select": selected, "agent:planner": worked, "work:remember": {"done": {}}}),
            input.clone(),
        ),
        ("backing_off", json!({"work:select": limited}), input),
    ]
}

fn events() -> Vec<(&'static str, Json)> {
    vec![
        ("START_TASK", json!({"task": "another"})),
        ("CANCEL", json!(null)),
        ("RESET", json!(null)),
        ("AGENT_SELECTED", json!({"agent": {"name": "planner"}})),
        ("AGENT_SELECTION_FAILED", json!({"error": {"message": "no"}})),
        ("AGENT_MESSAGE", json!({"message": {"role": "assistant", "content": "Hello."}})),
        ("AGENT_TOOL_CALL", json!({"toolCall": {"name": "Read"}})),
        ("AGENT_TOOL_RESULT", json!({"toolResult": {}})),
        ("AGENT_COMPLETE", json!({"result": {"success": true}})),
        ("AGENT_ERROR", json!({"error": {"message": "no"}})),
        ("ARBITER_DECISION", json!({"decision": {"type": "COMPLETE"}})),
        ("ARBITER_ERROR", json!({"error": {"message": "no"}})),
        ("FORCE_AGENT", json!({"agentName": "developer"})),
        ("SKIP_STEP", json!(null)),
        ("RETRY", json!(null)),
        ("DEADLINE", json!(null)),
    ]
}

/// In a word or two.
fn outcome(before: &Line, after: &Line) -> String {
    assert_eq!(after.error, None);
    let handled = after.traces.iter().any(|step| step.handled);
    let moved = before.configuration != after.configuration;
    let started = after.invoked.iter().filter_map(|invoked| invoked.id.as_deref()).next();
    match (handled, moved, started) {
        (false, ..) => "-".to_owned(),
        (true, true, _) => format!("→ {}", after.configuration.join(", ")),
        // It came back because the stubs answer at once; what it did first is what the event means.
        (true, false, Some(id)) => format!("↻ {id}"),
        (true, false, None) => "noted".to_owned(),
    }
}

#[test]
fn every_state_and_event_has_a_stated_outcome() {
    let chart = chart();
    let states = resting();
    let mut table = format!("{:<24}", "");
    table += &states.iter().map(|(state, ..)| format!("{state:<18}")).collect::<String>();
    for (event, data) in events() {
        table += &format!("\n{event:<24}");
        for (state, services, input) in &states {
            let mut simulation = simulation(&chart, services.clone(), input.clone());
            let before = simulation.start();
            assert_eq!(before.configuration, [*state]);
            let after = simulation.apply(&Stimulus::event(event, Value::from_json(data.clone())));
            table += &format!("{:<18}", outcome(&before, &after));
        }
    }
    let table: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    expect![[r#"
                                idle              selecting         executing         remembering       evaluating        backing_off
        START_TASK              → selecting       -                 -                 -                 -                 -
        CANCEL                  → cancelled       → cancelled       → cancelled       → cancelled       → cancelled       → cancelled
        RESET                   noted             → idle            → idle            → idle            → idle            → idle
        AGENT_SELECTED          -                 -                 -                 -                 -                 -
        AGENT_SELECTION_FAILED  -                 -                 -                 -                 -                 -
        AGENT_MESSAGE           -                 -                 noted             -                 -                 -
        AGENT_TOOL_CALL         -                 -                 noted             -                 -                 -
        AGENT_TOOL_RESULT       -                 -                 -                 -                 -                 -
        AGENT_COMPLETE          -                 -                 -                 -                 -                 -
        AGENT_ERROR             -                 -                 -                 -                 -                 -
        ARBITER_DECISION        -                 -                 -                 -                 -                 -
        ARBITER_ERROR           -                 -                 -                 -                 -                 -
        FORCE_AGENT             noted             → executing       ↻ executeAgent    → executing       → executing       → executing
        SKIP_STEP               -                 ↻ selectAgent     ↻ selectAgent     ↻ selectAgent     ↻ selectAgent     ↻ selectAgent
        RETRY                   -                 ↻ selectAgent     ↻ executeAgent    ↻ executeAgent    ↻ executeAgent    ↻ selectAgent
        DEADLINE                -                 → limit_reached   → limit_reached   → limit_reached   → limit_reached   → limit_reached
    "#]].assert_eq(&table);
}

/// The table has every state: those that are final end the instance, and the others are left before anything else can come.
#[test]
fn every_state_is_in_the_table_or_never_rests() {
    let chart = chart();
    let known: Vec<&str> = resting().iter().map(|(state, ..)| *state).collect();
    let paths = chart.node_ids().map(|node| chart.node(node).path.to_string());
    let missing: Vec<String> =
        paths.filter(|path| !path.is_empty() && !known.contains(&path.as_str())).collect();
    expect!["error_handling at_limit complete failed loop_detected limit_reached cancelled"]
        .assert_eq(&missing.join(" "));
}
