//! The orchestrator's chart: the outcome of every event in every state. A changed row shows in the table.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use expect_test::expect;
use rawko_chart::{Registry, Source, load};
use rawko_core::{AgentEntry, Chart, Event, Now, Snapshot, Value, World, start, step};
use rawko_sim::{Line, Simulation, Stimulus, Stubs};
use serde_json::{Value as Json, json};

const CHART: &str = include_str!("../../../charts/orchestrator.yaml");

fn chart() -> Arc<Chart> {
    let loaded = load(&Source::new("orchestrator.yaml", CHART), &Registry::default());
    assert!(loaded.findings.is_empty(), "{:?}", loaded.findings);
    Arc::new(loaded.chart.unwrap())
}

fn world() -> World {
    let agent =
        |id: &str| AgentEntry { id: id.into(), roles: vec![], task_types: vec![], details: Value::Null };
    World { env: Value::Null, agents: vec![agent("planner"), agent("developer")] }
}

/// Only the services that lead into the state are stubbed.
fn simulation(chart: &Arc<Chart>, services: Json, input: Json) -> Simulation {
    let stubs = Stubs::from_value(&Value::from_json(services)).unwrap();
    Simulation::new(Arc::clone(chart), vec![], stubs, world(), Value::from_json(input))
}

/// Returns the inputs and stubs that lead into each resting state of the chart.
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

