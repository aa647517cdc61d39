//! The orchestrator's chart: the outcome of every event in every state. A changed row shows in the table.

#![allow(clippy::unwrap_used, reason = "tests")]

mod reachable;

use reachable::{based, round};

use std::sync::Arc;

use expect_test::expect;
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{AgentEntry, Chart, Event, Now, Snapshot, Value, World, start, step};
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};
use serde_json::{Value as Json, json};

const CHART: &str = include_str!("../../../../charts/orchestrator.yaml");

fn chart() -> Arc<Chart> {
    chart_of(CHART)
}

fn chart_of(text: &str) -> Arc<Chart> {
    let loaded = load(&SourceFile::new("orchestrator.yaml", text), &Registry::default());
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
    let plan = json!({"steps": [{"id": "a", "title": "Fix", "status": "pending"}]});
    let selected = json!({"done": {"agent": {"name": "planner"}, "decision": {"type": "SELECT_MODE"}}});
    let worked = json!({"done": {"text": "Done."}});
    let limited = json!({"error": {"category": "failed", "code": "rate_limited", "message": "slow down"}});
    let (base, checked) = (based(), json!({"done": round("fine", true)}));
    let to = |kind: &str| json!({"done": {"decision": {"type": kind, "question": "Which one?"}}});
    let input = json!({"task": "t", "plan": plan});
    let remembered = json!({"work:select": selected, "agent:planner": worked, "work:remember": {"done": {}}, "checks:base": base});
    let mut evaluated = remembered.clone();
    evaluated["checks:round"] = checked;
    vec![
        ("idle", json!({}), json!({})),
        ("preparing", json!({}), input.clone()),
        ("selecting", json!({"checks:base": base}), input.clone()),
        ("executing", json!({"work:select": selected, "checks:base": base}), input.clone()),
        (
            "remembering",
            json!({"work:select": selected, "agent:planner": worked, "checks:base": base}),
            input.clone(),
        ),
        ("checking", remembered, input.clone()),
        ("evaluating", evaluated, input.clone()),
        ("verifying", json!({"work:select": to("COMPLETE"), "checks:base": base}), input.clone()),
        ("asking", json!({"work:select": to("ASK"), "checks:base": base}), input.clone()),
        ("backing_off", json!({"work:select": limited, "checks:base": base}), input),
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
fn outcome(before: &ReportLine, after: &ReportLine) -> String {
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
                                idle              preparing         selecting         executing         remembering       checking          evaluating        verifying         asking            backing_off
        START_TASK              → preparing       -                 -                 -                 -                 -                 -                 -                 -                 -
        CANCEL                  → cancelled       → cancelled       → cancelled       → cancelling      → cancelling      → cancelling      → cancelling      → cancelled       → cancelled       → cancelled
        RESET                   noted             → idle            → idle            → closing         → closing         → closing         → closing         → idle            → idle            → idle
        AGENT_SELECTED          -                 -                 -                 -                 -                 -                 -                 -                 -                 -
        AGENT_SELECTION_FAILED  -                 -                 -                 -                 -                 -                 -                 -                 -                 -
        AGENT_MESSAGE           -                 -                 -                 noted             -                 -                 -                 -                 -                 -
        AGENT_TOOL_CALL         -                 -                 -                 noted             -                 -                 -                 -                 -                 -
        AGENT_TOOL_RESULT       -                 -                 -                 -                 -                 -                 -                 -                 -                 -
        AGENT_COMPLETE          -                 -                 -                 -                 -                 -                 -                 -                 -                 -
        AGENT_ERROR             -                 -                 -                 -                 -                 -                 -                 -                 -                 -
        ARBITER_DECISION        -                 -                 -                 -                 -                 -                 -                 -                 -                 -
        ARBITER_ERROR           -                 -                 -                 -                 -                 -                 -                 -                 -                 -
        FORCE_AGENT             noted             noted             → executing       ↻ executeAgent    → executing       → executing       → executing       → executing       → executing       → executing
        SKIP_STEP               -                 -                 ↻ selectAgent     ↻ selectAgent     ↻ selectAgent     ↻ selectAgent     ↻ selectAgent     ↻ selectAgent     ↻ selectAgent     ↻ selectAgent
        RETRY                   -                 -                 ↻ selectAgent     ↻ executeAgent    ↻ executeAgent    ↻ executeAgent    ↻ executeAgent    → executing       → executing       ↻ selectAgent
        DEADLINE                -                 → limit_reached   → limit_reached   → closing         → closing         → closing         → closing         → limit_reached   → limit_reached   → limit_reached
    "#]].assert_eq(&table);
}

/// A state that a simulation would leave at once, because its timer is due, and the final states.
fn passing_and_over(chart: &Arc<Chart>) -> Vec<(&'static str, Snapshot)> {
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
        ("at_limit", at_limit(chart)),
        (
            "complete",
            reached(
                json!({"work:select": {"done": {"decision": {"type": "COMPLETE"}}}, "checks:base": based(), "checks:round": {"done": round("fine", true)}}),
                json!({"task": "t"}),
            ),
        ),
        (
            "failed",
            reached(
                json!({"work:select": {"error": {"category": "failed", "message": "no"}}, "checks:base": based()}),
                once.clone(),
            ),
        ),
        (
            "loop_detected",
            reached(
                json!({"work:select": selected, "checks:base": based(), "agent:planner": {"error": {"category": "loop", "message": "no"}}, "checks:close": {"done": {"evidence": {}}}}),
                once,
            ),
        ),
        (
            "stuck",
            reached(
                json!({"work:select": {"done": {"decision": {"type": "COMPLETE"}}}, "checks:base": based(), "checks:round": {"done": round("stuck", false)}}),
                json!({"task": "t"}),
            ),
        ),
        ("limit_reached", reached(json!({"checks:base": based()}), json!({"task": "t", "maxIterations": 0}))),
        ("cancelled", stopped),
    ]
}

/// Taken by hand, because a simulation leaves it at once.
fn at_limit(chart: &Arc<Chart>) -> Snapshot {
    let world = world();
    let input = Value::from_json(json!({"task": "t", "maxIterations": 0}));
    let mut snapshot = start(chart, input, Now::new(0, &world)).unwrap().0;
    let data = Value::from_json(based()["done"].clone());
    let event = Event::InvokeDone { invocation: snapshot.invocations()[0].id, data };
    step(chart, &mut snapshot, event, Now::new(0, &world)).unwrap();
    snapshot
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
                                at_limit       complete       failed         loop_detected  stuck          limit_reached  cancelled
        START_TASK              -              -              -              -              -              -              -
        CANCEL                  → cancelled    -              -              -              -              -              -
        RESET                   → idle         -              -              -              -              -              -
        AGENT_SELECTED          -              -              -              -              -              -              -
        AGENT_SELECTION_FAILED  -              -              -              -              -              -              -
        AGENT_MESSAGE           -              -              -              -              -              -              -
        AGENT_TOOL_CALL         -              -              -              -              -              -              -
        AGENT_TOOL_RESULT       -              -              -              -              -              -              -
        AGENT_COMPLETE          -              -              -              -              -              -              -
        AGENT_ERROR             -              -              -              -              -              -              -
        ARBITER_DECISION        -              -              -              -              -              -              -
        ARBITER_ERROR           -              -              -              -              -              -              -
        FORCE_AGENT             -              -              -              -              -              -              -
        SKIP_STEP               -              -              -              -              -              -              -
        RETRY                   -              -              -              -              -              -              -
        DEADLINE                -              -              -              -              -              -              -
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
    let others = ["SKIP", "ABORT", "ASK"];
    let judged: Vec<Answer> =
        evaluations.into_iter().chain(others.map(decided)).chain(arbiters.clone()).collect();
    let rounds = [
        ("progress", true),
        ("fine", true),
        ("fine", false),
        ("tell", false),
        ("stuck", false),
        ("loop", false),
    ];
    let rounds: Vec<Answer> =
        rounds.into_iter().map(|(standing, clean)| Ok(round(standing, clean))).collect();
    let rounds: Vec<Answer> = rounds.into_iter().chain([failed("other"), limit("")]).collect();
    let answers: Vec<Answer> = vec![
        Ok(json!({"approved": true})),
        Ok(json!({"approved": false})),
        Err(json!({"category": "expired", "message": "no"})),
    ];
    let selections = selections.chain(others.map(choice));
    vec![
        ("preparing", json!({}), vec![Ok(based()["done"].clone()), failed("other")]),
        ("preparing", json!({"forcedAgent": "planner"}), vec![Ok(based()["done"].clone())]),
        ("selecting", json!({}), selections.chain(arbiters).chain([timed_out.clone()]).collect()),
        ("executing", json!({}), agents.clone()),
        ("executing", json!({"remember": false}), agents[..1].to_vec()),
        ("executing", json!({"maxFailures": 1}), vec![failed("other"), going_round]),
        ("remembering", json!({}), vec![Ok(json!({"memories": []})), failed("other"), timed_out]),
        ("checking", json!({}), rounds.clone()),
        ("checking", json!({"askPeople": true}), rounds[4..5].to_vec()),
        ("verifying", json!({}), rounds.clone()),
        ("verifying", json!({"askPeople": true}), rounds[4..5].to_vec()),
        ("asking", json!({}), answers),
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
            let place = match configuration(&chart, &after).as_str() {
                // The end that follows it.
                "closing" => {
                    let ending = after.context_map(&chart).get("ending").clone();
                    format!("closing {}", ending.as_str().unwrap_or_default())
                }
                place => place.to_owned(),
            };
            table += &format!("{state:<12}{:<21}{word:<6}{:<31}→ {place}\n", text(&more), shown(data));
        }
    }
    expect![[r#"
        preparing                        done  {"base":{"checks":[]},"progress":{"without":0,"forgiven":0,"returns":0}}→ selecting
        preparing                        error failed other                   → failed
        preparing   {"forcedAgent":"planner"}done  {"base":{"checks":[]},"progress":{"without":0,"forgiven":0,"returns":0}}→ executing
        selecting                        done  SELECT_MODE                    → executing
        selecting                        done  COMPLETE                       → verifying
        selecting                        done  5                              → failed
        selecting                        done  SKIP                           → selecting
        selecting                        done  ABORT                          → failed
        selecting                        done  ASK                            → asking
        selecting                        error failed other                   → selecting
        selecting                        error failed rate_limited            → backing_off
        selecting                        error failed authentication_failed   → failed
        selecting                        error limit                          → at_limit
        selecting                        error timeout                        → backing_off
        executing                        done  {"text":"Done."}               → remembering
        executing                        done  {"plan":5}                     → closing failed
        executing                        error timeout                        → selecting
        executing                        error loop                           → selecting
        executing                        error failed other                   → selecting
        executing                        error failed rate_limited            → backing_off
        executing                        error failed authentication_failed   → closing failed
        executing                        error limit max_iterations           → checking
        executing                        error limit timeout                  → checking
        executing                        error limit output_length            → checking
        executing                        error limit                          → closing at_limit
        executing   {"remember":false}   done  {"text":"Done."}               → checking
        executing   {"maxFailures":1}    error failed other                   → closing failed
        executing   {"maxFailures":1}    error loop                           → closing loop_detected
        remembering                      done  {"memories":[]}                → checking
        remembering                      error failed other                   → checking
        remembering                      error timeout                        → checking
        checking                         done  progress, checks pass          → evaluating
        checking                         done  fine, checks pass              → evaluating
        checking                         done  fine, checks fail              → evaluating
        checking                         done  tell, checks fail              → evaluating
        checking                         done  stuck, checks fail             → closing stuck
        checking                         done  loop, checks fail              → closing loop_detected
        checking                         error failed other                   → selecting
        checking                         error limit                          → closing at_limit
        checking    {"askPeople":true}   done  stuck, checks fail             → asking
        verifying                        done  progress, checks pass          → complete
        verifying                        done  fine, checks pass              → complete
        verifying                        done  fine, checks fail              → selecting
        verifying                        done  tell, checks fail              → selecting
        verifying                        done  stuck, checks fail             → stuck
        verifying                        done  loop, checks fail              → loop_detected
        verifying                        error failed other                   → selecting
        verifying                        error limit                          → at_limit
        verifying   {"askPeople":true}   done  stuck, checks fail             → asking
        asking                           done  {"approved":true}              → selecting
        asking                           done  {"approved":false}             → selecting
        asking                           error expired                        → failed
        evaluating                       done  COMPLETE                       → verifying
        evaluating                       done  CONTINUE                       → executing
        evaluating                       done  SELECT_MODE                    → executing
        evaluating                       done  RETRY                          → selecting
        evaluating                       done  SKIP                           → selecting
        evaluating                       done  ABORT                          → closing failed
        evaluating                       done  ASK                            → asking
        evaluating                       error failed other                   → evaluating
        evaluating                       error failed rate_limited            → backing_off
        evaluating                       error failed authentication_failed   → closing failed
        evaluating                       error limit                          → closing at_limit
        evaluating  {"maxIterations":1}  done  COMPLETE                       → verifying
        evaluating  {"maxIterations":1}  done  CONTINUE                       → closing at_limit
        evaluating  {"maxIterations":1}  done  SELECT_MODE                    → closing at_limit
        evaluating  {"maxIterations":1}  done  RETRY                          → closing at_limit
        evaluating  {"maxFailures":1}    error failed other                   → closing failed
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
    if let Some(standing) = word(&data["standing"]) {
        let checks = if data["evidence"]["clean"] == json!(true) { "checks pass" } else { "checks fail" };
        return format!("{standing}, {checks}");
    }
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
    expect!["error_handling closing cancelling closed"].assert_eq(&missing.join(" "));
}
