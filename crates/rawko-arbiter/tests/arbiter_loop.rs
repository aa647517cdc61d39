//! The chart and the arbiter together, without a model: for any behaviour of agents, every question can be answered
//! from the chart's input, and every task ends within its limits.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use proptest::prelude::*;
use rawko_arbiter::{
    AgentProfile, ArbiterSettings, Case, Inquiry, InquiryStep, Moment, Orchestration, Prompts,
};
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{AgentEntry, Value, World};
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};
use serde_json::{Value as Json, json};

const CHART: &str = include_str!("../../../charts/orchestrator.yaml");
const MAX_ITERATIONS: i64 = 6;

fn agents() -> Vec<AgentProfile> {
    serde_json::from_value(json!([
        {"name": "planner"},
        {"name": "developer", "transitions": {"onSuccess": "tester"}},
        {"name": "tester", "transitions": {"onFailure": "developer"}},
    ]))
    .unwrap()
}

fn begin() -> Simulation {
    let loaded = load(&SourceFile::new("orchestrator.yaml", CHART), &Registry::default());
    let agent =
        |id: &str| AgentEntry { id: id.into(), roles: vec![], task_types: vec![], details: Value::Null };
    let world = World { env: Value::Null, agents: ["planner", "developer", "tester"].map(agent).to_vec() };
    let stubs = Stubs::from_value(&Value::from_json(json!({
        "work:remember": {"done": {}},
        "checks:base": {"done": {"base": {}, "progress": {"without": 0, "forgiven": 0, "returns": 0}}},
        "checks:round": {"done": {
            "standing": "progress",
            "notice": null,
            "progress": {"without": 0, "forgiven": 0, "returns": 0},
            "evidence": {"verified": true, "clean": true, "tree": "t", "text": "", "restored": [], "report": {}},
        }},
    }))).unwrap();
    let input = Value::from_json(json!({"task": "Mend the parser", "maxIterations": MAX_ITERATIONS}));
    Simulation::new(Arc::new(loaded.chart.unwrap()), vec![], stubs, world, input)
}

/// A service's response: a decision from exactly the chart's input.
fn decide(moment: Moment, input: &Value, answer: Option<&str>) -> Value {
    let context = Orchestration::of(input).unwrap();
    let (agents, settings) = (agents(), ArbiterSettings { retries: 0, ..ArbiterSettings::default() });
    let case = Case { moment, context: &context, agents: &agents, settings: &settings };
    let mut inquiry = Inquiry::new(&case, &Prompts::default(), 0).unwrap();
    let next = match (inquiry.next(&case), answer) {
        (InquiryStep::Ask { .. }, Some(answer)) => inquiry.answered(&case, answer),
        (InquiryStep::Ask { .. }, None) => inquiry.give_up(&case),
        (settled, _) => settled,
    };
    let InquiryStep::Decided(decided) = next else { panic!("{next:?}") };
    match moment {
        Moment::Select => decided.to_selection(),
        Moment::Evaluate => decided.to_value(),
    }
}

/// A possible event of an agent or the arbiter.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Succeeds,
    Plans,
    TicksTheLastStep,
    SaysFailed,
    Fails,
    IsCutOff,
    IsRateLimited,
    LoopsAround,
}

fn answered(fate: Fate) -> (&'static str, Json) {
    let plan = |status: &str| json!({"goal": "g", "steps": [{"id": "a", "title": "Mend", "status": status}]});
    let error = |category: &str, code: Json| json!({"category": category, "code": code, "message": "no", "messages": []});
    match fate {
        Fate::Succeeds => (
            "done",
            json!({"text": "Done.", "messages": [], "usage": {"input_tokens": 5, "output_tokens": 2}}),
        ),
        Fate::Plans => ("done", json!({"text": "Planned.", "plan": plan("pending"), "messages": []})),
        Fate::TicksTheLastStep => ("done", json!({"text": "Mended.", "plan": plan("done"), "data": null})),
        Fate::SaysFailed => ("done", json!({"text": "0 failed", "data": {"verdict": "failed"}})),
        Fate::Fails => ("error", error("failed", json!(null))),
        Fate::IsCutOff => ("error", error("limit", json!("max_iterations"))),
        Fate::IsRateLimited => ("error", error("failed", json!("rate_limited"))),
        Fate::LoopsAround => ("error", error("loop", json!(null))),
    }
}