/// Summarises in a word or two.
fn outcome(before: &Line, after: &Line) -> String {
    assert_eq!(after.error, None);
    let handled = after.traces.iter().any(|step| step.handled);
    let moved = before.configuration != after.configuration;
    let started = after.invoked.iter().filter_map(|invoked| invoked.id.as_deref()).next();
    match (handled, moved, started) {
        (false, ..) => "-".to_owned(),
        (true, true, _) => format!("→ {}", after.configuration.join(", ")),
        // It returned because the stubs respond at once; its first action is the outcome of the event.
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

/// A state that a simulation would leave at once, because its timer is due, and the final states.
fn passing_and_over(chart: &Arc<Chart>) -> Vec<(&'static str, Snapshot)> {
    let world = world();
    let begun = |input: Json| start(chart, Value::from_json(input), Now::new(0, &world)).unwrap().0;
    let reached = |services: Json, input: Json| {
        let mut simulation = simulation(chart, services, input);
        simulation.start();
        simulation.snapshot().unwrap().clone()
    };
    let selected = json!({"done": {"agent": {"name": "planner"}, "decision": {"type": "SELECT_MODE"}}});
    let once = json!({"task": "t", "maxFailures": 1});
    let stopped = {
        let mut simulation = simulation(chart, json!({}), json!({}));
        simulation.start();
        simulation.apply(&Stimulus::event("CANCEL", Value::Null));
        simulation.snapshot().unwrap().clone()
    };
    vec![
        ("at_limit", begun(json!({"task": "t", "maxIterations": 0}))),
        (
            "complete",
            reached(
                json!({"work:select": {"done": {"decision": {"type": "COMPLETE"}}}}),
                json!({"task": "t"}),
            ),
        ),
        (
            "failed",
            reached(json!({"work:select": {"error": {"category": "failed", "message": "no"}}}), once.clone()),
        ),
        (
            "loop_detected",
            reached(
                json!({"work:select": selected, "agent:planner": {"error": {"category": "loop", "message": "no"}}}),
                once,
            ),
        ),
        ("limit_reached", reached(json!({}), json!({"task": "t", "maxIterations": 0}))),
        ("cancelled", stopped),
    ]
}

fn configuration(chart: &Chart, snapshot: &Snapshot) -> String {
    chart.leaf_paths(snapshot.configuration()).collect::<Vec<_>>().join(", ")
}

#[test]
fn at_the_limit_and_at_an_end_every_event_has_a_stated_outcome_too() {
    let (chart, world) = (chart(), world());
    let states = passing_and_over(&chart);
    let mut table = format!("{:<24}", "");
    table += &states.iter().map(|(state, _)| format!("{state:<15}")).collect::<String>();
    for (event, data) in events() {
        table += &format!("\n{event:<24}");
        for (state, before) in &states {
            assert_eq!(configuration(&chart, before), *state);
            let mut after = before.clone();
            let event = Event::named(event, Value::from_json(data.clone()));
            let step = step(&chart, &mut after, event, Now::new(0, &world)).unwrap();
            let place = configuration(&chart, &after);
            let outcome = match (step.handled, place == *state) {
                (false, true) => "-".to_owned(),
                (true, true) => "noted".to_owned(),
                (_, false) => format!("→ {place}"),
            };
            table += &format!("{outcome:<15}");
        }
    }
    let table: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    expect![[r#"
                                at_limit       complete       failed         loop_detected  limit_reached  cancelled
        START_TASK              -              -              -              -              -              -
        CANCEL                  → cancelled    -              -              -              -              -
        RESET                   → idle         -              -              -              -              -
        AGENT_SELECTED          -              -              -              -              -              -
        AGENT_SELECTION_FAILED  -              -              -              -              -              -
        AGENT_MESSAGE           -              -              -              -              -              -
        AGENT_TOOL_CALL         -              -              -              -              -              -
        AGENT_TOOL_RESULT       -              -              -              -              -              -
        AGENT_COMPLETE          -              -              -              -              -              -
        AGENT_ERROR             -              -              -              -              -              -
        ARBITER_DECISION        -              -              -              -              -              -
        ARBITER_ERROR           -              -              -              -              -              -
        FORCE_AGENT             -              -              -              -              -              -
        SKIP_STEP               -              -              -              -              -              -
        RETRY                   -              -              -              -              -              -
        DEADLINE                -              -              -              -              -              -
    "#]].assert_eq(&table);
}

/// A service's response: `Ok` is done.invoke, `Err` error.invoke.
type Answer = Result<Json, Json>;

/// Responses by the waiting state, with the input.
fn results() -> Vec<(&'static str, Json, Vec<Answer>)> {
    let failed = |code: &str| Err(json!({"category": "failed", "code": code, "message": "no"}));
    let limit = |code: &str| Err(json!({"category": "limit", "code": code, "message": "no"}));
    let decided = |kind: &str| Ok(json!({"type": kind, "mode": "developer", "reason": "r"}));
    let arbiters = vec![failed("other"), failed("rate_limited"), failed("authentication_failed"), limit("")];
    let choice = |kind: &str| Ok(json!({"agent": {"name": "planner"}, "decision": {"type": kind}}));
    let selections = [choice("SELECT_MODE"), choice("COMPLETE"), Ok(json!(5))].into_iter();
    let evaluations = ["COMPLETE", "CONTINUE", "SELECT_MODE", "RETRY"].map(decided);
    let timed_out = Err(json!({"category": "timeout", "message": "no"}));
    let going_round = Err(json!({"category": "loop", "message": "no"}));
    let cut_off = ["max_iterations", "timeout", "output_length", ""].map(limit);
    let agents =
        [Ok(json!({"text": "Done."})), Ok(json!({"plan": 5})), timed_out.clone(), going_round.clone()];
    let agents: Vec<Answer> = agents.into_iter().chain(arbiters[..3].to_vec()).chain(cut_off).collect();
    let judged: Vec<Answer> = evaluations.into_iter().chain(arbiters.clone()).collect();
    vec![
        ("selecting", json!({}), selections.chain(arbiters).chain([timed_out.clone()]).collect()),
        ("executing", json!({}), agents.clone()),
        ("executing", json!({"remember": false}), agents[..1].to_vec()),
        ("executing", json!({"maxFailures": 1}), vec![failed("other"), going_round]),
        ("remembering", json!({}), vec![Ok(json!({"memories": []})), failed("other"), timed_out]),
        ("evaluating", json!({}), judged.clone()),
        ("evaluating", json!({"maxIterations": 1}), judged[..4].to_vec()),
        ("evaluating", json!({"maxFailures": 1}), vec![failed("other")]),
    ]
}

/// The other half of the inputs: the results of a state's calls.
#[test]
fn every_result_has_a_stated_outcome() {
    let (chart, world) = (chart(), world());
    let mut table = String::new();
    for (state, more, all) in results() {
        let (_, services, mut input) = resting().into_iter().find(|(name, ..)| *name == state).unwrap();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut simulation = simulation(&chart, services, input);
        assert_eq!(simulation.start().configuration, [state]);
        for result in all {
            let mut after = simulation.snapshot().unwrap().clone();
            let invocation = after.invocations()[0].id;
            let (word, data) = match &result {
                Ok(data) => ("done", data),
                Err(error) => ("error", error),
            };
            let value = Value::from_json(data.clone());
            let event = match &result {
                Ok(_) => Event::InvokeDone { invocation, data: value },
                Err(_) => Event::InvokeFailed { invocation, error: value },
            };
            step(&chart, &mut after, event, Now::new(0, &world)).unwrap();
            let place = configuration(&chart, &after);
            table += &format!("{state:<12}{:<21}{word:<6}{:<31}→ {place}\n", text(&more), shown(data));
        }
    }
    expect![[r#"
        selecting                        done  SELECT_MODE                    → executing
        selecting                        done  COMPLETE                       → complete
        selecting                        done  5                              → failed
        selecting                        error failed other                   → selecting
        selecting                        error failed rate_limited            → backing_off
        selecting                        error failed authentication_failed   → failed
        selecting                        error limit                          → at_limit
        selecting                        error timeout                        → selecting
        executing                        done  {"text":"Done."}               → remembering
        executing                        done  {"plan":5}                     → failed
        executing                        error timeout                        → selecting
        executing                        error loop                           → selecting
        executing                        error failed other                   → selecting
        executing                        error failed rate_limited            → backing_off
        executing                        error failed authentication_failed   → failed
        executing                        error limit max_iterations           → evaluating
        executing                        error limit timeout                  → evaluating
        executing                        error limit output_length            → evaluating
        executing                        error limit                          → at_limit
        executing   {"remember":false}   done  {"text":"Done."}               → evaluating
        executing   {"maxFailures":1}    error failed other                   → failed
        executing   {"maxFailures":1}    error loop                           → loop_detected
        remembering                      done  {"memories":[]}                → evaluating
        remembering                      error failed other                   → evaluating
        remembering                      error timeout                        → evaluating
        evaluating                       done  COMPLETE                       → complete
        evaluating                       done  CONTINUE                       → executing
        evaluating                       done  SELECT_MODE                    → executing
        evaluating                       done  RETRY                          → selecting
        evaluating                       error failed other                   → evaluating
        evaluating                       error failed rate_limited            → backing_off
        evaluating                       error failed authentication_failed   → failed
        evaluating                       error limit                          → at_limit
        evaluating  {"maxIterations":1}  done  COMPLETE                       → complete
        evaluating  {"maxIterations":1}  done  CONTINUE                       → at_limit
        evaluating  {"maxIterations":1}  done  SELECT_MODE                    → at_limit
        evaluating  {"maxIterations":1}  done  RETRY                          → at_limit
        evaluating  {"maxFailures":1}    error failed other                   → failed
    "#]]
    .assert_eq(&table);
}

fn text(json: &Json) -> String {
    if json.as_object().is_some_and(|map| map.is_empty()) { String::new() } else { json.to_string() }
}

/// Returns a distinguishing excerpt.
fn shown(data: &Json) -> String {
    let word = |value: &Json| value.as_str().map(str::to_owned);
    let kind = word(&data["type"]).or_else(|| word(&data["decision"]["type"]));
    let code = word(&data["code"]).filter(|code| !code.is_empty());
    match (kind, word(&data["category"]), code) {
        (Some(kind), ..) => kind,
        (None, Some(category), Some(code)) => format!("{category} {code}"),
        (None, Some(category), None) => category,
        (None, None, _) => data.to_string(),
    }
}

/// The tables have every state but one, which is left before anything else can arrive.
#[test]
fn every_state_is_in_a_table_or_never_rests() {
    let chart = chart();
    let mut known: Vec<&str> = resting().iter().map(|(state, ..)| *state).collect();
    known.extend(passing_and_over(&chart).iter().map(|(state, _)| *state));
    let paths = chart.node_ids().map(|node| chart.node(node).path.to_string());
    let missing: Vec<String> =
        paths.filter(|path| !path.is_empty() && !known.contains(&path.as_str())).collect();
    expect!["error_handling"].assert_eq(&missing.join(" "));
}