fn stimulus(line: &ReportLine, fate: Fate, answer: Option<&str>) -> Stimulus {
    let Some(invoked) = line
        .invoked
        .iter()
        .rfind(|invoked| !["work:remember", "checks:base", "checks:round"].contains(&invoked.src.as_str()))
    else {
        return Stimulus::advance(60_000);
    };
    let id = invoked.id.as_deref().unwrap();
    let (kind, data) = match (invoked.src.as_str(), fate) {
        ("work:select" | "work:evaluate", Fate::IsRateLimited) => answered(fate),
        ("work:select", _) => ("done", decide(Moment::Select, &invoked.input, answer).to_json()),
        ("work:evaluate", _) => ("done", decide(Moment::Evaluate, &invoked.input, answer).to_json()),
        _ => answered(fate),
    };
    Stimulus::event(&format!("{kind}.invoke.{id}"), Value::from_json(data))
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        Just(Fate::Succeeds),
        Just(Fate::Plans),
        Just(Fate::TicksTheLastStep),
        Just(Fate::SaysFailed),
        Just(Fate::Fails),
        Just(Fate::IsCutOff),
        Just(Fate::IsRateLimited),
        Just(Fate::LoopsAround),
    ]
}

fn answer() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![
        Just(None),
        Just(Some("I would say it is COMPLETE.")),
        Just(Some(r#"{"type":"RETRY","reason":"again"}"#)),
        Just(Some(r#"{"type":"CONTINUE","reason":"on"}"#)),
        Just(Some(r#"{"type":"SELECT_MODE","mode":"tester","reason":"see"}"#)),
        Just(Some(r#"{"type":"COMPLETE","reason":"done"}"#)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_task_ends_within_its_limits(script in prop::collection::vec((fate(), answer()), 1..12)) {
        let mut simulation = begin();
        let mut line = simulation.start();
        // Each iteration has a selection, an execution and an evaluation. A busy provider delays each question to the
        // arbiter six times, every failure of an agent has a wait, and the end has the state `closing`.
        let question_max = 1 + 6 * 2;
        let steps_max = MAX_ITERATIONS as usize * (2 * question_max + 2) + 10;
        for (fate, answer) in script.iter().cycle().take(steps_max) {
            if line.status == "done" {
                break;
            }
            line = simulation.apply(&stimulus(&line, *fate, *answer));
            prop_assert_eq!(&line.error, &None);
        }
        prop_assert_eq!(line.status.as_str(), "done", "{:?}", line.configuration);
        prop_assert!(line.context.get("iterationCount").as_i64() <= Some(MAX_ITERATIONS));
        let problem = line.output.get("problem").get("category").as_str();
        prop_assert_ne!(problem, Some("invalid_answer"), "{:?}", line.output);
    }
}

#[test]
fn a_task_goes_through_the_agents_without_a_model() {
    let mut simulation = begin();
    let mut line = simulation.start();
    let mut seen = Vec::new();
    let script = [
        Fate::Succeeds,
        Fate::Plans,
        Fate::Succeeds,
        Fate::Succeeds,
        Fate::Succeeds,
        Fate::SaysFailed,
        Fate::Succeeds,
        Fate::Succeeds,
        Fate::Succeeds,
        Fate::TicksTheLastStep,
        Fate::Succeeds,
    ];
    for fate in script {
        seen.extend(
            line.invoked
                .iter()
                .filter(|invoked| invoked.src.starts_with("agent:"))
                .map(|invoked| invoked.src.clone()),
        );
        line = simulation.apply(&stimulus(&line, fate, None));
    }
    assert_eq!(line.configuration, ["complete"], "{seen:?}");
    assert_eq!(seen, ["agent:planner", "agent:developer", "agent:tester", "agent:developer", "agent:tester"]);
}
